"""Audits of models that score people: how far from the truth a gap between two groups is after a few labels.

The privileged group is compared with everybody else. Labels are drawn at random from all people, and the truth is the
gap when everybody is labelled.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import delayed

from experiments.compiled_curves import CompiledCurves
from experiments.published_fairness import MODELS
from experiments.replays import Effort, Floats, Ints
from fewlabels.active.simulation.parallel import spread
from fewlabels.analyses.fairness.calibrated_method import CalibratedMethod
from fewlabels.analyses.fairness.group_metrics import RATES, Masses
from fewlabels.analyses.fairness.methods import METHODS, Method
from fewlabels.analyses.fairness.strata import EDGE, Strata
from fewlabels.analyses.fairness.stratification import BORDERS
from fewlabels.models.hmc import ChainSettings as Chains

PRIVILEGED = {
    "adult_race": "White", "adult_sex": "Male", "bank_age": "adult", "german_age": "adult", "german_sex": "male",
    "compas-r_race": "Caucasian", "compas-r_sex": "Male", "compas-vr_race": "Caucasian", "compas-vr_sex": "Male",
    "ricci_race": "W",
}  # fmt: skip
LARGER = {  # pools of several attributes, scored by other models; the papers do not have them
    "law_race": "White", "law_sex": "male", "dutch_sex": "male", "dutch_citizenship": "1", "celeba_male": "y",
    "celeba_young": "y",
}  # fmt: skip
LARGER_MODELS = ("lr", "gb", "rf", "nb")
RATES_ASKED = ("accuracy", "tpr", "fpr")
LEVEL, ROUNDING = (0.025, 0.975), 1e-9
BRIEF = Chains(warm_up=(30, 30, 40), n_draws=60, batches=1, acceptance=0.85)  # 960 draws; tests hold it to longer runs
CHUNK = 25  # runs that go to a worker at once


@dataclass(frozen=True, eq=False)
class Audit:
    """Everybody's stratum and truth."""

    strata: Strata  # nobody is labelled
    stratum: Ints
    positive: Ints

    @property
    def n_people(self) -> int:
        """How many there are."""
        return len(self.stratum)

    def label(self, n: int, rng: np.random.Generator) -> Strata:
        """Label some, chosen at random."""
        chosen = rng.permutation(self.n_people)[:n]
        return replace(self.strata, n_labels=self._count(chosen), n_positive=self._count(chosen[self.positive[chosen] == 1]))  # fmt: skip

    def measure_truth(self) -> Floats:
        """The gap in every rate when everybody is labelled."""
        everybody = self.label(self.n_people, np.random.default_rng(0))
        masses = Masses(everybody, everybody.n_items[None].astype(float), everybody.n_positive[None].astype(float))
        return np.array([_subtract(RATES[name].evaluate(RATES[name].gather(masses)))[0] for name in RATES_ASKED])

    def _count(self, items: Ints) -> Ints:
        return np.bincount(self.stratum[items], minlength=len(self.strata.group))


@cache
def read_audit(folder: Path, pool: str, model: str) -> Audit:
    """Read a pool of people, as one of its models scores them."""
    source, attribute = pool.split("_")
    table = pd.read_parquet(folder / f"fair_{source if pool in LARGER else pool}.parquet")
    privileged = (PRIVILEGED | LARGER)[pool]
    score, other = table[f"score_{model}"].to_numpy(float), (table[attribute] != privileged).to_numpy(int)
    said = (score >= 0.5).astype(int)
    key = (2 * other + said) * len(BORDERS) + np.digitize(score, BORDERS[1:-1])
    found, stratum = np.unique(key, return_inverse=True)
    n_items = np.bincount(stratum)
    cell, nobody = found // len(BORDERS), np.zeros(len(found), dtype=np.int64)
    strata = Strata(
        attribute, (privileged, "others"), "1", cell // 2, cell % 2,
        np.clip(np.bincount(stratum, score) / n_items, EDGE, 1 - EDGE), n_items, nobody, nobody,
    )  # fmt: skip
    return Audit(strata, stratum, table["label"].to_numpy().astype(int))


def list_models(pool: str) -> tuple[str, ...]:
    """The models that score a pool."""
    return LARGER_MODELS if pool in LARGER else MODELS


def hasten(method: Method) -> Method:
    """Let a method run as briefly as tens of thousands of fits need."""
    if not isinstance(method, CalibratedMethod):
        return method
    return replace(method, effort=BRIEF, curves=CompiledCurves)


@dataclass(frozen=True)
class Found:
    """Errors, coverage and widths of all runs; a rate that is undefined in a run is not a number there."""

    error: Floats  # (run, rate)
    covered: Floats
    width: Floats
    truth: Floats  # (rate,)

    def mean_error(self, rate: str) -> float:
        """In points."""
        return 100 * _average(self.error[:, RATES_ASKED.index(rate)])

    def mean_width(self, rate: str) -> float:
        """In points."""
        return 100 * _average(self.width[:, RATES_ASKED.index(rate)])

    def coverage(self, rate: str) -> float:
        """In percent."""
        return 100 * _average(self.covered[:, RATES_ASKED.index(rate)])


@cache
def audit_often(folder: Path, pool: str, model: str, n: int, method: Method | str, effort: Effort) -> Found:
    """Label so many at random, again and again; methods see the same labels."""
    audit = read_audit(folder, pool, model)
    way = hasten(METHODS[method]) if isinstance(method, str) else method
    runs = [range(first, min(first + CHUNK, effort.runs)) for first in range(0, effort.runs, CHUNK)]
    calls = (delayed(_audit)(audit, way, n, effort.seed, chunk) for chunk in runs)
    found = list(spread(calls, n_jobs=effort.jobs))
    error, covered, width = np.concatenate(found).transpose(1, 0, 2)
    return Found(error, covered, width, audit.measure_truth())


def list_cells(keys: Iterable[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Sort (pool, model, labels) as the papers' tables are."""
    pools = list(PRIVILEGED)
    return sorted(keys, key=lambda key: (pools.index(key[0]), key[2], MODELS.index(key[1])))


def _audit(audit: Audit, method: Method, n: int, seed: int, runs: Iterable[int]) -> Floats:
    truth = audit.measure_truth()
    return np.stack([_audit_once(audit, method, truth, np.random.default_rng([seed, n, run]), n) for run in runs])


def _audit_once(audit: Audit, method: Method, truth: Floats, rng: np.random.Generator, n: int) -> Floats:
    strata = audit.label(n, rng)
    sample = method.learn(strata, rng, finite_pool=True)
    out = np.full((3, len(truth)), np.nan)
    for i, name in enumerate(RATES_ASKED):
        gap = _subtract(sample.value(RATES[name]))
        gap = gap[~np.isnan(gap)]
        if len(gap) and not np.isnan(truth[i]):
            low, high = np.quantile(gap, LEVEL)
            out[:, i] = abs(gap.mean() - truth[i]), low - ROUNDING <= truth[i] <= high + ROUNDING, high - low
    return out


def _subtract(values: Floats) -> Floats:
    return values[:, 1] - values[:, 0]


def _average(values: Floats) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
