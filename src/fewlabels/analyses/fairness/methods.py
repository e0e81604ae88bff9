"""Ways to learn about groups of people: from labels alone, or from labels and scores.

Each says what it believes of any quantity, as draws; the calibrated ones also how well their chains agree.
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
BUDGET = 40_000_000  # numbers drawn for all strata
TOLD = ("accuracy", "tpr", "fpr", "ppv", "npv")  # what chains have to agree about
ENOUGH = 200  # rates to look at before drawing on; all of them are looked at in the end
FEWEST = 400  # draws, whatever that costs
Draws = Float[np.ndarray, "draw chain parameter"]


@runtime_checkable
class Sample(Protocol):
    """What is believed of a pool of people."""

    @property
    def n_chains(self) -> int:
        """How many chains the draws are of, chain after chain in every round."""
        ...

    @property
    def divergences(self) -> int:
        """Paths that were lost."""
        ...

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draws of a quantity in every group, or in everybody but that group."""
        ...

    def foresee(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> Prospect:
        """What more labels would say of a gap between these groups."""
        ...


@runtime_checkable
class Method(Protocol):
    """A way to learn about groups of people."""

    @property
    def name(self) -> str:
        """What it is called on the command line and in results."""
        ...

    def learn(self, people: People, rng: Rng, *, finite: bool) -> Sample:
        """Learn from labels, and from scores if it can."""
        ...


@dataclass(frozen=True)
class Drawn:
    """Draws of how many there are and how many are positive, in every stratum."""

    masses: Masses
    n_chains: int
    divergences: int
    chance: Values  # of being positive, in every stratum
    finite: bool

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Work it out in every draw."""
        return quantity.reckon(_take(quantity.gather(self.masses), rest=rest))

    def foresee(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> Prospect:
        """Ask what labels of others would say."""
        return self._outlook.foresee(draws, groups)

    @cached_property
    def _outlook(self) -> Outlook:
        return Outlook(self.masses.people, self.chance, self.finite)


@dataclass(frozen=True)
class Counted:
    """Labelled people only: a Beta for every rate, from the outcomes that it is a part of."""

    people: People
    pseudo: float  # outcomes of either kind beforehand
    seed: int
    n_chains: int = 1
    divergences: int = 0

    def value(self, quantity: Quantity, *, rest: bool = False) -> Values:
        """Draw from the Beta; without a label that counts, nothing is known, or as little as the prior says."""
        if not isinstance(quantity, Rate):
            raise InputError(
                f"{quantity.name} needs scores that were calibrated; choose another method than labels alone"
            )
        people = self.people
        labelled = Masses(people, people.n_labels[None].astype(np.float64), people.n_positive[None].astype(np.float64))
        hits, tries = _take(quantity.gather(labelled), rest=rest)[0].T
        alpha, beta = hits + self.pseudo, tries - hits + self.pseudo
        known = alpha + beta > 0
        rng = np.random.default_rng([self.seed, rest, *quantity.name.encode()])  # the same however often it is asked
        gammas = rng.standard_gamma(np.stack([alpha, beta]), size=(N_DRAWS, 2, len(hits)))
        both = gammas.sum(axis=1)
        return np.where(known, np.divide(gammas[:, 0], both, out=np.zeros_like(both), where=both > 0), np.nan)

    def foresee(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> Prospect:  # noqa: ARG002
        """Every label counts as much, and so does what is known beforehand."""
        return Square(int(self.people.n_labels.sum()) + 2 * self.pseudo * len(self.people.groups))


@dataclass(frozen=True)
class Labels:
    """Labels alone: the beta-binomial of the papers, or, without anything beforehand, the plain frequency."""

    name: str
    pseudo: float

    def learn(self, people: People, rng: Rng, *, finite: bool) -> Counted:  # noqa: ARG002
        """Count the labelled."""
        return Counted(people, self.pseudo, int(rng.integers(2**32)))


@dataclass(frozen=True)
class Calibrating:
    """Labels and scores: curves of all groups by Hamiltonian Monte Carlo, and what they say of the unlabelled."""

    name: str
    shape: Shape
    effort: Effort = field(default_factory=Effort)
    curves: type[Curves] = Curves

    def learn(self, people: People, rng: Rng, *, finite: bool) -> Drawn:
        """Run chains, and count who is positive: the labelled as they are, the others as the curve has it."""
        people = people if finite else round_out(people)
        curves = self.curves(self.shape, people)
        found = run_chains(curves, curves.start(rng, N_CHAINS), rng, self.effort, partial(_agree, curves))
        chance = curves.chance(_thin(curves, found.draws).reshape(-1, curves.n_parameters))
        return Drawn(_imagine(people, chance, rng, finite=finite), N_CHAINS, found.divergences, chance, finite)


def _take(parts: Parts, *, rest: bool) -> Parts:
    """Each group's parts, or those of everybody else."""
    return parts.sum(axis=1, keepdims=True) - parts if rest else parts


def _agree(curves: Curves, draws: Draws) -> bool:
    """Do the chains agree about the rates of each group?"""
    kept, people = _thin(curves, draws), curves.people
    items = people.n_items[None].astype(np.float64)
    masses = Masses(people, items, items * curves.chance(kept.reshape(-1, curves.n_parameters)))
    rates = np.concatenate([RATES[name].reckon(RATES[name].gather(masses)) for name in TOLD], axis=1)
    some = np.linspace(0, rates.shape[1] - 1, min(rates.shape[1], ENOUGH)).astype(int)
    return diagnose(np.nan_to_num(rates[:, some]).reshape(*kept.shape[:2], -1)).is_good


def _thin(curves: Curves, draws: Draws) -> Draws:
    """Keep as many draws as there is room for."""
    n = int(np.clip(BUDGET // (draws.shape[1] * len(curves.people.group)), FEWEST // draws.shape[1], len(draws)))
    return draws[np.linspace(0, len(draws) - 1, n).astype(int)]


def _imagine(people: People, chance: Values, rng: Rng, *, finite: bool) -> Masses:
    """Exactly these people: the unlabelled come out as they may. The population: strata, too, are as large as they may be."""
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
