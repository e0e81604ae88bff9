"""Which pool of ours stands for which dataset of the paper, and how far it is the same thing.

SVHN and DBpedia are not to be had. Pools stay outside the project; nothing row by row is ever written.
"""

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

PEOPLE = "14"  # the superclass of baby, boy, girl, man and woman


@dataclass(frozen=True)
class Dataset:
    """A dataset of the paper, and the pool that stands for it."""

    name: str  # as the paper prints it
    pool: str
    model: str  # what was assessed there, against what is assessed here
    m: int  # how many groups "top m" asks for
    heavy: bool = False  # so many items and classes that a tenth of the runs must do

    @property
    def title(self) -> str:
        """How a table here calls it."""
        return f"{self.name} ({self.pool})"


CIFAR100 = Dataset("CIFAR-100", "cifar100_resnet110", "the same architecture, trained by others", 10)
IMAGENET = Dataset("ImageNet", "imagenet_resnet152", "the paper's own model", 10, heavy=True)
NEWS = Dataset("20 News", "20news", "another model, cross-validated inside the test set", 3)
CIFAR10 = Dataset("CIFAR-10", "cifar10_resnet110", "not in the paper", 3)
MNIST = Dataset("MNIST", "mnist", "not in the paper; as accurate as its DBpedia", 3)
DENSENET = Dataset("CIFAR-100", "cifar100_densenet", "another architecture; has probabilities of all classes", 10)
WIDERESNET = Dataset("CIFAR-100", "cifar100_wideresnet", "another architecture; has probabilities of all classes", 10)
PAPER = (CIFAR100, IMAGENET, NEWS)


@cache
def read_pool(folder: Path, dataset: Dataset) -> pd.DataFrame:
    """Read a pool; callers do not change it."""
    return pd.read_parquet(folder / f"{dataset.pool}.parquet")


def without_probabilities(pool: pd.DataFrame) -> pd.DataFrame:
    """Leave the probabilities of all classes out, where only the score is needed."""
    return pool[[name for name in pool.columns if not name.startswith("p_")]]


def add_deciles(pool: pd.DataFrame) -> pd.DataFrame:
    """Add ten bins of equal size by rank of the score, as the paper's; equal scores are cut wherever they fall."""
    rank = np.argsort(np.argsort(pool["score"].to_numpy(), kind="stable"), kind="stable")
    return without_probabilities(pool).assign(decile=(rank * 10 // len(pool)).astype(str))


@cache
def find_superclasses(folder: Path) -> dict[str, str]:
    """Return the superclass of every class of CIFAR-100, read off a pool that has both."""
    pairs = read_pool(folder, DENSENET)[["predicted", "predicted_superclass"]].drop_duplicates()
    return dict(zip(pairs["predicted"], pairs["predicted_superclass"], strict=True))


def add_superclasses(folder: Path, dataset: Dataset) -> pd.DataFrame:
    """Add the superclass of the predicted class to a pool of CIFAR-100."""
    pool = without_probabilities(read_pool(folder, dataset))
    return pool.assign(predicted_superclass=pool["predicted"].map(find_superclasses(folder)))
