"""The joint belief about the true classes in all cells: accuracies from a model, true classes of errors from another."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from fewlabels.distributions.class_masses import ClassMassDraws
from fewlabels.distributions.finite_pool import ResidualVariance, draw_right
from fewlabels.distributions.matched_counts import draw_matched_counts, draw_matched_masses
from fewlabels.distributions.randomness import Rng
from fewlabels.models.logit.drawn_belief import AccuracyDraws, DrawnBelief
from fewlabels.models.logit.true_classes import TINY, TrueClasses

PerCell = Float[np.ndarray, "draw cell"]


@dataclass(frozen=True)
class UnlabelledShares:
    """The unlabelled items of a finite pool."""

    known: Float[np.ndarray, "cell class"]  # labels
    n: Int[np.ndarray, " cell"]
    residual_variance: ResidualVariance  # of right or wrong; which class a wrong item is remains as open as in any pool

    @property
    def size(self) -> Float[np.ndarray, " cell"]:
        """Items of each cell whose shares are drawn jointly, labelled ones included."""
        return self.known.sum(axis=1) + self.n

    def draw_wrong(self, rng: Rng, right: PerCell) -> PerCell:
        """Draw the number of wrong predictions for the joint shares: binomial, narrowed to the residual variance."""
        return self.n - draw_right(rng, self.n, right, self.residual_variance)


@dataclass(frozen=True)
class JointShares(DrawnBelief):
    """Joint shares of true classes in all cells; with `unlabelled`, of the finite pool."""

    groups: tuple[str, ...]
    accuracies: AccuracyDraws
    classes: TrueClasses
    predicted: Int[np.ndarray, " cell"]
    n_items: Int[np.ndarray, " cell"]
    unlabelled: UnlabelledShares | None = None

    @property
    def is_discrete(self) -> bool:
        """Are the joint shares counts of a finite pool?"""
        return self.unlabelled is not None

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell class"]:
        """Joint draws: accuracies, then A and the effects of the classes, then the shares of every cell."""
        right, cell = self.accuracies.draw(rng, n), np.arange(len(self.predicted))
        if self.unlabelled is None:
            theta = self._draw_wrong_shares(rng, right * self.n_items)
            theta *= (1 - right)[:, :, None]
            theta[:, cell, self.predicted] = right
            return theta / theta.sum(axis=2, keepdims=True)
        wrong = self.unlabelled.draw_wrong(rng, right)
        theta = self._draw_wrong_shares(rng, self.unlabelled.n - wrong)
        counts = rng.multinomial(wrong.astype(np.int64), theta)
        counts[:, cell, self.predicted] = self.unlabelled.n - wrong
        return (self.unlabelled.known + counts) / self.unlabelled.size[:, None]

    def draw_class_masses(
        self, rng: Rng, weight: PerCell, scope: Int[np.ndarray, " cell"], n_scopes: int
    ) -> ClassMassDraws:
        """Joint draws of accuracies, and of the mass of each class, whose wrong part has matched moments."""
        right, labelled = self.accuracies.draw(rng, len(weight)), np.zeros_like(self.classes.wrong)
        if self.unlabelled is None:
            n_wrong, n_right = weight * (1 - right), weight * right
        else:
            n_wrong = self.unlabelled.draw_wrong(rng, right)
            n_right, labelled = self.unlabelled.n - n_wrong, self.unlabelled.known
            right = (labelled[np.arange(len(self.predicted)), self.predicted] + n_right) / self.unlabelled.size
        sums = _JointWrongSums.start(self.classes, *self.classes.draw(rng, self._sum_hits(n_right)))
        actual = np.empty((len(weight), n_scopes, labelled.shape[1]))
        for s in range(n_scopes):
            (cells,) = np.nonzero(scope == s)
            drawn = sums.draw(rng, cells, n_wrong[:, cells], finite=self.unlabelled is not None)
            hits = n_right[:, cells] @ np.eye(labelled.shape[1])[self.predicted[cells]]
            actual[:, s] = drawn + hits + labelled[cells].sum(axis=0)
        return ClassMassDraws(right, actual)

    def _sum_hits(self, right: PerCell) -> Float[np.ndarray, "draw class"]:
        """Sum the right predictions of each class."""
        return right @ np.eye(self.classes.base.shape[1])[self.predicted]

    def _draw_wrong_shares(self, rng: Rng, right: PerCell) -> Float[np.ndarray, "draw cell class"]:
        """Draw the shares of the true classes among each cell's wrong predictions, given its unlabelled right ones."""
        strength, factor = self.classes.draw(rng, self._sum_hits(right))
        shape = self.classes.base * factor[:, None, :]
        is_impossible = (
            shape.sum(axis=2, keepdims=True) < TINY
        )  # all other classes absent: but a wrong item has a class
        shape = np.where(is_impossible, self.classes.base, shape)
        shape *= strength[:, None, None] / np.maximum(shape.sum(axis=2, keepdims=True), TINY)
        gammas = rng.standard_gamma(shape + self.classes.wrong)
        return gammas / np.maximum(gammas.sum(axis=2, keepdims=True), TINY)


