"""How much of the space of attributes has labels of its own, and how much is known by its neighbours alone."""

from dataclasses import dataclass
from itertools import pairwise

from fewlabels.analyses.surface.result import Surface

STEPS = (0, 1, 5, 20)  # labels from which an arm is in the next band


@dataclass(frozen=True)
class Band:
    """Arms with about as many labels."""

    name: str
    n_arms: int
    n_items: int
    n_labels: int


def count_bands(surface: Surface) -> tuple[Band, ...]:
    """Count arms, their items and their labels by how many labels they have."""
    borders = (*pairwise(STEPS), (STEPS[-1], None))
    return tuple(_count_band(surface, low, high) for low, high in borders)


def _count_band(surface: Surface, low: int, high: int | None) -> Band:
    inside = [arm for arm in surface.arms if low <= arm.n_labels and (high is None or arm.n_labels < high)]
    name = f"{low} or more" if high is None else "none" if high == 1 else f"{low} to {high - 1}"
    return Band(name, len(inside), sum(arm.n_items for arm in inside), sum(arm.n_labels for arm in inside))
