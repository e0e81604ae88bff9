"""What is drawn is what the assessment says; and no name, number of groups or lack of labels breaks a picture."""

import warnings
from io import BytesIO
from xml.dom import minidom

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Polygon, Rectangle

import fewlabels as fl
from fewlabels.analyses.comparison import Comparison, compare_groups
from fewlabels.distributions.difference import DrawnDifference
from fewlabels.reporting.plots.assessment import KINDS, plot_assessment
from fewlabels.reporting.plots.calibration import plot_ece
from fewlabels.reporting.plots.confusion import plot_confusion
from fewlabels.reporting.plots.difference import evaluate_density, plot_comparison
from fewlabels.reporting.plots.extremes import plot_extremes
from fewlabels.reporting.plots.figure import render_svg
from fewlabels.reporting.plots.formatting import shorten_label
from fewlabels.reporting.plots.intervals import plot_intervals
from fewlabels.reporting.plots.ranks import plot_ranks
from fewlabels.reporting.plots.reliability import plot_reliability
from fewlabels.reporting.plots.scatter import plot_scatter

ODD = [
    "$x$ & $y_1$",
    "中文名称",
    "line\nbreak",
    "",
    'a<b>&"c"',
    "\\$5 \\frac{1}{2}",
    "emoji 🙂",
    "bell\x07",
    "long " * 30,
]


def make_pool(names, n=300, labelled=0.5, blank=(), seed=0):
    rng = np.random.default_rng(seed)
    at = rng.integers(0, len(names), n)
    at[: len(names)] = range(len(names))
    score = rng.uniform(0.3, 1, n)
    wrong = rng.random(n) > score * np.linspace(0.6, 1, len(names))[at]
    known = (rng.random(n) < labelled) & ~np.isin(at, blank)
    label = [names[(i + int(w)) % len(names)] if k else None for i, w, k in zip(at, wrong, known, strict=True)]
    side = [("left", "right")[j] for j in rng.integers(0, 2, n)]
    return {"predicted": [names[i] for i in at], "score": score.tolist(), "label": label, "side": side}


def assess(names=("a", "b", "c", "d"), *, by=fl.predicted, metric=fl.accuracy, **pool):
    return fl.assess(make_pool(names, **pool), by=by, metric=metric, n_draws=500)


@pytest.fixture(scope="module")
def four():
    return assess(blank=(2,))


def points(ax):
    """Where the dots are, as (x, y)."""
    return [
        (float(x), float(y))
        for line in ax.lines if line.get_marker() == "o"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]  # fmt: skip


def segments(ax):
    return {
        tuple(np.round(segment, 9).ravel())
        for lines in ax.collections if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    }  # fmt: skip


def written(ax):
    return [text.get_text() for text in ax.texts]


def render(ax):
    ax.figure.savefig(BytesIO(), format="png", dpi=40)


# Intervals ------------------------------------------------------------------------------------------------------------


def test_intervals_are_the_rows_worst_first(four):
    ax = plot_intervals(four)
    expected = [(row.mean, y) for y, row in enumerate(four.worst_first)]
    np.testing.assert_allclose(sorted(points(ax), key=lambda p: p[1]), expected)
    for y, row in enumerate(four.worst_first):
        assert (round(row.low, 9), y, round(row.high, 9), y) in segments(ax)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [row.group for row in four.worst_first]
    assert [x for x, _ in expected] == sorted(x for x, _ in expected)
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the first on top


def test_overall_is_a_line_with_a_band(four):
    ax = plot_intervals(four)
    band = next(patch for patch in ax.patches if isinstance(patch, Rectangle | Polygon))
    assert band.get_window_extent().transformed(ax.transData.inverted()).intervalx == pytest.approx(
        [four.overall.low, four.overall.high]
    )
    assert f"overall {100 * four.overall.mean:.1f}%" in written(ax)


def test_groups_without_labels_are_hollow(four):
    ax = plot_intervals(four)
    hollow = [line for line in ax.lines if line.get_label() == "prior only"]
    assert [line.get_markerfacecolor() for line in hollow] == ["white"]
    assert list(hollow[0].get_xdata()) == [four.row("c").mean]
    assert written(ax).count("prior only") == 1


def test_of_many_groups_the_forty_worst():
    a = assess([f"g{i}" for i in range(60)])
    ax = plot_intervals(a)
    assert len(points(ax)) == 40
    assert "40 worst of 60" in ax.get_xlabel()
    assert [tick.get_text() for tick in ax.get_yticklabels()] == [row.group for row in a.worst_first[:40]]
    assert "40 worst of 60" in plot_ranks(a).get_xlabel()


