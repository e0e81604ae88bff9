"""Posterior summaries at checkpoints along an order of labels, by incremental updates.

A checkpoint is a number of labels; checkpoints are sorted, and 0 is the posterior before any label. After the end of an
order, values stay constant.
"""

from typing import Any

import numpy as np

from fewlabels.active.simulation.kernels.item_queue import Floats, Ints
from fewlabels.active.simulation.kernels.jit import entry_point
from fewlabels.active.simulation.kernels.state_interface import observe, plug_in_gain, prepare


@entry_point
def trace_outcomes(order: Ints, checkpoints: Ints, cell: Ints, right: Floats, n_cells: int) -> Floats:
    """Counts of right and of all outcomes in each cell at every checkpoint, (checkpoint, cell, 2)."""
    counts = np.zeros((n_cells, 2))
    out = np.empty((len(checkpoints), n_cells, 2))
    n = 0
    for i in range(len(checkpoints)):
        while n < min(checkpoints[i], len(order)):
            counts[cell[order[n]], 0] += right[order[n]]
            counts[cell[order[n]], 1] += 1.0
            n += 1
        out[i] = counts
    return out


@entry_point
def trace_gains(order: Ints, checkpoints: Ints, group: Ints, state: Any, n_groups: int) -> Floats:
    """Gain of each group at the posterior mean at every checkpoint, (checkpoint, group), for any kind of state."""
    gains = np.empty(n_groups)
    for g in range(n_groups):
        prepare(state, g)
        gains[g] = plug_in_gain(state, g)
    changed = np.zeros(n_groups, dtype=np.bool_)
    out = np.empty((len(checkpoints), n_groups))
    n = 0
    for i in range(len(checkpoints)):
        while n < min(checkpoints[i], len(order)):
            observe(state, order[n], group[order[n]])
            changed[group[order[n]]] = True
            n += 1
        for g in range(n_groups):
            if changed[g]:
                gains[g] = plug_in_gain(state, g)
                changed[g] = False
        out[i] = gains
    return out


def trace_squared_errors(
    order: Ints, checkpoints: Ints, cell: Ints, label: Ints, alpha: Floats, truth: Floats
) -> Floats:
    """At each checkpoint, Σ_j (m_j − θ_j)² of each cell, (checkpoint, cell), m the posterior mean.

    It is Σα²/A² − 2 Σαθ/A + Σθ².
    """
    sums = np.stack([alpha.sum(axis=1), (alpha**2).sum(axis=1), (alpha * truth).sum(axis=1)], axis=1)
    total, squares, products = trace_sums(order, checkpoints, cell, label, alpha.copy(), truth, sums).transpose(2, 0, 1)
    return np.maximum(squares / total**2 - 2 * products / total + (truth**2).sum(axis=1), 0.0)


@entry_point
def trace_sums(
    order: Ints, checkpoints: Ints, cell: Ints, label: Ints, alpha: Floats, truth: Floats, sums: Floats
) -> Floats:
    """Σα, Σα² and Σαθ of each cell at every checkpoint, (checkpoint, cell, 3); modifies `alpha` and `sums`."""
    out = np.empty((len(checkpoints), len(sums), 3))
    n = 0
    for i in range(len(checkpoints)):
        while n < min(checkpoints[i], len(order)):
            c, j = cell[order[n]], label[order[n]]
            sums[c, 0] += 1.0
            sums[c, 1] += 2.0 * alpha[c, j] + 1.0
            sums[c, 2] += truth[c, j]
            alpha[c, j] += 1.0
            n += 1
        out[i] = sums
    return out
