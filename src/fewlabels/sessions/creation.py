"""Create the spec and the queue of a new session from predictions and the design of the study."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from fewlabels.active.goals.goal import require_enough_groups
from fewlabels.active.model_design import design_for_models
from fewlabels.active.study_design import StudyDesign
from fewlabels.analyses.models.checks import check_models, choose_strata
from fewlabels.analyses.requirements import count_for, require_answerable
from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.checks import require_valid
from fewlabels.data.documents.parsing import check
from fewlabels.data.given_roles import GivenRoles
from fewlabels.data.groups import Bins
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.predictions import Predictions
from fewlabels.data.prices import average_prices
from fewlabels.data.propensities import find_signs
from fewlabels.data.tabulation import to_count_table
from fewlabels.errors import InputError, choose_words
from fewlabels.metrics.metric import Metric
from fewlabels.models.inference import infer
from fewlabels.models.priors import Prior
from fewlabels.sessions.file_schema import MAX_VOTES, GivenRolesDocument
from fewlabels.sessions.pool_fingerprint import fingerprint_aggregate
from fewlabels.sessions.queue import ItemQueue, build_queue
from fewlabels.sessions.spec import SessionSpec


def create_spec(
    pool: Predictions, design: StudyDesign, *, classes: Sequence[str] = ()
) -> tuple[SessionSpec, ItemQueue]:
    """Create the spec of a new session: aggregate a pool once, and queue its unlabelled items in random order by groups."""
    require_valid_votes(pool, design.votes)
    design = replace(design, bins=design.bins or Bins())
    if isinstance(pool, JointPredictions):
        design = design_for_models(pool, design)
    goal, prior = design.goal, design.prior
    aggregated = aggregate_pool(
        pool,
        design.arms,
        bins=design.bins,
        rule=pool.choose_sampling_rule(design.seed),
        **_choose_counts(pool, goal.metric, prior),
    )
    notes = _check_pool(pool, aggregated)
    counts = to_count_table(aggregated)
    counts = counts.add_classes([name for name in dict.fromkeys(map(str, classes)) if name not in counts.classes])
    require_answerable(counts, goal.metric)
    require_enough_groups(goal, len(counts.groups))
    known = infer(counts, goal.metric, prior, finite_pool=design.finite_pool)
    goal.gain(known, known.expect())  # raises if the goal names groups that do not exist
    queue = build_queue(aggregated, counts.group, design.seed)
    if not len(queue):
        raise InputError(
            f"every item of {pool.source} is labelled: there is nothing to ask; assess it, or try {choose_words('--hide-labels', 'pool.hide_labels()')}"
        )
    spec = SessionSpec(
        tally=counts,
        n_askable=np.bincount(queue.group, minlength=len(counts.groups)),
        design=design,
        fingerprint=fingerprint_aggregate(aggregated),
        source=pool.source,
        notes=notes,
        graded=pool.has("agreement"),
        whole_ids=pool.has_integer_ids,
        frame=pool.frame,
        prices=() if design.price is None else average_prices(pool, design.arms, design.price, counts.groups),
        grades=pool.grades,
        given_roles=_check_given_roles(pool),
    )
    return spec, queue


def _check_given_roles(pool: Predictions) -> GivenRoles | None:
    """Return the roles that a session keeps; refuse those that its file cannot hold, such as text that is no Unicode."""
    if pool.given_roles is not None:
        check(
            GivenRolesDocument,
            dict(pool.given_roles),
            f"{pool.source}: its column roles",
            "give shorter or other names",
        )
    return pool.given_roles


def _choose_counts(pool: Predictions, metric: Metric, prior: Prior) -> dict[str, Any]:
    """Return the options of the query by which a session's creation counts; coarser for scores of many models."""
    found = count_for(pool, metric, prior)
    if isinstance(pool, JointPredictions) and found.get("strata"):
        found["strata"] = choose_strata(len(pool.models))
    return found


def _check_pool(pool: Predictions, aggregated: Aggregate) -> tuple[str, ...]:
    """Raise the first error of the pool that a session is created from; return warnings, also of labels that were not drawn at random."""
    if isinstance(pool, JointPredictions):
        return check_models(pool, aggregated)
    return require_valid(pool, aggregated) + tuple(finding.message for finding in find_signs(pool, aggregated))


def require_valid_votes(pool: Predictions, votes: int) -> None:
    """Refuse to create a session with a number of votes out of range, or several votes on grades."""
    if not 1 <= votes <= MAX_VOTES:
        raise InputError(
            f"votes must be between 1 and {MAX_VOTES}, got {votes}; often 2 or 3 annotators answer each item"
        )
    if votes > 1 and pool.has("agreement"):
        raise InputError(
            f"votes: {pool.source} has grades of agreement, and only classes can be voted on; leave votes at 1"
        )
