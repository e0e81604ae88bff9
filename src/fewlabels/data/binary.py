"""Reduce predictions to two classes: one class versus the rest, or right versus wrong."""

from dataclasses import replace

import ibis

from fewlabels.data.column_names import LABEL, PREDICTED, PROBABILITY, SCORE
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Value

RIGHT, WRONG = "right", "wrong"  # classes of the right-versus-wrong problem


def one_vs_rest(pool: Predictions, positive: str) -> Predictions:
    """Return the binary, one-versus-rest predictions of a class."""
    rest = f"not {positive}"
    said, told = ((name == positive).ifelse(positive, rest) for name in (pool.predicted, pool.label))
    if positive in pool.scored_classes:
        positive_probability = pool.probabilities[pool.scored_classes.index(positive)]
    else:  # split the remaining probability equally among the other classes
        positive_probability = (said == positive).ifelse(pool.score, (1 - pool.score) / max(1, len(pool.classes) - 1))
    return _as_binary(pool, (rest, positive), said, told, positive_probability)


def predict_correctness(pool: Predictions) -> Predictions:
    """Return the predictions as a binary problem: the model predicts "right", its score is the probability of it."""
    told = (pool.predicted == pool.label).ifelse(RIGHT, WRONG)
    return _as_binary(pool, (WRONG, RIGHT), ibis.literal(RIGHT), told, pool.score)


def set_constant_score(pool: Predictions, score: float) -> Predictions:
    """Return the same binary predictions with one constant score."""
    return replace(pool, items=pool.items.mutate(**{SCORE: ibis.literal(score)}))


def _as_binary(
    pool: Predictions, classes: tuple[str, str], said: Value, told: Value, positive_probability: Value
) -> Predictions:
    """Return predictions of two classes, the positive one last; unlabelled items stay unlabelled."""
    positive = classes[1]
    truth = pool.label.notnull().ifelse(told, ibis.null("string"))
    new = {
        PREDICTED: said, LABEL: truth, SCORE: (said == positive).ifelse(positive_probability, 1 - positive_probability),
        f"{PROBABILITY}0": 1 - positive_probability, f"{PROBABILITY}1": positive_probability,
    }  # fmt: skip
    roles = replace(pool.roles, positive=positive)
    return replace(pool, items=pool.items.mutate(**new), roles=roles, scored_classes=classes)
