"""The results of a session: its assessment, the status of its goal, its disputes, and their provenance.

The store is locked only while a snapshot is taken: the posterior may take seconds.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

from fewlabels.active.goals.goal import GoalStatus, describe, explain_unreachable
from fewlabels.active.policies import name_policy
from fewlabels.analyses.assessment import Assessment, assess_counts
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.data.predictions import Predictions
from fewlabels.metrics.metric import Metric
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.answers import list_disputes
from fewlabels.sessions.posterior_cache import (
    LACKS_VOTES,
    PosteriorCache,
    Snapshot,
    count_events,
    list_label_warnings,
    take_snapshot,
)
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.store import EventStore


def record_provenance(spec: SessionSpec, pool: Predictions | None) -> Provenance:
    """Return the provenance of results, as of now."""
    labels = f"asked for by the policy {name_policy(spec.design.policy)}, for the goal {spec.design.goal.name}"
    inputs = (spec.source,) if pool is None else pool.inputs
    return record(Path(spec.source).name, inputs=inputs, counts=spec.tally, seed=spec.design.seed, labels=labels)


def assess_labels(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, metric: Metric, pool: Predictions | None
) -> Assessment:
    """Estimate the metric from the labels so far."""
    with store.reading() as state:
        snapshot, notes = take_snapshot(spec, state), list_label_warnings(spec, state)
    posterior, imputed = cache.get_posterior(snapshot), cache.impute_labels(snapshot)
    return assess_counts(
        posterior.evaluation.tally, spec.design.specify_assessment(metric), warnings=notes, frame=spec.frame, imputed=imputed,
        provenance=record_provenance(spec, pool), posterior=posterior if metric == spec.design.goal.metric else None,
    )  # fmt: skip


def infer_goal_posterior(spec: SessionSpec, store: EventStore, cache: PosteriorCache) -> tuple[Snapshot, Posterior]:
    """Return a snapshot of the labels so far, and the posterior of the goal's metric given these labels."""
    with store.reading() as state:
        snapshot = take_snapshot(spec, state)
    return snapshot, cache.get_posterior(snapshot)


def describe_goal(spec: SessionSpec, snapshot: Snapshot, posterior: Posterior) -> GoalStatus:
    """Return the current answer to the goal; it is not settled while items lack votes."""
    status = describe(spec.design.goal, posterior, spec.derive_rng(0))
    return replace(status, settled=False) if snapshot.lacks_votes else status


def describe_session(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, pool: Predictions | None
) -> dict[str, Any]:
    """Return counts, settings and the current answer as plain data."""
    with store.reading() as state:
        snapshot, counts = take_snapshot(spec, state), count_events(spec, state)
    posterior = cache.get_posterior(snapshot)
    goal, status = spec.design.goal, describe_goal(spec, snapshot, posterior)
    return {
        **counts, "goal": goal.name, "metric": goal.metric.name, "by": spec.tally.by,
        "policy": name_policy(spec.design.policy), "prior": spec.design.prior.name,
        "settled": status.settled, "answer": {"sentence": status.sentence, **status.details},
        "obstacle": None if status.settled else _find_obstacle(spec, snapshot, posterior),
        "votes": cache.describe_votes(snapshot), "provenance": record_provenance(spec, pool).to_dict(),
    }  # fmt: skip


def _find_obstacle(spec: SessionSpec, snapshot: Snapshot, posterior: Posterior) -> str | None:
    return LACKS_VOTES if snapshot.lacks_votes else explain_unreachable(spec.design.goal, posterior, spec.derive_rng(0))


def describe_disputes(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, *, fresh: bool
) -> list[dict[str, Any]]:
    """Return the undecided items on which annotators disagree, with class probabilities."""
    with store.reading() as state:
        snapshot, rows = take_snapshot(spec, state), list_disputes(state)
        disputed = [state.voted_items[name] for name in state.disputed]
    likely = [cache.class_probabilities(snapshot, item_votes, fresh=fresh) for item_votes in disputed]
    return [{**row, "likely": chances} for row, chances in zip(rows, likely, strict=True)]
