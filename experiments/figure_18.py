"""Prior strengths 2, 10 and 100 in the search for the least accurate classes."""

from collections.abc import Sequence

import fewlabels as fl
from experiments.methods import FREQUENCY
from experiments.options import Options, start
from experiments.pools import PAPER
from experiments.searches import Study, Way, make_page
from experiments.tables import Page
from fewlabels.active.policies import choose_policy

PRIORS = {2: fl.from_scores(), 10: fl.from_scores(10.0), 100: fl.from_scores(100.0)}  # by strength; 2 unless said


def list_ways(m: int) -> Sequence[Way]:
    """Return three strengths, and random labels without a prior."""
    active = (Way(f"IPrior+TS, strength {n}", choose_policy(m), prior) for n, prior in PRIORS.items())
    return (*active, Way("random, frequency", fl.random, FREQUENCY))


STUDY = Study(PAPER, list_ways, runs=1000, heavy=300)


def make(options: Options) -> Page:
    """Replay all strengths."""
    says = "The paper: “relatively robust to the prior strength”."
    return make_page(options, STUDY, "figure_18", "Figure 18: strength of the prior, least accurate classes", says)


if __name__ == "__main__":
    start("figure_18", make)
