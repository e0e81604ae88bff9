"""One call from predictions to a Surface."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewlabels.analyses.assessment import Assessment, Estimate, Question, judge
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.surface.attributes import cut_by, note_single, require_few_values
from fewlabels.analyses.surface.result import Arm, Surface
from fewlabels.analyses.surface.soft import Fractions, Uncertain, assign_uncertain, chart_uncertain
from fewlabels.data.aggregate import take_census
from fewlabels.data.checks import require_sound
from fewlabels.data.counts import STRATA, Cells, Tally, arrange
from fewlabels.data.groups import Cross, Groups
from fewlabels.data.predictions import Predictions
from fewlabels.data.sources import Frame
from fewlabels.distributions.belief import Conjugate, contain
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.metric import Reads, accuracy
from fewlabels.models.additive.design import lay_out, learn_effects
from fewlabels.models.additive.explanation import Portrait, list_scales
from fewlabels.models.additive.fitted import Chart, draw_chart
from fewlabels.models.baselines import APART, ESTIMATORS, warn_apart
from fewlabels.models.logit.joint import Chances
from fewlabels.models.logit.to_prior import teach
from fewlabels.models.membership.fit import METHODS, Method
from fewlabels.models.membership.fractional_counts import round_together
from fewlabels.models.priors import Lesson

DEFAULT = "smooth"
MOST_ARMS = 50_000
N_DRAWS = 2000
STEEP = 0.5  # largest gradient of the log evidence that counts as converged


@dataclass(frozen=True)
class Given:
    """A prior that was computed from the labels of all arms before."""

    everything: Chances
    rest: Chances | None
    portrait: Portrait | None
    name: str
    needs: tuple[str, ...] = ()
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Return the prior of each cell, without its own labels."""
        return self.learn(cells, reads, finite=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite: bool) -> Lesson:
        """Return the precomputed prior of every cell."""
        lesson = teach(cells, reads, self.everything, self.rest if finite else None)
        worth = lesson.before.strength()
        return replace(lesson, trust=None if self.portrait is None else replace(self.portrait, worth=worth))


