"""The pools that have scores."""

from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

import fewlabels as fl
from fewlabels.active.simulation.labelled_pool import Stage, set_stage
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

    def stage(self, by: Groups = fl.predicted, *, probabilities: bool = False) -> Stage:
        """Lay its items out."""
        return set_stage(self.read(), by, probabilities=probabilities, strata=STRATA)


def find_pools(folder: Path) -> list[Pool]:
    """Return every pool that has scores."""
    columns = {path: pq.read_schema(path).names for path in sorted(folder.glob("*.parquet"))}
    return [Pool(path) for path, names in columns.items() if "score" in names or "score_mlp" in names]
