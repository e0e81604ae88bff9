"""Strata: items of a group on which the models agree in the same way and have nearly the same scores."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.data.counts import NONE, CountTable
from fewlabels.models.logit.curve import to_logit

PerStratum = Float[np.ndarray, "stratum model"]


@dataclass(frozen=True, eq=False)
class JointStrata:
    """Strata of a pool that several models predict, and the labels in them."""

    models: tuple[str, ...]
    groups: tuple[str, ...]
    n_classes: int
    group: Int[np.ndarray, " stratum"]
    first: Int[np.ndarray, "stratum model"]  # for every model, the first one that predicts the same class
    predicted: Int[np.ndarray, "stratum model"]
    slot: Int[np.ndarray, "stratum model"]
    bin: Int[np.ndarray, "stratum model"]
    score: PerStratum  # mean; nan without scores
    n_items: Int[np.ndarray, " stratum"]
    outcomes: Float[np.ndarray, "stratum outcome"]  # labels by the first model that is right; the last: none is
    missed: Float[np.ndarray, " class"]  # true classes of the labelled items on which no model is right

    @cached_property
    def supporters(self) -> Int[np.ndarray, "stratum model"]:
        """How many models predict the class of a candidate; 0 for models that are not the first of their class."""
        place = np.arange(len(self.models))
        return (self.first[:, :, None] == place).sum(axis=1)

    @cached_property
    def is_unanimous(self) -> Bool[np.ndarray, " stratum"]:
        """Whether all models predict the same class."""
        return (self.first == 0).all(axis=1)

    @cached_property
    def can_miss(self) -> Bool[np.ndarray, " stratum"]:
        """Whether the true class may be one that no model predicts."""
        return (self.supporters > 0).sum(axis=1) < self.n_classes

    @cached_property
    def n_labels(self) -> Int[np.ndarray, " stratum"]:
        """Labelled items."""
        return self.outcomes.sum(axis=1).round().astype(np.int64)

    @cached_property
    def n_unlabelled(self) -> Int[np.ndarray, " stratum"]:
        """Unlabelled items."""
        return self.n_items - self.n_labels

    @cached_property
    def has_scores(self) -> Bool[np.ndarray, " model"]:
        """Which models have scores."""
        return ~np.isnan(self.score).any(axis=0)

    @cached_property
    def logits(self) -> PerStratum:
        """Logits of the mean scores; 0 for models without scores."""
        known = np.nan_to_num(self.score, nan=0.5).reshape(-1)
        return np.where(self.has_scores, to_logit(known).reshape(self.score.shape), 0.0)


def build_strata(
    tally: CountTable, n_classes: int, *, use_scores: bool = True, by_class: bool = True
) -> tuple[JointStrata, Int[np.ndarray, " entry"]]:
    """Sum a count table to strata of models' joint outcomes, of every class if `by_class`; also map entries to them."""
    columns = tally.models
    assert columns is not None, "a table of one model has no joint outcomes"
    slot = columns.slot if use_scores else np.full_like(columns.slot, NONE)
    said = columns.predicted if by_class else columns.first
    key = np.column_stack([tally.group, said, slot, columns.bin])
    found, where = np.unique(key, axis=0, return_inverse=True)
    where, m, n = where.reshape(-1), len(columns.models), len(found)
    n_items = np.bincount(where, weights=tally.n_items, minlength=n)
    score = np.stack([np.bincount(where, weights=columns.score[:, j], minlength=n) for j in range(m)], axis=1)
    outcomes, right = np.zeros((n, m + 1)), columns.find_right(tally.label)
    (known,) = np.nonzero(tally.label != NONE)
    np.add.at(outcomes, (where[known], right[known]), tally.n_labels[known])
    lost = known[right[known] == m]
    place = np.zeros(n, dtype=np.int64)
    place[where] = np.arange(len(where))
    strata = JointStrata(
        columns.models, tally.groups, n_classes, tally.group[place], columns.first[place], columns.predicted[place],
        columns.slot[place], columns.bin[place], score / n_items[:, None] if use_scores else np.full((n, m), np.nan), n_items.astype(np.int64), outcomes,
        np.bincount(tally.label[lost], weights=tally.n_labels[lost], minlength=len(tally.classes)).astype(np.float64),
    )  # fmt: skip
    return strata, where
