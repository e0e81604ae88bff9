"""Estimation methods for groups: from labels alone, or from labels and calibrated scores.

Each returns posterior draws of any metric; the calibrated ones also have chains to diagnose.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.fairness.calibrated_method import CalibratedMethod
from fewlabels.analyses.fairness.calibration_curves import SHAPES, CurveShape
from fewlabels.analyses.fairness.group_metrics import GroupMetric, GroupRate, Values
from fewlabels.analyses.fairness.labels_only import LabelsOnly
from fewlabels.analyses.fairness.sample_size import WidthForecast
from fewlabels.analyses.fairness.strata import Strata
from fewlabels.distributions.randomness import Rng


@runtime_checkable
class MethodDraws(Protocol):
    """Posterior draws of the strata of a pool, as an estimation method returns them."""

    @property
    def n_chains(self) -> int:
        """Number of the method's chains, 0 for independent draws; draws are ordered by iteration, then chain."""
        ...

    @property
    def divergences(self) -> int:
        """Number of divergent transitions of the method's chains."""
        ...

    @property
    def n_transitions(self) -> int:
        """Number of transitions of all chains of the method."""
        ...

    def value(self, quantity: GroupMetric, *, rest: bool = False) -> Values:
        """Draws of a metric by the method in every group, or in the rest of the pool outside each group."""
        ...

    def value_pooled(self, rng: Rng, quantity: GroupMetric) -> Values:
        """Draws of a metric by the method in every group, partially pooled: of groups that may be alike."""
        ...

    def expect(self, quantity: GroupMetric) -> Values:
        """Draws of a metric in every group as far as they depend on the method's chains."""
        ...

    def count_whole(self, rate: GroupRate) -> Float[np.ndarray, " group"]:
        """Expected number of items in each group that a rate is a share of, by the method."""
        ...

    def count_missing_labels(self, quantity: GroupMetric, groups: Sequence[int]) -> int:
        """Count the labels these groups lack before the method's interval can be a verdict."""
        ...

    def forecast(self, draws: Float[np.ndarray, " draw"], groups: Sequence[int]) -> WidthForecast:
        """Forecast the width of the method's interval of a gap between these groups after more labels."""
        ...


@runtime_checkable
class Method(Protocol):
    """An estimation method."""

    @property
    def name(self) -> str:
        """The method's name on the command line and in results."""
        ...

    def learn(self, strata: Strata, rng: Rng, *, finite_pool: bool) -> MethodDraws:
        """Fit the method to the labels, and to the scores if it uses them."""
        ...


def _paper(name: str, shape: str, *, pooled: bool = True) -> CalibratedMethod:
    """Return a method of the papers: curves without our additions."""
    return CalibratedMethod(name, CurveShape(SHAPES[shape], pooled, centred=False, factors=()), of_pool=True)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        CalibratedMethod("calibrated", CurveShape()),
        LabelsOnly("frequency", 0.0),
        LabelsOnly("beta-binomial", 1.0),
        _paper("bc", "beta"),
        _paper("bc-llo", "llo"),
        _paper("bc-temperature", "temperature"),
        _paper("bc-apart", "beta", pooled=False),
        _paper("bc-llo-apart", "llo", pooled=False),
        _paper("bc-temperature-apart", "temperature", pooled=False),
    )
}
