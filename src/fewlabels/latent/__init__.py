"""The one statistical engine: the logit of being right is a curve of the score plus an effect of the group.

`fit` finds the posterior of the curve and of how far groups depart from it, given the labels of a few strata; the Fit
then says what that implies for any cells made of strata, labelled or not.
"""

from fewlabels.latent.departures import Departures
from fewlabels.latent.fit import Fit, Sheet, fit, integrate
from fewlabels.latent.joint import Chances
from fewlabels.latent.lessons import count_unlabelled, teach
from fewlabels.latent.logits import Logits, project
from fewlabels.latent.model import Evidence, Model

__all__ = [
    "Chances", "Departures", "Evidence", "Fit", "Logits", "Model", "Sheet", "count_unlabelled", "fit", "integrate",
    "project", "teach",
]  # fmt: skip
