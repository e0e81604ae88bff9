"""One call from predictions to a Surface."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewlabels.analyses.assessment import Assessment, assess_counts
from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.surface.attributes import require_few_values, resolve_attributes, warn_constant
from fewlabels.analyses.surface.result import Arm, Surface
from fewlabels.analyses.surface.uncertain_attributes import (
    SoftAssignment,
    Uncertain,
    assign_uncertain_attributes,
    fit_uncertain,
)
from fewlabels.data.aggregate import aggregate_pool
from fewlabels.data.checks import require_valid
from fewlabels.data.counts import STRATA, Cells, CountTable
from fewlabels.data.groups import Cross, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.sources import Frame
from fewlabels.data.tabulation import to_count_table
from fewlabels.distributions.belief import Conjugate, include_mean
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.metric import Reads, accuracy
from fewlabels.models.additive.design import build_additive_design
from fewlabels.models.additive.effects_summary import EffectsSummary, list_scales
from fewlabels.models.additive.fit import fit_additive
from fewlabels.models.additive.fitted_surface import FittedSurface, make_fitted_surface
from fewlabels.models.baselines import BETA_I, ESTIMATORS, warn_independent
from fewlabels.models.logit.joint import CellAccuracies
from fewlabels.models.logit.to_prior import build_prior_fit
from fewlabels.models.membership.fit import METHODS, Method
from fewlabels.models.membership.fractional_counts import round_together
from fewlabels.models.priors import PriorFit

DEFAULT = "smooth"
MOST_ARMS = 50_000
MAX_GRADIENT = 0.5  # largest gradient of the log evidence that counts as converged


@dataclass(frozen=True)
class PrecomputedPrior:
    """A prior of the surface's arms that was computed from the labels of all arms before."""

    everything: CellAccuracies
    rest: CellAccuracies | None
    summary: EffectsSummary | None
    name: str
    needs: tuple[str, ...] = ()
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Return the prior of each arm of the surface, without its own labels."""
        return self.learn(cells, reads, finite_pool=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
        """Return the precomputed prior of every arm of the surface."""
        prior_fit = build_prior_fit(cells, reads, self.everything, self.rest if finite_pool else None)
        worth = prior_fit.before.strength()
        return replace(prior_fit, trust=None if self.summary is None else replace(self.summary, worth=worth))


def surface(
    pool: Any,
    *,
    attributes: str | Sequence[str | Groups | Uncertain],
    model: str = DEFAULT,
    attribution: str | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    seed: int = 0,
) -> Surface:
    """Return a Surface of how good the model is for every combination of attributes that occurs, with intervals.

    Parameters
    ----------
    pool: Predictions, path, frame, dict of arrays or Ibis table
        The predictions; anything but `Predictions` is read by `Predictions.read`.
    attributes: str or sequence of str, Groups or Uncertain
        Columns; numeric columns with many values are cut into ranges. For other cuts give objects like
        `fl.ranges("age", 5)` and `fl.column("size", order=["S", "M", "L"])`, or words: `"ranges:age:5"`, `"bins:4"`,
        `"predicted"`. One string may name several, separated by commas. Attributes known only through classifiers are
        `fl.uncertain("scene")` or `"uncertain:scene"`, with a column of probabilities scene_VALUE for each value.
    model: str
        `"smooth"` (additive model with partial pooling), or a baseline: `"beta-i"`, `"constant"`, `"bern-gp"`,
        `"beta-gp"`, `"beta-gp-sl"`, `"beta-gp-slp"`.
    attribution: str
        How probabilities of uncertain attributes are calibrated: `"full"` (default), `"temperature"` or `"raw"`.
    level: float
        Probability that a credible interval contains the true value.
    finite_pool: bool
        Estimate the metric on exactly these items instead of the population they came from.
    seed: int
        Seed of the random draws.

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> light, rain = rng.choice(["day", "night"], 400), rng.choice(["dry", "wet"], 400)
    >>> right = rng.random(400) < np.where((light == "night") & (rain == "wet"), 0.4, 0.9)
    >>> label = np.where(np.arange(400) < 120, np.where(right, "a", "b"), None)
    >>> found = surface({"predicted": ["a"] * 400, "label": label, "light": light, "rain": rain}, attributes=("light", "rain"))
    >>> found.worst_first[0].arm
    {'light': 'night', 'rain': 'wet'}
    """
    pool = pool if isinstance(pool, Predictions) else Predictions.read(pool)
    if model != DEFAULT and model not in ESTIMATORS:
        raise InputError(f"surface: there is no model {model!r}; {did_you_mean(model, [DEFAULT, *ESTIMATORS])}")
    parts = resolve_attributes(pool, attributes)
    method = _choose_method(attribution, parts)
    if method is not None:
        if model != DEFAULT or finite_pool:
            raise InputError(
                "surface: uncertain attributes need the model smooth, without a finite pool: it is not known which items an arm has"
            )
        warnings = require_valid(pool)
        return _fit_uncertain_surface(pool, assign_uncertain_attributes(pool, parts, method, seed), level, warnings)
    by = Cross(tuple(part for part in parts if isinstance(part, Groups)))
    aggregated = aggregate_pool(pool, by, strata=STRATA if model == DEFAULT else (), most_groups=MOST_ARMS)
    warnings = require_valid(pool, aggregated)
    counts = to_count_table(aggregated)
    require_few_values(counts)
    return fit_surface(
        counts, model=model, level=level, finite_pool=finite_pool, seed=seed, warnings=warnings, frame=pool.frame,
        provenance=record(pool.source, inputs=pool.inputs, counts=counts),
    )  # fmt: skip


def fit_surface(
    counts: CountTable,
    *,
    model: str = DEFAULT,
    level: float = 0.95,
    finite_pool: bool = False,
    seed: int = 0,
    warnings: tuple[str, ...] = (),
    frame: Frame = "pandas",
    provenance: Provenance | None = None,
) -> Surface:
    """Fit a surface in one call to counts whose groups are the arms."""
    given, fitted = _fit_model(counts.cells(), model, seed, finite_pool=finite_pool)
    spec = AssessmentSpec(accuracy, given, level, finite_pool, 1, seed, MIN_DRAWS)
    found = assess_counts(
        counts, spec, warnings=(*warnings, *warn_constant(counts.axes)), frame=frame, provenance=provenance
    )
    return _make_surface(found, given, fitted)


def _fit_model(
    cells: Cells, model: str, seed: int, *, finite_pool: bool
) -> tuple[PrecomputedPrior, FittedSurface | None]:
    """Fit a model of the surface to the labels of all arms."""
    if model != DEFAULT:
        chances = ESTIMATORS[model](cells, seed)
        return PrecomputedPrior(chances, chances, None, model), None
    design = build_additive_design(cells)
    found = fit_additive(design.select_labelled(), design.priors)
    everything, rest = design.predict_arms(found, finite_pool=finite_pool)
    return PrecomputedPrior(
        everything, rest, EffectsSummary(design, found, np.zeros(cells.n)), model
    ), make_fitted_surface(design, found)


def _make_surface(found: Assessment, given: PrecomputedPrior, fitted: FittedSurface | None) -> Surface:
    """Make the surface that the call returns from the assessment of all arms."""
    cells = found.posterior.cells
    arms = tuple(
        Arm(
            {axis.name: axis.levels[at] for axis, at in zip(cells.axes, place, strict=True)}, row.n_items, row.n_labels,
            row.mean, row.low, row.high, row.p_worst or 0.0,
        )
        for row, place in zip(found.groups, cells.level.tolist(), strict=True)
    )  # fmt: skip
    health = {"converged": True} if fitted is None else _summarize_fit(fitted)
    return Surface(
        attributes=tuple(axis.name for axis in cells.axes),
        model=given.name,
        arms=arms,
        overall=found.overall,
        health=health,
        scales=() if fitted is None else list_scales(fitted.effects, fitted.fit),
        warnings=(
            *found.warnings,
            *(warn_independent(cells) if given.name == BETA_I else ()),
            *_warn_unconverged(health),
        ),
        level=found.level,
        finite_pool=found.finite_pool,
        axes=cells.axes,
        place=cells.level,
        chances=given.everything,
        fitted=fitted,
        source=found.source,
        frame=found.frame,
        provenance=found.provenance,
    )


def _summarize_fit(fitted: FittedSurface) -> dict[str, Any]:
    """Return the diagnostics of the fit of a surface."""
    found, effects = fitted.fit, fitted.effects
    return {
        "converged": bool(found.gradient_norm < MAX_GRADIENT),
        "slope": found.gradient_norm,
        "looks": found.n_evaluations,
        "terms": len(effects.block),
        "together": found.together if effects.pairs else None,  # probability
        "left_out": [[effects.axes[i].name for i in block] for block in effects.left_out if len(effects.axes) > 2],
    }


def _warn_unconverged(health: dict[str, Any]) -> list[str]:
    """Warn of a surface whose fit has not converged."""
    if health["converged"]:
        return []
    return [
        f"the fit of the scales of effects did not converge (gradient of the log evidence: {health['slope']:.1f}): intervals may "
        "be too wide or too narrow; use fewer attributes, or more labels"
    ]


def _choose_method(attribution: str | None, parts: Sequence[Groups | Uncertain]) -> Method | None:
    """Return the surface's calibration method of uncertain attributes; None without any."""
    if not any(isinstance(part, Uncertain) for part in parts):
        if attribution is not None:
            raise InputError(
                "attribution needs uncertain attributes, and there are none; mark them with uncertain:NAME or fl.uncertain(NAME)"
            )
        return None
    method = next((name for name in METHODS if name == (attribution or "full")), None)
    if method is None:
        raise InputError(f"surface: there is no attribution {attribution!r}; {did_you_mean(str(attribution), METHODS)}")
    return method


