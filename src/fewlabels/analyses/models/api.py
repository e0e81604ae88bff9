"""One call from the predictions of several models to a comparison: joined, counted, inferred and put in words."""

from collections.abc import Mapping, Sequence
from typing import Any

from fewlabels.analyses.assess import assess
from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.analyses.comparison import DEFAULT_CONFIDENCE, require_comparison_choices
from fewlabels.analyses.models.checks import check_models, choose_strata, require_choices, require_feasible
from fewlabels.analyses.models.comparison import build_comparison
from fewlabels.analyses.models.disagreements import list_disagreements
from fewlabels.analyses.models.result import ModelComparison
from fewlabels.analyses.models.unpaired import UnpairedPosterior
from fewlabels.analyses.overall_check import UNEVEN, UNEVEN_COMPARED
from fewlabels.analyses.provenance import record
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.groups import Bins, Groups, everything
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.model_join import (
    describe_other_values,
    names_models,
    open_models,
    require_models,
)
from fewlabels.data.parsing import resolve_bins, resolve_groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.tabulation import to_count_table
from fewlabels.distributions.difference import require_rope
from fewlabels.errors import InputError, join_names, quote_name
from fewlabels.metrics.metric import Cost, Metric, accuracy
from fewlabels.metrics.parsing import resolve_metric
from fewlabels.models.joint_outcomes.posterior import N_DRAWS, JointPosterior, infer_joint
from fewlabels.models.parsing import resolve_prior
from fewlabels.models.priors import Prior

UNPAIRED = "the models are compared on different items, each by its own labels: differences are much less certain than on the same items, and may come from the items"
CARRIED = "the labels of the earlier assessment count for every model, so they pull the models together; discount them if the models have changed since"


def compare_models(
    pools: Any,
    *,
    models: Sequence[str] | None = None,
    model: str | None = None,
    by: Groups | str | Sequence[Groups | str] = everything,
    metric: Metric | str = accuracy,
    prior: Prior | str | None = None,
    rope: float = 0.01,
    confidence: float = DEFAULT_CONFIDENCE,
    level: float = 0.95,
    finite_pool: bool = False,
    bins: Bins | str | int | None = None,
    labels: Any = None,
    unpaired: bool = False,
    reference: str | None = None,
    seed: int = 0,
    n_draws: int = N_DRAWS,
    **roles: Any,
) -> ModelComparison:
    """Compare several models on the same items with one set of labels: which is better, and by how much.

    Where two models predict the same class, both are right or both are wrong, so only labels of items on which they
    disagree tell them apart. Differences are of the later model minus the earlier one: new minus old.

    Parameters
    ----------
    pools: mapping, or one table
        Name of each model to its predictions (Predictions, path, frame, dict of arrays or Ibis table), joined by id. Or
        one table that holds several models, with `models` or `model`.
    models: sequence of str
        Names of the models in one wide table with the columns `predicted_NAME`, `score_NAME` or `p_NAME_CLASS`.
    model: str
        The column of one long table that names the model of each row; ids repeat.
    by: Groups, str or sequence of them
        The groups, from the columns of any of the tables; `predicted` and `bins` are those of the first model.
    metric: Metric or str
        An object like `fl.accuracy` or its word: accuracy, ece, recall, precision, f1, balanced-accuracy, mcc, tpr, ...
    prior: Prior or str
        `"calibrated"` (default) learns from the labels what the models' scores tell; `"flat"` ignores scores. With
        `unpaired` every prior of `assess`, also the JSON of an earlier assessment.
    rope: float
        Differences up to this size do not matter (region of practical equivalence).
    confidence: float
        A verdict is stated from this probability on; below, it is "not settled".
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Compare the models on exactly these items instead of the population they came from.
    bins: Bins, str or int
        Score bins inside calibration error: a number (equal width).
    labels: path, frame or dict of arrays
        A further table with the columns id and label, joined by id; it replaces labels in the predictions.
    unpaired: bool
        Compare tables of different items, such as last month's and this month's: each model by its own labels.
    reference: str
        A group: also compare how far every other group is from it, by model, as groups named `|GROUP − REFERENCE|`. The
        model with the smaller gap is the better one.
    seed: int
        Seed of the random draws.
    n_draws: int
        Number of random draws.
    **roles: object
        Column roles, as for `Predictions.read`; the same for all tables.

    >>> label = ["a", "b"] * 20 + [None] * 60
    >>> old = {"id": range(100), "predicted": ["a"] * 100, "label": label}
    >>> new = {"id": range(100), "predicted": ["a", "b"] * 50}
    >>> compare_models({"old": old, "new": new}).sentence
    'new is higher than old by more than 0.01, with probability >0.99'
    """
    require_comparison_choices(rope, confidence)
    by, metric, prior = resolve_groups(by), resolve_metric(metric), resolve_prior(prior)
    spec = AssessmentSpec(metric, prior, level, finite_pool, 1, seed, n_draws)
    require_choices(metric, prior, by, unpaired=unpaired)
    require_rope(rope, is_share=metric.is_share)
    if unpaired:
        return _compare_unpaired(pools, spec, by, rope, confidence, bins, labels, reference, roles)
    pool = open_models(pools, models=models, model=model, labels=labels, **roles)
    posterior, notes = infer_models(pool, by, spec, resolve_bins(bins))
    if {"predicted", "bins"} & {name.split(":")[0] for name in by.name.split(",")}:
        notes = (*notes, f"groups {by.name}: by what {pool.models[0]}, the first model, predicts and how sure it is")
    provenance = record(
        pool.source, inputs=pool.inputs, counts=posterior.tally, seed=seed, n_draws=len(posterior.overall)
    )
    return build_comparison(
        posterior, spec, rope=rope, confidence=confidence, notes=notes, provenance=provenance, frame=pool.frame,
        disagreements=list_disagreements(pool, by), reference=reference,
    )  # fmt: skip


