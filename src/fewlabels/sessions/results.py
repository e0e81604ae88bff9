"""The results of a session: its assessment, the status of its goal, its disputes, and their provenance.

The store is locked only while a snapshot is taken: the posterior may take seconds.
"""

from dataclasses import replace
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from fewlabels.active.goals.goal import GoalStatus, describe, explain_exhausted_goal, get_remedy, get_stated_metric
from fewlabels.active.policies import name_policy
from fewlabels.analyses.assessment import Assessment, assess_counts
from fewlabels.analyses.comparison import DEFAULT_CONFIDENCE
from fewlabels.analyses.models.comparison import build_comparison
from fewlabels.analyses.models.result import ModelComparison
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.data.label_join import note_cannot_tell
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, choose_words
from fewlabels.metrics.metric import Metric
from fewlabels.models.joint_outcomes.model_standing import ModelStanding
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.answers import list_disputes
from fewlabels.sessions.posterior_cache import (
    LACKS_VOTES,
    PosteriorCache,
    Snapshot,
    take_random_sample,
    take_snapshot,
)
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.state import SessionState
from fewlabels.sessions.store import EventStore

VOTES_NOT_FORECAST = (
    "how many more items the goal takes is not predicted where several people label each item, because their mistakes are not "
    f"simulated; {choose_words('plan', 'fl.plan')} says how many it would take if every label were right"
)
PLAN_LABELS = "fewlabels.active.simulation.plan:plan_labels"  # imported on use: compiled code is slow to import


def record_provenance(spec: SessionSpec, pool: Predictions | None) -> Provenance:
    """Return the provenance of a session's results, as of now."""
    labels = f"asked for by the policy {name_policy(spec.design.policy)}, for the goal {spec.design.goal.name}"
    inputs = (spec.source,) if pool is None else pool.inputs
    return record(Path(spec.source).name, inputs=inputs, counts=spec.tally, seed=spec.design.seed, labels=labels)


def assess_labels(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, metric: Metric, pool: Predictions | None
) -> Assessment | ModelComparison:
    """Return the result of assessing a session's labels so far; of several models, their comparison."""
    with store.reading() as state:
        snapshot, notes = take_snapshot(spec, state), _list_label_warnings(spec, state)
        sample = take_random_sample(spec, state) if spec.design.votes == 1 else None  # votes are no true labels
    posterior, imputed = cache.get_posterior(snapshot), cache.impute_labels(snapshot)
    if posterior.models is not None:
        return _compare_models(spec, posterior.models, metric, notes, pool)
    return assess_counts(
        posterior.evaluation.tally, spec.design.specify_assessment(metric), warnings=notes, frame=spec.frame, imputed=imputed,
        provenance=record_provenance(spec, pool), posterior=posterior if metric == spec.design.goal.metric else None,
        sample=sample,
    )  # fmt: skip


def _compare_models(
    spec: SessionSpec, models: ModelStanding, metric: Metric, notes: tuple[str, ...], pool: Predictions | None
) -> ModelComparison:
    """Return the result of comparing several models by the labels so far."""
    goal = spec.design.goal
    if metric != goal.metric:
        raise InputError(f"metric {metric.name}: this session compares models by {goal.metric.name}; export its labels, and compare the models with them by other metrics")  # fmt: skip
    made, about = record_provenance(spec, pool), spec.design.specify_assessment(metric)
    rope, confidence = getattr(goal, "rope", 0.0), getattr(goal, "confidence", DEFAULT_CONFIDENCE)
    return build_comparison(
        models, about, notes=notes, provenance=made, frame=spec.frame, per_group=False, rope=rope, confidence=confidence
    )


def infer_goal_posterior(spec: SessionSpec, store: EventStore, cache: PosteriorCache) -> tuple[Snapshot, Posterior]:
    """Return a snapshot of a session's labels, and the posterior that its results on the goal come from."""
    with store.reading() as state:
        snapshot = take_snapshot(spec, state)
    return snapshot, cache.get_posterior(snapshot)


def describe_goal(spec: SessionSpec, snapshot: Snapshot, posterior: Posterior) -> GoalStatus:
    """Return the result on a session's goal, its current answer; not settled while items lack votes."""
    status = describe(spec.design.goal, posterior, spec.derive_rng(0))
    return replace(status, settled=False) if snapshot.lacks_votes else status


