"""Which values occur together, as far as classifiers tell: a joint distribution of attributes from all items.

What a classifier says of an item is a noisy sign of its attribute. Recalibrated, it says how much likelier that sign is
under each value; with these likelihoods, the joint distribution under which the signs of all items are most probable
is found, which undoes the noise: attributes that go together do so more than their predictions. First by pairs, then,
if that explains items that were left aside better, for every arm by itself. It takes the errors of different
classifiers for independent; where they are not, known attributes overrule it (see `gold`).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from fewlabels.models.membership.arms import Arms
from fewlabels.models.membership.scores import Evidence
from fewlabels.models.membership.terms import Terms

MOST_ENTRIES, BLOCK = 40_000_000, 256  # items times arms, and items at a time
STIFF = 0.002  # penalty on squared terms, per item: attributes that are hardly seen would be put to any use otherwise
MOST_STEPS, MOST_HALVINGS = 100, 12
CLOSE = 0.5  # expected gain in log likelihood that is not worth a step
FIRM, ROUNDS = 300.0, 10  # items that the distribution by pairs counts for, and steps from there to one for every arm
TINY = 1e-30  # of likelihoods, in single precision
Weights = Float[np.ndarray, " term"]
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class Joint:
    """log P(a) of arms, up to a constant: the weights of terms, and what is left to each arm."""

    weights: Weights
    rest: PerArm


@dataclass(frozen=True)
class _View:
    """The log likelihood of some weights, its slope, and the distribution over arms that they stand for."""

    value: float
    slope: Weights
    chance: PerArm


@dataclass(frozen=True)
class _Crowd:
    """All items: how likely what classifiers say is under each arm."""

    likely: Float[np.ndarray, "item arm"]  # up to a factor for each item
    terms: Terms

    def __len__(self) -> int:
        return len(self.likely)

    def look(self, at: Weights) -> _View:
        """Log likelihood of weights, held near zero."""
        design = self.terms.design
        chance = _normalise(design @ at)
        value, found = self.explain(chance)
        stiff = STIFF * len(self)
        slope = design.T @ (found - len(self) * chance) - stiff * at
        return _View(value - stiff * float(at @ at) / 2, slope, chance)

    def explain(self, chance: PerArm) -> tuple[float, PerArm]:
        """Log likelihood of a distribution over arms, and how many items are expected in each."""
        total = np.maximum(self.likely @ chance.astype(np.float32), TINY)
        return float(np.log(total, dtype=np.float64).sum()), chance * ((1 / total) @ self.likely)

    def precondition(self, chance: PerArm) -> Float[np.ndarray, "term term"]:
        """The covariance that weights would have if attributes were known: the steps of expectation-maximisation."""
        design = self.terms.design
        mean = chance @ design
        bend = (design.T * chance) @ design - np.outer(mean, mean)
        return np.linalg.inv(bend + STIFF * np.eye(len(mean))) / len(self)


def estimate_joint(rng: np.random.Generator, signs: Evidence, terms: Terms) -> Joint:
    """Find the distribution over arms that makes what classifiers say of all items most probable.

    Signs are logarithms: how much likelier it is under each value than on the whole. Of very many items, a sample does.
    """
    some = rng.permutation(len(signs[0]))[: max(1, MOST_ENTRIES // len(terms.arms))]
    crowd = _Crowd(_compare(tuple(sign[some].astype(np.float32) for sign in signs), terms.arms), terms)
    weights = _climb(crowd)
    return Joint(weights, _refine(crowd, _normalise(terms.design @ weights)))


def _compare(signs: Evidence, arms: Arms) -> Float[np.ndarray, "item arm"]:
    """How likely each item's signs are under every arm, compared with the likeliest; in blocks, to spare memory."""
    out = np.empty((len(signs[0]), len(arms)), dtype=np.float32)
    for start in range(0, len(out), BLOCK):
        height = arms.add_up(tuple(sign[start : start + BLOCK] for sign in signs))
        height -= height.max(axis=1, keepdims=True)
        np.exp(height, out=out[start : start + BLOCK])
    return out


def _refine(crowd: _Crowd, chance: PerArm) -> PerArm:
    """What log P(a) of every arm is beyond its pairs; nothing, unless one half of the items tells of the other."""
    learnt, aside = (_Crowd(half, crowd.terms) for half in np.array_split(crowd.likely, 2))
    if aside.explain(_free(learnt, chance))[0] <= aside.explain(chance)[0]:
        return np.zeros(len(chance))
    return np.log(_free(crowd, chance) + TINY) - np.log(chance + TINY)


def _free(crowd: _Crowd, start: PerArm) -> PerArm:
    """Let the probability of every arm go where items pull it, by expectation-maximisation."""
    chance = start
    for _ in range(ROUNDS):
        chance = (crowd.explain(chance)[1] + FIRM * start) / (len(crowd) + FIRM)
    return chance / chance.sum()


def _climb(crowd: _Crowd) -> Weights:
    """Start with the steps of expectation-maximisation and lengthen them as they prove too short (BFGS)."""
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
    """Correct the inverse curvature by how much the slope fell along a step."""
    bent = float(step @ fall)
    if bent <= 0:
        return metric
    moved = metric @ fall
    cross = np.outer(moved, step)
    return metric + (1 + fall @ moved / bent) * np.outer(step, step) / bent - (cross + cross.T) / bent


def _normalise(height: PerArm) -> PerArm:
    chance = np.exp(height - height.max())
    return chance / chance.sum()
