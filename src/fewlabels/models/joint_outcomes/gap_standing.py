"""Gaps between groups, of every model: how far its metric in a group is from that in the reference group."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import CountTable
from fewlabels.metrics.metric import Metric
from fewlabels.models.joint_outcomes.model_standing import ModelStanding


@dataclass(frozen=True, eq=False)
class GapStanding(ModelStanding):
    """Joint draws of the size of the gap between every other group and the reference group, of every model."""

    base: ModelStanding
    reference: str

    @property
    def models(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the models."""
        return self.base.models

    @property
    def others(self) -> tuple[str, ...]:
        """The groups but the reference."""
        return tuple(name for name in self.base.groups if name != self.reference)

    @property
    def groups(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the gaps."""
        return tuple(f"|{name} − {self.reference}|" for name in self.others)

    @property
    def is_about_pool(self) -> bool:
        """Are the gaps those on exactly these items?"""
        return self.base.is_about_pool

    @property
    def tally(self) -> CountTable:
        """Counts of the items."""
        return self.base.tally

    @property
    def metric(self) -> Metric:
        """The metric whose gaps these are."""
        return self.base.metric

    @property
    def is_lowest_best(self) -> bool:
        """The smallest gap is the best, whatever the metric."""
        return True

    def find_places(self, group: str) -> tuple[int, ...]:
        """Places of the two groups of a gap among the groups of the counts."""
        other = self.others[self.groups.index(group)]
        return (*self.base.find_places(other), *self.base.find_places(self.reference))

    @property
    def is_paired(self) -> bool:  # type: ignore[override]
        """Whether the models are compared on the same items."""
        return self.base.is_paired

    def count(self, model: int, group: str | None = None) -> tuple[int, int]:
        """Count the items and the labels of a model in the two groups of a gap, or in all."""
        names = self.base.groups if group is None else (self.others[self.groups.index(group)], self.reference)
        items, labels = zip(*(self.base.count(model, name) for name in names), strict=True)
        return sum(items), sum(labels)

    @cached_property
    def draws(self) -> Float[np.ndarray, "draw model group"]:
        """Joint draws of the sizes of the gaps."""
        drawn, at = self.base.draws, self.base.groups.index(self.reference)
        return np.abs(np.delete(drawn, at, axis=2) - drawn[:, :, [at]])

    @property
    def overall(self) -> Float[np.ndarray, "draw model"]:
        """Joint draws of the largest gap."""
        return self.draws.max(axis=2)
