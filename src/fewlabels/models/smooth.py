"""The prior `smooth`: partial pooling of groups that share attributes, with shrinkage estimated from the labels."""

from dataclasses import dataclass, replace

import numpy as np

from fewlabels.data.counts import Cells
from fewlabels.distributions.belief import Conjugate
from fewlabels.metrics.metric import Reads
from fewlabels.models.additive.covariance import tie
from fewlabels.models.additive.design import lay_out, learn_effects
from fewlabels.models.additive.explanation import Portrait
from fewlabels.models.additive.outliers import doubt_cells
from fewlabels.models.logit.to_prior import teach
from fewlabels.models.priors import Lesson


@dataclass(frozen=True)
class Smooth:
    """Prior with partial pooling of groups that share attributes, by the additive model."""

    name: str = "smooth"
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ("score", "probabilities", "strata")
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Return the prior of each cell, without its own labels."""
        return self.learn(cells, reads, finite=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite: bool) -> Lesson:
        """Fit effects of attributes to all labels, and derive the prior of every cell."""
        layout = lay_out(cells)
        found = learn_effects(layout)
        everything, rest = layout.survey(found, finite=finite)
        lesson = teach(cells, reads, everything, rest)
        strange = doubt_cells(everything.mean, cells.right, cells.n_labels.astype(np.float64))
        ties = tie(everything, strange) if reads == "right" else None
        return replace(lesson, trust=Portrait(layout, found, lesson.before.strength()), ties=ties)


def smooth() -> Smooth:
    """Pool groups that share attributes, as far as the labels show that they are similar."""
    return Smooth()
