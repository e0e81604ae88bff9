"""Thompson sampling from the scores prior against Thompson sampling from a flat one."""

from collections.abc import Sequence

import fewlabels as fl
from experiments.options import Options, start
from experiments.pools import CIFAR10, PAPER
from experiments.searches import Study, Way, make_page
from experiments.tables import Page
from fewlabels.active.policies import choose_policy


def list_ways(m: int) -> Sequence[Way]:
    """Return both priors, of strength 2."""
    policy = choose_policy(m)
    return Way("UPrior+TS (flat)", policy, fl.flat()), Way("IPrior+TS (scores)", policy, fl.from_scores())


STUDY = Study((*PAPER, CIFAR10), list_ways, runs=1000, heavy=300, reach=0.5)


def make(options: Options) -> Page:
    """Replay both."""
    says = "The paper: informative priors help where they capture the order of classes (ImageNet), and rarely hurt."
    return make_page(options, STUDY, "figure_16", "Figure 16: informative and uninformative priors", says)


if __name__ == "__main__":
    start("figure_16", make)
