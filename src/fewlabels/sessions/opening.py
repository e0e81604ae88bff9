"""Create a session's specification and journal from predictions, and read them again from its file."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal
from fewlabels.active.study_design import StudyDesign
from fewlabels.analyses.requirements import require_roles
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.given_roles import GivenRoles, format_roles, naming_given_roles
from fewlabels.data.model_join import read_predictions
from fewlabels.data.predictions import Predictions
from fewlabels.data.sampling import SamplingRule
from fewlabels.errors import InputError
from fewlabels.sessions.creation import create_spec
from fewlabels.sessions.journal.events import Journal
from fewlabels.sessions.journal.memory import MemoryJournal
from fewlabels.sessions.journal.storage import create_stored, open_stored
from fewlabels.sessions.pool_fingerprint import compute_fingerprint, describe_difference, fingerprint_aggregate
from fewlabels.sessions.serialize import restore_choice
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.spec_file import read_spec, read_spec_roles, write_spec


def create_journal(
    path: str | Path | None, pool: Any, design: StudyDesign, classes: Sequence[str]
) -> tuple[SessionSpec, Journal, Predictions]:
    """Open a session's new journal, with the design and the items of the pool; in memory without a path."""
    pool = read_predictions(pool)
    require_roles(pool, design.goal.metric, design.prior)
    spec, items = create_spec(pool, design, classes=classes)
    about, blobs = write_spec(spec)
    if path is None:
        return spec, MemoryJournal(about, items, blobs), pool
    restore_choice(about["prior"], None, "prior")  # refuse a custom prior: it cannot be restored from the file
    return spec, create_stored(path, about, items, blobs), pool


@contextmanager
def open_journal(
    path: str | Path, pool: Any, *, goal: Goal | None, policy: Policy | None, read_only: bool, accept_missing: bool
) -> Iterator[tuple[SessionSpec, Journal, Predictions | None]]:
    """Open a session's existing journal, and check it against the predictions, if given; close it if the block fails."""
    journal = open_stored(path, read_only=read_only, accept_missing=accept_missing)
    try:
        spec = read_spec(journal.about, journal.blobs, goal=goal, policy=policy, where=path)
        spec.require_items(journal.count_items(), path)
        if pool is not None:
            with naming_given_roles(path, spec.given_roles):
                pool = read_predictions(pool, spec.given_roles)
            require_same_predictions(spec, pool, path)
        yield spec, journal, pool
    except BaseException:
        journal.close()
        raise


def read_given_roles(path: str | Path) -> GivenRoles | None:
    """Return the roles that an existing session's predictions were read with; None in files of earlier versions."""
    journal = open_stored(path, read_only=True)
    try:
        return read_spec_roles(journal.about, path)
    finally:
        journal.close()


def require_same_predictions(spec: SessionSpec, pool: Predictions, path: object) -> None:
    """Refuse to open a session with predictions other than those it was created from."""
    change = describe_difference(spec.fingerprint, _recompute_fingerprint(spec, pool))
    if change:
        raise InputError(
            f"{path} was made from other predictions ({spec.source}) than {pool.source}: {change}; {_advise_roles(spec, pool)}start a new session for these"
        )


def _advise_roles(spec: SessionSpec, pool: Predictions) -> str:
    """Say with which roles to read predictions that a session refuses, if those they were read with are other ones."""
    if spec.given_roles is None or pool.given_roles is None:
        return ""
    then, now = ({k: v for k, v in given.items() if k != "show"} for given in (spec.given_roles, pool.given_roles))
    if then == now:
        return ""
    return f"it was created with {format_roles(then)}, and these were read with {format_roles(now)}: read them as then, or "


def _recompute_fingerprint(spec: SessionSpec, pool: Predictions) -> dict[str, Any]:
    """Compute the fingerprint of the predictions to open a session with, from the same items as when it was created."""
    if "every" not in spec.fingerprint or not pool.has_integer_ids:
        return compute_fingerprint(pool, spec.design.arms)
    rule = SamplingRule(spec.fingerprint["every"], spec.fingerprint["seed"])
    return fingerprint_aggregate(aggregate_pool(pool, spec.design.arms, bins=spec.design.bins, rule=rule))
