"""Which class wrong predictions truly are: an effect per true class, shared by all cells, and noise by cell.

A wrong item of cell k is of class j with probability π_kj ∝ m_kj exp(r_j). m_kj is the mean probability of class j over the
cell's items (without probabilities: how often j is predicted), and r_j ~ N(0, σ²) says how much more often class j is
missed than that promises. The shares of one cell are Dirichlet(A π_k). Settings of σ and A on a grid are averaged by their
Laplace evidence, so no strength is chosen, and every label is used once.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.special import digamma, gammaln, polygamma, softmax

from fewlabels.data.counts import NONE, Cells
from fewlabels.models.logit.occurrence import Occurrence, fit_occurrence

SCALES = np.array([0.12, 0.35, 1.0, 2.5])  # grid of σ
STRENGTHS = np.array([3.0, 15.0, 80.0, 500.0])  # grid of A, in labels
SCALE_PRIOR = 0.5  # scale of the half-Cauchy prior of σ
STRENGTH_PRIOR = 1.5  # standard deviation of the prior of log A, around
TYPICAL_STRENGTH, TYPICAL_STRENGTH_WITHOUT_SCORES = 60.0, 15.0
FLOOR = 0.02  # share of the base that is even, so that a probability of 0 excludes no class
TINY = 1e-300
STEPS, TOLERANCE = 30, 0.01  # of Newton's method, in effects
MAX_STEP = 2.0  # largest change of an effect in one step
MIN_WEIGHT = 0.01  # settings with less posterior weight are left out
BLOCK = 2_000_000  # array elements held at a time

Effects = Float[np.ndarray, "setting class"]
Squares = Float[np.ndarray, "setting class class"]
PerSetting = Float[np.ndarray, " setting"]


@dataclass(frozen=True)
class WrongLabels:
    """Labels of wrong predictions: the cells that have any, and their counts by class where they are above zero."""

    base: Float[np.ndarray, "row class"]  # m_kj; each row sums to one
    row: Int[np.ndarray, " entry"]
    label: Int[np.ndarray, " entry"]
    count: Float[np.ndarray, " entry"]

    def share(self, effects: Effects) -> Float[np.ndarray, "setting row class"]:
        """Shares π_kj of the true classes of wrong predictions, for these effects."""
        values = self.base * np.exp(effects)[:, None, :]
        return values / values.sum(axis=2, keepdims=True)

    def log_likelihood(self, share: Float[np.ndarray, "setting row class"], strength: PerSetting) -> PerSetting:
        """Dirichlet-multinomial log likelihood of the true classes of wrong predictions."""
        prior, total = self._prior_counts(share, strength), np.bincount(self.row, self.count, len(self.base))
        whole = gammaln(strength[:, None]) - gammaln(strength[:, None] + total)
        return (gammaln(prior + self.count) - gammaln(prior)).sum(axis=1) + whole.sum(axis=1)

    def differentiate(
        self, share: Float[np.ndarray, "setting row class"], strength: PerSetting
    ) -> tuple[Effects, Squares]:
        """Gradient by the effects of true classes, and the part of minus the Hessian that is always positive definite."""
        prior = self._prior_counts(share, strength)
        slopes = self._spread(prior * (digamma(prior + self.count) - digamma(prior)))  # derivatives by log π
        expected = slopes.sum(axis=2, keepdims=True) * share
        information = _diagonal(expected.sum(axis=1)) - np.swapaxes(expected, 1, 2) @ share
        return (slopes - expected).sum(axis=1), information

    def curve(self, share: Float[np.ndarray, "setting row class"], strength: PerSetting) -> Squares:
        """Return the rest of minus the Hessian: repeated true classes in a cell tell less than single ones."""
        prior = self._prior_counts(share, strength)
        slope = prior * (digamma(prior + self.count) - digamma(prior))
        change = slope + prior**2 * (polygamma(1, prior + self.count) - polygamma(1, prior))
        changes = self._spread(np.maximum(change, 0.0))
        cross = np.swapaxes(changes, 1, 2) @ share
        both = np.swapaxes(share * changes.sum(axis=2, keepdims=True), 1, 2) @ share
        return cross + np.swapaxes(cross, 1, 2) - both - _diagonal(changes.sum(axis=1))

    def _prior_counts(
        self, share: Float[np.ndarray, "setting row class"], strength: PerSetting
    ) -> Float[np.ndarray, "setting entry"]:
        """Prior counts of the true classes at these effects."""
        return np.maximum(strength[:, None] * share[:, self.row, self.label], TINY)

    def _spread(self, values: Float[np.ndarray, "setting entry"]) -> Float[np.ndarray, "setting row class"]:
        """Spread values over the array of cells and true classes, zero where there are no labels."""
        out = np.zeros((len(values), *self.base.shape))
        out[:, self.row, self.label] = values
        return out


def _diagonal(values: Effects) -> Squares:
    """Return diagonal matrices, for the Hessian by the effects of true classes."""
    return values[:, :, None] * np.eye(values.shape[1])


@dataclass(frozen=True)
class Setting:
    """A setting of σ and A: its posterior weight, and the normal approximation of the effects."""

    weight: float
    strength: float  # A
    mode: Float[np.ndarray, " class"]
    root: Float[np.ndarray, "class class"]  # Cholesky factor of the precision, lower

    def draw(self, rng: np.random.Generator, n: int) -> Float[np.ndarray, "draw class"]:
        """Draws of the effects of true classes."""
        return self.mode + np.linalg.solve(self.root.T, rng.standard_normal((len(self.mode), n))).T


@dataclass(frozen=True)
class TrueClasses:
    """The posterior of the true classes of wrong predictions."""

    base: Float[np.ndarray, "cell class"]  # m_kj; 0 for the predicted class, else each row sums to one
    wrong: Float[np.ndarray, "cell class"]  # labels of wrong predictions
    settings: tuple[Setting, ...]
    occurrence: Occurrence

    def draw(
        self, rng: np.random.Generator, hits: Float[np.ndarray, "draw class"]
    ) -> tuple[Float[np.ndarray, " draw"], Float[np.ndarray, "draw class"]]:
        """Draws of A and of exp(r), 0 for absent classes, given how many items are rightly predicted to be of each class."""
        n = len(hits)
        weight = np.array([setting.weight for setting in self.settings])
        counts = rng.multinomial(n, weight / weight.sum())
        effects = [setting.draw(rng, m) for setting, m in zip(self.settings, counts.tolist(), strict=True)]
        strength = np.repeat([setting.strength for setting in self.settings], counts)
        order = rng.permutation(n)
        factor = np.exp(np.concatenate(effects)[order])
        return strength[order], np.where(self.occurrence.draw(rng, hits), 0.0, factor)

    def mean(self) -> Float[np.ndarray, "cell class"]:
        """Expected shares of the true classes of wrong predictions, at the modes of the effects."""
        out, total = np.zeros_like(self.base), self.wrong.sum(axis=1, keepdims=True)
        for setting in self.settings:
            share = self.base * np.exp(setting.mode)
            share /= np.maximum(share.sum(axis=1, keepdims=True), TINY)
            out += setting.weight * (setting.strength * share + self.wrong) / (setting.strength + total)
        return out


def fit_true_classes(cells: Cells) -> TrueClasses:
    """Fit the true classes of wrong predictions to the labels of all cells."""
    aside = 1 - one_hot_predicted(cells)
    base, wrong = _base(cells) * aside, cells.labels * aside
    base /= np.maximum(base.sum(axis=1, keepdims=True), TINY)
    (rows,) = np.nonzero(wrong.any(axis=1))
    row, label = np.nonzero(wrong[rows])
    labels = WrongLabels(base[rows], row, label, wrong[rows][row, label])
    typical = TYPICAL_STRENGTH_WITHOUT_SCORES if cells.probability is None else TYPICAL_STRENGTH
    return TrueClasses(base, wrong, fit_settings(labels, typical), fit_occurrence(cells))


def one_hot_predicted(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """One-hot encoding of each cell's predicted class, to fit true classes of wrong predictions."""
    out = np.zeros_like(cells.labels)
    said = cells.predicted != NONE
    out[np.nonzero(said)[0], cells.predicted[said]] = 1.0
    return out


