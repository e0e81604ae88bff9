"""From the fit to cells: the logit of each cell's accuracy, as a mixture over departures that moves with the curve.

The accuracy of a cell is the mean over its strata. On the logit scale it is nearly linear in the curve's terms, so it
is worked out exactly at their mode, for every departure on the grid, and moved along its slope from there.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logit, ndtri

from fewlabels.models.logit.agreement import find_contradicted
from fewlabels.models.logit.laplace import MOST_NUMBERS, Fit, Sheet
from fewlabels.models.logit.random_effects import NODES, squash

EDGE = 1e-6
LIGHTEST = 0.02  # weight up to which a sheet does not matter
POINTS, MASSES = hermegauss(5)
MASSES = MASSES / MASSES.sum()


@dataclass(frozen=True)
class Logits:
    """Logits of accuracy `at` each departure of each sheet, and how they move with the terms, labels considered."""

    fit: Fit
    group: Int[np.ndarray, " cell"]  # whose departure a cell shares
    at: Float[np.ndarray, "sheet cell node"]
    chance: Float[np.ndarray, "sheet cell node"]  # sums to one over the nodes of a sheet
    slope: Float[np.ndarray, "sheet cell term"]  # no terms where sheets are points
    within: Float[np.ndarray, " cell"]  # variance of the chance of being right over a cell's items

    @cached_property
    def weight(self) -> Float[np.ndarray, " sheet"]:
        """Of each sheet."""
        return np.array([sheet.weight for sheet in self.fit.sheets])

    @cached_property
    def wander(self) -> Float[np.ndarray, "sheet cell"]:
        """Standard deviation that not knowing the curve gives to each logit; none at points of the posterior."""
        if self.fit.is_sampled:
            return np.zeros(self.slope.shape[:2])
        return np.sqrt(np.maximum(np.einsum("sct,tu,scu->sc", self.slope, self.fit.conditional, self.slope), 0.0))

    @cached_property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy: over departures exactly, over the curve by quadrature."""
        if self.fit.is_sampled:
            return self.weight @ self._given_curve
        moved = sum(m * squash(self.at + x * self.wander[:, :, None]) for x, m in zip(POINTS, MASSES, strict=True))
        return np.einsum("s,scn,scn->c", self.weight, self.chance, moved)

    @property
    def error(self) -> Float[np.ndarray, " cell"]:
        """Monte-Carlo standard error of the mean accuracy; none unless the fit is made of points."""
        if not self.fit.is_sampled:
            return np.zeros(len(self.group))
        return np.sqrt(self.weight**2 @ (self._given_curve - self.mean) ** 2)

    @cached_property
    def _given_curve(self) -> Float[np.ndarray, "sheet cell"]:
        """Expected accuracy at each sheet's own curve."""
        return np.einsum("scn,scn->sc", self.chance, squash(self.at))

    def fits(self, right: Float[np.ndarray, " cell"], total: Float[np.ndarray, " cell"]) -> bool:
        """Check that no cell's own labels rule out what the normal approximation of the curve holds possible."""
        kept = self.weight > LIGHTEST
        centre, sd = np.einsum("scn,scn->sc", self.chance[kept], self.at[kept]), self.wander[kept]
        return not find_contradicted(centre, sd, right, total).any()

    def interval(self, level: float) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
        """Central interval of the accuracy: of the mixture over departures, widened by what is not known of the curve."""
        chance = self.weight[:, None, None] * self.chance
        at, chance = (np.concatenate(list(values), axis=1) for values in (self.at, chance))
        order = np.argsort(at, axis=1)
        at, chance = (np.take_along_axis(values, order, axis=1) for values in (at, chance))
        low, middle, high = (_quantile(at, chance, q) for q in ((1 - level) / 2, 0.5, (1 + level) / 2))
        reach = ndtri((1 + level) / 2) ** 2 * (self.weight @ self.wander**2)
        low, high = (middle + sign * np.sqrt((end - middle) ** 2 + reach) for sign, end in ((-1, low), (1, high)))
        return squash(low), squash(high)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws: one scale, one curve and one departure of every group at a time."""
        sheets = rng.choice(len(self.weight), size=n, p=self.weight)
        moved = None if self.fit.is_sampled else self._move(rng, n)
        groups, first, place = np.unique(self.group, return_index=True, return_inverse=True)
        node = _pick(self.chance[:, first], sheets, rng.random((n, len(groups))))[:, place.reshape(-1)]
        out = self.at[sheets[:, None], np.arange(len(self.group)), node]
        if moved is not None:
            for sheet in np.unique(sheets):
                (drawn,) = np.nonzero(sheets == sheet)
                out[drawn] += moved[drawn] @ self.slope[sheet].T
        return squash(out)

    def _move(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw term"]:
        """Draw how far the terms are from their mode."""
        root = np.linalg.cholesky(self.fit.conditional)
        return rng.standard_normal((n, len(root))) @ root.T


def _pick(
    chance: Float[np.ndarray, "sheet group node"],
    sheets: Int[np.ndarray, " draw"],
    chosen: Float[np.ndarray, "draw group"],
) -> Int[np.ndarray, "draw group"]:
    """Pick a node of every group by a number between 0 and 1: as many borders as lie below it."""
    found = np.zeros(chosen.shape, dtype=np.int8)
    for border in np.moveaxis(np.cumsum(chance, axis=2), 2, 0)[:-1]:
        found += chosen > border[sheets]
    return found.astype(np.int64)


def project(
    fit: Fit,
    design: Float[np.ndarray, "stratum term"],
    weights: Sequence[Float[np.ndarray, " stratum"]],
    cell: Int[np.ndarray, " stratum"],
    group: Int[np.ndarray, " cell"],
) -> tuple[Logits, ...]:
    """Work out the accuracy of cells made of strata, which come cell by cell, for each weighting of these.

    Each cell is of one group.
    """
    start = np.searchsorted(cell, np.arange(len(group)))
    shares = [weight / np.add.reduceat(weight, start)[cell] for weight in weights]
    n = max(1, MOST_NUMBERS // (len(design) * NODES))
    blocks = [fit.sheets[i : i + n] for i in range(0, len(fit.sheets), n)]
    parts = [_project(block, fit, design, shares, start, group) for block in blocks]
    weight = np.array([sheet.weight for sheet in fit.sheets])
    out = []
    for of_share in zip(*parts, strict=True):
        at, chance, slope, within = (np.concatenate(values) for values in zip(*of_share, strict=True))
        out.append(Logits(fit, group, at, chance, slope, weight @ within))
    return tuple(out)


def _project(
    sheets: Sequence[Sheet],
    fit: Fit,
    design: Float[np.ndarray, "stratum term"],
    shares: Sequence[Float[np.ndarray, " stratum"]],
    start: Int[np.ndarray, " cell"],
    group: Int[np.ndarray, " cell"],
) -> list[
    tuple[
        Float[np.ndarray, "sheet cell node"],
        Float[np.ndarray, "sheet cell node"],
        Float[np.ndarray, "sheet cell moving"],
        Float[np.ndarray, "sheet cell"],
    ]
]:
    """Logits, chances, slopes and how chances vary within cells, at some scales, for each weighting.

    At points of the posterior no term moves. Nodes times strata are many numbers, and none of them needs more than six digits; strata come last, being more.
    """
    place, chance, pull = _recall(sheets, fit, group)
    n_strata = np.diff(np.append(start, len(design)))
    curve = np.stack([sheet.terms for sheet in sheets]) @ design.T
    right = squash(curve.astype(np.float32)[:, None] + np.repeat(_turn(place), n_strata, axis=2))
    typical = squash(curve + np.repeat((chance * place).sum(axis=2), n_strata, axis=1))
    out = []
    for share in shares:
        summed = np.add.reduceat(share.astype(np.float32) * right, start, axis=2)
        at = logit(np.clip(np.swapaxes(summed, 1, 2).astype(np.float64), EDGE, 1 - EDGE))
        centred = at - (chance * at).sum(axis=2, keepdims=True)
        learned = np.einsum("pcn,pcnt->pct", chance * centred, pull)  # another curve makes other departures likely
        slope, within = _incline(design, share, typical, start)
        out.append((at, chance, learned if fit.is_sampled else slope + learned, within))
    return out


def _incline(
    design: Float[np.ndarray, "stratum term"],
    share: Float[np.ndarray, " stratum"],
    right: Float[np.ndarray, "sheet stratum"],
    start: Int[np.ndarray, " cell"],
) -> tuple[Float[np.ndarray, "sheet cell term"], Float[np.ndarray, "sheet cell"]]:
    """How the logit of a cell's accuracy moves with the terms at a typical departure, and how chances vary within it."""
    accuracy = np.clip(np.add.reduceat(share * right, start, axis=1), EDGE, 1 - EDGE)
    whole, open = accuracy * (1 - accuracy), share * right * (1 - right)
    steep = np.add.reduceat(open[:, :, None] * design, start, axis=1)
    return steep / whole[:, :, None], np.maximum(whole - np.add.reduceat(open, start, axis=1), 0.0)


