"""How strata enter the model: the curve's terms, and whose departure they share."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import logit

from fewlabels.labels import Cells
from fewlabels.latent import Evidence, Model

EDGE = 1e-5  # scores are taken to lie at least so far from 0 and 1
LEVEL, SLOPE, BEND, TRAIT = (0.0, 1.5), (1.0, 0.5), (0.0, 0.5), (0.0, 0.5)  # what is expected of terms, and how far off


@dataclass(frozen=True)
class Layout:
    """How strata enter the model."""

    design: Float[np.ndarray, "stratum term"]
    group: Int[np.ndarray, " cell"]  # whose departure a cell shares
    knots: tuple[float, ...]  # where the curve may bend, in logits
    model: Model

    def gather(self, cells: Cells) -> Evidence:
        """Take the labelled strata, group by group."""
        strata = cells.strata
        (labelled,) = np.nonzero(strata.n_labels > 0)
        labelled = labelled[np.argsort(self.group[strata.cell[labelled]], kind="stable")]
        total = strata.n_labels[labelled].astype(np.float64)
        return Evidence(self.design[labelled], self.group[strata.cell[labelled]], strata.right[labelled], total)


def lay_out(cells: Cells) -> Layout:
    """Set up the curve's terms for these cells: a cell departs with its group and predicted class, whatever its bin."""
    strata = cells.strata
    _, group = np.unique(np.stack([cells.group, cells.predicted], axis=1), axis=0, return_inverse=True)
    group = group.reshape(-1)
    columns, priors = [np.ones(len(strata.cell))], [LEVEL]
    knots: tuple[float, ...] = ()
    if not np.isnan(strata.score).any():
        x = to_logit(strata.score)
        knots = _place_knots(x, strata.n_items)
        columns = [*bend(x, knots).T]
        priors += [SLOPE, *(BEND for _ in knots)]
        columns.append(_describe(x, group[strata.cell], strata.n_items))
        priors.append(TRAIT)
    size = np.bincount(group[strata.cell], weights=strata.n_items)
    columns.append(_centre(np.log(size)[group[strata.cell]], strata.n_items))
    priors.append(TRAIT)
    centre, spread = np.array(priors).T
    return Layout(np.stack(columns, axis=1), group, knots, Model(centre, spread))


def _place_knots(x: Float[np.ndarray, " stratum"], n: Int[np.ndarray, " stratum"]) -> tuple[float, ...]:
    """Let the curve bend where a third and two thirds of the items lie below; nowhere, where all are alike."""
    order = np.argsort(x)
    below = np.cumsum(n[order]) / n.sum()
    found = {float(x[order][np.searchsorted(below, share)]) for share in (1 / 3, 2 / 3)}
    return tuple(sorted(knot for knot in found if x.min() < knot < x.max()))


def _describe(
    x: Float[np.ndarray, " stratum"], group: Int[np.ndarray, " stratum"], n: Int[np.ndarray, " stratum"]
) -> Float[np.ndarray, " stratum"]:
    """Mean logit of the scores of a stratum's group, compared with the pool's."""
    mean = np.bincount(group, weights=n * x) / np.bincount(group, weights=n)
    return _centre(mean[group], n)


def _centre(values: Float[np.ndarray, " stratum"], n: Int[np.ndarray, " stratum"]) -> Float[np.ndarray, " stratum"]:
    return values - (values * n).sum() / n.sum()


def bend(x: Float[np.ndarray, " place"], knots: tuple[float, ...]) -> Float[np.ndarray, "place term"]:
    """Return the curve's terms at these logits: level, slope, and what is added at each knot."""
    return np.stack([np.ones(len(x)), x, *(np.maximum(x - knot, 0.0) for knot in knots)], axis=1)


def to_logit(score: Float[np.ndarray, " place"]) -> Float[np.ndarray, " place"]:
    """Scores as logits; no score is taken for certainty."""
    found: Float[np.ndarray, " place"] = logit(np.clip(score, EDGE, 1 - EDGE))
    return found
