"""Displays draw what `.plot()` draws, where they are told to."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import fewlabels as fl
from fewlabels.analyses.assessment import Assessment
from fewlabels.reporting.plots.displays import Display
from fewlabels.reporting.plots.figure import render_svg

KINDS = (
    (fl.ReliabilityDisplay, "reliability"),
    (fl.IntervalsDisplay, "intervals"),
    (fl.ConfusionDisplay, "confusion"),
)


@pytest.fixture(scope="module")
def assessment() -> Assessment:
    """Two classes, scores, half of the labels."""
    rng = np.random.default_rng(0)
    predicted = rng.choice(["cat", "dog"], 200)
    label = [p if u < 0.8 else "dog" if u < 0.9 else None for p, u in zip(predicted, rng.random(200), strict=True)]
    return fl.assess({"predicted": predicted, "score": rng.uniform(0.5, 1, 200), "label": label}, seed=1)


@pytest.mark.parametrize(("display", "kind"), KINDS, ids=str)
def test_a_display_is_the_picture_of_its_name(assessment: Assessment, display: type[Display], kind: str) -> None:
    drawn = display.from_assessment(assessment)
    assert isinstance(drawn.ax_, Axes)
    assert drawn.figure_ is drawn.ax_.get_figure()
    assert drawn._repr_html_() == render_svg(assessment.plot(kind))


@pytest.mark.parametrize(("display", "kind"), KINDS, ids=str)
def test_a_display_draws_on_axes_of_ones_own(assessment: Assessment, display: type[Display], kind: str) -> None:
    axes = Figure().subplots(1, 2)
    drawn = display.from_assessment(assessment, ax=axes[0])
    assert (drawn.ax_, drawn.figure_) == (axes[0], axes[0].get_figure())
    assert drawn._repr_html_() is None
    assert drawn.plot(ax=axes[1]).ax_ is axes[1]


def test_a_display_needs_what_its_picture_needs() -> None:
    a = fl.assess({"predicted": ["a", "b"], "label": ["a", "a"]}, prior=fl.flat())
    with pytest.raises(fl.InputError, match="scores"):
        fl.ReliabilityDisplay.from_assessment(a)


def test_arviz_gets_the_draws_with_the_groups_as_a_coordinate(assessment: Assessment) -> None:
    a = assessment.about(fl.balanced_accuracy)  # a name with a hyphen, which ArviZ could not be asked for
    found = a.to_inference_data().posterior.balanced_accuracy
    assert found.dims == ("chain", "draw", "group")
    assert list(found.coords["group"].values) == [row.group for row in a.groups]
    assert np.array_equal(found.values[0], a.draws)
