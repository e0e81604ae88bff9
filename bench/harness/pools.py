"""Pools of predictions with every label: where they are, and their columns as arrays."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

POOLS = Path(__file__).parents[3] / "shared" / "pools"  # beside the repository
MODELS = ("mlp", "lr", "rf", "nb")  # of pools about people: a column of scores each


def add_pools_option(parser: argparse.ArgumentParser) -> None:
    """Add the option that names the folder of pools."""
    parser.add_argument("--pools", type=Path, default=POOLS, help="the folder of pools")


def read_without_probabilities(path: Path) -> pa.Table:
    """Read a pool without the probabilities of all classes."""
    return pq.read_table(path, columns=[name for name in pq.read_schema(path).names if not name.startswith("p_")])


def read_columns(path: Path) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a pool; in pools about people, predictions are those of the first model."""
    table = read_without_probabilities(path)
    columns = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    if "predicted" in columns:
        return columns
    chance = columns[f"score_{MODELS[0]}"].astype(np.float64)
    return columns | {"predicted": (chance >= 0.5).astype(int), "score": np.maximum(chance, 1 - chance)}
