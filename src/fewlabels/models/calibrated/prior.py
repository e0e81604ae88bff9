"""The calibrated prior: fits the curve to all labels and returns the implied prior of every cell."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fewlabels.data.counts import NONE, Cells
from fewlabels.distributions.belief import Conjugate
from fewlabels.metrics.metric import Reads
from fewlabels.models.calibrated.design import build_design
from fewlabels.models.calibrated.explanation import CalibrationSummary
from fewlabels.models.logit.cache import fit_once
from fewlabels.models.logit.cells import CellLogits, project_to_cells
from fewlabels.models.logit.conflicts import include_conflicts
from fewlabels.models.logit.joint import CellAccuracies
from fewlabels.models.logit.laplace import integrate
from fewlabels.models.logit.overdispersion import OverdispersedAccuracies
from fewlabels.models.logit.to_prior import build_prior_fit
from fewlabels.models.priors import PriorFit


@dataclass(frozen=True)
class Calibrated:
    """A prior from the scores, recalibrated with the labels of all groups."""

    name: str = "calibrated"
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ("score", "probabilities", "strata")
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Prior of each cell without its own labels."""
        return self.learn(cells, reads, finite_pool=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
        """Fit the curve of the calibrated prior to all labels, and project it to every cell."""
        return fit_calibrated(cells, cells, reads, finite_pool=finite_pool)


def fit_calibrated(cells: Cells, observed: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
    """Fit the curve of the calibrated prior to the observed labels, and project it to every cell.

    The observed cells are the same cells with the labels that are learned from: their own, and maybe some of an earlier
    assessment, which are no items of this pool.
    """
    design_matrix = build_design(cells)
    seen = design_matrix.collect_labelled(observed)
    found = fit_once(seen, design_matrix.model)
    weights = [
        cells.strata_or_cells.n_items.astype(np.float64),
        *([cells.count_unlabelled()] if finite_pool else []),
    ]
    everything, *rest = project_to_cells(
        found, design_matrix.design, weights, cells.strata_or_cells.cell, design_matrix.group, design_matrix.traits
    )
    if not everything.agrees_with_labels(observed.right, observed.n_labels.astype(np.float64)):
        found = integrate(seen, found)
        everything, *rest = project_to_cells(
            found,
            design_matrix.design,
            weights,
            cells.strata_or_cells.cell,
            design_matrix.group,
            design_matrix.traits,
        )
    projected = _add_departures(observed, (everything, *rest))
    prior_fit = build_prior_fit(cells, reads, projected[0], projected[1] if finite_pool else None, observed)
    return replace(
        prior_fit,
        trust=CalibrationSummary(everything, design_matrix, prior_fit.before.strength(), _score_range(cells)),
    )


def calibrated() -> Calibrated:
    """Use the scores, recalibrated with the labels so far, as prior."""
    return Calibrated()


def _add_departures(cells: Cells, projected: Sequence[CellLogits]) -> list[CellAccuracies]:
    """Let score bins have accuracies of their own under the calibrated prior, and whole groups those of labels that contradict the fit."""
    right, wrong = cells.right, cells.n_labels - cells.right
    if not np.all(cells.bin == NONE):
        return [OverdispersedAccuracies(accuracies, right, wrong) for accuracies in projected]
    return include_conflicts(projected, right, wrong)


def _score_range(cells: Cells) -> tuple[float, float] | None:
    """Return the range of the scores that the calibrated prior sees; None without scores."""
    score = cells.strata_or_cells.score
    return None if np.isnan(score).any() else (float(score.min()), float(score.max()))
