"""Groups are combinations of attributes: accuracy as a surface over them, learned from a few labels here and there.

The logit of being right is a curve of the score, plus effects of attributes alone and of two together, plus what is an
arm's own. How large each kind of effect is, labels decide: where attributes explain nothing, arms stand for themselves.
"""

from fewlabels.surfaces.coverage import Band, count_bands
from fewlabels.surfaces.mapping import surface
from fewlabels.surfaces.naming import find_common, name_values
from fewlabels.surfaces.prior import Smooth, smooth
from fewlabels.surfaces.ranking import rank_attributes
from fewlabels.surfaces.surface import Arm, Reading, Surface
from fewlabels.surfaces.uncertain import Uncertain, uncertain

__all__ = [
    "Arm", "Band", "Reading", "Smooth", "Surface", "Uncertain", "count_bands", "find_common", "name_values", "rank_attributes",
    "smooth", "surface", "uncertain",
]  # fmt: skip
