"""Estimation methods for groups: from labels alone, or from labels and calibrated scores.

Each returns posterior draws of any metric; the calibrated ones also have chains to diagnose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.calibration import SHAPES, Curves, Shape
from fewlabels.analyses.fairness.rates import RATES, Masses, Parts, Quantity, Rate, Values
from fewlabels.analyses.fairness.sample_size import Outlook, Prospect, Square
from fewlabels.analyses.fairness.strata import People, expect_unseen, round_out
from fewlabels.distributions.belief import Rng
from fewlabels.errors import InputError
from fewlabels.models.diagnostics import diagnose
from fewlabels.models.hmc import Effort, run_chains

N_CHAINS, N_DRAWS = 16, 4000
BUDGET = 40_000_000  # array elements drawn for all strata
TOLD = ("accuracy", "tpr", "fpr", "ppv", "npv")  # rates whose chains must converge
ENOUGH = 200  # rates diagnosed between batches; all of them are diagnosed at the end
FEWEST = 400  # least number of draws
Draws = Float[np.ndarray, "draw chain parameter"]


@runtime_checkable
class Sample(Protocol):
    """Posterior draws of the strata of a pool."""

    @property
    def n_chains(self) -> int:
        """Number of chains; draws are ordered by iteration, then chain."""
        ...

    @property
    def divergences(self) -> int:
        """Number of divergent transitions."""
        ...

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draws of a metric in every group, or in the rest of the pool outside each group."""
        ...

    def foresee(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> Prospect:
        """Forecast the width of the interval of a gap between these groups after more labels."""
        ...


@runtime_checkable
class Method(Protocol):
    """An estimation method."""

    @property
    def name(self) -> str:
        """Its name on the command line and in results."""
        ...

    def learn(self, people: People, rng: Rng, *, finite: bool) -> Sample:
        """Fit to the labels, and to the scores if the method uses them."""
        ...


@dataclass(frozen=True)
class Drawn:
    """Draws of the number of items and of positives in every stratum."""

    masses: Masses
    n_chains: int
    divergences: int
    chance: Values  # probability of the positive class in every stratum
    finite: bool

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Evaluate the metric in every draw."""
        return quantity.reckon(_take(quantity.gather(self.masses), rest=rest))

    def foresee(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> Prospect:
        """Forecast from the draws of the strata."""
        return self._outlook.foresee(draws, groups)

    @cached_property
    def _outlook(self) -> Outlook:
        return Outlook(self.masses.people, self.chance, self.finite)


@dataclass(frozen=True)
class Counted:
    """Labelled items only: a Beta posterior for every rate."""

    people: People
    pseudo: float  # prior pseudo-count of either outcome
    seed: int
    n_chains: int = 1
    divergences: int = 0

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draw from the Beta posterior; NaN without labels if the prior has no pseudo-counts."""
        if not isinstance(quantity, Rate):
            raise InputError(f"{quantity.name} needs scores; choose a method that uses them, for instance calibrated")
        people = self.people
        labelled = Masses(people, people.n_labels[None].astype(np.float64), people.n_positive[None].astype(np.float64))
        hits, tries = _take(quantity.gather(labelled), rest=rest)[0].T
        alpha, beta = hits + self.pseudo, tries - hits + self.pseudo
        known = alpha + beta > 0
        rng = np.random.default_rng([self.seed, rest, *quantity.name.encode()])  # the same draws on every call
        gammas = rng.standard_gamma(np.stack([alpha, beta]), size=(N_DRAWS, 2, len(hits)))
        both = gammas.sum(axis=1)
        return np.where(known, np.divide(gammas[:, 0], both, out=np.zeros_like(both), where=both > 0), np.nan)

    def foresee(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> Prospect:  # noqa: ARG002
        """The width falls with the root of labels plus pseudo-counts."""
        return Square(int(self.people.n_labels.sum()) + 2 * self.pseudo * len(self.people.groups))


@dataclass(frozen=True)
class Labels:
    """Labels alone: the beta-binomial of the papers, or the plain frequency without pseudo-counts."""

    name: str
    pseudo: float

    def learn(self, people: People, rng: Rng, *, finite: bool) -> Counted:  # noqa: ARG002
        """Count the labels."""
        return Counted(people, self.pseudo, int(rng.integers(2**32)))


@dataclass(frozen=True)
class Calibrating:
    """Labels and scores: hierarchical calibration curves by HMC, which predict the unlabelled items."""

    name: str
    shape: Shape
    effort: Effort = field(default_factory=Effort)
    curves: type[Curves] = Curves

    def learn(self, people: People, rng: Rng, *, finite: bool) -> Drawn:
        """Run the chains, and draw the positives of every stratum from the curves."""
        people = people if finite else round_out(people)
        curves = self.curves(self.shape, people)
        found = run_chains(curves, curves.start(rng, N_CHAINS), rng, self.effort, partial(_agree, curves))
        chance = curves.chance(_thin(curves, found.draws).reshape(-1, curves.n_parameters))
        return Drawn(_imagine(people, chance, rng, finite=finite), N_CHAINS, found.divergences, chance, finite)


def _take(parts: Parts, *, rest: bool) -> Parts:
    """Parts of each group, or of the rest of the pool outside it."""
    return parts.sum(axis=1, keepdims=True) - parts if rest else parts


def _agree(curves: Curves, draws: Draws) -> bool:
    """Have the chains of the groups' rates converged?"""
    kept, people = _thin(curves, draws), curves.people
    items = people.n_items[None].astype(np.float64)
    masses = Masses(people, items, items * curves.chance(kept.reshape(-1, curves.n_parameters)))
    rates = np.concatenate([RATES[name].reckon(RATES[name].gather(masses)) for name in TOLD], axis=1)
    some = np.linspace(0, rates.shape[1] - 1, min(rates.shape[1], ENOUGH)).astype(int)
    return diagnose(np.nan_to_num(rates[:, some]).reshape(*kept.shape[:2], -1)).is_good


def _thin(curves: Curves, draws: Draws) -> Draws:
    """Thin the draws to the budget."""
    n = int(np.clip(BUDGET // (draws.shape[1] * len(curves.people.group)), FEWEST // draws.shape[1], len(draws)))
    return draws[np.linspace(0, len(draws) - 1, n).astype(int)]


def _imagine(people: People, chance: Values, rng: Rng, *, finite: bool) -> Masses:
    """Draw positives per stratum: binomial for the unlabelled of a finite pool; for a population, sizes are drawn too."""
    if finite:
        items = people.n_items[None].astype(np.float64)
        return Masses(people, items, people.n_positive + rng.binomial(people.n_rest, chance).astype(np.float64))
    items = rng.standard_gamma(people.n_items + expect_unseen(people), size=chance.shape)
    return Masses(people, items, items * chance)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Calibrating("calibrated", Shape()),
        Labels("frequency", 0.0),
        Labels("beta-binomial", 1.0),
        Calibrating("bc", Shape(SHAPES["beta"])),
        Calibrating("bc-llo", Shape(SHAPES["llo"])),
        Calibrating("bc-temperature", Shape(SHAPES["temperature"])),
        Calibrating("bc-apart", Shape(SHAPES["beta"], pooled=False)),
        Calibrating("bc-llo-apart", Shape(SHAPES["llo"], pooled=False)),
        Calibrating("bc-temperature-apart", Shape(SHAPES["temperature"], pooled=False)),
    )
}
