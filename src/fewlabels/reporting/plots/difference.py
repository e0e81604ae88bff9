"""The posterior of the difference between two groups, divided at the borders of the ROPE."""

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.ticker import FuncFormatter, MaxNLocator

from fewlabels.analyses.comparison import Comparison
from fewlabels.distributions.budgets import N_DRAWS
from fewlabels.distributions.difference import Difference
from fewlabels.errors import InputError
from fewlabels.reporting.plots.axes import clean_axes
from fewlabels.reporting.plots.densities import smooth_density
from fewlabels.reporting.plots.figure import new_axes
from fewlabels.reporting.plots.formatting import is_share, shorten_label, spell_metric
from fewlabels.reporting.plots.style import BLUE, GREY, INK, ORANGE, SMALL
from fewlabels.text import format_probability

GRID_SIZE = 240
TINY = 1e-12
Line = Float[np.ndarray, " point"]


def plot_comparison(comparison: Comparison, *, ax: Axes | None = None) -> Axes:
    """Draw the posterior of the difference a − b of two groups, with the probabilities of lower, equivalent and higher."""
    if comparison.difference is None:
        raise InputError("this comparison holds no distribution to draw; make it with fl.compare")
    ax = ax or new_axes(3.0)
    clean_axes(ax)
    ax.set_yticks([])
    low, high = _find_density_limits(comparison)
    top = 1.0
    if comparison.low < comparison.high:
        x, density = evaluate_density(comparison.difference, low, high, cuts=(-comparison.rope, comparison.rope))
        _fill_regions(ax, x, density, comparison.rope)
        top = float(density.max())
    ax.hlines(-0.07 * top, comparison.low, comparison.high, color=INK, linewidth=2.5)
    ax.plot([comparison.mean], [-0.07 * top], "o", color=INK, markersize=6)
    for border, dash in ((0, (4, 3)), (-comparison.rope, ()), (comparison.rope, ())):
        ax.axvline(border, color=GREY, linewidth=0.8, linestyle=(0, dash), zorder=0)
    ax.set_ylim(-0.16 * top, 1.05 * top)
    ax.set_xlim(low, high)
    _write_probabilities(ax, comparison)
    _label_difference_axes(ax, comparison)
    return ax


def evaluate_density(difference: Difference, low: float, high: float, *, cuts: tuple[float, ...]) -> tuple[Line, Line]:
    """Return grid points, the cuts among them, and the density there, from differences of the distribution function, smoothed."""
    edges = np.linspace(low, high, GRID_SIZE + 1)
    mass = np.diff([difference.below(float(edge)) for edge in edges])
    middle = (edges[1:] + edges[:-1]) / 2
    mean = float(mass @ middle) / max(float(mass.sum()), TINY)
    deviation = float(np.sqrt(mass @ (middle - mean) ** 2 / max(float(mass.sum()), TINY)))
    smooth = smooth_density(mass / np.diff(edges), deviation / (edges[1] - edges[0]), N_DRAWS)
    inside = [cut for cut in cuts if low < cut < high]
    x = np.unique(np.concatenate([[low], middle, inside, [high]]))
    return x, np.interp(x, middle, smooth)


def _find_density_limits(comparison: Comparison) -> tuple[float, float]:
    """Return the limits of the axis of a difference: the tails and the whole ROPE fit."""
    room = max(0.5 * (comparison.high - comparison.low), 0.3 * comparison.rope, 0.01)
    low = min(comparison.low - room, -comparison.rope - room)
    high = max(comparison.high + room, comparison.rope + room)
    return (max(low, -1.0), min(high, 1.0)) if is_share(comparison.metric) else (low, high)


def _fill_regions(ax: Axes, x: Line, density: Line, rope: float) -> None:
    """Colour the density of a difference below, within and above the ROPE."""
    parts = ((x <= -rope, ORANGE), ((x >= -rope) & (x <= rope), GREY), (x >= rope, BLUE))
    for where, colour in parts:
        ax.fill_between(x[where], density[where], color=colour, alpha=0.35, linewidth=0)
        ax.plot(x[where], density[where], color=colour, linewidth=1.4)


def _write_probabilities(ax: Axes, comparison: Comparison) -> None:
    """Write the probabilities that the difference is below, within and above the ROPE over these regions."""
    by = _format_difference(comparison.rope, comparison.metric)
    texts = (
        (0.0, "left", ORANGE, "lower" if comparison.rope == 0 else f"lower by more than {by}", comparison.p_below),
        (0.5, "center", GREY, f"within {by}", comparison.p_equivalent),
        (1.0, "right", BLUE, "higher" if comparison.rope == 0 else f"higher by more than {by}", comparison.p_above),
    )
    for at, side, colour, text, chance in texts if comparison.rope else texts[::2]:
        ax.text(
            at,
            1.14,
            format_probability(chance),
            transform=ax.transAxes,
            ha=side,
            fontsize=13,
            color=colour,
            weight="bold",
        )
        ax.text(at, 1.04, text, transform=ax.transAxes, ha=side, fontsize=SMALL, color=colour)


def _format_difference(value: float, metric: str) -> str:
    """Format a difference in a plot: in percentage points for shares."""
    return f"{100 * value:.3g} points" if is_share(metric) else f"{value:.3g}"


def _label_difference_axes(ax: Axes, comparison: Comparison) -> None:
    """Label the axes of the plot of a difference."""
    a, b = (shorten_label(group, 22) for group in comparison.groups)
    unit = " (percentage points)" if is_share(comparison.metric) else ""
    scale = 100 if is_share(comparison.metric) else 1
    ax.xaxis.set_major_locator(MaxNLocator(7, steps=[1, 2, 2.5, 5, 10]))
    ax.xaxis.set_major_formatter(FuncFormatter(lambda x, _: f"{scale * x:+g}".replace("-", "−") if x else "0"))
    ax.set_xlabel(f"{spell_metric(comparison.metric)}: {a} − {b}{unit}", color=INK)
