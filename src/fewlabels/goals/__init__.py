"""What is one more label worth, what do the labels so far answer, and may we stop?

Goals follow 002, Table 1. They read Knowledge and return numbers per group; which group is then chosen is a policy's
business.
"""

from fewlabels.goals.comparison import Compare
from fewlabels.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.goals.extremes import FindBest, FindWorst
from fewlabels.goals.goal import Goal, Standing, count_sought, describe, find_obstacle, require_enough

__all__ = [
    "Compare",
    "Estimate",
    "Explore",
    "FindBest",
    "FindWorst",
    "Goal",
    "LeastCertain",
    "Standing",
    "count_sought",
    "describe",
    "find_obstacle",
    "require_enough",
]
