"""Reduce predictions to two classes: one class versus the rest, or right versus wrong."""

from dataclasses import replace

import ibis

from fewlabels.data.columns import LABEL, PREDICTED, PROBABILITY, SCORE
from fewlabels.data.predictions import Predictions, Value

RIGHT, WRONG = "right", "wrong"  # classes of the right-versus-wrong problem


def set_against_rest(pool: Predictions, positive: str) -> Predictions:
    """Return the one-versus-rest predictions of a class."""
    rest = f"not {positive}"
    said, told = ((name == positive).ifelse(positive, rest) for name in (pool.predicted, pool.label))
    if positive in pool.scored_classes:
        chance = pool.probabilities[pool.scored_classes.index(positive)]
    else:  # split the remaining probability equally among the other classes
        chance = (said == positive).ifelse(pool.score, (1 - pool.score) / max(1, len(pool.classes) - 1))
    return _restate(pool, (rest, positive), said, told, chance)


def judge_right(pool: Predictions) -> Predictions:
    """Return the predictions as a binary problem: the model predicts "right", its score is the probability of it."""
    told = (pool.predicted == pool.label).ifelse(RIGHT, WRONG)
    return _restate(pool, (WRONG, RIGHT), ibis.literal(RIGHT), told, pool.score)


def assume_score(pool: Predictions, score: float) -> Predictions:
    """Return the same predictions with one constant score."""
    return replace(pool, items=pool.items.mutate(**{SCORE: ibis.literal(score)}))


def _restate(pool: Predictions, classes: tuple[str, str], said: Value, told: Value, chance: Value) -> Predictions:
    """Return predictions of two classes, the positive one last; unlabelled items stay unlabelled."""
    positive = classes[1]
    truth = pool.label.notnull().ifelse(told, ibis.null("string"))
    new = {
        PREDICTED: said, LABEL: truth, SCORE: (said == positive).ifelse(chance, 1 - chance),
        f"{PROBABILITY}0": 1 - chance, f"{PROBABILITY}1": chance,
    }  # fmt: skip
    roles = replace(pool.roles, positive=positive)
    return replace(pool, items=pool.items.mutate(**new), roles=roles, scored_classes=classes)
