"""Create a session's specification and journal from predictions, and read them again from its file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fewlabels.active.goals.goal import Goal, count_sought
from fewlabels.active.parsing import resolve_goal, resolve_policy
from fewlabels.active.policies import Policy
from fewlabels.analyses.assess import require_roles
from fewlabels.analyses.assessment import AssessmentSpec
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.parsing import resolve_bins, resolve_groups
from fewlabels.data.predictions import Predictions
from fewlabels.models.parsing import resolve_prior
from fewlabels.models.priors import Prior
from fewlabels.sessions.journal.events import Journal
from fewlabels.sessions.journal.memory import MemoryJournal
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.serialize import restore_choice
from fewlabels.sessions.spec import SessionSpec, create_spec, read_spec


def create_journal(
    path: str | Path | None,
    pool: Any,
    *,
    goal: Goal | str,
    by: Groups | str | Sequence[Groups | str],
    policy: Policy | str | None,
    prior: Prior | str | None,
    level: float,
    finite_pool: bool,
    bins: Bins | str | int | None,
    classes: Sequence[str],
    votes: int,
    seed: int,
) -> tuple[SessionSpec, Journal, Predictions]:
    """Check all choices, and write them with the items of the pool to a new journal, in memory without a path."""
    pool = _read_pool(pool)
    goal, by, prior = resolve_goal(goal), resolve_groups(by), resolve_prior(prior)
    policy, bins = resolve_policy(policy, goal), resolve_bins(bins)
    require_roles(pool, goal.metric, prior)
    AssessmentSpec(goal.metric, prior, level, finite_pool, count_sought(goal), seed)  # validates its arguments
    spec, items = create_spec(
        pool, goal=goal, by=by, policy=policy, prior=prior, level=level, finite_pool=finite_pool, seed=seed, bins=bins,
        classes=classes, votes=votes,
    )  # fmt: skip
    about, blobs = spec.write()
    if path is None:
        return spec, MemoryJournal(about, items, blobs), pool
    restore_choice(about["prior"], None, "prior")  # refuse a custom prior: it cannot be restored from the file
    return spec, SqliteJournal.create(path, about, items, blobs), pool


@contextmanager
def open_journal(
    path: str | Path, pool: Any, *, goal: Goal | None, policy: Policy | None, read_only: bool, accept_missing: bool
) -> Iterator[tuple[SessionSpec, Journal, Predictions | None]]:
    """Open an existing journal, and check it against the predictions, if given; close it if the block fails."""
    journal = SqliteJournal.open(path, read_only=read_only, accept_missing=accept_missing)
    try:
        spec = read_spec(journal.about, journal.blobs, goal=goal, policy=policy, where=path)
        spec.require_items(journal.count_items(), path)
        if pool is not None:
            pool = _read_pool(pool)
            spec.require_same_predictions(pool, path)
        yield spec, journal, pool
    except BaseException:
        journal.close()
        raise


def _read_pool(pool: Any) -> Predictions:
    return pool if isinstance(pool, Predictions) else Predictions.read(pool)
