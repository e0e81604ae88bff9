"""What several models predict of the items that a count table counts: classes, score slots, bins and summed scores."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

INDEX_COLUMNS = ("predicted", "slot", "bin")


@dataclass(frozen=True, eq=False)
class ModelColumns:
    """Columns of a count table, one per model; the first model's also stand in the table itself."""

    models: tuple[str, ...]
    predicted: Int[np.ndarray, "entry model"]
    slot: Int[np.ndarray, "entry model"]  # range of the score in which entries were counted; NONE without scores
    bin: Int[np.ndarray, "entry model"]
    score: Float[np.ndarray, "entry model"]  # summed; nan without scores

    @cached_property
    def first(self) -> Int[np.ndarray, "entry model"]:
        """For every model, the first model that predicts the same class."""
        out = np.zeros_like(self.predicted)
        for i in range(1, len(self.models)):
            same = self.predicted[:, :i] == self.predicted[:, [i]]
            out[:, i] = np.where(same.any(axis=1), same.argmax(axis=1), i)
        return out

    @cached_property
    def disagrees(self) -> Bool[np.ndarray, " entry"]:
        """Whether not all models predict the same class."""
        return (self.first != 0).any(axis=1)

    def find_right(self, label: Int[np.ndarray, " entry"]) -> Int[np.ndarray, " entry"]:
        """Return the first model that predicts the label; the number of models if none does."""
        hit = self.predicted == label[:, None]
        return np.where(hit.any(axis=1), hit.argmax(axis=1), len(self.models))

    def append(self, entry: Int[np.ndarray, " new"]) -> "ModelColumns":
        """Append further entries of the same kinds as these; their scores are already counted."""
        predicted, slot, bin = (np.concatenate([one, one[entry]]) for one in (self.predicted, self.slot, self.bin))
        zero = np.where(np.isnan(self.score[entry]), np.nan, 0.0)
        return ModelColumns(self.models, predicted, slot, bin, np.concatenate([self.score, zero]))
