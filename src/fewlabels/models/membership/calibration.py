"""Each classifier by itself: how far it can be believed, and which values it favours, on items with known attributes."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import log_softmax, softmax

from fewlabels.models.membership.scores import Evidence
from fewlabels.models.membership.terms import contrast

COMMON = 1.0, 0.5  # what is expected of temperatures on the whole, and how far off
OWN = 0.25  # how far classifiers differ in it
BIAS = 1.0  # how far a classifier may favour a value, in logits
ROUNDS = 6  # from each classifier to all and back
MOST_STEPS, MOST_HALVINGS, CLOSE = 40, 20, 1e-6
Logs = Float[np.ndarray, "item level"]


@dataclass(frozen=True)
class Scale:
    """A classifier's logarithms are multiplied by the temperature, and the bias is added."""

    temperature: float
    bias: Float[np.ndarray, " level"]

    def apply(self, logs: Logs) -> Logs:
        """Recalibrate probabilities."""
        return np.asarray(softmax(self.temperature * logs + self.bias, axis=1))


def calibrate(
    evidence: Evidence, gold: Int[np.ndarray, "item axis"], *, biased: bool
) -> tuple[tuple[Scale, ...], float]:
    """Find the most probable temperatures, with a bias for every value if wanted, and what temperatures have in common.

    Classifiers that were made alike are too sure alike, so where little is known each leans on the others.
    """
    common = COMMON[0]
    for _ in range(ROUNDS):
        scales = tuple(_climb(log, gold[:, k], common, biased=biased) for k, log in enumerate(evidence))
        total = sum(scale.temperature for scale in scales) / OWN**2 + COMMON[0] / COMMON[1] ** 2
        common = total / (len(scales) / OWN**2 + COMMON[1] ** -2)
    return scales, common


def _climb(logs: Logs, known: Int[np.ndarray, " item"], common: float, *, biased: bool) -> Scale:
    """Take Newton's steps to the mode, which is the only one."""
    code = contrast(logs.shape[1]) if biased else np.zeros((logs.shape[1], 0))
    centre, spread = (np.array([first, *(rest for _ in code.T)]) for first, rest in ((common, 0.0), (OWN, BIAS)))
    design = np.concatenate([logs[:, :, None], np.broadcast_to(code, (*logs.shape, code.shape[1]))], axis=2)
    at = centre
    value, slope, bend = _look(design, known, at, centre, spread)
    for _ in range(MOST_STEPS):
        step = np.linalg.solve(bend, slope)
        if step @ slope < CLOSE:
            break
        for _ in range(MOST_HALVINGS):
            ahead = _look(design, known, at + step, centre, spread)
            if ahead[0] >= value:
                break
            step = step / 2
        at, (value, slope, bend) = at + step, ahead
    return Scale(float(at[0]), code @ at[1:])


def _look(
    design: Float[np.ndarray, "item level term"],
    known: Int[np.ndarray, " item"],
    at: Float[np.ndarray, " term"],
    centre: Float[np.ndarray, " term"],
    spread: Float[np.ndarray, " term"],
) -> tuple[float, Float[np.ndarray, " term"], Float[np.ndarray, "term term"]]:
    """The log posterior, its slope, and how it bends down."""
    height = design @ at
    log_chance = log_softmax(height, axis=1)
    chance = np.exp(log_chance)
    mean = np.einsum("il,ilt->it", chance, design)
    item, off = np.arange(len(known)), (at - centre) / spread
    value = float(log_chance[item, known].sum() - off @ off / 2)
    slope = (design[item, known] - mean).sum(axis=0) - off / spread
    bend = np.einsum("il,ilt,ilu->tu", chance, design, design) - mean.T @ mean + np.diag(spread**-2)
    return value, slope, bend