def _fit_uncertain_surface(
    pool: Predictions, fractions: SoftAssignment, level: float, warnings: tuple[str, ...]
) -> Surface:
    """Fit a surface to items with uncertain arms."""
    fitted, counts = fit_uncertain(fractions), fractions.counts
    posterior = fitted.posterior
    low, high = include_mean(posterior.mean, posterior.interval(level))
    draws = posterior.draw(np.random.default_rng(0), MIN_DRAWS)
    p_worst = np.bincount(draws.argmin(axis=1), minlength=len(low)) / MIN_DRAWS
    whole = draws @ (counts.n_items / counts.n_items.sum())
    names = [
        {axis.name: axis.levels[at] for axis, at in zip(fractions.axes, place, strict=True)}
        for place in fractions.level.tolist()
    ]
    figures = (round_together(counts.n_items), round_together(counts.n_labels), posterior.mean, low, high, p_worst)
    health = _summarize_fit(fitted)
    tails = np.quantile(whole, [(1 - level) / 2, (1 + level) / 2])
    mean = float(whole.mean())
    return Surface(
        attributes=tuple(axis.name for axis in fractions.axes),
        model=DEFAULT,
        arms=tuple(Arm(*row) for row in zip(names, *(column.tolist() for column in figures), strict=True)),
        overall=Estimate(mean, min(mean, float(tails[0])), max(mean, float(tails[1]))),
        health=health,
        scales=list_scales(fitted.effects, fitted.fit),
        warnings=(*warnings, *fractions.warnings, *_warn_unconverged(health)),
        level=level,
        finite_pool=False,
        axes=fractions.axes,
        place=fractions.level,
        chances=posterior,
        fitted=fitted,
        source=pool.source,
        frame=pool.frame,
        provenance=record(pool.source, inputs=pool.inputs, n_draws=MIN_DRAWS),
    )
