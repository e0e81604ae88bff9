"""What Laplace's approximation leaves out of the evidence: the arms' random effects, integrated by quadrature.

Given the terms, the random effect of each arm is one-dimensional and depends on the arm's own labels only, so it is
integrated by adaptive Gauss-Hermite quadrature (Pinheiro and Bates 1995). Laplace's approximation of these integrals
underestimates their scale where arms have one or two labels each (Breslow and Lin 1995).
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.polynomial.hermite import hermgauss

from fewlabels.models.additive.schur_complement import ArmElimination
from fewlabels.models.logit.random_effects import expit

NODES, WEIGHTS = hermgauss(11)
LOG_WEIGHTS = np.log(WEIGHTS) + NODES**2
MAX_ENTRIES = 2_000_000  # strata times nodes, for memory: above that the correction is left out
PerStratum = Float[np.ndarray, " stratum"]
PerArm = Float[np.ndarray, " labelled"]


@dataclass(frozen=True)
class Correction:
    """Log of the exact integrals over Laplace's, summed over arms, and its partial derivatives."""

    value: float
    by_log_scale: float  # of the arms, at fixed terms and random effects
    by_logit: PerStratum  # by the part of the logit that the terms make
    by_own: PerArm  # by the random effect at which Laplace's approximation is centred


def correct_evidence(
    algebra: ArmElimination, logits: PerStratum, own: PerArm, arm_precision: PerArm, arm_prior_precision: float
) -> Correction:
    """Correct the Laplace evidence by quadrature over each arm's random effect.

    `logits` are those of strata at the mode, where the random effects are `own`; `arm_precision` is the negative second
    derivative there.
    """
    seen, right = algebra.evidence, expit(logits)
    if len(logits) * len(NODES) > MAX_ENTRIES:
        return Correction(0.0, 0.0, np.zeros(len(logits)), np.zeros(len(own)))
    steps = NODES * np.sqrt(2 / arm_precision)[:, None]  # from the mode, (arm, node)
    moved = logits[:, None] + seen.share[:, None] * steps[algebra.arm]
    likely = seen.right[:, None] * (moved - logits[:, None])
    likely -= seen.total[:, None] * (np.logaddexp(0.0, moved) - np.logaddexp(0.0, logits)[:, None])
    effects = own[:, None] + steps
    log_mass = algebra.sum_by_arm(likely) - 0.5 * arm_prior_precision * (effects**2 - own[:, None] ** 2) + LOG_WEIGHTS
    top = log_mass.max(axis=1, keepdims=True)
    mass = np.exp(log_mass - top)
    total = mass.sum(axis=1, keepdims=True)
    excess = np.log(total[:, 0]) + top[:, 0] - 0.5 * np.log(np.pi)
    square = (mass / total * effects**2).sum(axis=1)
    expected = ((mass / total)[algebra.arm] * expit(moved)).sum(axis=1)
    skew = seen.share**2 * seen.total * right * (1 - right) * (1 - 2 * right)  # derivative of the precision
    return Correction(
        float(excess.sum()),
        float(arm_prior_precision * (square - own**2 - 1 / arm_precision).sum()),
        seen.total * (right - expected) + 0.5 * skew / arm_precision[algebra.arm],
        0.5 * algebra.sum_by_arm(seen.share * skew) / arm_precision,
    )