def test_costs_go_beyond_one_and_the_dearest_comes_first():
    names = ("a", "b", "c", "d")
    a = assess(names, metric=fl.cost({t: {p: 0.0 if t == p else 30.0 for p in names} for t in names}))
    ax = plot_intervals(a)
    drawn = [x for x, _ in sorted(points(ax), key=lambda p: p[1])]
    assert drawn == sorted(drawn, reverse=True)
    assert max(drawn) > 1
    assert ax.get_xlim()[1] > max(row.high for row in a.groups)
    assert ax.get_xlabel() == "expected cost, 95% intervals"
    assert not any("%" in ax.xaxis.get_major_formatter()(x) for x in ax.get_xticks())


def test_shares_are_in_percent_and_stay_within_bounds(four):
    ax = plot_intervals(four)
    assert ax.xaxis.get_major_formatter()(0.25, 0) == "25%"
    assert ax.get_xlim()[0] >= -0.011
    assert ax.get_xlim()[1] <= 1.011


# Ranks and extremes ---------------------------------------------------------------------------------------------------


def test_ranks_are_the_rows(four):
    ax = plot_ranks(four)
    bars = [(bar.get_x() + 0.3, bar.get_x() + bar.get_width() - 0.3) for bar in ax.patches]
    np.testing.assert_allclose(bars, [(row.rank_low, row.rank_high) for row in four.worst_first])
    assert 1 in ax.get_xticks()
    row = four.worst_first[0]
    assert (f"{row.rank_low}–{row.rank_high}" if row.rank_low < row.rank_high else str(row.rank_low)) in written(ax)


def test_extremes_are_the_rows(four):
    ax = plot_extremes(four)
    order = [four.row(tick.get_text()) for tick in ax.get_yticklabels()]
    widths = [bar.get_width() for bar in ax.patches]
    assert widths == pytest.approx([row.p_worst for row in order] + [-row.p_best for row in order])
    assert [r.p_worst - r.p_best for r in order] == sorted((r.p_worst - r.p_best for r in order), reverse=True)


def test_of_many_groups_the_likeliest_are_shown():
    a = assess([f"g{i}" for i in range(30)])
    ax = plot_extremes(a)
    shown = {tick.get_text() for tick in ax.get_yticklabels()}
    assert max(a.groups, key=lambda row: row.p_worst).group in shown
    assert max(a.groups, key=lambda row: row.p_best).group in shown
    assert len(shown) <= 15
    assert f"{len(shown)} most likely of 30" in ax.get_xlabel()


def test_several_worst_are_said_to_be_several():
    a = fl.assess(make_pool(("a", "b", "c", "d")), m=2, n_draws=500)
    assert "P(among the 2 worst) →" in written(plot_extremes(a))


# Calibration ----------------------------------------------------------------------------------------------------------


def test_reliability_is_accuracy_by_score(four):
    bins = four.reliability()
    ax = plot_reliability(bins)
    np.testing.assert_allclose(points(ax), [(row.score, row.mean) for row in bins.groups])
    for row in bins.groups:
        assert tuple(np.round([row.score, row.low, row.score, row.high], 9)) in segments(ax)
    gaps = [patch.get_height() for patch in ax.patches]
    assert gaps == pytest.approx([row.mean - row.score for row in bins.groups])
    (strip,) = ax.child_axes
    assert [bar.get_height() for bar in strip.patches] == pytest.approx([row.share for row in bins.groups])


def test_reliability_refuses_other_groups(four):
    with pytest.raises(fl.InputError, match="groups by score bin"):
        plot_reliability(four)


def test_scatter_is_both_assessments(four):
    other = four.about(fl.ece)
    ax = plot_scatter(four, other)
    np.testing.assert_allclose(
        sorted(points(ax)), sorted((a.mean, b.mean) for a, b in zip(four.groups, other.groups, strict=True))
    )
    drawn = [tuple(np.round((*line.get_xdata(), *line.get_ydata()), 9)) for line in ax.lines]
    for a, b in zip(four.groups, other.groups, strict=True):
        assert tuple(np.round((a.low, a.high, b.mean, b.mean), 9)) in drawn
        assert tuple(np.round((a.mean, a.mean, b.low, b.high), 9)) in drawn
    assert four.worst_first[0].group in written(ax)


def test_scatter_refuses_other_groups(four):
    with pytest.raises(fl.InputError, match="same groups"):
        plot_scatter(four, four.merged(fl.ece))


def test_scatter_of_many_has_intervals_for_the_named_only():
    a = assess([f"g{i}" for i in range(160)], n=600)
    ax = plot_assessment(a, "scatter")
    assert "named groups" in ax.get_xlabel()
    assert sum(line.get_marker() != "o" for line in ax.lines) == 2 * len(ax.texts)


