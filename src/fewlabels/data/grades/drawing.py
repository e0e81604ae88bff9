"""Draw items that people should grade next: at random among those of a cell without a grade."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ibis
import numpy as np
from jaxtyping import Int

from fewlabels.data.candidates import priority_expression
from fewlabels.data.grades.columns import GradedItems
from fewlabels.data.grades.counting import list_cell_keys
from fewlabels.data.grades.counts import GradeCounts
from fewlabels.data.groups import Groups
from fewlabels.data.names import ItemId, as_name
from fewlabels.errors import InputError, format_option


@dataclass(frozen=True)
class UngradedItem:
    """An item that people should grade next, its group, and what judges say of it."""

    id: ItemId
    group: str
    judged: tuple[float | None, ...]  # the grade of every judge

    def to_dict(self) -> dict[str, Any]:
        """Return the drawn item as plain data."""
        return {"id": self.id, "group": self.group, "judged": list(self.judged)}


def draw_ungraded(
    pool: GradedItems, by: Groups, counts: GradeCounts, wanted: Int[np.ndarray, " cell"], *, seed: int
) -> dict[int, list[UngradedItem]]:
    """Draw `wanted` items without a grade of people from every cell, the same ones for the same seed."""
    _require_unique_ids(pool)
    cut = by.cut(pool)
    bins = {f"bin{i}": key for i, key in enumerate(list_cell_keys(pool, counts.judges))}
    judged = {f"judged{i}": pool.judge(i) for i in range(len(counts.judges))}
    id = pool.items[pool.roles.id] if pool.roles.id else pool.row()
    row = {"id": id, "priority": priority_expression(as_name(id), pool.engine, seed)}
    items = pool.items.mutate(__fl_open=pool.grade.isnull()).select("__fl_open", **row, **cut.keys, **bins, **judged)
    items = items.filter(items["__fl_open"]).drop("__fl_open")
    place = ibis.row_number().over(ibis.window(group_by=[*cut.keys, *bins], order_by=["priority", "id"]))
    items = items.mutate(place=place).filter(lambda t: t.place < int(wanted.max(initial=0))).order_by("place", "id")
    found = pool.fetch_rows(items)
    return _draw_per_cell(found | cut.fill(found), list(cut.keys), counts, wanted)


def _require_unique_ids(pool: GradedItems) -> None:
    """Refuse to draw by an id that several items share: it does not identify the item to grade."""
    if pool.roles.id is None:
        return
    found = pool.measure({"n": pool.items.count(), "ids": pool.items[pool.roles.id].nunique()})
    if found["ids"] < found["n"]:
        raise InputError(f"next: column {pool.roles.id!r} does not name every item alone ({found['ids']:,} ids of {found['n']:,} items); name a column with unique ids with {format_option('id')}")  # fmt: skip


def _draw_per_cell(
    found: dict[str, list[Any]], keys: Sequence[str], counts: GradeCounts, wanted: Int[np.ndarray, " cell"]
) -> dict[int, list[UngradedItem]]:
    """Take as many of the drawn items as are wanted of each cell."""
    group_at = {key: g for g, key in enumerate(counts.group_keys)}
    cell_at = {key: c for c, key in enumerate(zip(counts.group.tolist(), *(judge.bin.tolist() for judge in counts.judges), strict=True))}  # fmt: skip
    taken: dict[int, list[UngradedItem]] = {}
    judges = range(len(counts.judges))
    for row, id in enumerate(found["id"]):
        group = group_at[tuple(found[key][row] for key in keys)]
        bins = [found[f"bin{i}"][row] for i in judges]
        cell = cell_at[(group, *(-1 if bin is None else bin for bin in bins))]
        mine = taken.setdefault(cell, [])
        if len(mine) < wanted[cell]:
            mine.append(UngradedItem(id, counts.groups[group], tuple(found[f"judged{i}"][row] for i in judges)))
    return taken
