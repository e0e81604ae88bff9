"""The pools that have scores."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import fewlabels as fl
from fewlabels.active.simulation.labelled_pool import LabelledPool, make_labelled_pool
from fewlabels.data.counts import STRATA
from fewlabels.data.groups import Groups

FEWEST = 3  # classes, for an average over classes to be one


@dataclass(frozen=True)
class Pool:
    """A file of predictions with every label, and how to read it."""

    path: Path

    @property
    def name(self) -> str:
        """What it is called."""
        return self.path.stem

    def read(self) -> fl.Predictions:
        """Read the predictions; those about people by one of their models."""
        if "score" in pq.read_schema(self.path).names:
            return fl.Predictions.read(self.path)
        return fl.Predictions.read(self.path, positive_score="score_mlp", positive="1", label="label")

    def labelled(self, by: Groups = fl.predicted, *, probabilities: bool = False) -> LabelledPool:
        """Lay its items out."""
        return make_labelled_pool(self.read(), by, probabilities=probabilities, strata=STRATA)


def find_pools(folder: Path) -> list[Pool]:
    """Return every pool that has scores."""
    columns = {path: pq.read_schema(path).names for path in sorted(folder.glob("*.parquet"))}
    return [Pool(path) for path, names in columns.items() if "score" in names or "score_mlp" in names]
