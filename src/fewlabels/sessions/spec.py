"""The fixed part of a session: counts of the pool, size of its queue, goal, policy, prior and options.

It is stored in the session's file, so that labelling can continue without the predictions. Neighbours: `queue` orders
the items, `serialize` and `file_schema` write and read it.
"""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.goals.goal import Goal, count_sought, require_enough_groups
from fewlabels.active.policies import Policy
from fewlabels.analyses.assess import count_for
from fewlabels.analyses.assessment import AssessmentSpec, require_answerable
from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.checks import require_valid
from fewlabels.data.counts import NONE, STRATA, Axis, CountTable, to_count_table
from fewlabels.data.documents.arrays import Arrays, read_arrays
from fewlabels.data.documents.parsing import check
from fewlabels.data.fingerprint import fingerprint, fingerprint_sample
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.sampling import SamplingRule
from fewlabels.data.sources import Frame
from fewlabels.distributions.belief import Rng
from fewlabels.errors import InputError, choose_words, join_names
from fewlabels.metrics.metric import Cost, Metric
from fewlabels.models.inference import infer
from fewlabels.models.priors import Prior
from fewlabels.sessions.file_schema import SessionDocument
from fewlabels.sessions.journal.events import EntryItems
from fewlabels.sessions.queue import ItemQueue, build_queue
from fewlabels.sessions.serialize import find_custom, restore_choice, to_plain

MAX_VOTES = 20
OPTIONAL_ARRAYS = ("probability", "stratum", "level")
SCALAR_FIELDS = ("level", "seed", "source", "notes", "graded", "whole_ids", "frame", "votes")
RESTORE_COPY = "go back to an earlier copy"
MAX_ITEMS, MAX_STRATA, TOLERANCE = 2**53, len(STRATA), 1e-6
ARRAYS = ("group", "predicted", "bin", "label", "n_items", "n_labels", "score", "right")