def surface(
    pool: Any,
    *,
    attributes: Sequence[str | Groups | Uncertain],
    model: str = DEFAULT,
    attribution: str | None = None,
    level: float = 0.95,
    finite_pool: bool = False,
    seed: int = 0,
) -> Surface:
    """Estimate how good the model is for every combination of attributes that occurs, with credible intervals.

    `attributes` are columns; numeric columns with many values are cut into ranges. For other cuts give
    `fl.ranges("age", 5)`, `fl.column("size", order=["S", "M", "L"])`, `fl.bins(4)` or `fl.predicted`. `finite_pool`
    asks about exactly these items instead of the population they came from. `model` is smooth, or one of the
    baselines.

    Attributes known only through classifiers are given as `fl.uncertain("scene")`, with a column of probabilities
    scene_VALUE for each of its values; `attribution` says how these are calibrated: full (default), temperature or raw.

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
    parts = cut_by(pool, attributes)
    method = _choose_method(attribution, parts)
    if method is not None:
        if model != DEFAULT or finite_pool:
            raise InputError(
                "surface: uncertain attributes need the model smooth, without a finite pool: it is not known which items an arm has"
            )
        notes = require_sound(pool)
        return _map_uncertain(pool, assign_uncertain(pool, parts, method, seed), level, notes)
    by = Cross(tuple(part for part in parts if isinstance(part, Groups)))
    census = take_census(pool, by, strata=STRATA if model == DEFAULT else (), most_groups=MOST_ARMS)
    notes = require_sound(pool, census)
    counts = arrange(census)
    require_few_values(counts)
    return map_arms(
        counts, model=model, level=level, finite_pool=finite_pool, seed=seed, notes=notes, frame=pool.frame,
        provenance=record(pool.source, inputs=pool.inputs, counts=counts),
    )  # fmt: skip


def map_arms(
    counts: Tally,
    *,
    model: str = DEFAULT,
    level: float = 0.95,
    finite_pool: bool = False,
    seed: int = 0,
    notes: tuple[str, ...] = (),
    frame: Frame = "pandas",
    provenance: Provenance | None = None,
) -> Surface:
    """Fit a surface to counts whose groups are the arms."""
    given, chart = _learn(counts.cells(), model, seed, finite=finite_pool)
    question = Question(accuracy, given, level, finite_pool, 1, seed, N_DRAWS)
    found = judge(counts, question, notes=(*notes, *note_single(counts.axes)), frame=frame, provenance=provenance)
    return _assemble(found, given, chart)


def _learn(cells: Cells, model: str, seed: int, *, finite: bool) -> tuple[Given, Chart | None]:
    """Fit a model to the labels of all arms."""
    if model != DEFAULT:
        chances = ESTIMATORS[model](cells, seed)
        return Given(chances, chances, None, model), None
    layout = lay_out(cells)
    found = learn_effects(layout)
    everything, rest = layout.survey(found, finite=finite)
    return Given(everything, rest, Portrait(layout, found, np.zeros(cells.n)), model), draw_chart(layout, found)


def _assemble(found: Assessment, given: Given, chart: Chart | None) -> Surface:
    cells = found.posterior.cells
    arms = tuple(
        Arm(
            {axis.name: axis.levels[at] for axis, at in zip(cells.axes, place, strict=True)}, row.n_items, row.n_labels,
            row.mean, row.low, row.high, row.p_worst or 0.0,
        )
        for row, place in zip(found.groups, cells.level.tolist(), strict=True)
    )  # fmt: skip
    health = {"converged": True} if chart is None else examine(chart)
    return Surface(
        attributes=tuple(axis.name for axis in cells.axes),
        model=given.name,
        arms=arms,
        overall=found.overall,
        health=health,
        scales=() if chart is None else list_scales(chart.effects, chart.fit),
        warnings=(*found.warnings, *(warn_apart(cells) if given.name == APART else ()), *_warn(health)),
        level=found.level,
        finite_pool=found.finite_pool,
        axes=cells.axes,
        place=cells.level,
        chances=given.everything,
        chart=chart,
        source=found.source,
        frame=found.frame,
        provenance=found.provenance,
    )


def examine(chart: Chart) -> dict[str, Any]:
    """Return the diagnostics of the fit."""
    fit, effects = chart.fit, chart.effects
    return {
        "converged": bool(fit.gradient_norm < STEEP),
        "slope": fit.gradient_norm,
        "looks": fit.n_evaluations,
        "terms": len(effects.block),
        "together": fit.together if effects.pairs else None,  # probability
        "left_out": [[effects.axes[i].name for i in block] for block in effects.left_out if len(effects.axes) > 2],
    }


def _warn(health: dict[str, Any]) -> list[str]:
    if health["converged"]:
        return []
    return [
        f"the fit of the scales of effects did not converge (gradient of the log evidence: {health['slope']:.1f}): intervals may "
        "be too wide or too narrow; use fewer attributes, or more labels"
    ]


def _choose_method(attribution: str | None, parts: Sequence[Groups | Uncertain]) -> Method | None:
    """Return the calibration method of uncertain attributes; None without any."""
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


def _map_uncertain(pool: Predictions, fractions: Fractions, level: float, notes: tuple[str, ...]) -> Surface:
    """Fit a surface to items with uncertain arms."""
    chart, counts = chart_uncertain(fractions), fractions.counts
    relief = chart.relief
    low, high = contain(relief.mean, relief.interval(level))
    draws = relief.draw(np.random.default_rng(0), N_DRAWS)
    p_worst = np.bincount(draws.argmin(axis=1), minlength=len(low)) / N_DRAWS
    whole = draws @ (counts.n_items / counts.n_items.sum())
    names = [
        {axis.name: axis.levels[at] for axis, at in zip(fractions.axes, place, strict=True)}
        for place in fractions.level.tolist()
    ]
    figures = (round_together(counts.n_items), round_together(counts.n_labels), relief.mean, low, high, p_worst)
    health = examine(chart)
    tails = np.quantile(whole, [(1 - level) / 2, (1 + level) / 2])
    mean = float(whole.mean())
    return Surface(
        attributes=tuple(axis.name for axis in fractions.axes),
        model=DEFAULT,
        arms=tuple(Arm(*row) for row in zip(names, *(column.tolist() for column in figures), strict=True)),
        overall=Estimate(mean, min(mean, float(tails[0])), max(mean, float(tails[1]))),
        health=health,
        scales=list_scales(chart.effects, chart.fit),
        warnings=(*notes, *fractions.notes, *_warn(health)),
        level=level,
        finite_pool=False,
        axes=fractions.axes,
        place=fractions.level,
        chances=relief,
        chart=chart,
        source=pool.source,
        frame=pool.frame,
        provenance=record(pool.source, inputs=pool.inputs, n_draws=N_DRAWS),
    )
