"""Attributes given the score and the predicted class: a context of every item, as one more attribute that is known.

Attributes are associated with what the model predicts, and how sure it is, beyond what their classifiers say. If P(arm | item)
ignored that, the scores of an arm's items would be those of items that only look alike. The context is the predicted
class and a range of the score; items with known attributes show how attributes depend on it.
"""

from dataclasses import dataclass
from math import prod

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array

from fewlabels.models.membership.arms import MOST_ARMS
from fewlabels.models.membership.attribution import Attribution
from fewlabels.models.membership.fit import Method, fit_membership
from fewlabels.models.membership.scores import Scores

MOST_CONTEXTS, MOST_CLASSES = 12, 4
NAME = "score and predicted class"
N_BOOTSTRAPS = 6  # attributions learned from resampled known items
MOST_ENTRIES = 300_000_000  # items times arms times attributions, for time: above that fewer are learned


@dataclass(frozen=True)
class ContextAssignment:
    """P(arm | item), and the same from attributions that were learned from resampled known items."""

    arms: Int[np.ndarray, "arm axis"]
    chance: csr_array  # (item, arm)
    others: tuple[csr_array, ...]
    warnings: tuple[str, ...]


def find_contexts(
    score: Float[np.ndarray, " item"], predicted: Int[np.ndarray, " item"] | None, n_arms: int
) -> Int[np.ndarray, " item"]:
    """Return the context of every item: classes times quantiles of the score, few enough for so many arms.

    >>> find_contexts(np.array([0.6, 0.7, 0.8, 0.9]), np.array([0, 1, 0, 1]), 5000).tolist()
    [0, 1, 0, 1]
    """
    n, most = len(score), min(MOST_CONTEXTS, MOST_ARMS // max(n_arms, 1))
    classes = np.zeros(n, dtype=np.int64) if predicted is None else predicted
    n_classes = int(classes.max(initial=0)) + 1
    if n_classes > min(MOST_CLASSES, most):
        classes, n_classes = np.zeros(n, dtype=np.int64), 1
    ranges = np.zeros(n, dtype=np.int64)
    if not np.isnan(score).any() and most // n_classes > 1:
        edges = np.quantile(score, np.linspace(0, 1, most // n_classes + 1)[1:-1])
        ranges = np.digitize(score, np.unique(edges))
    found: Int[np.ndarray, " item"] = np.unique(np.stack([ranges, classes]), axis=1, return_inverse=True)[1].reshape(-1)
    return found


def attribute_in_context(
    scores: Scores,
    place: Int[np.ndarray, "item axis"],
    rows: Int[np.ndarray, " gold"],
    score: Float[np.ndarray, " item"],
    predicted: Int[np.ndarray, " item"] | None,
    *,
    method: Method,
    seed: int = 0,
    names: tuple[str, ...] = (),
) -> ContextAssignment:
    """Learn which arms items are of; with the method `full`, attributes depend on the context too."""
    n_arms = prod(one.shape[1] for one in scores)
    context = find_contexts(score, predicted, n_arms)
    n, known = int(context.max(initial=0)) + 1, place[rows]
    depends = method == "full" and n > 1 and len(rows) > 0
    if depends:
        scores, known = (*scores, np.eye(n)[context]), np.column_stack([known, context[rows]])
        names = (*names, NAME) if names else ()

    def learn(resampled: Int[np.ndarray, " gold"] | None) -> Attribution:
        return fit_membership(scores, known, rows, method=method, seed=seed, names=names, resampled=resampled)

    first = learn(None)
    arms, where = np.unique(first.arms[:, : place.shape[1]], axis=0, return_inverse=True)
    merge = csr_array((np.ones(len(where), dtype=np.float32), (np.arange(len(where)), where.reshape(-1))))

    def assign(model: Attribution) -> csr_array:
        return csr_array(model.assign(scores, known, rows, seed=seed) @ merge)

    times = 0 if method == "raw" or not len(rows) else min(N_BOOTSTRAPS, MOST_ENTRIES // (len(score) * len(where)))
    rng = np.random.default_rng([seed, 1])
    others = tuple(assign(learn(rng.integers(len(rows), size=len(rows)))) for _ in range(times))
    return ContextAssignment(arms, assign(first), others, first.warnings)
