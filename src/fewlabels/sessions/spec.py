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

from fewlabels.active.goals.goal import Goal, count_sought, require_enough
from fewlabels.active.policies import Policy
from fewlabels.analyses.assess import count_for
from fewlabels.analyses.assessment import Question, require_answerable
from fewlabels.data.aggregate import Census, take_census
from fewlabels.data.checks import require_sound
from fewlabels.data.counts import NONE, STRATA, Axis, Tally, arrange
from fewlabels.data.documents.arrays import Arrays, read_arrays
from fewlabels.data.documents.parsing import check
from fewlabels.data.fingerprint import fingerprint, fingerprint_sample
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.sampling import Picking
from fewlabels.data.sources import Frame
from fewlabels.errors import InputError, listing
from fewlabels.metrics.metric import Cost, Metric
from fewlabels.models.inference import infer
from fewlabels.models.priors import Prior
from fewlabels.sessions.file_schema import SessionDocument
from fewlabels.sessions.journal.events import Pile
from fewlabels.sessions.queue import Line, line_up
from fewlabels.sessions.serialize import find_own, recall, write_recipe

MOST_VOTES = 20
MAYBE = ("probability", "stratum", "level")
KEPT = ("level", "finite", "seed", "source", "notes", "graded", "whole_ids", "frame", "votes")
GO_BACK = "go back to an earlier copy"
MOST_ITEMS, MOST_STRATA, ROUGHLY = 2**53, len(STRATA), 1e-6
ARRAYS = ("group", "predicted", "bin", "label", "n_items", "n_labels", "score", "right")


