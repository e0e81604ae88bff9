"""Cases: a pool, a model, and a way to group."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.harness.pools import MODELS, read_without_probabilities
from fewlabels.data.names import MISSING, natural_order
from fewlabels.models.priors import Flat, FromScores, Prior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
KEPT = 0.05  # of the labels


@dataclass(frozen=True, eq=False)
class Case:
    """One pool under one model, cut into groups, all of its labels known."""

    pool: str
    model: str
    by: str
    frame: pa.Table
    groups: tuple[str, ...]
    group: Ints
    right: Bools
    score: Floats | None

    @cached_property
    def size(self) -> Ints:
        """Items per group."""
        return np.bincount(self.group, minlength=len(self.groups)).astype(np.int64)

    @cached_property
    def hits(self) -> Ints:
        """Right items per group."""
        return np.bincount(self.group, weights=self.right, minlength=len(self.groups)).astype(np.int64)

    @cached_property
    def truth(self) -> Floats:
        """Accuracy per group."""
        return np.asarray(self.hits / self.size)

    @cached_property
    def share(self) -> Floats:
        """Of the pool, per group."""
        return np.asarray(self.size / self.size.sum())

    @cached_property
    def score_sum(self) -> Floats:
        """Summed score per group; nan without scores."""
        if self.score is None:
            return np.full(len(self.groups), np.nan)
        return np.asarray(np.bincount(self.group, weights=self.score, minlength=len(self.groups)), dtype=np.float64)

    @property
    def n_kept(self) -> int:
        """How many labels a repeat keeps."""
        return max(1, round(KEPT * len(self.group)))

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The priors this pool allows."""
        return (Flat(),) if self.score is None else (Flat(), FromScores())

    @property
    def grouping(self) -> str:
        """Model and column."""
        return f"{self.model}{' · ' if self.model else ''}{self.by}"

    @property
    def title(self) -> str:
        """Pool, model and column."""
        return f"{self.pool}, {self.grouping}"


def read_cases(folder: Path) -> Iterator[Case]:
    """Yield the cases of every pool; of pools about people, those with the models that the papers have."""
    for path in sorted(folder.glob("*.parquet")):
        frame = read_without_probabilities(path)
        if "predicted" in frame.column_names:
            yield from _plain_cases(path.stem, frame)
        elif f"score_{MODELS[0]}" in frame.column_names:
            yield from _binary_cases(path.stem, frame)


def _plain_cases(pool: str, frame: pa.Table) -> Iterator[Case]:
    right = _text(frame, "predicted") == _text(frame, "label")
    score = frame["score"].to_numpy().astype(np.float64) if "score" in frame.column_names else None
    for by in ("predicted", "functionality", "target_ident"):
        if by in frame.column_names:
            yield _case(pool, "", by, frame, _text(frame, by), right, score)


def _binary_cases(pool: str, frame: pa.Table) -> Iterator[Case]:
    attribute = next(n for n in frame.column_names if n not in ("id", "label") and not n.startswith("score_"))
    for model in MODELS:
        chance = frame[f"score_{model}"].to_numpy().astype(np.float64)
        predicted = np.where(chance >= 0.5, "1", "0")
        right, score = predicted == _text(frame, "label"), np.where(chance >= 0.5, chance, 1 - chance)
        kept = frame.select(["id", "label", attribute, f"score_{model}"])
        yield _case(pool, model, "predicted", kept, predicted, right, score)
        yield _case(pool, model, attribute, kept, _text(frame, attribute), right, score)


def _case(pool: str, model: str, by: str, frame: pa.Table, key: Any, right: Bools, score: Floats | None) -> Case:
    groups = sorted(set(key.tolist()), key=natural_order)
    at = {name: i for i, name in enumerate(groups)}
    return Case(pool, model, by, frame, tuple(groups), np.array([at[k] for k in key.tolist()]), right, score)


def _text(frame: pa.Table, column: str) -> npt.NDArray[np.str_]:
    return np.array([MISSING if v is None else str(v) for v in frame[column].to_pylist()])