def test_ece_marks_mean_and_interval(four):
    whole = four.merged(fl.ece)
    ax = plot_ece(whole)
    row = whole.groups[0]
    assert [x for x, _ in points(ax)] == pytest.approx([row.mean])
    assert {(s[0], s[2]) for s in segments(ax)} == {(round(row.low, 9), round(row.high, 9))}
    assert (
        ax.get_title(loc="left")
        == f"mean {100 * row.mean:.1f}%, 95% interval {100 * row.low:.1f}% to {100 * row.high:.1f}%"
    )


def test_ece_of_many_groups_is_refused(four):
    with pytest.raises(fl.InputError, match=r"a\.merged"):
        plot_ece(four.about(fl.ece))


def test_a_number_known_exactly_has_no_density():
    a = fl.assess(make_pool(("a", "b"), labelled=1.1), finite_pool=True, n_draws=500)
    render(plot_assessment(a, "ece"))
    render(plot_comparison(compare_groups(a.about(fl.ece), ("a", "b"), 0.02)))


# Confusion ------------------------------------------------------------------------------------------------------------


def squares(ax):
    return [drawn for drawn in ax.collections if isinstance(drawn, PatchCollection)]


def test_confusion_colours_and_writes_the_entries():
    a = assess(metric=fl.confusion)
    ax = plot_confusion(a)
    right, wrong = squares(ax)
    assert list(right.get_array()) == pytest.approx([e.mean for e in a.matrix if e.predicted == e.label])
    assert list(wrong.get_array()) == pytest.approx([e.mean for e in a.matrix if e.predicted != e.label])
    assert written(ax) == [f"{100 * e.mean:.0f}\n±{50 * (e.high - e.low):.0f}" for e in a.matrix]


def test_of_many_classes_uncertain_squares_are_small():
    names = [f"g{i}" for i in range(20)]
    a = assess(names, metric=fl.confusion, n=500)
    ax = plot_confusion(a)
    right, _ = squares(ax)
    side = [path.vertices[:, 0].max() - path.vertices[:, 0].min() for path in right.get_paths()]
    width = [e.high - e.low for e in a.matrix if e.predicted == e.label]
    assert side == pytest.approx([1 - 0.75 * w for w in width])
    assert not written(ax)


def test_of_very_many_classes_the_most_confused():
    a = assess([f"g{i}" for i in range(45)], metric=fl.confusion, n=900)
    ax = plot_confusion(a)
    shown = {tick.get_text() for tick in ax.get_yticklabels()}
    largest = max((e for e in a.matrix if e.predicted != e.label), key=lambda e: e.mean)
    assert len(shown) == 25
    assert {largest.predicted, largest.label} <= shown
    assert ax.get_title(loc="left") == "25 classes with the largest confusions, of 45"


def test_a_class_that_is_never_predicted_has_an_empty_row():
    pool = {"predicted": ["a", "a", "b", "b"], "label": ["a", "z", "b", None]}
    ax = plot_assessment(fl.assess(pool, metric=fl.confusion, n_draws=500))
    assert len(written(ax)) == 6
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["a", "b", "z"]


def test_confusion_refuses_what_it_cannot_draw(four):
    with pytest.raises(fl.InputError, match=r"metric=fl\.confusion"):
        plot_confusion(four)
    by_side = assess(by=fl.column("side"), metric=fl.confusion)
    with pytest.raises(fl.InputError, match=r"by=fl\.predicted"):
        plot_confusion(by_side)
    assert plot_assessment(by_side).get_xlabel() == "accuracy, 95% intervals"


# A difference ---------------------------------------------------------------------------------------------------------


def compare(rope=0.05, samples=None, **changes):
    samples = np.random.default_rng(0).normal(-0.1, 0.05, 4000) if samples is None else samples
    found = DrawnDifference(samples)
    low, high = found.interval()
    below, above = found.below(-rope), 1 - found.below(rope)
    values = {
        "groups": ("a", "b"), "metric": "accuracy", "rope": rope, "mean": found.mean(), "low": low, "high": high,
        "p_below": below, "p_equivalent": 1 - below - above, "p_above": above, "verdict": "below", "confidence": below,
        "level": 0.95, "difference": found,
    }  # fmt: skip
    return Comparison(**values | changes)


def test_difference_prints_its_three_probabilities():
    comparison = compare()
    ax = plot_comparison(comparison)
    chances = [comparison.p_below, comparison.p_equivalent, comparison.p_above]
    assert written(ax)[::2] == [f"{p:.2f}" if 0.01 <= p <= 0.99 else "<0.01" for p in chances]
    assert [x for x, _ in points(ax)] == pytest.approx([comparison.mean])
    assert {(s[0], s[2]) for s in segments(ax)} == {(round(comparison.low, 9), round(comparison.high, 9))}