def _turn(values: Float[np.ndarray, "sheet cell node"]) -> Float[np.ndarray, "sheet node cell"]:
    return np.ascontiguousarray(np.swapaxes(values, 1, 2), dtype=np.float32)


def _recall(
    sheets: Sequence[Sheet], fit: Fit, group: Int[np.ndarray, " cell"]
) -> tuple[
    Float[np.ndarray, "sheet cell node"],
    Float[np.ndarray, "sheet cell node"],
    Float[np.ndarray, "sheet cell node term"],
]:
    """Departures, their chances and pulls of every cell's group; groups without a label have the prior's, and no pull."""
    departures, n = fit.model.departures, len(sheets)
    scale = np.array([[sheet.scale] for sheet in sheets])
    grid = departures.place(scale, np.zeros(n), np.full(n, departures.stray))
    place, chance = (np.repeat(values[:, None], len(group), axis=1) for values in (grid.place, grid.weight))
    pull = np.zeros((*chance.shape, 0 if fit.is_sampled else len(fit.mode) - 1))
    where = np.searchsorted(fit.group, group)
    heard = np.nonzero((where < len(fit.group)) & (np.append(fit.group, -1)[where] == group))[0]
    for name, values in (("place", place), ("chance", chance), ("pull", pull)):
        values[:, heard] = np.stack([getattr(sheet, name) for sheet in sheets])[:, where[heard]]
    return place, chance, pull


def _quantile(
    at: Float[np.ndarray, "cell node"], chance: Float[np.ndarray, "cell node"], q: float
) -> Float[np.ndarray, " cell"]:
    """Quantile of values on a grid, between its nodes; half of a node's chance lies on either side of it."""
    below = np.cumsum(chance, axis=1) - chance / 2
    after = np.clip((below < q).sum(axis=1), 1, at.shape[1] - 1)[:, None]
    (x0, x1), (p0, p1) = ([np.take_along_axis(a, after - i, axis=1)[:, 0] for i in (1, 0)] for a in (at, below))
    share = np.clip((q - p0) / np.maximum(p1 - p0, EDGE), 0.0, 1.0)
    return x0 + share * (x1 - x0)
