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
from fewlabels.models.membership.scores import Evidence
from fewlabels.models.membership.terms import Terms

MOST_ENTRIES, BLOCK = 40_000_000, 256  # items × arms in all, and items per block
STIFF = 0.002  # ridge penalty per item, which keeps weights of poorly identified terms small
MOST_STEPS, MOST_HALVINGS = 100, 12
CLOSE = 0.5  # expected gain in log likelihood below which BFGS stops
FIRM, ROUNDS = 300.0, 10  # pseudo-items of the pairwise model as a Dirichlet prior, and EM steps from there
TINY = 1e-30  # of likelihoods, in single precision
Weights = Float[np.ndarray, " term"]
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class Joint:
    """log P(a) of arms, up to a constant: weights of terms, plus a residual per arm."""

    weights: Weights
    rest: PerArm


@dataclass(frozen=True)
class _View:
    """Penalized log likelihood of weights, its gradient, and their distribution over arms."""

    value: float
    slope: Weights
    chance: PerArm


@dataclass(frozen=True)
class _Crowd:
    """Likelihood of the classifiers' outputs on every item under each arm."""

    likely: Float[np.ndarray, "item arm"]  # up to a factor for each item
    terms: Terms

    def __len__(self) -> int:
        return len(self.likely)

    def look(self, at: Weights) -> _View:
        """Ridge-penalized log likelihood of weights, and its gradient."""
        design = self.terms.design
        chance = _normalise(design @ at)
        value, found = self.explain(chance)
        stiff = STIFF * len(self)
        slope = design.T @ (found - len(self) * chance) - stiff * at
        return _View(value - stiff * float(at @ at) / 2, slope, chance)

    def explain(self, chance: PerArm) -> tuple[float, PerArm]:
        """Log likelihood of a distribution over arms, and the expected number of items in each (E-step)."""
        total = np.maximum(self.likely @ chance.astype(np.float32), TINY)
        return float(np.log(total, dtype=np.float64).sum()), chance * ((1 / total) @ self.likely)

    def precondition(self, chance: PerArm) -> Float[np.ndarray, "term term"]:
        """Inverse complete-data information: with it, gradient steps are those of expectation-maximisation."""
        design = self.terms.design
        mean = chance @ design
        bend = (design.T * chance) @ design - np.outer(mean, mean)
        return np.linalg.inv(bend + STIFF * np.eye(len(mean))) / len(self)


def estimate_joint(rng: np.random.Generator, signs: Evidence, terms: Terms) -> Joint:
    """Estimate the distribution over arms by maximum likelihood.

    `signs` are log likelihood ratios of each value against the base rate. Large pools are subsampled.
    """
    some = rng.permutation(len(signs[0]))[: max(1, MOST_ENTRIES // len(terms.arms))]
    crowd = _Crowd(_compare(tuple(sign[some].astype(np.float32) for sign in signs), terms.arms), terms)
    weights = _climb(crowd)
    return Joint(weights, _refine(crowd, _normalise(terms.design @ weights)))


def _compare(signs: Evidence, arms: Arms) -> Float[np.ndarray, "item arm"]:
    """Likelihood of each item under every arm, relative to its maximum; in blocks, to save memory."""
    out = np.empty((len(signs[0]), len(arms)), dtype=np.float32)
    for start in range(0, len(out), BLOCK):
        height = arms.add_up(tuple(sign[start : start + BLOCK] for sign in signs))
        height -= height.max(axis=1, keepdims=True)
        np.exp(height, out=out[start : start + BLOCK])
    return out


def _refine(crowd: _Crowd, chance: PerArm) -> PerArm:
    """Residual of log P(a) beyond pairwise terms; zero unless it improves the likelihood of a held-out half."""
    learnt, aside = (_Crowd(half, crowd.terms) for half in np.array_split(crowd.likely, 2))
    if aside.explain(_free(learnt, chance))[0] <= aside.explain(chance)[0]:
        return np.zeros(len(chance))
    return np.log(_free(crowd, chance) + TINY) - np.log(chance + TINY)


def _free(crowd: _Crowd, start: PerArm) -> PerArm:
    """Estimate a free probability per arm by expectation-maximisation, with a Dirichlet prior around the start."""
    chance = start
    for _ in range(ROUNDS):
        chance = (crowd.explain(chance)[1] + FIRM * start) / (len(crowd) + FIRM)
    return chance / chance.sum()


def _climb(crowd: _Crowd) -> Weights:
    """Maximize by BFGS, preconditioned with the steps of expectation-maximisation."""
    at = np.zeros(crowd.terms.design.shape[1])
    view = crowd.look(at)
    metric = crowd.precondition(view.chance)
    for _ in range(MOST_STEPS):
        step = metric @ view.slope
        if step @ view.slope < CLOSE:
            break
        for _ in range(MOST_HALVINGS):
            ahead = crowd.look(at + step)
            if ahead.value >= view.value:
                break
            step = step / 2
        metric = _update(metric, step, view.slope - ahead.slope)
        at, view = at + step, ahead
    return at


def _update(metric: Float[np.ndarray, "term term"], step: Weights, fall: Weights) -> Float[np.ndarray, "term term"]:
    """BFGS update of the inverse Hessian from a step and the decrease of the gradient along it."""
    bent = float(step @ fall)
    if bent <= 0:
        return metric
    moved = metric @ fall
    cross = np.outer(moved, step)
    return metric + (1 + fall @ moved / bent) * np.outer(step, step) / bent - (cross + cross.T) / bent


def _normalise(height: PerArm) -> PerArm:
    chance = np.exp(height - height.max())
    return chance / chance.sum()