def describe_session(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, pool: Predictions | None
) -> dict[str, Any]:
    """Return the results of a session as plain data, as `status` shows them: counts, settings, current answer."""
    with store.reading() as state:
        snapshot, counts = take_snapshot(spec, state), _count_events(spec, state)
    posterior = cache.get_posterior(snapshot)
    goal, status = spec.design.goal, describe_goal(spec, snapshot, posterior)
    return {
        **counts, "goal": goal.name, "metric": get_stated_metric(goal).name, "by": spec.tally.by,
        "policy": name_policy(spec.design.policy), "prior": spec.design.prior.name,
        "settled": status.settled, "answer": {"sentence": status.sentence, **status.details},
        "obstacle": None if status.settled else _explain_unsettled(spec, snapshot, posterior),
        "labels_left": None if status.settled else describe_labels_left(spec, cache, snapshot, posterior),
        "votes": cache.describe_votes(snapshot), "provenance": record_provenance(spec, pool).to_dict(),
    }  # fmt: skip


def _explain_unsettled(spec: SessionSpec, snapshot: Snapshot, posterior: Posterior) -> str | None:
    """Return, as a result of a session, why more labels do not settle its goal; None if they may."""
    return LACKS_VOTES if snapshot.lacks_votes else explain_exhausted_goal(spec.design.goal, posterior)


def describe_labels_left(
    spec: SessionSpec, cache: PosteriorCache, snapshot: Snapshot, posterior: Posterior
) -> dict[str, Any] | None:
    """Return, as a result of a session, how many more labels settle the goal, as `plan` has it; None if none is left.

    Uncertain labels (votes) are not simulated, and that is said.
    """
    if not (posterior.left.any() or posterior.pending.any()):
        return None
    if spec.design.votes > 1:
        return {**dict.fromkeys(("n_more", "low", "high", "p_settled")), "runs": 0, "sentence": VOTES_NOT_FORECAST}
    return cache.remember("labels left", snapshot, lambda: _predict_labels_left(spec, posterior))


def _predict_labels_left(spec: SessionSpec, posterior: Posterior) -> dict[str, Any]:
    """Return how many more labels the goal takes, as plain data of the results."""
    plan = resolve_name(PLAN_LABELS)(posterior.evaluation.tally, posterior, spec.design)
    sentence = plan.sentence
    if plan.n_more is None:
        sentence = f"how many more labels the goal takes cannot be predicted yet; if that stays so, {get_remedy(spec.design.goal)}"
    return {
        "n_more": plan.n_more, "low": plan.low, "high": plan.high, "p_settled": plan.p_settled, "runs": plan.runs, "sentence": sentence,
    }  # fmt: skip


def describe_disputes(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, *, fresh: bool
) -> list[dict[str, Any]]:
    """Return, as a result of a session, the undecided items on which annotators disagree, with probabilities."""
    with store.reading() as state:
        snapshot, rows = take_snapshot(spec, state), list_disputes(state)
        disputed = [state.voted_items[name] for name in state.disputed]
    likely = [cache.class_probabilities(snapshot, item_votes, fresh=fresh) for item_votes in disputed]
    return [{**row, "likely": chances} for row, chances in zip(rows, likely, strict=True)]


def _count_events(spec: SessionSpec, state: SessionState) -> dict[str, Any]:
    """Count a session's items by the names of its results in `status`; pending items with votes count by their votes."""
    n_pending = sum(name not in state.voted_items for name in state.pending)
    return {
        "n_items": int(spec.tally.n_items.sum()), "n_labels": int(spec.tally.n_labels.sum()) + state.n_labels,
        "n_pending": n_pending, "n_skipped": len(state.skipped), "n_not_asked": len(state.waiting),
        "n_left": int(spec.count_left(state).sum()), "warnings": list(_list_label_warnings(spec, state)),
    }  # fmt: skip


def _list_label_warnings(spec: SessionSpec, state: SessionState) -> tuple[str, ...]:
    """List the warnings about a session's labels that its results carry."""
    notes = list(spec.notes)
    if spec.tally.n_labels.any():
        notes.append(
            f"labels that were there from the start: {spec.tally.n_labels.sum():,}; they count as drawn at random "
            f"within their groups; if they were not, start anew without them ({choose_words('--hide-labels', 'pool.hide_labels()')})"
        )
    if state.waiting:
        notes.append(
            f"labels that were not asked for: {len(state.waiting):,}; they are kept, but left out of every figure until "
            "their turn comes, because only items drawn at random represent their group"
        )
    if state.skipped:
        notes.append(note_cannot_tell(len(state.skipped)))
    return tuple(notes)
