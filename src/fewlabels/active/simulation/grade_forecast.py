"""How many more grades bring the intervals of all groups to a width: from the covariance of graded cells, in closed form.

Grades are no yes or no, so futures are not simulated as labels; only the order in which items are drawn is.
"""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtri

from fewlabels.active.goals.estimation import Estimate, measure_doubt
from fewlabels.active.study_design import StudyDesign
from fewlabels.data.counts import CountTable
from fewlabels.models.grades.allocation import (
    AllocationPrecision,
    allocate_in_open_groups,
    count_allocated_grades,
    measure_precision,
)
from fewlabels.models.grades.mean_grades import MeanGrades, count_cells
from fewlabels.models.grades.posterior import infer_grades
from fewlabels.models.posterior import Posterior

N_DRAWS = 1000


def find_grade_forecast(
    counts: CountTable, posterior: Posterior, design: StudyDesign
) -> Callable[[np.random.SeedSequence], int | None] | None:
    """Return the forecast of one future's grades as a function of its seed; None for classes, or other goals."""
    if not (isinstance(posterior.joint, MeanGrades) and isinstance(design.goal, Estimate)):
        return None
    start, z = _measure_precision(counts, posterior, design), float(ndtri((1 + design.level) / 2))
    normal = 2 * z * np.sqrt(np.maximum(start.variance, 0.0))
    shown, is_settled = measure_doubt(posterior), design.goal.settled(posterior, np.random.default_rng(0))
    width = np.concatenate([[np.inf], design.goal.width * np.where(shown > 0, normal[1:] / np.maximum(shown, 1e-12), 1.0)])  # fmt: skip

    def count(seed: np.random.SeedSequence) -> int | None:
        steps = allocate_in_open_groups(np.random.default_rng(seed), start, width, z)
        n = count_allocated_grades(steps, start, width, z)
        return n if n is None or is_settled else max(n, 1)

    return count


def _measure_precision(counts: CountTable, posterior: Posterior, design: StudyDesign) -> AllocationPrecision:
    """Measure how precisely mean grades are known, from which their forecast starts."""
    graded = count_cells(counts, posterior.metric.splits)
    drawn = infer_grades(np.random.default_rng(0), graded, finite_pool=design.finite_pool, n_draws=N_DRAWS)
    return measure_precision(drawn, passes=False)