@dataclass(frozen=True)
class Ground:
    """The fixed part of a session."""

    tally: Tally  # with the labels that the table had at the start
    n_askable: Int[np.ndarray, " group"]  # items in the file: for a large pool, a sample of the unlabelled ones
    goal: Goal
    policy: Policy
    prior: Prior
    by: Groups
    level: float
    finite: bool
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

    def require_priced(self, classes: Sequence[str], labels: Iterable[str | None]) -> None:
        """Refuse labels of new classes that the cost table lacks."""
        if isinstance(self.goal.metric, Cost):
            new = [name for name in dict.fromkeys(labels) if name is not None and name not in classes]
            self.goal.metric.over([*classes, *new])

    def require_same(self, pool: Predictions, path: object) -> None:
        """Refuse predictions other than those the session was created from."""
        change = tell_apart(self.fingerprint, self._take_fingerprint(pool))
        if change:
            raise InputError(
                f"{path} was made from other predictions ({self.source}) than {pool.source}: {change}; start a new session for these"
            )

    def _take_fingerprint(self, pool: Predictions) -> dict[str, Any]:
        """Compute the fingerprint from the same items as when the session was created."""
        if "every" not in self.fingerprint or not pool.has_whole_ids:
            return take_fingerprint(pool, self.by)
        picking = Picking(self.fingerprint["every"], self.fingerprint["seed"])
        return read_fingerprint(take_census(pool, self.by, bins=self.bins, picking=picking))

    def require_items(self, piles: Iterable[Pile], where: object) -> None:
        """Refuse a file whose items do not match its counts: every estimate would be wrong."""
        tally, n_left = self.tally, self.tally.n_items - self.tally.n_labels
        found, last = np.zeros_like(self.n_askable), np.full(len(self.n_askable), -1)
        for pile in piles:
            if (
                not 0 <= pile.entry < len(n_left)
                or tally.group[pile.entry] != pile.group
                or pile.n > n_left[pile.entry]
            ):
                raise InputError(f"{where}: damaged: its items do not fit its counts; {GO_BACK}")
            found[pile.group] += pile.n
            last[pile.group] = max(last[pile.group], pile.last if pile.first >= 0 else len(n_left) + pile.n)
        if (found != self.n_askable).any() or (last != found - 1).any():
            raise InputError(f"{where}: damaged: items are missing from it, or out of order; {GO_BACK}")

    def ask(self, metric: Metric) -> Question:
        """Return the question about a metric, with the options of the session."""
        return Question(metric, self.prior, self.level, self.finite, count_sought(self.goal), self.seed)

    def write(self) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Return it as a JSON document and binary attachments."""
        about = {
            "goal": write_recipe(self.goal), "policy": write_recipe(self.policy), "prior": write_recipe(self.prior),
            "by": write_recipe(self.by), "level": self.level, "finite": self.finite, "seed": self.seed,
            "fingerprint": dict(self.fingerprint), "source": self.source,
            "notes": list(self.notes), "graded": self.graded, "whole_ids": self.whole_ids, "frame": self.frame, "by_name": self.tally.by,
            "groups": list(self.tally.groups), "classes": list(self.tally.classes), "bins": list(self.tally.bins),
            "positive": self.tally.positive, "n_askable": self.n_askable.tolist(), "ranges": write_recipe(self.bins),
            "axes": [asdict(axis) for axis in self.tally.axes], "votes": self.votes,
        }  # fmt: skip
        return about, {"tally": _pack(self.tally)}


def read_ground(
    about: Mapping[str, Any],
    blobs: Mapping[str, bytes],
    *,
    goal: Goal | None = None,
    policy: Policy | None = None,
    where: object = "the session",
) -> Ground:
    """Restore the spec from the contents of a file; `where` is the path that messages about damage begin with."""
    found = check(SessionDocument, about, f"{where}: damaged", GO_BACK)
    arrays = read_arrays(blobs.get("tally", b""), f"{where}: damaged: its counts", GO_BACK)
    if len(found.n_askable) != len(found.groups):
        raise arrays.refuse("the items to ask about do not fit the groups")
    return Ground(
        tally=_read_tally(found, arrays),
        n_askable=np.array(found.n_askable, dtype=np.int64),
        goal=_recall(found.goal, goal, "goal", Goal, where),
        policy=_recall(found.policy, policy, "policy", Callable, where),
        prior=_recall(found.prior, None, "prior", Prior, where),
        by=_recall(found.by, None, "by", Groups, where),
        bins=_recall(found.ranges, None, "ranges", Bins | None, where),
        fingerprint=found.fingerprint.model_dump(exclude_unset=True),
        **{name: getattr(found, name) for name in KEPT},
    )


def _recall(plain: Any, given: Any, what: str, kind: Any, where: object) -> Any:
    """Restore a choice stored in a file, or refuse the file as damaged."""
    try:
        made = recall(plain, given, what)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError) and find_own(plain) is not None:
            raise
        raise InputError(
            f"{where}: damaged: {what}: no choice that fewlabels wrote ({str(error)[:100]}); {GO_BACK}"
        ) from None
    if not isinstance(made, kind):
        raise InputError(f"{where}: damaged: {what}: this is another kind of choice; {GO_BACK}")
    return made


def lay_ground(
    pool: Predictions,
    *,
    goal: Goal,
    by: Groups,
    policy: Policy,
    prior: Prior,
    level: float,
    finite: bool,
    seed: int,
    bins: Bins | None = None,
    classes: Sequence[str] = (),
    votes: int = 1,
) -> tuple[Ground, Line]:
    """Aggregate a pool once, and queue its unlabelled items in random order within their groups."""
    require_votes(pool, votes)
    census = take_census(pool, by, bins=bins, picking=pool.choose_picking(seed), **count_for(pool, prior))
    notes = require_sound(pool, census)
    counts = arrange(census)
    counts = counts.widen([name for name in dict.fromkeys(map(str, classes)) if name not in counts.classes])
    require_answerable(counts, goal.metric)
    require_enough(goal, len(counts.groups))
    known = infer(counts, goal.metric, prior, finite_pool=finite)
    goal.gain(known, known.expect())  # raises if the goal names groups that do not exist
    line = line_up(census, counts.group, seed)
    if not len(line):
        raise InputError(
            f"every item of {pool.source} is labelled: there is nothing to ask; assess it, or try --hide-labels (Python: pool.hide_labels())"
        )
    ground = Ground(
        tally=counts,
        n_askable=np.bincount(line.group, minlength=len(counts.groups)),
        goal=goal,
        policy=policy,
        prior=prior,
        by=by,
        level=float(level),
        finite=bool(finite),
        seed=int(seed),
        fingerprint=read_fingerprint(census),
        source=pool.source,
        notes=notes,
        graded=pool.has("agreement"),
        whole_ids=pool.has_whole_ids,
        frame=pool.frame,
        bins=bins or Bins(),
        votes=int(votes),
    )
    return ground, line


def require_votes(pool: Predictions, votes: int) -> None:
    """Refuse a number of votes out of range, and several votes on grades."""
    if not 1 <= votes <= MOST_VOTES:
        raise InputError(
            f"votes must be between 1 and {MOST_VOTES}, got {votes}; often 2 or 3 annotators answer each item"
        )
    if votes > 1 and pool.has("agreement"):
        raise InputError(
            f"votes: {pool.source} has grades of agreement, and only classes can be voted on; leave votes at 1"
        )


def read_fingerprint(census: Census) -> dict[str, Any]:
    """Return the fingerprint of predictions and groups, from the sample of an aggregate if it has one."""
    if census.sample is None:
        return take_fingerprint(census.pool, census.by)
    groups = [census.cut.name(key) for key in census.groups]
    return fingerprint_sample(census.pool, census.found, groups, census.sample)


def take_fingerprint(pool: Predictions, by: Groups) -> dict[str, Any]:
    """Return the fingerprint of predictions and their groups."""
    keys = list(by.cut(pool).keys.values())
    return fingerprint(pool, keys[0] if len(keys) == 1 else None)


def tell_apart(made_from: Mapping[str, Any], given: Mapping[str, Any]) -> str | None:
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
        return f"how often {listing(sorted(moved), most=3)} is predicted"
    words = {"said": "which items get which prediction", "placed": "which items are in which group",
             "part": "which items get which prediction, score or group"}  # fmt: skip
    return next((word for key, word in words.items() if _differ(made_from, given, key)), None)


def _differ(made_from: Mapping[str, Any], given: Mapping[str, Any], key: str) -> bool:
    return key in made_from and key in given and made_from[key] != given[key]


def _pack(counts: Tally) -> bytes:
    file = io.BytesIO()
    arrays = {name: getattr(counts, name) for name in ARRAYS}
    arrays |= {name: getattr(counts, name) for name in MAYBE if getattr(counts, name) is not None}
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _read_tally(found: SessionDocument, arrays: Arrays) -> Tally:
    """Read the counts from their archive, and check their types, shapes and ranges."""
    n_groups, n_classes, n_bins = len(found.groups), len(found.classes), len(found.bins)
    group = arrays.take("group", "iu", (None,), low=0, high=n_groups - 1)
    shape, axes = group.shape, tuple(Axis(a.name, a.levels, a.ordered, a.edges) for a in found.axes)
    n_items = arrays.take("n_items", "iu", shape, low=1, high=MOST_ITEMS)
    n_labels = arrays.take("n_labels", "iu", shape, low=0, high=MOST_ITEMS)
    right = arrays.take("right", "f", shape, low=0, high=MOST_ITEMS)
    if (n_labels > n_items).any() or (right > n_labels + ROUGHLY).any() or len(np.unique(group)) < n_groups:
        raise arrays.refuse("the array n_labels does not fit n_items")
    probability, stratum, level = (arrays.found.get(name) for name in MAYBE)
    return Tally(
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
        score=arrays.take("score", "f", shape, low=0, high=MOST_ITEMS, nan=not found.bins),
        right=right,
        probability=probability if probability is None else arrays.take("probability", "f", (*shape, n_classes), low=0, high=MOST_ITEMS),
        positive=found.positive,
        stratum=stratum if stratum is None else arrays.take("stratum", "iu", shape, low=0, high=MOST_STRATA),
        axes=axes,
        level=level if level is None else _read_levels(arrays, n_groups, axes),
    )  # fmt: skip


def _read_levels(arrays: Arrays, n_groups: int, axes: Sequence[Axis]) -> Int[np.ndarray, "group axis"]:
    level: np.ndarray = arrays.take("level", "iu", (n_groups, len(axes)), low=0)
    if (level >= [len(axis.levels) for axis in axes]).any():
        raise arrays.refuse("groups have values that no attribute takes")
    return level
