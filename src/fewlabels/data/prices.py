"""Prices of labels: a column that says what the label of each item costs, averaged per group."""

from typing import Any

from fewlabels.data.groups import Groups
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError, did_you_mean


def average_prices(pool: Predictions, by: Groups, column: str, groups: tuple[str, ...]) -> tuple[float, ...]:
    """Return the mean price of a label in each group; refuse prices that are missing, or not positive numbers."""
    _require_prices(pool, column)
    cut = by.cut(pool)
    found = pool.count_by(cut.keys, {"price": pool.number(column).sum()})
    found |= cut.fill(found)
    keys: list[tuple[Any, ...]] = list(zip(*(found[key] for key in cut.keys), strict=True)) or [()]
    prices = {cut.name(key): price / n for key, price, n in zip(keys, found["price"], found["n"], strict=True)}
    return tuple(float(prices[group]) for group in groups)


def _require_prices(pool: Predictions, column: str) -> None:
    """Refuse a column that is missing, holds no numbers, or holds a price that is no positive number."""
    if column not in pool.columns():
        raise InputError(f"price: there is no column {column!r}; {did_you_mean(column, pool.columns())}")
    if not pool.is_number(column):
        raise InputError(
            f"price: column {column!r} holds no numbers; name a column with what a label of each item costs"
        )
    price = pool.number(column)
    hit = pool.find(price.isnull() | (price <= 0) | price.isinf(), value=price)
    if hit["row"]:
        row, value = hit["row"][0], hit["value"][0]
        shown = "none" if value is None else f"{value:g}"
        raise InputError(f"price: every price in column {column!r} must be more than 0, but row {row:,} has {shown}; say what a label there costs, or leave the item out")  # fmt: skip
