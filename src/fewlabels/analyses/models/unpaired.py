"""Several models on different items: every model by its own labels, independently of the others."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import NONE, CountTable
from fewlabels.metrics.metric import Metric
from fewlabels.models.joint_outcomes.model_standing import ModelStanding
from fewlabels.models.posterior import Posterior


@dataclass(frozen=True, eq=False)
class UnpairedPosterior(ModelStanding):
    """The posteriors of one metric of several models, each from items and labels of its own."""

    models: tuple[str, ...]
    parts: tuple[Posterior, ...]
    groups: tuple[str, ...]  # those that all tables have
    level: float
    is_paired: ClassVar[bool] = False

    @property
    def is_about_pool(self) -> bool:
        """Are the figures those on exactly these items?"""
        return self.parts[0].finite_pool

    @cached_property
    def tally(self) -> CountTable:
        """Items and labels of all models together, by the groups that all tables have; other items in none."""
        tallies = [part.evaluation.tally for part in self.parts]
        places = [
            np.array([self._find_group(name) for name in one.groups], dtype=np.int64)[one.group] for one in tallies
        ]
        group, n = np.concatenate(places), sum(len(one.group) for one in tallies)
        nothing = np.full(n, NONE)
        n_items, n_labels = (
            np.concatenate([getattr(one, name) for one in tallies]) for name in ("n_items", "n_labels")
        )
        return CountTable(
            tallies[0].by, self.groups, (), (), group, nothing, nothing, nothing, n_items, n_labels, np.full(n, np.nan), np.zeros(n)
        )  # fmt: skip

    def _find_group(self, name: str) -> int:
        """Return the place of a group among those that all unpaired tables have; NONE elsewhere."""
        return self.groups.index(name) if name in self.groups else NONE

    @property
    def metric(self) -> Metric:
        """The metric that is estimated."""
        return self.parts[0].metric

    def count(self, model: int, group: str | None = None) -> tuple[int, int]:
        """Count the items and the labels of a model's own table, in a group or in all."""
        tally = self.parts[model].evaluation.tally
        chosen = slice(None) if group is None else tally.group == tally.groups.index(group)
        return int(tally.n_items[chosen].sum()), int(tally.n_labels[chosen].sum())

    @cached_property
    def draws(self) -> Float[np.ndarray, "draw model group"]:
        """Draws of the metric of every model in every group; independent of each other."""
        drawn = [part.draws[:, [part.position(group) for group in self.groups]] for part in self.parts]
        return np.stack(_shuffle(drawn), axis=1)

    @cached_property
    def overall(self) -> Float[np.ndarray, "draw model"]:
        """Draws of the metric of every model over its own items."""
        return np.concatenate(_shuffle([part.overall.draw(np.random.default_rng(0), len(part.draws)) for part in self.parts]), axis=1)  # fmt: skip


def _shuffle(drawn: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Cut unpaired draws to equally many, in random order: the same seed must not make models move together."""
    n = min(map(len, drawn))
    return [values[np.random.default_rng([7, i]).permutation(len(values))[:n]] for i, values in enumerate(drawn)]
