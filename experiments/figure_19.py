"""Prior strengths 2, 5 and 10 in the search for the least calibrated classes."""

from collections.abc import Sequence

import fewlabels as fl
from experiments.methods import FREQUENCY
from experiments.options import Options, start
from experiments.pools import CIFAR100, NEWS
from experiments.searches import Study, Way, make_page
from experiments.tables import Page
from fewlabels.active.policies import choose_policy

PRIORS = {2: fl.from_scores(), 5: fl.from_scores(5.0), 10: fl.from_scores(10.0)}  # by strength; 2 unless said


def list_ways(m: int) -> Sequence[Way]:
    """Return three strengths, and random labels with the weakest of them and without any."""
    active = (Way(f"IPrior+TS, strength {n}", choose_policy(m), prior) for n, prior in PRIORS.items())
    return (
        *active,
        Way("random, IPrior 2", fl.random, fl.from_scores()),
        Way("random, frequency", fl.random, FREQUENCY),
    )


STUDY = Study((CIFAR100, NEWS), list_ways, runs=1000, heavy=200, metric=fl.ece, known=True)


def make(options: Options) -> Page:
    """Replay all strengths."""
    says = (
        "The paper: “relatively robust to the prior strength”. Below, the same runs where labelled items count as known "
        "and the prior speaks for the rest only. ImageNet is left to Table 9."
    )
    return make_page(options, STUDY, "figure_19", "Figure 19: strength of the prior, least calibrated classes", says)


if __name__ == "__main__":
    start("figure_19", make)
