"""The tools that `bench.peers` compares: each answers for the accuracy of every group, from the same labels."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from fairlearn.metrics import MetricFrame
from ppi_py import ppi_mean_ci, ppi_mean_pointestimate
from scipy.special import betaincinv
from sklearn.metrics import accuracy_score

import fewlabels as fl
from bench.harness.pools import read_columns
from fewlabels.models.priors import Prior

Floats = npt.NDArray[np.float64]
LEVEL, RESAMPLES = 0.95, 100
Z = 1.959963984540054


@dataclass(frozen=True, eq=False)
class Pool:
    """Predictions with every label, cut into groups."""

    name: str
    by: str
    names: tuple[str, ...]
    group: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.str_]
    score: Floats
    label: npt.NDArray[np.str_]

    @property
    def right(self) -> Floats:
        """1 where the prediction is right."""
        return (self.predicted == self.label).astype(np.float64)

    @property
    def size(self) -> npt.NDArray[np.int64]:
        """Items per group."""
        return np.bincount(self.group, minlength=len(self.names))

    @property
    def truth(self) -> Floats:
        """Accuracy per group, from all labels."""
        return np.asarray(np.bincount(self.group, weights=self.right) / self.size)


@dataclass(frozen=True)
class Answer:
    """What a tool says of every group; nan where it says nothing."""

    mean: Floats
    low: Floats
    high: Floats


Tool = Callable[[Pool, npt.NDArray[np.bool_], int], Answer]


def read_pool(folder: Path, name: str, by: str) -> Pool:
    """Read a pool; of those about people, by one of their models."""
    columns = read_columns(folder / f"{name}.parquet")
    predicted, label = columns["predicted"].astype(str), columns["label"].astype(str)
    names, group = np.unique(columns[by].astype(str), return_inverse=True)
    return Pool(name, by, tuple(names.tolist()), group, predicted, columns["score"].astype(np.float64), label)


def ask_fewlabels(prior: Prior) -> Tool:
    """Return fewlabels with a prior, from a plain table to its rows."""

    def ask(pool: Pool, known: npt.NDArray[np.bool_], seed: int) -> Answer:
        label = [name if is_known else None for name, is_known in zip(pool.label.tolist(), known, strict=True)]
        table = {
            "predicted": pool.predicted,
            "score": pool.score,
            "label": label,
            "cut": np.array(pool.names)[pool.group],
        }
        a = fl.assess(table, by=fl.column("cut"), prior=prior, level=LEVEL, seed=seed)
        rows = [a.row(name) for name in pool.names]
        return Answer(*(np.array([getattr(row, part) for row in rows]) for part in ("mean", "low", "high")))

    return ask


def ask_fairlearn(pool: Pool, known: npt.NDArray[np.bool_], seed: int) -> Answer:
    """MetricFrame with its bootstrap; a group without a label is not in it."""
    frame = MetricFrame(
        metrics=accuracy_score, y_true=pool.label[known], y_pred=pool.predicted[known],
        sensitive_features=pool.group[known], n_boot=RESAMPLES, ci_quantiles=[(1 - LEVEL) / 2, (1 + LEVEL) / 2],
        random_state=seed,
    )  # fmt: skip
    found = (frame.by_group, *frame.by_group_ci)
    return Answer(*(series.reindex(range(len(pool.names))).to_numpy(dtype=np.float64) for series in found))


def ask_ppi(pool: Pool, known: npt.NDArray[np.bool_], _: int) -> Answer:
    """Prediction-powered inference in every group: labels correct the mean score of the items without one."""
    right, out = pool.right, np.full((3, len(pool.names)), np.nan)
    for g in range(len(pool.names)):
        inside = pool.group == g
        data = right[inside & known], pool.score[inside & known], pool.score[inside & ~known]
        if len(data[0]) >= 2 and len(data[2]) >= 2:
            low, high = ppi_mean_ci(*data, alpha=1 - LEVEL)
            out[:, g] = [float(np.squeeze(x)) for x in (ppi_mean_pointestimate(*data), low, high)]
    return Answer(*np.clip(out, 0, 1))


def ask_jeffreys(pool: Pool, known: npt.NDArray[np.bool_], _: int) -> Answer:
    """Each group by its own labels, with Jeffreys' interval."""
    n, k = _count(pool, known)
    a, b = k + 0.5, n - k + 0.5
    tail = (1 - LEVEL) / 2
    low, high = (np.asarray(betaincinv(a, b, q), dtype=np.float64) for q in (tail, 1 - tail))
    return Answer(a / (a + b), low, high)


def ask_sklearn(pool: Pool, known: npt.NDArray[np.bool_], _: int) -> Answer:
    """scikit-learn's accuracy of each group, with the normal (Wald) interval around it."""
    out = np.full((3, len(pool.names)), np.nan)
    for g in range(len(pool.names)):
        inside = known & (pool.group == g)
        if inside.any():
            p = accuracy_score(pool.label[inside], pool.predicted[inside])
            half = Z * np.sqrt(p * (1 - p) / inside.sum())
            out[:, g] = p, p - half, p + half
    return Answer(*np.clip(out, 0, 1))


def _count(pool: Pool, known: npt.NDArray[np.bool_]) -> tuple[Floats, Floats]:
    n = np.bincount(pool.group[known], minlength=len(pool.names)).astype(np.float64)
    k = np.bincount(pool.group[known], weights=pool.right[known], minlength=len(pool.names))
    return n, np.asarray(k)


TOOLS: Mapping[str, Tool] = {
    "fewlabels, calibrated": ask_fewlabels(fl.calibrated()),
    "fewlabels, flat": ask_fewlabels(fl.flat()),
    "fairlearn, bootstrap": ask_fairlearn,
    "ppi-python": ask_ppi,
    "Jeffreys": ask_jeffreys,
    "scikit-learn, Wald": ask_sklearn,
}
