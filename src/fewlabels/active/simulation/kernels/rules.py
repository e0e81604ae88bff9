"""Rules: policies encoded as numbers for compiled code."""

from dataclasses import dataclass
from enum import IntEnum


class RuleKind(IntEnum):
    """Kind of policy."""

    RANDOM = 0
    PROPORTIONAL = 1
    EQUAL = 2
    NEYMAN = 3
    THOMPSON = 4
    TOP_TWO = 5
    EPSILON_GREEDY = 6
    UPPER_BOUND = 7


@dataclass(frozen=True)
class Rule:
    """A policy and its parameters; unused parameters are ignored."""

    kind: RuleKind
    m: int = 1  # groups labelled per draw of Thompson sampling: multi-play
    chance: float = 0.5  # of a challenger (top-two), of exploration (epsilon-greedy)
    level: float = 0.975  # of the upper bound


RANDOM = Rule(RuleKind.RANDOM)
PROPORTIONAL = Rule(RuleKind.PROPORTIONAL)
EQUAL = Rule(RuleKind.EQUAL)
NEYMAN = Rule(RuleKind.NEYMAN)
THOMPSON = Rule(RuleKind.THOMPSON)
TOP_TWO = Rule(RuleKind.TOP_TWO)
EPSILON_GREEDY = Rule(RuleKind.EPSILON_GREEDY, chance=0.1)
UPPER_BOUND = Rule(RuleKind.UPPER_BOUND)


def multi_play(m: int) -> Rule:
    """Rule of Thompson sampling that labels one item in each of the m best groups."""
    return Rule(RuleKind.THOMPSON, m=m)
