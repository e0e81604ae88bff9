"""Maximum-likelihood estimate of the joint distribution of attributes, from classifier outputs on all items.

A recalibrated classifier gives the likelihood ratio of its output under each attribute value. The joint distribution
that maximizes the likelihood of all outputs corrects for classifier noise: attributes are more strongly associated
than their predictions. A log-linear model with pairwise terms is fitted first; then, if it improves the likelihood of
held-out items, a free probability per arm. Errors of different classifiers are assumed independent; where they are
not, known attributes correct it (see `potential`).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.models.membership.arms import Arms
from fewlabels.models.membership.scores import LogScores
from fewlabels.models.membership.terms import Terms
from fewlabels.models.optimize import maximize_bfgs

MOST_ENTRIES, BLOCK = 40_000_000, 256  # items × arms in all, and items per block
RIDGE = 0.002  # ridge penalty per item, which keeps weights of poorly identified terms small
TOLERANCE = 0.5  # expected gain in log likelihood below which BFGS stops
PRIOR_ITEMS, ROUNDS = 300.0, 10  # pseudo-items of the pairwise model as a Dirichlet prior, and EM steps from there
TINY = 1e-30  # of likelihoods, in single precision
Weights = Float[np.ndarray, " term"]
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class Joint:
    """log P(a) of arms, up to a constant: weights of terms, plus a residual per arm."""

    weights: Weights
    rest: PerArm


@dataclass(frozen=True)
class _Evaluation:
    """Penalized log likelihood of weights, its gradient, and their distribution over arms."""

    value: float
    gradient: Weights
    chance: PerArm


@dataclass(frozen=True)
class _ItemLikelihoods:
    """Likelihood of the classifiers' outputs on every item under each arm."""

    likelihood: Float[np.ndarray, "item arm"]  # up to a factor for each item
    terms: Terms

    def __len__(self) -> int:
        return len(self.likelihood)

    def evaluate(self, at: Weights) -> _Evaluation:
        """Ridge-penalized log likelihood of the joint distribution's weights, and its gradient."""
        design = self.terms.design
        chance = _softmax_arms(design @ at)
        value, found = self.e_step(chance)
        ridge = RIDGE * len(self)
        gradient = design.T @ (found - len(self) * chance) - ridge * at
        return _Evaluation(value - ridge * float(at @ at) / 2, gradient, chance)

    def e_step(self, chance: PerArm) -> tuple[float, PerArm]:
        """Log likelihood of a distribution over arms, and the expected number of items in each (E-step)."""
        total = np.maximum(self.likelihood @ chance.astype(np.float32), TINY)
        return float(np.log(total, dtype=np.float64).sum()), chance * ((1 / total) @ self.likelihood)

    def precondition(self, evaluation: _Evaluation) -> Float[np.ndarray, "term term"]:
        """Inverse complete-data information on the joint distribution: gradient steps become those of EM."""
        design, chance = self.terms.design, evaluation.chance
        mean = chance @ design
        hessian = (design.T * chance) @ design - np.outer(mean, mean)
        return np.linalg.inv(hessian + RIDGE * np.eye(len(mean))) / len(self)


def estimate_joint(rng: np.random.Generator, log_ratios: LogScores, terms: Terms) -> Joint:
    """Estimate the joint distribution over arms by maximum likelihood, from attribute classifiers' outputs.

    `log_ratios` are log likelihood ratios of each value against the base rate. Large pools are subsampled.
    """
    some = rng.permutation(len(log_ratios[0]))[: max(1, MOST_ENTRIES // len(terms.arms))]
    likelihoods = _ItemLikelihoods(
        _relative_likelihoods(tuple(log_ratio[some].astype(np.float32) for log_ratio in log_ratios), terms.arms), terms
    )
    start = np.zeros(terms.design.shape[1])
    weights, _ = maximize_bfgs(likelihoods.evaluate, start, likelihoods.precondition, min_expected_gain=TOLERANCE)
    return Joint(weights, _find_residuals(likelihoods, _softmax_arms(terms.design @ weights)))


def _relative_likelihoods(log_ratios: LogScores, arms: Arms) -> Float[np.ndarray, "item arm"]:
    """Likelihood of each item under every arm of the joint distribution, relative to its maximum; in blocks."""
    out = np.empty((len(log_ratios[0]), len(arms)), dtype=np.float32)
    for start in range(0, len(out), BLOCK):
        logits = arms.sum_over_attributes(tuple(log_ratio[start : start + BLOCK] for log_ratio in log_ratios))
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=out[start : start + BLOCK])
    return out


def _find_residuals(likelihoods: _ItemLikelihoods, chance: PerArm) -> PerArm:
    """Residual of the joint distribution beyond pairs; zero unless it improves the likelihood of a held-out half."""
    train, held_out = (_ItemLikelihoods(half, likelihoods.terms) for half in np.array_split(likelihoods.likelihood, 2))
    if held_out.e_step(_run_em(train, chance))[0] <= held_out.e_step(chance)[0]:
        return np.zeros(len(chance))
    return np.log(_run_em(likelihoods, chance) + TINY) - np.log(chance + TINY)


def _run_em(likelihoods: _ItemLikelihoods, start: PerArm) -> PerArm:
    """Estimate a free joint distribution, a probability per arm, by EM, with a Dirichlet prior around the start."""
    chance = start
    for _ in range(ROUNDS):
        chance = (likelihoods.e_step(chance)[1] + PRIOR_ITEMS * start) / (len(likelihoods) + PRIOR_ITEMS)
    return chance / chance.sum()


def _softmax_arms(logits: PerArm) -> PerArm:
    """Return the joint distribution of arms with these log weights."""
    chance = np.exp(logits - logits.max())
    return chance / chance.sum()
