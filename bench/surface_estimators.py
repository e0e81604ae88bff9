"""Estimators of surfaces side by side: ours, and what one would use instead, with and without scores."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from bench.surface_sources import ArmPool, Floats, logits
from fewlabels.analyses.surface.api import fit_surface

OURS = "fewlabels"
WARM = 0.1  # labels of Beta-I at the pool's accuracy; 2 at the arm's mean score, where there are scores
WARM_SCORED = 2.0


@dataclass(frozen=True)
class Guess:
    """Accuracy of every arm, with an interval where there is one."""

    mean: Floats
    low: Floats | None = None
    high: Floats | None = None


def ask_ours(pool: ArmPool, labelled: Floats) -> Guess:
    """Ask fewlabels, about exactly these items."""
    found = fit_surface(pool.count(labelled), finite_pool=True)  # given the predicted class of every item, as always
    mean, low, high = np.array([(arm.mean, arm.low, arm.high) for arm in found.arms]).T
    return Guess(mean, low, high)


def ask_betas(pool: ArmPool, labelled: Floats) -> Guess:
    """Ask one Beta per arm."""
    size = len(pool.level)
    n, right = np.bincount(pool.arm[labelled], minlength=size), sum_right(pool, labelled)
    if pool.has_scores:
        start, weight = np.bincount(pool.arm, weights=pool.score, minlength=size) / pool.n_items, WARM_SCORED
    else:
        start, weight = right.sum() / n.sum(), WARM
    return complete(pool, labelled, ((right + weight * start) / (n + weight))[pool.arm])


def ask_logistic(pool: ArmPool, labelled: Floats, *, with_class: bool = False) -> Guess:
    """Ask scikit-learn's logistic regression on one column per value, and the logit of the score."""
    columns = [np.eye(len(axis.levels))[pool.level[:, i]] for i, axis in enumerate(pool.axes)]
    design = np.concatenate(columns, axis=1)[pool.arm]
    if with_class:
        design = np.column_stack([design, np.eye(pool.predicted.max() + 1)[pool.predicted]])
    if pool.has_scores:
        design = np.column_stack([design, logits(pool.score)])
    return learn(LogisticRegression(max_iter=1000), design, pool, labelled)


def ask_boosting(pool: ArmPool, labelled: Floats, *, with_class: bool = False) -> Guess:
    """Ask scikit-learn's boosting: ordered attributes as numbers, others as categories, and the score."""
    design = pool.level[pool.arm].astype(float)
    categorical = [not axis.ordered for axis in pool.axes]
    if with_class:
        design, categorical = np.column_stack([design, pool.predicted]), [*categorical, True]
    if pool.has_scores:
        design, categorical = np.column_stack([design, pool.score]), [*categorical, False]
    return learn(
        HistGradientBoostingClassifier(categorical_features=categorical, random_state=0), design, pool, labelled
    )


def learn(
    learner: LogisticRegression | HistGradientBoostingClassifier, design: Floats, pool: ArmPool, labelled: Floats
) -> Guess:
    """Fit right and wrong, and say how likely right is of every item."""
    learner.fit(design[labelled], pool.right[labelled])
    return complete(pool, labelled, learner.predict_proba(design)[:, 1])


def complete(pool: ArmPool, labelled: Floats, chance: Floats) -> Guess:
    """What is labelled is known; of the rest one expects as many right as predicted."""
    value = np.where(labelled, pool.right, chance)
    return Guess(np.bincount(pool.arm, weights=value, minlength=len(pool.level)) / np.maximum(pool.n_items, 1))


def sum_right(pool: ArmPool, labelled: Floats) -> Floats:
    """Right labels of every arm."""
    return np.bincount(pool.arm[labelled], weights=pool.right[labelled], minlength=len(pool.level))


ESTIMATORS: dict[str, Callable[[ArmPool, Floats], Guess]] = {
    OURS: ask_ours, "beta-i": ask_betas, "logistic": ask_logistic, "boosting": ask_boosting,
    "logistic, class": partial(ask_logistic, with_class=True), "boosting, class": partial(ask_boosting, with_class=True),
}  # fmt: skip
BAR = ("beta-i", "logistic", "boosting")
CLASS_BAR = ("beta-i", "logistic, class", "boosting, class")  # given the predicted class too, as ours is
