"""Baseline estimators of accuracy surfaces, against which the additive model is measured."""

from collections.abc import Callable
from dataclasses import dataclass
from pkgutil import resolve_name

import numpy as np
from jaxtyping import Float

from fewlabels.data.counts import Cells
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.budgets import MIN_DRAWS
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError, join_names
from fewlabels.models.logit.joint import CellAccuracies

WARM_START_LABELS = 0.1  # pseudo-labels per arm at the pool's accuracy (004, section 4.4)
BETA_I = "beta-i"
DEEP = ("bern-gp", "beta-gp", "beta-gp-sl", "beta-gp-slp")
FIT_DEEP = "fewlabels.models.deep.fit:fit_deep"  # needs JAX, so it is imported by name on use
PerArm = Float[np.ndarray, " arm"]


@dataclass(frozen=True)
class IndependentBetas:
    """Baseline with independent Beta posteriors of arms, or one Beta shared by all."""

    beta: Beta
    alike: bool = False

    @property
    def mean(self) -> PerArm:
        """Posterior mean of the accuracy of every arm by the baseline."""
        return self.beta.mean()

    @property
    def within_variance(self) -> PerArm:
        """Within an arm, P(right) does not vary in this baseline."""
        return np.zeros(len(self.beta.groups))

    def interval(self, level: float) -> tuple[PerArm, PerArm]:
        """Central credible interval of every arm by the baseline."""
        return self.beta.interval(level)

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of the arms from the baseline."""
        if not self.alike:
            return self.beta.draw(rng, n)
        return np.repeat(rng.beta(self.beta.alpha[0], self.beta.beta[0], size=(n, 1)), len(self.beta.groups), axis=1)


@dataclass(frozen=True)
class SampledBaseline:
    """Baseline whose posterior of arms is given by draws."""

    samples: Float[np.ndarray, "draw arm"]
    mean: PerArm

    @property
    def within_variance(self) -> PerArm:
        """Within an arm, P(right) does not vary in this baseline."""
        return np.zeros(len(self.mean))

    def interval(self, level: float) -> tuple[PerArm, PerArm]:
        """Quantiles of the baseline's draws."""
        low, high = np.quantile(self.samples, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return low, high

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw arm"]:
        """Resampled draws of the baseline."""
        return self.samples[rng.integers(len(self.samples), size=n)]


def estimate_constant(cells: Cells, seed: int) -> CellAccuracies:  # noqa: ARG001
    """Baseline of a surface: assume that every arm has the accuracy of the pool."""
    right, n = cells.right.sum() + 0.5, cells.n_labels.sum() + 1.0
    return IndependentBetas(Beta(cells.names, np.full(cells.n, right), np.full(cells.n, n - right)), alike=True)


def estimate_independent(cells: Cells, seed: int) -> CellAccuracies:  # noqa: ARG001
    """Baseline of a surface, Beta-I: independent Beta posteriors."""
    (right, wrong), (start_right, start_wrong) = cells.outcomes.T, _prior_counts(cells)
    return IndependentBetas(Beta(cells.names, right + start_right, wrong + start_wrong))


def _prior_counts(cells: Cells) -> tuple[float, float]:
    """Prior counts of a baseline at the pool's accuracy; Jeffreys' prior where all labels of the pool agree."""
    n_right, n = float(cells.right.sum()), float(cells.n_labels.sum())
    if n and n_right in (0.0, n):
        return 0.5, 0.5
    share = (n_right + WARM_START_LABELS / 2) / (n + WARM_START_LABELS)
    return WARM_START_LABELS * share, WARM_START_LABELS * (1 - share)


def warn_independent(cells: Cells) -> tuple[str, ...]:
    """Warn of arms whose labels all agree, where the baseline Beta-I makes intervals too narrow."""
    n_right, n = cells.right, cells.n_labels
    alike = (n > 0) & ((n_right == 0) | (n_right == n))
    if alike.sum() == (n > 0).sum():  # Jeffreys' prior, or no label
        return ()
    named = [name for name, is_alike in zip(cells.names, alike, strict=True) if is_alike]
    why = f"model beta-i starts every arm with {WARM_START_LABELS:g} labels; where all of an arm's labels are right, or all wrong, its interval is too narrow"
    return (f"{why}: {join_names(named)}; the model smooth does not have this problem",) if named else ()


def _estimate_deep(kind: str) -> Callable[[Cells, int], CellAccuracies]:
    """Return the baseline that fits one of the paper's deep surfaces, which needs the extra."""

    def estimate(cells: Cells, seed: int) -> CellAccuracies:
        try:
            fit_deep = resolve_name(FIT_DEEP)
        except ImportError:
            raise InputError(f"model {kind} needs the extra 'deep': pip install 'fewlabels[deep]'") from None
        sizes, level = tuple(len(axis.levels) for axis in cells.axes), cells.level[cells.group]
        found = fit_deep(level, sizes, cells.n_labels.astype(np.float64), cells.right, kind=kind, seed=seed)
        return SampledBaseline(found.draw(np.random.default_rng(seed), MIN_DRAWS), found.mean)

    return estimate


ESTIMATORS: dict[str, Callable[[Cells, int], CellAccuracies]] = {
    "constant": estimate_constant,
    BETA_I: estimate_independent,
    **{kind: _estimate_deep(kind) for kind in DEEP},
}
