"""The prior `smooth`: partial pooling of groups that share attributes, with shrinkage estimated from the labels."""

from dataclasses import dataclass, replace

import numpy as np

from fewlabels.data.counts import Cells
from fewlabels.distributions.belief import Conjugate
from fewlabels.metrics.metric import Reads
from fewlabels.models.additive.covariance import build_covariance
from fewlabels.models.additive.design import build_additive_design
from fewlabels.models.additive.effects_summary import EffectsSummary
from fewlabels.models.additive.fit import fit_additive
from fewlabels.models.additive.outliers import compute_outlier_variance
from fewlabels.models.logit.to_prior import build_prior_fit
from fewlabels.models.priors import PriorFit


@dataclass(frozen=True)
class Smooth:
    """Prior with partial pooling of groups that share attributes, by the additive model."""

    name: str = "smooth"
    needs: tuple[str, ...] = ()
    uses: tuple[str, ...] = ("score", "probabilities", "strata")
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Return the smooth prior of each cell, without its own labels."""
        return self.learn(cells, reads, finite_pool=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
        """Fit effects of attributes to all labels, and derive the prior of every cell."""
        design = build_additive_design(cells)
        found = fit_additive(design.select_labelled(), design.priors)
        everything, rest = design.predict_arms(found, finite_pool=finite_pool)
        prior_fit = build_prior_fit(cells, reads, everything, rest)
        outlier = compute_outlier_variance(everything.mean, cells.right, cells.n_labels.astype(np.float64))
        covariance = build_covariance(everything, outlier) if reads == "right" else None
        return replace(
            prior_fit, trust=EffectsSummary(design, found, prior_fit.before.strength()), covariance=covariance
        )


def smooth() -> Smooth:
    """Use the smooth prior: pool groups that share attributes, as far as the labels show that they are similar."""
    return Smooth()
