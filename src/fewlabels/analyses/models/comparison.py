"""From the posterior of several models to the result: figures, differences and warnings."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.analyses.models.estimates import WHOLE, Scope, compare_scope, estimate_figures, list_pairs
from fewlabels.analyses.models.result import OVERALL, ModelComparison
from fewlabels.analyses.models.warnings import collect_warnings
from fewlabels.errors import InputError, did_you_mean, format_option, quote_name
from fewlabels.models.joint_outcomes.gap_standing import GapStanding
from fewlabels.models.joint_outcomes.model_standing import ModelStanding
from fewlabels.models.joint_outcomes.posterior import JointPosterior


def build_comparison(
    posterior: ModelStanding,
    spec: AssessmentSpec,
    *,
    rope: float,
    confidence: float,
    notes: tuple[str, ...] = (),
    per_group: bool = True,
    reference: str | None = None,
    **more: Any,
) -> ModelComparison:
    """Build the comparison of models from a posterior; `per_group` also estimates every group, `reference` the gaps to it."""
    scopes: list[tuple[ModelStanding, Scope]]
    scopes = [(posterior, scope) for scope in (_list_scopes(posterior) if per_group else [WHOLE])]
    if reference is not None:
        gaps = GapStanding(posterior, _require_group(reference, posterior.groups))
        scopes += [(gaps, (gap, gap)) for gap in gaps.groups]
    figures = tuple(row for standing, scope in scopes for row in estimate_figures(standing, scope, spec.level))
    choices = {"rope": rope, "confidence": confidence, "level": spec.level}
    pairs = list_pairs(posterior.models)
    differences = tuple(compare_scope(standing, pair, scope, **choices) for standing, scope in scopes for pair in pairs)
    tally, is_paired = posterior.tally, isinstance(posterior, JointPosterior)
    n_disagree = int(tally.n_items[tally.models.disagrees].sum()) if tally.models else 0
    n_items, n_labels = _count_items(posterior)
    result = ModelComparison(
        posterior.models, posterior.metric.name, tally.by if per_group else "all", rope, n_items, n_labels, n_disagree,
        figures, differences, spec.level, confidence, spec.prior.name, is_paired, spec.finite_pool,
        posterior.metric.worst == "highest", posterior=posterior, **more,
    )  # fmt: skip
    return replace(result, warnings=(*notes, *collect_warnings(result)))


def _count_items(posterior: ModelStanding) -> tuple[int, int]:
    """Count the comparison's items and labels: those that the models share, or those of all their tables."""
    if posterior.is_paired:
        return posterior.count(0)
    items, labels = zip(*map(posterior.count, range(len(posterior.models))), strict=True)
    return sum(items), sum(labels)


def _require_group(reference: str, groups: Sequence[str]) -> str:
    """Refuse to compare with a reference that is no group, or with a single group."""
    if len(groups) < 2:
        raise InputError(f"reference: gaps need at least two groups; name a column with {format_option('by')}")
    if reference not in groups:
        raise InputError(f"reference: there is no group {quote_name(reference)}; {did_you_mean(reference, groups)}")
    return reference


def _list_scopes(posterior: ModelStanding) -> list[tuple[str, str | None]]:
    """List the scopes of the comparison with their group: the whole pool first, where there are several."""
    if len(posterior.groups) == 1 and isinstance(posterior, JointPosterior):
        return [(posterior.groups[0], None)]
    return [(OVERALL, None), *((group, group) for group in posterior.groups if len(posterior.groups) > 1)]
