"""The calibrated prior: fits the curve to all labels and returns the implied prior of every cell."""

from dataclasses import dataclass, replace

import numpy as np

from fewlabels.data.counts import Cells
from fewlabels.distributions.belief import Conjugate
from fewlabels.metrics.metric import Reads
from fewlabels.models.calibrated.design import lay_out
from fewlabels.models.calibrated.explanation import Trust
from fewlabels.models.logit.cache import fit_once
from fewlabels.models.logit.cells import project
from fewlabels.models.logit.laplace import integrate
from fewlabels.models.logit.to_prior import count_unlabelled, teach
from fewlabels.models.priors import Lesson


@dataclass(frozen=True)
class Calibrated:
    """A prior from the scores, recalibrated with the labels of all groups."""

    name: str = "calibrated"
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ("score", "probabilities", "strata")
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Prior of each cell without its own labels."""
        return self.learn(cells, reads, finite=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite: bool) -> Lesson:
        """Fit the curve to all labels, and project it to every cell."""
        layout = lay_out(cells)
        seen = layout.gather(cells)
        found = fit_once(seen, layout.model)
        weights = [cells.layers.n_items.astype(np.float64), *([count_unlabelled(cells)] if finite else [])]
        everything, *rest = project(found, layout.design, weights, cells.layers.cell, layout.group)
        if not everything.fits(cells.right, cells.n_labels.astype(np.float64)):
            found = integrate(seen, found)
            everything, *rest = project(found, layout.design, weights, cells.layers.cell, layout.group)
        lesson = teach(cells, reads, everything, rest[0] if finite else None)
        return replace(lesson, trust=Trust(everything, layout, lesson.before.strength(), _span(cells)))


def calibrated() -> Calibrated:
    """Use the scores, recalibrated with the labels so far, as prior."""
    return Calibrated()


def _span(cells: Cells) -> tuple[float, float] | None:
    score = cells.layers.score
    return None if np.isnan(score).any() else (float(score.min()), float(score.max()))
