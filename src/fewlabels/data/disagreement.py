"""Groups by whether and how models disagree: what a label of an item can tell about their difference."""

from dataclasses import dataclass

import ibis

from fewlabels.data.groups import Cut, Facet
from fewlabels.data.joint_predictions import JointPredictions
from fewlabels.data.relation import Value
from fewlabels.data.role_table import RoleTable
from fewlabels.errors import InputError

AGREE = "agree"
EDGES = (-0.3, -0.1, 0.1, 0.3)  # between ranges of the difference of two models' scores
MAX_PATTERNS = 4  # models up to which every pattern of agreement is a group


@dataclass(frozen=True)
class Disagreement:
    """One group where all models agree, and groups of items on which they disagree alike.

    For two models these are ranges of the difference of their scores; for up to four, patterns of who agrees with whom; for
    more, numbers of different classes.
    """

    name: str = "disagreement"

    def cut(self, pool: RoleTable) -> Cut:
        """Group by the pattern of agreement: which models predict the same class."""
        if not isinstance(pool, JointPredictions):
            raise InputError("groups by disagreement need the predictions of several models")
        return Cut((Facet(self.name, _disagreement_pattern(pool), order=lambda name: (name != AGREE, name)),))


def _disagreement_pattern(pool: JointPredictions) -> Value:
    """Return the group of an item: which models agree on it, and if two disagree, how far apart their scores are."""
    said = [pool.predicted_by(i) for i in range(len(pool.models))]
    first = [_first_to_agree(said[: i + 1]) for i in range(len(said))]
    if len(said) == 2:
        return (said[0] == said[1]).ifelse(AGREE, _score_contrast_range(pool))
    if len(said) <= MAX_PATTERNS:
        pattern = first[0].cast("string")
        for one in first[1:]:
            pattern = pattern.concat(",", one.cast("string"))
        return (pattern == ",".join("0" * len(said))).ifelse(AGREE, pattern)
    n = sum(((one == i).ifelse(1, 0) for i, one in enumerate(first)), start=ibis.literal(0))
    return ibis.cases((n == 1, AGREE), (n == 2, "2 classes"), (n == 3, "3 classes"), else_="more classes")


def _first_to_agree(said: list[Value]) -> Value:
    """Return the number of the first model that agrees with the last of these."""
    cases = [(one == said[-1], i) for i, one in enumerate(said[:-1])]
    return ibis.cases(*cases, else_=len(said) - 1) if cases else ibis.literal(0)


def _score_contrast_range(pool: JointPredictions) -> Value:
    """Return the range of the difference of two models' scores, on items on which they disagree."""
    if not (pool.has_score_of(0) and pool.has_score_of(1)):
        return ibis.literal("disagree")
    contrast = pool.scored_by(1) - pool.scored_by(0)
    cases = [(contrast < edge, f"disagree {i}") for i, edge in enumerate(EDGES)]
    return ibis.cases(*cases, else_=f"disagree {len(EDGES)}")
