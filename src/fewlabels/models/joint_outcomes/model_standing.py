"""How models stand to each other, from joint draws of their figures: differences, P(best) and expected regret."""

from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import CountTable
from fewlabels.distributions.difference import DrawnDifference
from fewlabels.metrics.metric import Metric

TIE = 1e-12


class ModelStanding(ABC):
    """Joint draws of a metric of several models, per group and overall."""

    models: tuple[str, ...]
    groups: tuple[str, ...]
    is_paired: ClassVar[bool] = True  # are the models compared on the same items?

    @property
    @abstractmethod
    def is_about_pool(self) -> bool:
        """Are the figures those on exactly these items?"""

    def count(self, model: int, group: str | None = None) -> tuple[int, int]:  # noqa: ARG002
        """Count the items and the labels of a model, in a group or in all; the same ones for all models."""
        tally = self.tally
        chosen = slice(None) if group is None else np.isin(tally.group, self.find_places(group))
        return int(tally.n_items[chosen].sum()), int(tally.n_labels[chosen].sum())

    @property
    @abstractmethod
    def tally(self) -> CountTable:
        """Counts of the items."""

    @property
    @abstractmethod
    def metric(self) -> Metric:
        """The metric that is estimated."""

    @property
    @abstractmethod
    def draws(self) -> Float[np.ndarray, "draw model group"]:
        """Joint draws in every group."""

    @property
    @abstractmethod
    def overall(self) -> Float[np.ndarray, "draw model"]:
        """Joint draws over all items."""

    @property
    def is_lowest_best(self) -> bool:
        """Is the lowest figure the best, as of errors and costs?"""
        return self.metric.worst == "highest"

    def find_places(self, group: str) -> tuple[int, ...]:
        """Places, among the groups of the counts, of the items that a group's figures are about."""
        return (self.groups.index(group),)

    def scope(self, group: str | None = None) -> Float[np.ndarray, "draw model"]:
        """Joint draws of every model in a group, or overall."""
        return self.overall if group is None else self.draws[:, :, self.groups.index(group)]

    def difference(self, a: int, b: int, group: str | None = None) -> DrawnDifference:
        """The difference of models a and b in a group, or overall."""
        drawn = self.scope(group)
        return DrawnDifference(drawn[:, a] - drawn[:, b])

    def losses(self, group: str | None = None) -> Float[np.ndarray, "draw model"]:
        """How much worse every model is than the best one, in every draw."""
        drawn = self.scope(group)
        if self.is_lowest_best:
            return drawn - drawn.min(axis=1, keepdims=True)
        return drawn.max(axis=1, keepdims=True) - drawn

    def weigh_best(self, group: str | None = None) -> Float[np.ndarray, " model"]:
        """The probability of every model to be the best; ties are shared."""
        is_best = self.losses(group) < TIE
        return (is_best / is_best.sum(axis=1, keepdims=True)).mean(axis=0)

    def weigh_near_best(self, rope: float, group: str | None = None) -> Float[np.ndarray, " model"]:
        """The probability of every model to be within the rope of the best one."""
        return (self.losses(group) <= rope + TIE).mean(axis=0)

    def regret(self, group: str | None = None) -> Float[np.ndarray, " model"]:
        """The expected loss of choosing a model instead of the best one."""
        return self.losses(group).mean(axis=0)
