"""How many arms, items and labels fall in each band of labels per arm."""

from dataclasses import dataclass
from itertools import pairwise

from fewlabels.analyses.surface.result import Surface

STEPS = (0, 1, 5, 20)  # lower ends of the bands, in labels


@dataclass(frozen=True)
class Band:
    """Arms with similar numbers of labels."""

    name: str
    n_arms: int
    n_items: int
    n_labels: int


def count_bands(surface: Surface) -> tuple[Band, ...]:
    """Return the coverage of a surface: how many arms, items and labels fall in each band of labels per arm."""
    borders = (*pairwise(STEPS), (STEPS[-1], None))
    return tuple(_count_band(surface, low, high) for low, high in borders)


def _count_band(surface: Surface, low: int, high: int | None) -> Band:
    """Count the arms, items and labels of one band of coverage."""
    inside = [arm for arm in surface.arms if low <= arm.n_labels and (high is None or arm.n_labels < high)]
    name = f"{low} or more" if high is None else "none" if high == 1 else f"{low} to {high - 1}"
    return Band(name, len(inside), sum(arm.n_items for arm in inside), sum(arm.n_labels for arm in inside))
