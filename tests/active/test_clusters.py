"""Clusters that joblib knows play replays, plans and experiments as this process does alone: same seeds, same rows."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from clusters import start_dask, start_ray
from joblib import parallel_config
from makers import make_pool

import fewlabels as fl
from experiments.options import Options
from experiments.pools import CIFAR10, PAPER
from experiments.table_8 import make

SIZE: dict[str, Any] = {"runs": 3, "budget": 6, "n_checkpoints": 2, "policies": (fl.thompson,)}
PRIORS = (fl.flat(), fl.from_scores(), fl.calibrated())
BY = fl.cross(fl.column("sex"), fl.column("age"), fl.predicted)
WAYS: dict[str, dict[str, Any]] = {
    "find-worst": {"goal": fl.FindWorst(), "priors": PRIORS},
    "estimate": {"goal": fl.Estimate(), "priors": PRIORS},
    "compare": {"goal": fl.Compare("a", "b"), "priors": PRIORS},
    "classes": {"goal": fl.Estimate(fl.confusion), "priors": (fl.flat(),)},
    "not compiled": {"goal": fl.FindWorst(fl.recall), "priors": (fl.flat(),)},
    "smooth": {"goal": fl.Explore(), "priors": (fl.smooth(),), "by": BY},
}


@pytest.fixture(scope="module")
def pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    for seed, dataset in enumerate((*PAPER, CIFAR10)):
        pd.DataFrame(make_pool(seed, 120)).to_parquet(folder / f"{dataset.pool}.parquet")
    return folder


def play(pools: Path, folder: Path, n_jobs: int | None = None) -> dict[str, Any]:
    """Everything that is spread over workers, by name."""
    found = {name: fl.simulate(make_pool(4), n_jobs=n_jobs, **SIZE, **way).to_dict() for name, way in WAYS.items()}
    planned = fl.plan(make_pool(4, 200, labelled=0.2), goal=fl.Estimate(width=0.4), runs=3, n_jobs=n_jobs).to_dict()
    table = make(Options(pools, folder, jobs=n_jobs, quick=True)).render("")
    return found | {"plan": planned, "table": table}


# What Dask thinks of the machine, a slow disk or no network, says nothing of the rows.
@pytest.mark.filterwarnings("ignore:Creating scratch directories", "ignore:Couldn't detect a suitable IP address")
@pytest.mark.parametrize(("backend", "start"), [("dask", start_dask), ("ray", start_ray)])
def test_a_cluster_gives_the_same_rows(
    backend: str, start: Callable[[], AbstractContextManager[None]], pools: Path, tmp_path: Path
) -> None:
    with start(), parallel_config(backend=backend):
        there = play(pools, tmp_path)
    assert there == play(pools, tmp_path, n_jobs=1)
