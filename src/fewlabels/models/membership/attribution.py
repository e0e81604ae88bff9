"""P(arm | item) as a sparse matrix, computed in blocks of items.

With many attributes an item has a small probability in thousands of arms. Small probabilities are kept at random with
a larger weight (systematic sampling), so expected counts stay unbiased in every arm, rare ones too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from fewlabels.errors import InputError
from fewlabels.models.membership.arms import Arms
from fewlabels.models.membership.scores import LogScores, Scores, center_log_scores, require_gold
from fewlabels.models.membership.terms import Pair

ENTRIES = 2_000_000  # items × arms per block
SPARSITY_THRESHOLD = 2e-3  # smaller probabilities are kept at random: at most 500 arms per item
Part = tuple[Float[np.ndarray, " entry"], Int[np.ndarray, " entry"], Int[np.ndarray, " item"]]  # values, arms, counts


@dataclass(frozen=True)
class Attribution:
    """Model of arm membership: log P(a|x) = Σ_k t_k log M_k(a_k|x) + N(a) − log Z(x)."""

    considered: Arms
    temperatures: Float[np.ndarray, " axis"]
    potential: Float[np.ndarray, " arm"]  # N(a)
    pairs: Mapping[Pair, Float[np.ndarray, "_level _other"]]  # the part of N(a) due to pairs of attributes
    warnings: tuple[str, ...] = field(default=())

    @property
    def arms(self) -> Int[np.ndarray, "arm axis"]:
        """Attribute values of every arm."""
        return self.considered.table

    def assign(
        self,
        scores: Scores,
        gold: Int[np.ndarray, "gold axis"] | None = None,
        gold_rows: Int[np.ndarray, " gold"] | None = None,
        *,
        seed: int = 0,
    ) -> csr_array:
        """Attribute items to arms: P(arm | item), a row per item; known items get probability 1 of their arm."""
        sizes = tuple(score.shape[1] for score in scores)
        if sizes != self.considered.sizes:
            raise InputError(
                f"the attributes have {sizes} values, but the model was fitted with {self.considered.sizes}; give the same attributes in the same order"
            )
        evidence = center_log_scores(scores)
        rng, size = np.random.default_rng(seed), max(1, ENTRIES // len(self.potential))
        starts = range(0, len(evidence[0]), size)
        parts = [
            _sparsify_arm_weights(rng, self._probabilities(tuple(log[start : start + size] for log in evidence)))
            for start in starts
        ]
        chance = _stack_arm_weights(parts, len(self.potential))
        if gold is None or gold_rows is None:
            return chance
        require_gold(gold, gold_rows, sizes, len(evidence[0]))
        return _set_known(chance, self.considered.find(gold), gold_rows)

    def _probabilities(self, evidence: LogScores) -> Float[np.ndarray, "item arm"]:
        """P(arm | item) of the attribution as a dense matrix, in single precision for speed."""
        tempered = tuple((t * log).astype(np.float32) for t, log in zip(self.temperatures, evidence, strict=True))
        logits = self.considered.sum_over_attributes(tempered)
        logits += self.potential.astype(np.float32)
        logits -= logits.max(axis=1, keepdims=True)
        np.exp(logits, out=logits)
        logits /= logits.sum(axis=1, keepdims=True)
        return logits


def _sparsify_arm_weights(rng: np.random.Generator, chance: Float[np.ndarray, "item arm"]) -> Part:
    """Keep large probabilities of an attribution; sample small ones, with the threshold as their weight."""
    improbable = np.where(chance < SPARSITY_THRESHOLD, chance, 0.0)
    passed = np.floor(
        np.cumsum(improbable, axis=1, dtype=np.float64) / SPARSITY_THRESHOLD + rng.random((len(chance), 1))
    )
    drawn = np.diff(passed, axis=1, prepend=0.0) > 0
    kept = np.where(improbable > 0, SPARSITY_THRESHOLD * drawn, chance)
    kept /= kept.sum(axis=1, keepdims=True)
    row, arm = np.nonzero(kept)
    return kept[row, arm].astype(np.float32), arm.astype(np.int32), np.bincount(row, minlength=len(chance))


def _stack_arm_weights(parts: list[Part], n_arms: int) -> csr_array:
    """Stack blocks of sparse attributions, P(arm | item), to one matrix."""
    values, arm, n_kept = (np.concatenate(column) for column in zip(*parts, strict=True))
    ends = np.concatenate([[0], np.cumsum(n_kept)])
    small = np.int32 if ends[-1] < np.iinfo(np.int32).max else np.int64
    return csr_array((values, arm, ends.astype(small)), shape=(len(n_kept), n_arms))


def _set_known(chance: csr_array, arm: Int[np.ndarray, " gold"], rows: Int[np.ndarray, " gold"]) -> csr_array:
    """Replace the attribution of known items by probability 1 of their arm."""
    others = np.ones((chance.shape[0], 1), dtype=np.float32)
    others[rows] = 0.0
    whole = csr_array((np.ones(len(rows), dtype=np.float32), (rows, arm)), shape=chance.shape)
    found = csr_array(chance.multiply(others) + whole)
    found.eliminate_zeros()
    return found