def _base(cells: Cells) -> Float[np.ndarray, "cell class"]:
    """Mean probability of each true class; without probabilities, half even, half by how often it is predicted."""
    n_classes = cells.labels.shape[1]
    if cells.probability is not None:
        return (1 - FLOOR) * _normalise(cells.probability * (1 - one_hot_predicted(cells))) + FLOOR / n_classes
    said = one_hot_predicted(cells)
    often = (cells.n_items[:, None] * said).sum(axis=0) / cells.n_items.sum()
    return np.tile(often / 2 + 0.5 / n_classes, (cells.n, 1))


def _normalise(values: Float[np.ndarray, "cell class"]) -> Float[np.ndarray, "cell class"]:
    """Scale the shares of true classes in each cell to sum to one."""
    return values / np.maximum(values.sum(axis=1, keepdims=True), TINY)


def fit_settings(labels: WrongLabels, typical_strength: float) -> tuple[Setting, ...]:
    """Fit the effects of true classes for every setting on the grid, and weigh the settings by their evidence."""
    scale, strength = (grid.reshape(-1) for grid in np.meshgrid(SCALES, STRENGTHS, indexing="ij"))
    prior = np.log(scale) - np.log1p((scale / SCALE_PRIOR) ** 2)  # of log σ
    prior = prior - (np.log(strength / typical_strength) / STRENGTH_PRIOR) ** 2 / 2
    found = list(_fit_blocks(labels, scale, strength))
    evidence, modes, roots = (np.concatenate(values) for values in zip(*found, strict=True))
    weight = softmax(prior + evidence)
    weight = np.where(weight > MIN_WEIGHT, weight, 0.0)
    weight /= weight.sum()
    return tuple(
        Setting(*values)
        for values in zip(weight.tolist(), strength.tolist(), modes, roots, strict=True)
        if values[0] > 0
    )


