"""Truths drawn from the prior: then 95 % must mean 95 %."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.coverage.cases import Bools, Case, Floats
from bench.coverage.trials import CLAIMS, LEVEL, Counts, Trial, contains, mass, start, try_out
from bench.harness.rows import Row
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.models.priors import Prior


@dataclass(frozen=True)
class Check:
    """Coverage of truths drawn from the prior, what the intervals hold of the belief, and the standard error."""

    case: Case
    prior: str
    claim: str
    pairs: int
    covered: float
    held: float
    error: float

    @property
    def is_within(self) -> bool:
        """Within three standard errors?"""
        return abs(self.covered - self.held) <= 3 * self.error

    def describe(self) -> Row:
        """Return the check as a row."""
        return {
            "table": "checks", "pool": self.case.pool, "by": self.case.grouping, "prior": self.prior, "claim": self.claim,
            "pairs": self.pairs, "covered": self.covered, "held": self.held, "error": self.error, "within": self.is_within,
        }  # fmt: skip


def check_finite(rng: np.random.Generator, case: Case, prior: Prior, repeats: int) -> Check:
    """θ from the prior, outcomes of all items from θ, labels at random; the truth is the share that is right."""
    n_labels = rng.multivariate_hypergeometric(case.size, case.n_kept, size=repeats)
    theta = start(case, prior).draw(rng, repeats)
    right = rng.binomial(n_labels, theta)
    truth = (right + rng.binomial(case.size - n_labels, theta)) / case.size
    trial = try_out(case, prior, Counts(n_labels, right), finite=True)
    return _check(trial, contains(trial.low, trial.high, truth), mass(trial))


def check_population(rng: np.random.Generator, case: Case, prior: Prior, repeats: int) -> Check:
    """The same with θ as truth, seen as the chance of a mistake: within 1e-16 of 1 doubles run out, near 0 they do not."""
    n_labels = rng.multivariate_hypergeometric(case.size, case.n_kept, size=repeats)
    before = start(case, prior)
    mistake = Beta(case.groups, before.beta, before.alpha).draw(rng, repeats)
    wrong = rng.binomial(n_labels, mistake)
    alpha, beta = before.alpha + n_labels - wrong, before.beta + wrong
    low, high = (end.reshape(wrong.shape) for end in Beta((), beta.ravel(), alpha.ravel()).interval(LEVEL))
    trial = Trial(case, prior, False, Counts(n_labels, n_labels - wrong), low, high)
    return _check(trial, (low <= mistake) & (mistake <= high), np.full(wrong.shape, LEVEL))


def _check(trial: Trial, hit: Bools, held: Floats) -> Check:
    error = float(np.sqrt((held * (1 - held)).sum()) / held.size)
    return Check(
        trial.case, trial.prior.name, CLAIMS[trial.finite], hit.size, float(hit.mean()), float(held.mean()), error
    )


def check_priors(cases: Sequence[Case]) -> Iterator[Check]:
    """One grouping and model of every pool, every prior, both claims; one that fails is made again, beside the first."""
    for i, case in enumerate(cases):
        rng, repeats = np.random.default_rng((1, i)), 20_000 // len(case.groups)
        few = min(repeats, max(200, 2_000_000 // len(case.group)))  # counting is slow where pools are large
        for prior in case.priors:
            for check, n in ((check_finite, few), (check_population, repeats)):
                found = check(rng, case, prior, n)
                yield found
                if not found.is_within:
                    yield check(rng, case, prior, 4 * n)