@dataclass(frozen=True)
class _JointWrongSums:
    """Sums over cells of Dirichlet-multinomial counts: by their means and variances given A and the effects."""

    classes: TrueClasses
    factor: Float[np.ndarray, "draw class"]  # exp(r)
    strength: PerCell  # A plus a cell's own labels
    scale: PerCell  # A / Σ_j m_kj exp(r_j), over that

    @classmethod
    def start(
        cls, classes: TrueClasses, strength: Float[np.ndarray, " draw"], factor: Float[np.ndarray, "draw class"]
    ) -> "_JointWrongSums":
        """Normalise the joint shares of every cell, for every draw of A and the effects."""
        after = strength[:, None] + classes.wrong.sum(axis=1)
        whole = np.maximum(factor @ classes.base.T, TINY)
        return cls(classes, factor, after, strength[:, None] / whole / after)

    def draw(
        self, rng: Rng, cells: Int[np.ndarray, " chosen"], n: Float[np.ndarray, "draw chosen"], *, finite: bool
    ) -> Float[np.ndarray, "draw class"]:
        """Draw the joint shares' wrong part: how many of n items per cell are of each class, with their sum kept."""
        strength = self.strength[:, cells]
        mean = self._sum(cells, n)
        loose = n * (n + strength) / (1 + strength) if finite else n**2 / (1 + strength)
        variance = np.maximum(self._sum(cells, loose) - self._sum_squares(cells, loose), 0.0)
        drawn = (
            draw_matched_counts(rng, mean, variance).astype(np.float64)
            if finite
            else draw_matched_masses(rng, mean, variance)
        )
        return _keep_sum(rng, drawn, mean)

    def _sum(
        self, cells: Int[np.ndarray, " chosen"], weight: Float[np.ndarray, "draw chosen"]
    ) -> Float[np.ndarray, "draw class"]:
        """Sum expected shares of true classes over cells: Σ_k weight_k E π_kj."""
        base, wrong = self.classes.base[cells], self.classes.wrong[cells]
        return self.factor * ((weight * self.scale[:, cells]) @ base) + (weight / self.strength[:, cells]) @ wrong

    def _sum_squares(
        self, cells: Int[np.ndarray, " chosen"], weight: Float[np.ndarray, "draw chosen"]
    ) -> Float[np.ndarray, "draw class"]:
        """Sum squares of expected shares of true classes over cells: Σ_k weight_k (E π_kj)²."""
        base, wrong = self.classes.base[cells], self.classes.wrong[cells]
        scale, strength = self.scale[:, cells], self.strength[:, cells]
        return (
            self.factor**2 * ((weight * scale**2) @ base**2)
            + 2 * self.factor * ((weight * scale / strength) @ (base * wrong))
            + (weight / strength**2) @ wrong**2
        )


def _keep_sum(
    rng: Rng, drawn: Float[np.ndarray, "draw class"], mean: Float[np.ndarray, "draw class"]
) -> Float[np.ndarray, "draw class"]:
    """Scale jointly drawn shares of classes to the number of wrong items; where all are 0, choose one class."""
    total, found = mean.sum(axis=1), drawn.sum(axis=1)
    for i in np.nonzero((found <= 0) & (total > TINY))[0]:
        drawn[i, rng.choice(mean.shape[1], p=mean[i] / total[i])] = found[i] = total[i]
    return drawn * (total / np.maximum(found, TINY))[:, None]