@dataclass(frozen=True)
class SessionSpec:
    """The fixed part of a session."""

    tally: CountTable  # with the labels that the table had at the start
    n_askable: Int[np.ndarray, " group"]  # items in the file: for a large pool, a sample of the unlabelled ones
    goal: Goal
    policy: Policy
    prior: Prior
    by: Groups
    level: float
    finite_pool: bool
    seed: int
    fingerprint: Mapping[str, Any]
    source: str
    notes: tuple[str, ...]
    graded: bool  # labels are grades of agreement, not classes
    whole_ids: bool  # ids are integers in the table
    frame: Frame  # kind of frame that the predictions came in
    bins: Bins | None = None  # of the scores; None in files of earlier versions
    votes: int = 1  # annotators per item

    def require_roles(self, metric: Metric) -> None:
        """Refuse a metric whose columns these predictions lack."""
        has = {"score": bool(self.tally.bins), "predicted": bool(self.tally.classes)}
        for role in metric.needs:
            if not has.get(role, True):
                raise InputError(f"metric {metric.name} needs a {role} column, and {self.source} has none")

    def require_costs(self, classes: Sequence[str], labels: Iterable[str | None]) -> None:
        """Refuse labels of new classes that the cost table lacks."""
        if isinstance(self.goal.metric, Cost):
            new = [name for name in dict.fromkeys(labels) if name is not None and name not in classes]
            self.goal.metric.for_classes([*classes, *new])

    def require_same_predictions(self, pool: Predictions, path: object) -> None:
        """Refuse predictions other than those the session was created from."""
        change = describe_difference(self.fingerprint, self._compute_fingerprint(pool))
        if change:
            raise InputError(
                f"{path} was made from other predictions ({self.source}) than {pool.source}: {change}; start a new session for these"
            )

    def _compute_fingerprint(self, pool: Predictions) -> dict[str, Any]:
        """Compute the fingerprint from the same items as when the session was created."""
        if "every" not in self.fingerprint or not pool.has_integer_ids:
            return compute_fingerprint(pool, self.by)
        rule = SamplingRule(self.fingerprint["every"], self.fingerprint["seed"])
        return fingerprint_aggregate(aggregate_pool(pool, self.by, bins=self.bins, rule=rule))

    def require_items(self, entries: Iterable[EntryItems], where: object) -> None:
        """Refuse a file whose items do not match its counts: every estimate would be wrong."""
        tally, n_left = self.tally, self.tally.n_items - self.tally.n_labels
        found, last = np.zeros_like(self.n_askable), np.full(len(self.n_askable), -1)
        for items in entries:
            if (
                not 0 <= items.entry < len(n_left)
                or tally.group[items.entry] != items.group
                or items.n > n_left[items.entry]
            ):
                raise InputError(f"{where}: damaged: its items do not fit its counts; {RESTORE_COPY}")
            found[items.group] += items.n
            last[items.group] = max(last[items.group], items.last if items.first >= 0 else len(n_left) + items.n)
        if (found != self.n_askable).any() or (last != found - 1).any():
            raise InputError(f"{where}: damaged: items are missing from it, or out of order; {RESTORE_COPY}")

    def ask(self, metric: Metric) -> AssessmentSpec:
        """Return the question about a metric, with the options of the session."""
        return AssessmentSpec(metric, self.prior, self.level, self.finite_pool, count_sought(self.goal), self.seed)

    def derive_rng(self, step: int) -> Rng:
        """Derive the generator from seed and step, so that no random state has to be stored."""
        return np.random.default_rng([self.seed, 0, step])

    def write(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return it as a JSON document and binary attachments."""
        about = {
            "goal": to_plain(self.goal), "policy": to_plain(self.policy), "prior": to_plain(self.prior),
            "by": to_plain(self.by), "level": self.level, "finite": self.finite_pool, "seed": self.seed,
            "fingerprint": dict(self.fingerprint), "source": self.source,
            "notes": list(self.notes), "graded": self.graded, "whole_ids": self.whole_ids, "frame": self.frame, "by_name": self.tally.by,
            "groups": list(self.tally.groups), "classes": list(self.tally.classes), "bins": list(self.tally.bins),
            "positive": self.tally.positive, "n_askable": self.n_askable.tolist(), "ranges": to_plain(self.bins),
            "axes": [asdict(axis) for axis in self.tally.axes], "votes": self.votes,
        }  # fmt: skip
        return about, {"tally": _pack_counts(self.tally)}


def read_spec(
    about: Mapping[str, Any],
    blobs: Mapping[str, bytes],
    *,
    goal: Goal | None = None,
    policy: Policy | None = None,
    where: object = "the session",
) -> SessionSpec:
    """Restore the spec from the contents of a file; `where` is the path that messages about damage begin with."""
    found = check(SessionDocument, about, f"{where}: damaged", RESTORE_COPY)
    arrays = read_arrays(blobs.get("tally", b""), f"{where}: damaged: its counts", RESTORE_COPY)
    if len(found.n_askable) != len(found.groups):
        raise arrays.refuse("the items to ask about do not fit the groups")
    return SessionSpec(
        tally=_read_counts(found, arrays),
        n_askable=np.array(found.n_askable, dtype=np.int64),
        goal=_restore_choice(found.goal, goal, "goal", Goal, where),
        policy=_restore_choice(found.policy, policy, "policy", Callable, where),
        prior=_restore_choice(found.prior, None, "prior", Prior, where),
        by=_restore_choice(found.by, None, "by", Groups, where),
        bins=_restore_choice(found.ranges, None, "ranges", Bins | None, where),
        finite_pool=found.finite,
        fingerprint=found.fingerprint.model_dump(exclude_unset=True),
        **{name: getattr(found, name) for name in SCALAR_FIELDS},
    )


def _restore_choice(plain: Any, given: Any, what: str, kind: Any, where: object) -> Any:
    """Restore a choice stored in a file, or refuse the file as damaged."""
    try:
        made = restore_choice(plain, given, what)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError) and find_custom(plain) is not None:
            raise
        raise InputError(
            f"{where}: damaged: {what}: no choice that fewlabels wrote ({str(error)[:100]}); {RESTORE_COPY}"
        ) from None
    if not isinstance(made, kind):
        raise InputError(f"{where}: damaged: {what}: this is another kind of choice; {RESTORE_COPY}")
    return made


def create_spec(
    pool: Predictions,
    *,
    goal: Goal,
    by: Groups,
    policy: Policy,
    prior: Prior,
    level: float,
    finite_pool: bool,
    seed: int,
    bins: Bins | None = None,
    classes: Sequence[str] = (),
    votes: int = 1,
) -> tuple[SessionSpec, ItemQueue]:
    """Aggregate a pool once, and queue its unlabelled items in random order within their groups."""
    require_votes(pool, votes)
    aggregated = aggregate_pool(pool, by, bins=bins, rule=pool.choose_sampling_rule(seed), **count_for(pool, prior))
    notes = require_valid(pool, aggregated)
    counts = to_count_table(aggregated)
    counts = counts.add_classes([name for name in dict.fromkeys(map(str, classes)) if name not in counts.classes])
    require_answerable(counts, goal.metric)
    require_enough_groups(goal, len(counts.groups))
    known = infer(counts, goal.metric, prior, finite_pool=finite_pool)
    goal.gain(known, known.expect())  # raises if the goal names groups that do not exist
    queue = build_queue(aggregated, counts.group, seed)
    if not len(queue):
        raise InputError(
            f"every item of {pool.source} is labelled: there is nothing to ask; assess it, or try {choose_words('--hide-labels', 'pool.hide_labels()')}"
        )
    spec = SessionSpec(
        tally=counts,
        n_askable=np.bincount(queue.group, minlength=len(counts.groups)),
        goal=goal,
        policy=policy,
        prior=prior,
        by=by,
        level=float(level),
        finite_pool=bool(finite_pool),
        seed=int(seed),
        fingerprint=fingerprint_aggregate(aggregated),
        source=pool.source,
        notes=notes,
        graded=pool.has("agreement"),
        whole_ids=pool.has_integer_ids,
        frame=pool.frame,
        bins=bins or Bins(),
        votes=int(votes),
    )
    return spec, queue


def require_votes(pool: Predictions, votes: int) -> None:
    """Refuse a number of votes out of range, and several votes on grades."""
    if not 1 <= votes <= MAX_VOTES:
        raise InputError(
            f"votes must be between 1 and {MAX_VOTES}, got {votes}; often 2 or 3 annotators answer each item"
        )
    if votes > 1 and pool.has("agreement"):
        raise InputError(
            f"votes: {pool.source} has grades of agreement, and only classes can be voted on; leave votes at 1"
        )


def fingerprint_aggregate(aggregated: Aggregate) -> dict[str, Any]:
    """Return the fingerprint of predictions and groups, from the sample of an aggregate if it has one."""
    if aggregated.sample is None:
        return compute_fingerprint(aggregated.pool, aggregated.by)
    groups = [aggregated.cut.name(key) for key in aggregated.groups]
    return fingerprint_sample(aggregated.pool, aggregated.found, groups, aggregated.sample)


def compute_fingerprint(pool: Predictions, by: Groups) -> dict[str, Any]:
    """Return the fingerprint of predictions and their groups."""
    keys = list(by.cut(pool).keys.values())
    return fingerprint(pool, keys[0] if len(keys) == 1 else None)


def describe_difference(made_from: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
    """Describe how predictions differ from those a session was created from; None if they do not."""
    words = {
        "n_items": "items",
        "first": "first id",
        "last": "last id",
        "length": "length of ids",
        "score": "sum of scores",
    }
    large = ("part" in made_from) != ("part" in given)  # earlier versions had another fingerprint of large tables
    for name, word in words.items():
        if large and name != "n_items":
            continue
        old, new = made_from.get(name), given.get(name)
        if isinstance(old, float) and isinstance(new, float):
            if abs(old - new) > 1e-6 * max(abs(old), 1.0):
                return f"{word}: {old:.6g} then, {new:.6g} now"
        elif old != new:
            return f"{word}: {old} then, {new} now"
    counted = "predicted" in made_from and "predicted" in given
    moved = counted and [
        name
        for name in {**made_from.get("predicted", {}), **given.get("predicted", {})}
        if made_from.get("predicted", {}).get(name) != given.get("predicted", {}).get(name)
    ]
    if moved:
        return f"how often {join_names(sorted(moved), most=3)} is predicted"
    words = {"said": "which items get which prediction", "placed": "which items are in which group",
             "part": "which items get which prediction, score or group"}  # fmt: skip
    return next((word for key, word in words.items() if _differ(made_from, given, key)), None)


def _differ(made_from: Mapping[str, Any], given: Mapping[str, Any], key: str) -> bool:
    return key in made_from and key in given and made_from[key] != given[key]


def _pack_counts(counts: CountTable) -> bytes:
    file = io.BytesIO()
    arrays = {name: getattr(counts, name) for name in ARRAYS}
    arrays |= {name: getattr(counts, name) for name in OPTIONAL_ARRAYS if getattr(counts, name) is not None}
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _read_counts(found: SessionDocument, arrays: Arrays) -> CountTable:
    """Read the counts from their archive, and check their types, shapes and ranges."""
    n_groups, n_classes, n_bins = len(found.groups), len(found.classes), len(found.bins)
    group = arrays.take("group", "iu", (None,), low=0, high=n_groups - 1)
    shape, axes = group.shape, tuple(Axis(a.name, a.levels, a.ordered, a.edges) for a in found.axes)
    n_items = arrays.take("n_items", "iu", shape, low=1, high=MAX_ITEMS)
    n_labels = arrays.take("n_labels", "iu", shape, low=0, high=MAX_ITEMS)
    right = arrays.take("right", "f", shape, low=0, high=MAX_ITEMS)
    if (n_labels > n_items).any() or (right > n_labels + TOLERANCE).any() or len(np.unique(group)) < n_groups:
        raise arrays.refuse("the array n_labels does not fit n_items")
    probability, stratum, level = (arrays.found.get(name) for name in OPTIONAL_ARRAYS)
    return CountTable(
        by=found.by_name,
        groups=found.groups,
        classes=found.classes,
        bins=found.bins,
        group=group,
        predicted=arrays.take("predicted", "iu", shape, low=NONE, high=n_classes - 1),
        bin=arrays.take("bin", "iu", shape, low=NONE, high=n_bins - 1),
        label=arrays.take("label", "iu", shape, low=NONE, high=n_classes - 1),
        n_items=n_items,
        n_labels=n_labels,
        score=arrays.take("score", "f", shape, low=0, high=MAX_ITEMS, nan=not found.bins),
        right=right,
        probability=probability if probability is None else arrays.take("probability", "f", (*shape, n_classes), low=0, high=MAX_ITEMS),
        positive=found.positive,
        stratum=stratum if stratum is None else arrays.take("stratum", "iu", shape, low=0, high=MAX_STRATA),
        axes=axes,
        level=level if level is None else _read_levels(arrays, n_groups, axes),
    )  # fmt: skip


def _read_levels(arrays: Arrays, n_groups: int, axes: Sequence[Axis]) -> Int[np.ndarray, "group axis"]:
    level: np.ndarray = arrays.take("level", "iu", (n_groups, len(axes)), low=0)
    if (level >= [len(axis.levels) for axis in axes]).any():
        raise arrays.refuse("groups have values that no attribute takes")
    return level
