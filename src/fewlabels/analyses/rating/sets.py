"""Sets of labels against people's: precision, recall and F1 of every label, micro and macro, subset accuracy, Hamming loss."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.rating.estimates import summarize
from fewlabels.data.grades.columns import find_grades
from fewlabels.data.grades.counting import count_grades
from fewlabels.data.grades.sets import EXACT, SIZE, compare_sets_by_item
from fewlabels.data.groups import Everything
from fewlabels.data.role_table import RoleTable
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import join_names
from fewlabels.models.grades.posterior import GradePosterior, infer_grades

Table = Float[np.ndarray, "draw label 2 2"]  # shares of items by prediction (first) and people (second)
TINY = 1e-12


@dataclass(frozen=True)
class LabelRow:
    """How well one label is predicted."""

    label: str
    n_predicted: int
    precision: Estimate
    recall: Estimate
    f1: Estimate


@dataclass(frozen=True)
class SetFigures:
    """How well sets of labels are predicted: per label, and over all labels."""

    labels: tuple[LabelRow, ...]
    micro: LabelRow  # all questions together
    macro: LabelRow  # mean over labels
    subset_accuracy: Estimate  # share of items whose whole set is right
    hamming_loss: Estimate  # share of wrong answers among all questions

    def to_dict(self) -> dict[str, Any]:
        """Return the figures of sets as plain data."""
        return asdict(self)


def rate_sets(
    posterior: GradePosterior, table: RoleTable, grade: str, judge: str, *, level: float, seed: int
) -> SetFigures:
    """Rate sets of labels, from the posterior of the questions, one group per label, and from the items of `table`."""
    questions = posterior.cross_tabulate(0)
    counts = posterior.counts
    passed = counts.sum_by_group(np.where(counts.judges[0].passes, counts.n_items, 0))
    rng = np.random.default_rng([seed, 7])
    per_label = np.stack(_measure_labels(rng, questions), axis=2)  # (draw, label, measure)
    rows = [
        LabelRow(name, int(n), *summarize(per_label[:, i], level))
        for i, (name, n) in enumerate(zip(counts.groups, passed, strict=True))
    ]
    together = questions.sum(axis=1, keepdims=True)
    micro, macro = np.stack(_measure_labels(rng, together), axis=2)[:, 0], per_label.mean(axis=1)
    wrong = together[:, 0, [0, 1], [1, 0]].sum(axis=1) / together.sum(axis=(1, 2, 3))
    total = int(passed.sum())
    return SetFigures(
        tuple(rows), LabelRow("micro", total, *summarize(micro, level)), LabelRow("macro", total, *summarize(macro, level)),
        _assess_subsets(table, grade, judge, posterior, level, seed), summarize(wrong[:, None], level)[0],
    )  # fmt: skip


def _measure_labels(rng: Rng, table: Table) -> tuple[Float[np.ndarray, "draw label"], ...]:
    """Precision, recall and F1 of the labels of sets; undefined rates (0/0) are uniform."""
    right, predicted, true = table[:, :, 1, 1], table[:, :, 1].sum(axis=2), table[:, :, :, 1].sum(axis=2)
    pairs = ((right, predicted), (right, true), (2 * right, predicted + true))
    return tuple(np.where(n > TINY, part / np.maximum(n, TINY), rng.random(n.shape)) for part, n in pairs)


def warn_of_rated_sets(found: SetFigures) -> Iterator[str]:
    """Warn of labels, in a rating of sets, whose precision is undefined."""
    never = [row.label for row in found.labels if not row.n_predicted]
    if never:
        yield f"never predicted, so that precision is undefined: {join_names(never)}; it counts as anything from 0 to 1, in the macro average too"


def _assess_subsets(
    table: RoleTable, grade: str, judge: str, posterior: GradePosterior, level: float, seed: int
) -> Estimate:
    """Estimate the share of items whose whole set is right; items with as many predicted labels are alike."""
    items = find_grades(compare_sets_by_item(table, grade, judge), EXACT, (SIZE,), None, "0-1")
    counts = count_grades(items, Everything())
    drawn = infer_grades(np.random.default_rng([seed, 6]), counts, finite_pool=posterior.finite_pool, n_draws=posterior.n_draws)  # fmt: skip
    return summarize(drawn.overall_pass_rate[:, None], level)[0]
