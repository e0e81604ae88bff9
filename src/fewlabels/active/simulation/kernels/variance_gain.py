"""The gain of one label where the goal is a small variance, for a cell with a Beta posterior."""

from typing import Any

from fewlabels.active.simulation.kernels.jit import force_inlined


@force_inlined
def set_variance_gain(cell: Any) -> None:
    """Set the gain to the variance minus its expectation after a label: linear in θ, the probability of an outcome."""
    total = cell.alpha + cell.beta
    later = (total + 1.0) ** 2 * (total + 2.0)
    now = cell.alpha * cell.beta / (total**2 * (total + 1.0))
    cell.base = cell.scale * (now - cell.alpha * (cell.beta + 1.0) / later)
    cell.slope = cell.scale * (cell.alpha - cell.beta) / later