def infer_models(
    pool: JointPredictions, by: Groups, spec: AssessmentSpec, bins: Bins | None = None
) -> tuple[JointPosterior, tuple[str, ...]]:
    """Count the items of the models to compare, and infer the metric's posterior; also return notes on the data."""
    metric, n_models = spec.metric, len(pool.models)
    by_class = "predicted" in metric.splits or "predicted" in by.name.split(",")
    counted = pool if by_class else pool.name_by_agreement()
    chosen = bins or (Bins() if "bin" in metric.splits else Bins(1))
    aggregated = aggregate_pool(counted, by, bins=chosen, strata=choose_strata(n_models))
    notes = check_models(pool, aggregated)
    notes += describe_other_values(pool, [name.removeprefix("column:") for name in by.name.split(",")])
    tally = to_count_table(aggregated)
    require_feasible(metric, tally, n_models)
    posterior = infer_joint(
        tally, metric.for_classes(tally.classes) if isinstance(metric, Cost) else metric, n_classes=len(pool.classes),
        use_scores=spec.prior.name != "flat", finite_pool=spec.finite_pool, level=spec.level, n_draws=spec.n_draws,
        seed=spec.seed,
    )  # fmt: skip
    return posterior, notes


def _compare_unpaired(
    pools: Any,
    spec: AssessmentSpec,
    by: Groups,
    rope: float,
    confidence: float,
    bins: Any,
    labels: Any,
    reference: str | None,
    roles: Mapping[str, Any],
) -> ModelComparison:
    """Compare models on different items, each with labels of its own."""
    if not names_models(pools):
        raise InputError("unpaired: give one table per model")
    require_models(list(pools))
    parts = {
        name: one if isinstance(one, Predictions) else Predictions.read(one, labels=labels, **roles)
        for name, one in pools.items()
    }
    choices = {"level": spec.level, "finite_pool": spec.finite_pool, "bins": bins, "n_draws": spec.n_draws}
    found = [
        assess(part, by=by, metric=spec.metric, prior=spec.prior, seed=spec.seed + i, **choices)
        for i, part in enumerate(parts.values())
    ]
    shared = [
        row.group for row in found[0].groups if all(row.group in {other.group for other in one.groups} for one in found)
    ]
    posterior = UnpairedPosterior(
        tuple(map(str, pools)), tuple(one.posterior for one in found), tuple(shared), spec.level
    )
    notes: tuple[str, ...] = (CARRIED,) if spec.prior.name == "earlier" else ()
    said = (f"{name}: {note}" for name, one in zip(pools, found, strict=True) for note in _list_notes(one))
    notes += tuple(dict.fromkeys(said))
    inputs = tuple(path for part in parts.values() for path in part.inputs)
    first = next(iter(parts.values()))
    provenance = record(
        join_names(part.source for part in parts.values()),
        inputs=inputs,
        seed=spec.seed,
        n_draws=len(posterior.overall),
    )
    return build_comparison(
        posterior,
        spec,
        rope=rope,
        confidence=confidence,
        notes=(UNPAIRED, *_describe_left_out(found, shared), *notes),
        provenance=provenance,
        frame=first.frame,
        reference=reference,
    )


def _list_notes(found: Assessment) -> list[str]:
    """List the warnings of one model's assessment for the comparison; its weighted overall figure takes no part in it."""
    return [UNEVEN_COMPARED if note.startswith(UNEVEN) else note for note in found.warnings]


def _describe_left_out(found: Sequence[Assessment], shared: Sequence[str]) -> tuple[str, ...]:
    """Say which groups are left out of the comparison, as not all models' tables have them."""
    names = dict.fromkeys(row.group for one in found for row in one.groups)
    lost = [quote_name(name) for name in names if name not in shared]
    is_cut = len(names) > 1 and lost
    return (f"groups that not all tables have are left out: {join_names(lost, most=6)}",) if is_cut else ()
