"""The three ways of labelling that the paper compares, and a fourth that explains its first.

Their UPrior is said to be Beta(1, 1) and is 0.5e-6 per side in their code, in effect the frequency; `FLAT` is what was
said, `UPRIOR` what was run.
"""

from dataclasses import dataclass

import fewlabels as fl
from fewlabels.active.acquisition import Policy
from fewlabels.active.policies import choose_policy
from fewlabels.models.priors import Flat, Prior


@dataclass(frozen=True)
class Method:
    """A prior, with random labels or with active ones."""

    name: str
    prior: Prior
    active: bool = False

    def choose(self, m: int = 1) -> Policy:
        """Return the policy: random, or Thompson sampling for the m groups sought."""
        return choose_policy(m) if self.active else fl.random


FREQUENCY = Flat(1e-6, name="frequency")
UPRIOR = Method("UPrior, 1e-6", FREQUENCY)
FLAT = Method("UPrior, flat", fl.flat())
IPRIOR = Method("IPrior", fl.from_scores())
ACTIVE = Method("IPrior+TS", fl.from_scores(), active=True)
ALL = (UPRIOR, FLAT, IPRIOR, ACTIVE)
COLUMN = {UPRIOR.name: 0, FLAT.name: 0, IPRIOR.name: 1, ACTIVE.name: 2}  # of the published row
