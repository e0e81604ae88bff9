"""Table 4.7 of the dissertation: how much the prior of the calibration curve matters."""

from collections.abc import Iterator
from dataclasses import replace

from experiments.audits import audit_often, hasten
from experiments.options import Options, start
from experiments.published_fairness import MODELS, PRIOR_SENSITIVITY_N, TABLE_4_7
from experiments.studies import NOTES, OURS, RUNS
from experiments.tables import Page, Table, show
from fewlabels.analyses.fairness.calibrated_method import CalibratedMethod
from fewlabels.analyses.fairness.calibration_curves import SHAPES, CurveShape
from fewlabels.analyses.fairness.methods import METHODS, Method

POOL = "adult_race"
ALPHAS = (0.1, 0.5, 1.0, 1.5, 2.0, 5.0, 10.0)  # of the 22 that are printed


def make(options: Options) -> Page:
    """Multiply all sizes of the prior, and measure the error."""
    cells = [(model, n) for n in PRIOR_SENSITIVITY_N for model in MODELS][: 1 if options.quick else None]
    header = ["alpha", *(f"{model}, {n}: {whose}" for model, n in cells for whose in ("published", "here"))]
    return Page(
        "Table 4.7: error of the gap in accuracy on adult_race as every size in BC's prior is multiplied by alpha",
        f"In points, over {options.effort(RUNS).runs:,} runs; by model and number of labels. The last row is ours, as it is.",
        [Table(header, list(_measure(options, cells)))],
        notes=NOTES,
    )


def _measure(options: Options, cells: list[tuple[str, int]]) -> Iterator[list[str]]:
    effort = options.effort(RUNS)
    for alpha in ALPHAS:
        row = [f"{alpha:g}"]
        for model, n in cells:
            found = audit_often(options.pools, POOL, model, n, _scale(alpha), effort)
            row += [show(TABLE_4_7[POOL, model, n][alpha], 2), show(found.mean_error("accuracy"), 2)]
        yield row
    ours = [audit_often(options.pools, POOL, model, n, OURS, effort).mean_error("accuracy") for model, n in cells]
    yield ["ours", *(text for error in ours for text in ("", show(error, 2)))]


def _scale(alpha: float) -> Method:
    """BC with a prior that is wider, or narrower."""
    terms = [replace(t, level=t.level.times(alpha), spread=t.spread.times(alpha)) for t in SHAPES["beta"]]
    method = METHODS["bc"]
    assert isinstance(method, CalibratedMethod)
    return hasten(replace(method, shape=CurveShape(tuple(terms))))


if __name__ == "__main__":
    start("fairness_4_7", make)
