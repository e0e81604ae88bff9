"""Warnings about a comparison of models."""

from collections.abc import Iterator

import numpy as np

from fewlabels.analyses.models.result import ModelComparison
from fewlabels.errors import count, join_names
from fewlabels.models.joint_outcomes.posterior import JointPosterior

UNLIKE = 0.9  # share of the items on which two models disagree, from which the items may not be the same ones
FEW = 10  # labels where models disagree, below which figures depend on the prior


def collect_warnings(result: ModelComparison) -> Iterator[str]:
    """Yield warnings about a comparison of several models: what a reader should know about these figures."""
    if not result.paired:
        return
    if not result.n_labels:
        yield "no item is labelled: every number here comes from the prior and the scores alone"
    if not result.n_disagree:
        yield f"the models predict the same class for all {count(result.n_items, 'item')}: no label can tell them apart on these"
    yield from _warn_unlike(result)
    yield from _warn_few(result)
    yield from _warn_scores(result)


def _warn_unlike(result: ModelComparison) -> Iterator[str]:
    """Warn of models that hardly ever agree: ids such as row numbers match also where the items are others."""
    rows = [row for row in result.list_differences() if (row.n_disagree or 0) > UNLIKE * row.n_items]
    if rows:
        named = join_names((f"{row.a} and {row.b} on {row.n_disagree:,} of {row.n_items:,}" for row in rows), most=3)
        yield f"models that disagree on nearly all items ({named}): are these predictions for the same items, and do equal ids mean equal items?"


def _warn_few(result: ModelComparison) -> Iterator[str]:
    """Warn of models compared by few labels of items on which they disagree."""
    rows = result.list_differences()
    few = [row for row in rows if (row.n_labels_disagree or 0) < min(FEW, row.n_disagree or 0)]
    if not few or not result.n_labels:
        return
    named = join_names((f"{row.a} and {row.b}: {row.n_labels_disagree:,}" for row in few), most=3)
    yield f"few labels where models disagree, which alone tell them apart ({named}): their differences depend on the prior"


def _warn_scores(result: ModelComparison) -> Iterator[str]:
    """Warn of models without scores beside models that have them."""
    posterior = result.posterior
    if not isinstance(posterior, JointPosterior) or result.prior == "flat":
        return
    without = [name for name, has in zip(result.models, posterior.strata.has_scores, strict=True) if not has]
    if without and np.any(posterior.strata.has_scores):
        yield f"no scores of {join_names(without)}: how sure it is of its predictions is not used"
