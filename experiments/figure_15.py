"""Thompson sampling against ε-greedy and the Bayesian upper bound, flat prior."""

from collections.abc import Sequence

import fewlabels as fl
from experiments.options import Options, start
from experiments.pools import CIFAR10, PAPER
from experiments.searches import Study, Way, make_page
from experiments.tables import Page
from fewlabels.active.policies import choose_policy


def list_ways(m: int) -> Sequence[Way]:
    """Return the three, with Beta(1, 1)."""
    return (
        Way("Thompson", choose_policy(m), fl.flat()),
        Way("ε-greedy (0.1)", fl.epsilon_greedy, fl.flat()),
        Way("upper bound (97.5 %)", fl.upper_bound, fl.flat()),
    )


STUDY = Study((*PAPER, CIFAR10), list_ways, runs=1000, heavy=300, reach=0.5)


def make(options: Options) -> Page:
    """Replay all three."""
    says = (
        "The paper: Thompson sampling “always converges faster”. Its UCB is, in the code, the mean plus the variance; "
        "ours is the 97.5 % quantile that the text has. ε-greedy and the upper bound ask for one label at a time, "
        "Thompson sampling for one in each of the m."
    )
    return make_page(options, STUDY, "figure_15", "Figure 15: Thompson sampling, ε-greedy and the upper bound", says)


if __name__ == "__main__":
    start("figure_15", make)