def test_density_adds_up_to_one_and_is_cut_at_the_rope():
    comparison = compare()
    x, density = evaluate_density(comparison.difference, -0.4, 0.2, cuts=(-0.05, 0.05, 7.0))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=0.01)
    assert {-0.05, 0.05} <= set(x)
    below = x <= -0.05
    assert np.trapezoid(density[below], x[below]) == pytest.approx(comparison.p_below, abs=0.02)


def test_without_a_rope_there_are_two_probabilities():
    assert written(plot_comparison(compare(rope=0.0)))[1::2] == ["lower", "higher"]


def test_a_difference_of_costs_is_not_in_points():
    ax = plot_comparison(compare(rope=1.0, samples=np.random.default_rng(0).normal(3, 2, 4000), metric="cost"))
    assert ax.get_xlabel() == "expected cost: a − b"
    assert ax.get_xlim()[1] > 5
    assert ax.xaxis.get_major_formatter()(-2.0, 0) == "−2"


def test_a_comparison_without_a_distribution_is_refused():
    with pytest.raises(fl.InputError, match="no distribution"):
        plot_comparison(compare(difference=None))


# Every picture --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_draws_on_the_axes_it_is_given(four, kind):
    ax = Figure().subplots()
    assert plot_assessment(four, kind, ax=ax) is ax
    assert ax.has_data()
    assert four.plot(kind) is not ax


def test_a_comparison_draws_on_the_axes_it_is_given():
    ax = Figure().subplots()
    assert compare().plot(ax=ax) is ax


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "pool", [{"by": fl.everything}, {"names": ("a", "b")}, {"labelled": 0.0}, {"names": [f"g{i}" for i in range(43)]}],
    ids=["one", "two", "none labelled", "many"],
)  # fmt: skip
def test_every_kind_survives_extremes(kind, pool):
    render(plot_assessment(assess(**pool), kind))


@pytest.mark.parametrize("kind", KINDS)
def test_odd_names_warn_of_nothing_and_reach_the_page(kind):
    ax = plot_assessment(assess(ODD), kind)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        render(ax)
        ax.figure.savefig(BytesIO(), bbox_inches="tight")
        svg = render_svg(ax)
    page = minidom.parseString(svg)
    texts = [node.firstChild.data for node in page.getElementsByTagName("text") if node.firstChild]
    if kind in ("intervals", "ranks", "extremes", "confusion"):
        assert {"$x$ & $y_1$", "中文名称", "line break", "(blank)", 'a<b>&"c"', "\\$5 \\frac{1}{2}"} <= set(texts)
        assert any("…" in text for text in texts)


def test_the_same_picture_is_the_same_svg_and_ids_are_not_repeated(four):
    first, second = (render_svg(plot_assessment(four, "reliability")) for _ in range(2))
    assert first == second
    assert "figure_1" not in first


def test_names_are_shortened_by_the_room_they_take():
    assert shorten_label("中" * 40, 21) == "中" * 5 + "…" + "中" * 5
    assert len(shorten_label("x" * 100)) <= 28


def test_the_picture_suits_the_assessment():
    assert plot_assessment(assess()).get_xlabel().startswith("accuracy")
    assert plot_assessment(assess(by=fl.bins(5))).get_xlabel().startswith("score")
    assert plot_assessment(assess(by=fl.bins(5, equal_mass=True))).get_xlabel().startswith("score")
    assert plot_assessment(assess(by=fl.bins(5), metric=fl.ece)).get_xlabel().startswith("calibration error")
    crossed = assess(by=fl.cross(fl.bins(3), fl.column("side")))
    assert plot_assessment(crossed).get_xlabel().startswith("accuracy")
    assert plot_assessment(assess(metric=fl.confusion)).get_xlabel().startswith("true class")


def test_reliability_of_bins_keeps_those_bins():
    a = assess(by=fl.bins(3), metric=fl.ece)
    assert len(points(plot_assessment(a, "reliability"))) == len(a.groups)


def test_an_unknown_kind_is_named_with_those_there_are(four):
    with pytest.raises(fl.InputError, match=r"did you mean 'ranks'.*intervals, reliability"):
        plot_assessment(four, "rank")


@pytest.mark.parametrize("kind", ["scatter", "ece", "reliability"])
def test_calibration_needs_scores(kind):
    a = fl.assess({"predicted": ["a", "b"], "label": ["a", "a"]}, n_draws=500)
    with pytest.raises(fl.InputError, match="scores"):
        plot_assessment(a, kind)


def test_a_confusion_matrix_needs_classes():
    a = fl.assess({"score": [0.2, 0.9], "agreement": [0.1, 1.0]}, by=fl.everything, n_draws=500)
    with pytest.raises(fl.InputError, match="classes"):
        plot_assessment(a, "confusion")
