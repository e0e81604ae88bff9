"""Play ways of labelling many times over, and keep every run: means alone would tell no error of a crossing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
from joblib import delayed

import fewlabels as fl
from experiments.pools import Dataset, read_pool, without_probabilities
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.active.simulation.parallel import call_single_threaded, spread
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.active.simulation.simulate import run_once
from fewlabels.data.groups import Groups

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Seed = np.random.SeedSequence
Found = TypeVar("Found")


@dataclass(frozen=True)
class Effort:
    """How often to play, from which seed, and how many at a time."""

    runs: int
    seed: int = 0
    jobs: int | None = None  # unless told, what joblib was told, or all cores


class Curve(NamedTuple):
    """A measure over label counts: every run of it."""

    name: str
    n_labels: Ints
    values: Floats  # (run, checkpoint)
    known: Floats | None = None  # the same where what is labelled counts as known, the prior only for the rest

    def read_known(self) -> "Curve":
        """Return the other reading, where there is one."""
        return self if self.known is None else self._replace(values=self.known)

    @property
    def mean(self) -> Floats:
        """Over runs."""
        return np.asarray(self.values.mean(axis=0))

    @property
    def se(self) -> Floats:
        """Standard error of the mean."""
        return np.asarray(self.values.std(axis=0, ddof=1) / np.sqrt(len(self.values)))


def lay_out(pool: Any, by: Groups = fl.predicted, *, probabilities: bool = False) -> LabelledPool:
    """Lay a labelled pool out for replays."""
    return make_labelled_pool(fl.Predictions.read(pool), by, probabilities=probabilities)


@cache
def lay_out_classes(folder: Path, dataset: Dataset, *, probabilities: bool = False) -> LabelledPool:
    """Lay a pool out by predicted class, once for all who ask."""
    pool = read_pool(folder, dataset)
    return lay_out(pool if probabilities else without_probabilities(pool), probabilities=probabilities)


def repeat(once: Callable[[Seed], Found], effort: Effort) -> list[Found]:
    """Call once per seed, in threads unless joblib is told otherwise: kernels let go of the interpreter."""
    first, *others = np.random.SeedSequence(effort.seed).spawn(effort.runs)
    found = call_single_threaded(once, first)  # compiles, where there is something to compile
    return [found, *spread((delayed(once)(seed) for seed in others), n_jobs=effort.jobs, prefer="threads")]


def replay(run: ReplayRun, measure: str, n_labels: Sequence[int] | Ints, effort: Effort, name: str = "") -> Curve:
    """Play a trial, and look at one measure at these label counts."""
    at = np.asarray(n_labels, dtype=np.int64)
    runs = repeat(lambda seed: run_once(run, at, seed)[measure], effort)
    return Curve(name, at, np.stack(runs))
