"""From the fit to cells: the logit of each cell's accuracy, as a mixture over random effects, linear in the curve.

The accuracy of a cell is the mean over its strata. Its logit is nearly linear in the curve's terms, so it is computed
exactly at their mode, for every node of the random effect's grid, and linearised around the mode. That of an outlier does
not depend on the curve.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int
from numpy.polynomial.hermite_e import hermegauss
from scipy.special import logit, ndtri

from fewlabels.models.logit.laplace import MAX_ELEMENTS, LogitComponent, LogitFit
from fewlabels.models.logit.laplace_check import find_contradicted
from fewlabels.models.logit.model import N_HYPER
from fewlabels.models.logit.node_draws import NodeDraws
from fewlabels.models.logit.random_effects import LOOSE, N_SHIFTS, N_T, NODES, OutlierGrid, expit

EDGE = 1e-6
MIN_WEIGHT = 0.02  # weight up to which a component is ignored in the check against labels
POINTS, MASSES = hermegauss(5)
MASSES = MASSES / MASSES.sum()


@dataclass(frozen=True)
class CellLogits:
    """Logits of accuracy at each node of each mixture component, with their posterior weights and gradients."""

    fit: LogitFit
    group: Int[np.ndarray, " cell"]  # group whose random effect a cell has
    at: Float[np.ndarray, "component cell node"]
    probability: Float[np.ndarray, "component cell node"]  # posterior probability; sums to one over nodes
    gradient: Float[np.ndarray, "component cell term"]  # by the curve's terms; no terms where components are points
    within_variance: Float[np.ndarray, " cell"]  # variance of the probability of being right over a cell's items

    @cached_property
    def weight(self) -> Float[np.ndarray, " component"]:
        """Weight of each component of the cells' mixture."""
        return np.array([component.weight for component in self.fit.components])

    @cached_property
    def curve_standard_deviation(self) -> Float[np.ndarray, "component cell"]:
        """Standard deviation of each cell's logit by the uncertainty of the curve; zero at importance-sampling points."""
        if self.fit.is_sampled:
            return np.zeros(self.gradient.shape[:2])
        parts = zip(self.gradient, self.fit.components, strict=True)
        square = [np.einsum("ct,tu,cu->c", gradient, part.covariance, gradient) for gradient, part in parts]
        return np.sqrt(np.maximum(square, 0.0))

    @cached_property
    def mean(self) -> Float[np.ndarray, " cell"]:
        """Expected accuracy of every cell: summed over the random effect's grid, by quadrature over the curve."""
        if self.fit.is_sampled:
            return self.weight @ self._given_curve
        moved = sum(
            m * expit(self.at[:, :, :N_SHIFTS] + x * self.curve_standard_deviation[:, :, None])
            for x, m in zip(POINTS, MASSES, strict=True)
        )
        right = np.concatenate([moved, expit(self.at[:, :, N_SHIFTS:])], axis=2)
        return np.einsum("s,scn,scn->c", self.weight, self.probability, right)

    @property
    def error(self) -> Float[np.ndarray, " cell"]:
        """Monte-Carlo standard error of the cells' mean accuracy; zero unless the fit is importance-sampled."""
        if not self.fit.is_sampled:
            return np.zeros(len(self.group))
        return np.sqrt(self.weight**2 @ (self._given_curve - self.mean) ** 2)

    @cached_property
    def _given_curve(self) -> Float[np.ndarray, "component cell"]:
        """Expected accuracy of the cells given each component's curve."""
        return np.einsum("scn,scn->sc", self.probability, expit(self.at))

    def agrees_with_labels(self, right: Float[np.ndarray, " cell"], total: Float[np.ndarray, " cell"]) -> bool:
        """Check the normal approximation of the curve against each cell's own labels, unless the cell is an outlier."""
        kept = self.weight > MIN_WEIGHT
        probability, at = (values[kept][:, :, :N_T] for values in (self.probability, self.at))
        follows = probability.sum(axis=2)
        centre = np.einsum("scn,scn->sc", probability, at) / np.maximum(follows, EDGE)
        contradicted = find_contradicted(centre, self.curve_standard_deviation[kept], right, total)
        return not (contradicted & (follows > MIN_WEIGHT)).any()

    def interval(self, level: float) -> tuple[Float[np.ndarray, " cell"], Float[np.ndarray, " cell"]]:
        """Central interval of every cell's accuracy: of the mixture over random effects, widened by the curve's variance.

        As far as a cell is an outlier, its accuracy does not depend on the curve.
        """
        follows = self.probability[:, :, :N_SHIFTS].sum(axis=2)
        probability = self.weight[:, None, None] * self.probability
        at, probability = (np.concatenate(list(values), axis=1) for values in (self.at, probability))
        order = np.argsort(at, axis=1)
        at, probability = (np.take_along_axis(values, order, axis=1) for values in (at, probability))
        low, middle, high = (_quantile(at, probability, q) for q in ((1 - level) / 2, 0.5, (1 + level) / 2))
        reach = ndtri((1 + level) / 2) ** 2 * (self.weight @ (follows * self.curve_standard_deviation**2))
        low, high = (middle + sign * np.sqrt((end - middle) ** 2 + reach) for sign, end in ((-1, low), (1, high)))
        return expit(low), expit(high)

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw cell"]:
        """Joint draws of the cells: each has one component, one curve and one random effect per group."""
        components = rng.choice(len(self.weight), size=n, p=self.weight)
        first, place = np.unique(self.group, return_index=True, return_inverse=True)[1:]
        node = _sample_nodes(self.probability[:, first], components, rng.random((n, len(first))))
        offset = 2 * rng.random(node.shape) - 1  # draws are spread over the node's interval
        node, offset = node[:, place.reshape(-1)], offset[:, place.reshape(-1)]
        out = self._node_draws.spread(components, node, offset)
        if not self.fit.is_sampled:
            for component in np.unique(components):
                (drawn,) = np.nonzero(components == component)
                root = np.linalg.cholesky(self.fit.components[component].covariance)
                deviations = rng.standard_normal((len(drawn), len(root))) @ root.T  # of the terms from their mode
                out[drawn] += (node[drawn] < N_SHIFTS) * (deviations @ self.gradient[component].T)
        return expit(out)

    @cached_property
    def _node_draws(self) -> NodeDraws:
        """Continuous draws of the cells' logits from their grids."""
        return NodeDraws(self.at, self.probability)


