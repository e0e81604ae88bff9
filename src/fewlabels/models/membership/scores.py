"""Validation of attribute probabilities and known attributes; probabilities become centred logarithms."""

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.data.tolerances import ROUNDING, SUM_TOLERANCE
from fewlabels.errors import InputError, join_names

MIN_PROBABILITY = 1e-6  # smallest probability: a zero would exclude an arm regardless of other evidence
Scores = tuple[Float[np.ndarray, "item _level"], ...]  # per attribute
LogScores = tuple[
    Float[np.ndarray, "item _level"], ...
]  # log probabilities per attribute, minus their mean over values


def center_log_scores(scores: Scores, names: tuple[str, ...] = ()) -> LogScores:
    """Validate the scores (probabilities) of every uncertain attribute, and return their centred logarithms."""
    if not scores:
        raise InputError("there are no attributes: give the probabilities of at least one")
    n_items = [len(score) for score in scores]
    if len(set(n_items)) > 1:
        raise InputError(
            f"the attributes have different numbers of items ({join_names(n_items)}): give the same items, in the same order"
        )
    if not n_items[0]:
        raise InputError("there are no items: give the probabilities of at least one")
    names = names or tuple(f"attribute {axis + 1}" for axis in range(len(scores)))
    return tuple(_center_logs(_normalise_scores(score, name)) for name, score in zip(names, scores, strict=True))


def _center_logs(score: Float[np.ndarray, "item level"]) -> Float[np.ndarray, "item level"]:
    """Return the centred logarithms of the scores of an attribute."""
    logs = np.log(np.maximum(score, MIN_PROBABILITY))
    return logs - logs.mean(axis=1, keepdims=True)


def _normalise_scores(score: Float[np.ndarray, "item level"], name: str) -> Float[np.ndarray, "item level"]:
    """Normalize the rows of an attribute's scores; raise where sums differ from 1 by more than rounding."""
    if score.shape[1] == 0:
        raise InputError(f"{name} has no values: give one column of probabilities for each value")
    score, total = score.astype(np.float64), score.sum(axis=1, dtype=np.float64)
    faults = (
        (~np.isfinite(total), "a probability is missing or NaN; drop such items or fill them in"),
        ((score < -ROUNDING).any(axis=1), "a probability is negative; logits go through a softmax first"),
        (
            abs(total - 1) > SUM_TOLERANCE,
            "the probabilities add up to {total:.4g}, not 1; is a value missing, or are these percentages?",
        ),
    )
    for bad, words in faults:
        _refuse_invalid_scores(np.asarray(bad), name, words, total)
    return np.maximum(score, 0.0) / total[:, None]


def _refuse_invalid_scores(
    bad: Bool[np.ndarray, " item"], name: str, words: str, total: Float[np.ndarray, " item"]
) -> None:
    """Refuse scores of attributes, naming the first bad row."""
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"{name}, row {row + 1:,}: {words.format(total=total[row])}")


def require_gold(
    gold: Int[np.ndarray, "gold axis"], rows: Int[np.ndarray, " gold"], sizes: tuple[int, ...], n_items: int
) -> None:
    """Validate known attributes beside the scores: one row per item, with values that have a probability column."""
    if gold.shape[0] != len(rows) or gold.shape[1] != len(sizes):
        raise InputError(
            f"known attributes are a table of {gold.shape[0]:,} by {gold.shape[1]}, but there are {len(rows):,} rows and {len(sizes)} attributes; give one row of values for each item"
        )
    invalid = (gold < 0) | (gold >= np.array(sizes))
    if invalid.any():
        row, axis = (int(found[0]) for found in np.nonzero(invalid))
        raise InputError(
            f"known attributes, row {row + 1:,}: attribute {axis + 1} is {gold[row, axis]}, but its values are 0 to {sizes[axis] - 1}, the columns of its probabilities"
        )
    outside = (rows < 0) | (rows >= n_items)
    if outside.any():
        raise InputError(
            f"known attributes refer to item {rows[outside][0]}, but items are 0 to {n_items - 1:,}; count them from 0"
        )
    names, times = np.unique(rows, return_counts=True)
    if (times > 1).any():
        raise InputError(f"attributes of item {names[times > 1][0]:,} are given more than once; keep one of them")