def _fit_blocks(
    labels: WrongLabels, scale: PerSetting, strength: PerSetting
) -> Iterator[tuple[PerSetting, Effects, Squares]]:
    """Yield the Laplace evidence, modes and precisions of the effects of true classes, for some settings at a time."""
    size = max(1, BLOCK // max(labels.base.size, labels.base.shape[1] ** 2))
    for start in range(0, len(scale), size):
        scales, strengths = scale[start : start + size], strength[start : start + size]
        prior = _diagonal(np.repeat(scales[:, None] ** -2, labels.base.shape[1], axis=1))
        modes, share = _find_modes(labels, prior, strengths)
        information = labels.differentiate(share, strengths)[1] + prior
        root = _factorise(information, labels.curve(share, strengths))
        evidence = labels.log_likelihood(share, strengths) - (modes**2).sum(axis=1) / scales**2 / 2
        yield evidence - np.log(np.einsum("scc->sc", root) * scales[:, None]).sum(axis=1), modes, root


def _find_modes(
    labels: WrongLabels, prior: Squares, strength: PerSetting
) -> tuple[Effects, Float[np.ndarray, "setting row class"]]:
    """Find the modes of the effects of true classes by Newton's method, and the shares there."""
    effects = np.zeros(prior.shape[:2])
    precision = np.einsum("scc->sc", prior)
    for _ in range(STEPS):
        gradient, information = labels.differentiate(labels.share(effects), strength)
        gradient = gradient - effects * precision
        step = np.linalg.solve(information + prior, gradient[:, :, None])[:, :, 0]
        effects = effects + np.clip(step, -MAX_STEP, MAX_STEP)
        if np.abs(step).max() < TOLERANCE:
            break
    return effects, labels.share(effects)


def _factorise(information: Squares, other: Squares) -> Squares:
    """Cholesky factors of the precision of true classes' effects; of its positive definite part alone where need be."""
    try:
        return np.linalg.cholesky(information + other)
    except np.linalg.LinAlgError:
        return np.linalg.cholesky(information)