def _sample_nodes(
    probability: Float[np.ndarray, "component group node"],
    components: Int[np.ndarray, " draw"],
    chosen: Float[np.ndarray, "draw group"],
) -> Int[np.ndarray, "draw group"]:
    """Sample a node of the random effect of every group's cells by inverting the cumulative probabilities."""
    found = np.zeros(chosen.shape, dtype=np.int8)
    for border in np.moveaxis(np.cumsum(probability, axis=2), 2, 0)[:-1]:
        found += chosen > border[components]
    return found.astype(np.int64)


def project_to_cells(
    fit: LogitFit,
    design: Float[np.ndarray, "stratum term"],
    weights: Sequence[Float[np.ndarray, " stratum"]],
    cell: Int[np.ndarray, " stratum"],
    group: Int[np.ndarray, " cell"],
    traits: Float[np.ndarray, "cell trait"],
) -> tuple[CellLogits, ...]:
    """Project a fit of the logit curve to the accuracies of cells made of sorted strata, for each weighting.

    Each cell belongs to one group.
    """
    start = np.searchsorted(cell, np.arange(len(group)))
    shares = [weight / np.add.reduceat(weight, start)[cell] for weight in weights]
    n = max(1, MAX_ELEMENTS // (len(design) * NODES))
    blocks = [fit.components[i : i + n] for i in range(0, len(fit.components), n)]
    parts = [_project(block, fit, design, shares, start, group, traits) for block in blocks]
    weight = np.array([component.weight for component in fit.components])
    out = []
    for of_share in zip(*parts, strict=True):
        at, probability, gradient, within_variance = (np.concatenate(values) for values in zip(*of_share, strict=True))
        within_variance = within_variance * (
            1 - probability[:, :, N_SHIFTS:].sum(axis=2)
        )  # an outlier's items are alike
        out.append(CellLogits(fit, group, at, probability, gradient, weight @ within_variance))
    return tuple(out)


def _project(
    components: Sequence[LogitComponent],
    fit: LogitFit,
    design: Float[np.ndarray, "stratum term"],
    shares: Sequence[Float[np.ndarray, " stratum"]],
    start: Int[np.ndarray, " cell"],
    group: Int[np.ndarray, " cell"],
    traits: Float[np.ndarray, "cell trait"],
) -> list[
    tuple[
        Float[np.ndarray, "component cell node"],
        Float[np.ndarray, "component cell node"],
        Float[np.ndarray, "component cell moving"],
        Float[np.ndarray, "component cell"],
    ]
]:
    """Logits, node probabilities, gradients and within-cell variances for some components, for each weighting.

    Importance-sampling points have no gradient. The arrays of nodes by strata are large and need six digits only, so they
    are float32; strata are the last axis because they are the longest.
    """
    place, probability, score_by_node = _effects_by_cell(components, fit, group, traits)
    n_strata = np.diff(np.append(start, len(design)))
    curve = np.stack([component.terms for component in components]) @ design.T
    shifts, alone = place[:, :, :N_SHIFTS], place[:, :, N_SHIFTS:]
    right = expit(curve.astype(np.float32)[:, None] + np.repeat(_nodes_first(shifts), n_strata, axis=2))
    chance = probability[:, :, :N_T] / np.maximum(probability[:, :, :N_T].sum(axis=2, keepdims=True), EDGE)
    typical = expit(curve + np.repeat((chance * place[:, :, :N_T]).sum(axis=2), n_strata, axis=1))
    out = []
    for share in shares:
        summed = np.add.reduceat(share.astype(np.float32) * right, start, axis=2)
        at = logit(np.clip(np.swapaxes(summed, 1, 2).astype(np.float64), EDGE, 1 - EDGE))
        near = at[:, :, :N_T]
        centred = near - (chance * near).sum(axis=2, keepdims=True)
        learned = np.einsum(
            "pcn,pcnt->pct", chance * centred, score_by_node[:, :, :N_T]
        )  # the node probabilities depend on the curve
        gradient, within_variance = _linearize(design, share, typical, start)
        if fit.is_sampled:
            out.append((np.concatenate([at, alone], axis=2), probability, learned, within_variance))
            continue
        gradient = gradient + learned
        shift = np.einsum("pct,pt->pc", gradient, np.stack([component.shift for component in components]))
        nodes = np.concatenate([at + shift[:, :, None], alone], axis=2)
        out.append((nodes, probability, gradient, within_variance))
    return out


def _linearize(
    design: Float[np.ndarray, "stratum term"],
    share: Float[np.ndarray, " stratum"],
    right: Float[np.ndarray, "component stratum"],
    start: Int[np.ndarray, " cell"],
) -> tuple[Float[np.ndarray, "component cell term"], Float[np.ndarray, "component cell"]]:
    """Gradient of the logit of a cell's accuracy by the terms at the mean random effect, and within-cell variance."""
    accuracy = np.clip(np.add.reduceat(share * right, start, axis=1), EDGE, 1 - EDGE)
    whole, open = accuracy * (1 - accuracy), share * right * (1 - right)
    steep = np.add.reduceat(open[:, :, None] * design, start, axis=1)
    return steep / whole[:, :, None], np.maximum(whole - np.add.reduceat(open, start, axis=1), 0.0)


def _nodes_first(values: Float[np.ndarray, "component cell node"]) -> Float[np.ndarray, "component node cell"]:
    """Swap the axes of cells and nodes, in single precision."""
    return np.ascontiguousarray(np.swapaxes(values, 1, 2), dtype=np.float32)


def _effects_by_cell(
    components: Sequence[LogitComponent],
    fit: LogitFit,
    group: Int[np.ndarray, " cell"],
    traits: Float[np.ndarray, "cell trait"],
) -> tuple[
    Float[np.ndarray, "component cell node"],
    Float[np.ndarray, "component cell node"],
    Float[np.ndarray, "component cell node term"],
]:
    """Nodes, probabilities and scores of every cell's random effect; groups without labels have the prior's and score 0."""
    random_effects, n = fit.model.random_effects, len(components)
    at = np.repeat(np.stack([component.at for component in components]), len(group), axis=0)
    spread = fit.model.read_spread(at, np.tile(traits, (n, 1)))
    zero = np.zeros(n * len(group))
    grid = random_effects.build_grid(spread, zero, zero + LOOSE, OutlierGrid.build(zero, zero))
    place, probability = (values.reshape(n, len(group), -1) for values in (grid.nodes, grid.weight))
    score_by_node = np.zeros((*probability.shape, 0 if fit.is_sampled else len(fit.mean) - N_HYPER))
    where = np.searchsorted(fit.group, group)
    labelled = np.nonzero((where < len(fit.group)) & (np.append(fit.group, -1)[where] == group))[0]
    fitted = zip(
        *((component.nodes, component.probability, component.score_by_node) for component in components), strict=True
    )
    for values, found in zip((place, probability, score_by_node), fitted, strict=True):
        values[:, labelled] = np.stack(found)[:, where[labelled]]
    return place, probability, score_by_node


def _quantile(
    at: Float[np.ndarray, "cell node"], probability: Float[np.ndarray, "cell node"], q: float
) -> Float[np.ndarray, " cell"]:
    """Quantile of a cell's distribution on a grid, interpolated; half of a node's mass lies on either side of it."""
    below = np.cumsum(probability, axis=1) - probability / 2
    after = np.clip((below < q).sum(axis=1), 1, at.shape[1] - 1)[:, None]
    (x0, x1), (p0, p1) = ([np.take_along_axis(a, after - i, axis=1)[:, 0] for i in (1, 0)] for a in (at, below))
    share = np.clip((q - p0) / np.maximum(p1 - p0, EDGE), 0.0, 1.0)
    return x0 + share * (x1 - x0)
