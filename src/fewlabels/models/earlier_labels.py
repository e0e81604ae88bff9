"""Labels of an earlier assessment, by group, predicted class and score, and how they are added to other counts."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, SEPARATOR, SPLITS, Cells, CountTable


@dataclass(frozen=True)
class EarlierLabels:
    """Labels of kinds of items: of one group, predicted class and range of scores."""

    group: tuple[str, ...]
    predicted: tuple[str | None, ...]
    score: tuple[float | None, ...]  # mean score of the kind's items
    n_labels: tuple[float, ...]
    right: tuple[float, ...]
    labels: tuple[Mapping[str, float], ...]  # by class

    @property
    def classes(self) -> set[str]:
        """Classes that were given as labels."""
        return {name for row in self.labels for name in row}

    def knows_any(self, cells: Cells) -> bool:
        """Is any of these groups among the earlier ones?"""
        return bool(set(self.group) & {_group_of(name) for name in cells.names}) or not self.group

    def add_to(self, cells: Cells, weight: float) -> Cells:
        """Return the cells with these labels added, each worth `weight`; labels of other groups are left out."""
        strata = cells.strata_or_cells
        found = self._find_strata(cells)
        (kept,) = np.nonzero(found != NONE)
        at, cell = found[kept], strata.cell[found[kept]]
        n, right = (weight * np.array(values, dtype=np.float64)[kept] for values in (self.n_labels, self.right))
        labels, place = cells.labels.copy(), {name: j for j, name in enumerate(cells.classes)}
        for c, row in zip(cell.tolist(), kept.tolist(), strict=True):
            for name, count in self.labels[row].items():
                if name in place:
                    labels[c, place[name]] += weight * count
        more = replace(
            strata, n_labels=_add_earlier(strata.n_labels, at, n), right=_add_earlier(strata.right, at, right)
        )
        return replace(
            cells,
            n_labels=_add_earlier(cells.n_labels, cell, n),
            right=_add_earlier(cells.right, cell, right),
            labels=labels,
            strata=more,
        )

    def _find_strata(self, cells: Cells) -> Int[np.ndarray, " row"]:
        """Return the stratum with the nearest score in each row's cells; NONE where there are no such cells."""
        strata = cells.strata_or_cells
        members: dict[tuple[str, str | None], list[int]] = {}
        for s, c in enumerate(strata.cell.tolist()):
            said = None if cells.predicted[c] == NONE else cells.classes[cells.predicted[c]]
            members.setdefault((_group_of(cells.names[c]), said), []).append(s)
        splits = any(said is not None for _, said in members)
        out = np.full(len(self.group), NONE)
        for i, (group, said, score) in enumerate(zip(self.group, self.predicted, self.score, strict=True)):
            near = members.get((group, said if splits else None), [])
            if near:
                distance = np.abs(strata.score[near] - (np.nan if score is None else score))
                out[i] = near[0 if np.isnan(distance).all() else int(np.nanargmin(distance))]
        return out


def list_evidence(tally: CountTable, earlier: EarlierLabels | None, weight: float) -> list[dict[str, Any]]:
    """Return the labels of a count table, and those of earlier assessments, discounted, as plain rows."""
    key, where = tally.assign_cells(SPLITS)
    n_items, score, n, right = (
        np.bincount(where, values, len(key)) for values in (tally.n_items, tally.score, tally.n_labels, tally.right)
    )
    labels: list[dict[str, float]] = [{} for _ in key]
    for at, label, count in zip(where.tolist(), tally.label.tolist(), tally.n_labels.tolist(), strict=True):
        if count and label != NONE:
            name = tally.classes[label]
            labels[at][name] = labels[at].get(name, 0.0) + count
    rows = [
        {
            "group": tally.groups[key[i, 0]], "predicted": None if key[i, 1] == NONE else tally.classes[key[i, 1]],
            "score": None if np.isnan(score[i]) else min(float(score[i] / n_items[i]), 1.0), "n_labels": float(n[i]),
            "right": float(right[i]), "labels": labels[i],
        }
        for i in np.nonzero(n)[0].tolist()
    ]  # fmt: skip
    return rows + ([] if earlier is None else _discount_labels(earlier, weight))


def _discount_labels(earlier: EarlierLabels, weight: float) -> list[dict[str, Any]]:
    """Return earlier labels as plain rows, each label worth `weight`."""
    return [
        {
            "group": earlier.group[i], "predicted": earlier.predicted[i], "score": earlier.score[i],
            "n_labels": weight * earlier.n_labels[i], "right": weight * earlier.right[i],
            "labels": {name: weight * n for name, n in earlier.labels[i].items()},
        }
        for i in range(len(earlier.group))
        if weight > 0
    ]  # fmt: skip


def _group_of(cell: str) -> str:
    """Return the group that an earlier labelled cell belongs to, from its name."""
    return cell.split(SEPARATOR, 1)[0]


def _add_earlier(
    values: np.ndarray, at: Int[np.ndarray, " more"], more: Float[np.ndarray, " more"]
) -> Float[np.ndarray, " cell"]:
    """Add earlier labels to the counts of the cells they belong to."""
    return values + np.bincount(at, more, len(values))
