"""The posterior of a metric: from prior, counts and metric to one distribution per group and one overall.

Every reported figure, acquisition, comparison and stopping decision comes from a Posterior. It has a closed form where a
group is a single cell; otherwise it uses seeded draws, made once, so that the same labels always give the same digits.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.distributions.belief import Belief, Conjugate, include_mean
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.budgets import N_DRAWS, N_DRAWS_ROUGH, limit_acquisition_draws, limit_covariance_draws
from fewlabels.distributions.covariance import CellCovariance, estimate_covariance, independent_cells
from fewlabels.distributions.difference import BetaDifference, Difference, DrawnDifference
from fewlabels.distributions.draws import Draws
from fewlabels.distributions.finite_pool import FinitePoolBeta, FinitePoolDirichlet, restrict_to_pool
from fewlabels.distributions.mixture import Mixture
from fewlabels.distributions.partial_pooling import PooledCells, fit_prior_level
from fewlabels.distributions.randomness import Rng
from fewlabels.distributions.ranking import rank_groups
from fewlabels.metrics.evaluate import Theta, fill_undefined
from fewlabels.metrics.metric import selection_rate
from fewlabels.models.joint_outcomes.model_standing import ModelStanding
from fewlabels.models.labelled_cells import LabelledCells
from fewlabels.models.logit.joint import JointAccuracies
from fewlabels.models.metric_sampler import MetricSampler

HANDFUL = 10  # total prior strength, in labels, up to which the prior's level is not pooled
PerGroup = Float[np.ndarray, " group"]
OF_LABELS = (  # computed from the labels alone: still right when items are asked
    "per_group", "_own_interval", "overall", "exact", "undefined", "ranks", "_samples", "belief", "cell_posterior", "joint_cell_posterior", "pooled_cells",
    "learned_covariance", "n_items", "n_labelled", "n_told",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Posterior(LabelledCells):
    """The posterior of a metric in every group and overall, and how far the pool has been labelled.

    `pending` items were asked and not answered yet. The next acquisition assumes their expected answers, so that a batch
    does not spend all its labels on the same group.
    """

    finite_pool: bool = False
    level: float = 0.95
    is_level_guessed: bool = (
        True  # is the prior's level a guess? then a group without labels is unknown, even if its interval is narrow
    )
    joint: Belief | None = None  # of all cells jointly, where they are correlated
    unlabelled: Conjugate | None = None  # of the unlabelled items, where their scores differ from the labelled ones'
    residual_variance: Float[np.ndarray, " cell"] | None = (
        None  # share of an outcome's variance that remains given its score
    )
    trust: Any = None  # summary of the learned calibration, where the prior learns one
    covariance: CellCovariance | None = None  # covariance of the cells, where they are correlated
    models: ModelStanding | None = None  # where several models predict the items; the rest is about the first one
    parts: tuple["Posterior", ...] = ()  # where labels are uncertain: the posterior with each set of imputed labels
    n_draws: int = N_DRAWS
    seed: int | tuple[int, ...] = 0

    # -- the metric ------------------------------------------------------------------------------------------

    def mean(self) -> PerGroup:
        """Return the figure that is shown per group: the expected metric; the median of a metric that is skewed."""
        return self.per_group.mean()

    def interval(self, level: float | None = None) -> tuple[PerGroup, PerGroup]:
        """Credible interval per group, widened to contain the mean."""
        return self._own_interval if level is None or level == self.level else self._find_interval(level)

    @cached_property
    def _own_interval(self) -> tuple[PerGroup, PerGroup]:
        """The interval at the posterior's own level, which goals and figures ask for again and again."""
        return self._find_interval(self.level)

    def _find_interval(self, level: float) -> tuple[PerGroup, PerGroup]:
        """Return the posterior's interval per group at any level."""
        return include_mean(self.mean(), self.per_group.interval(level))

    def width(self) -> PerGroup:
        """Width of the interval per group."""
        low, high = self.interval()
        return high - low

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Joint draws of the metric; fewer than n where cells are very many.

        Unless the pool is finite, cell sizes are drawn too, because the pool is a sample of the population.
        """
        if self.parts:
            return Mixture(self.parts).draw(rng, n)
        if self.exact is not None:
            return self.exact.draw(rng, n)
        blocks = self._sampler.sample(rng, limit_acquisition_draws(n, self.counts.size))
        return fill_undefined(rng, np.concatenate([values for values, _ in blocks]))

    @cached_property
    def per_group(self) -> Belief:
        """The distribution of the metric in every group."""
        return self._wrap_draws(self.groups, self.draws) if self.exact is None else self.exact

    @property
    def draws(self) -> Float[np.ndarray, "draw group"]:
        """Joint draws of the metric's posterior, made once from the seed."""
        return self._samples[0]

    @cached_property
    def overall(self) -> Draws:
        """The distribution of the metric over the whole pool."""
        return self._wrap_draws(("overall",), self._samples[1])

    def _wrap_draws(self, names: tuple[str, ...], samples: Float[np.ndarray, "draw group"]) -> Draws:
        """Return draws of the metric as the posterior of these groups."""
        return Draws(names, samples, getattr(self.metric, "is_skewed", False), self.finite_pool)

    @cached_property
    def exact(self) -> Belief | None:
        """The closed form per group, where there is one; mixtures have none, nor labels of correlated cells."""
        if self.parts or (self.joint is not None and self.metric is not selection_rate):
            return None
        return self.evaluation.closed_form(self.cell_posterior, finite_pool=self.finite_pool)

    @property
    def sums_cells(self) -> bool:
        """Is each group one cell, whose accuracy is the metric? Then the overall mean is the weighted sum of the groups'."""
        closed = self.evaluation.closed_form(self.cell_posterior, finite_pool=self.finite_pool)
        return closed is not None and not self.parts

    @property
    def learns_level(self) -> bool:
        """Is the guessed level of the prior learned from all cells, for the groups too?"""
        return self.joint is not None and self.is_level_guessed

    @cached_property
    def undefined(self) -> Bool[np.ndarray, " group"]:
        """Groups whose metric is undefined (0/0) for any labels."""
        if self.parts:
            return np.all([part.undefined for part in self.parts], axis=0)
        if self.exact is not None:
            return np.zeros(len(self.groups), dtype=bool)
        size = self.cells.n_items[None].astype(np.float64)
        return np.isnan(self.evaluation.value(self.cell_posterior.mean()[None], size)[0])

    @cached_property
    def ranks(self) -> tuple[Int[np.ndarray, " defined"], Int[np.ndarray, "draw defined"]]:
        """The groups whose metric is defined, and their ranks within each draw: 1 is the best, ties are broken at random."""
        (defined,) = np.nonzero(~self.undefined)
        if not len(defined):
            return defined, np.zeros((len(self.draws), 0), dtype=np.int64)
        rng = np.random.default_rng([*np.atleast_1d(self.seed), 1])
        return defined, rank_groups(rng, self.draws[:, defined], lowest_is_best=self.metric.worst == "highest")

    def weigh_places(self, m: int = 1, *, worst: bool = True) -> PerGroup:
        """The probability of each group to be among the m worst, or best; 0 where its metric is undefined."""
        defined, ranks = self.ranks
        chances = np.zeros(len(self.groups))
        chances[defined] = (ranks > len(defined) - m if worst else ranks <= m).mean(axis=0)
        return chances

    def difference(self, first: int, second: int) -> Difference:
        """The first group's metric minus the second's: exact for independent Betas, otherwise from joint draws."""
        exact = self.exact
        if isinstance(exact, Beta) and first != second:
            one, other = (Beta((exact.groups[i],), exact.alpha[[i]], exact.beta[[i]]) for i in (first, second))
            return BetaDifference(one, other)
        return DrawnDifference(self.draws[:, first] - self.draws[:, second])

    @cached_property
    def _samples(self) -> tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]:
        """Draws of the posterior per group and overall."""
        if self.parts:
            groups, overall = zip(*(part._samples for part in self.parts), strict=True)
            return np.concatenate(groups), np.concatenate(overall)
        rng, sampler = np.random.default_rng(self.seed), self._sampler
        if self.exact is not None and not self.evaluation.per_class:
            blocks = list(sampler.sample_closed(rng, self.exact, self.n_draws))
        else:
            blocks = list(sampler.sample(rng, sampler.limit(self.n_draws)))
        groups, overall = (np.concatenate(each) for each in zip(*blocks, strict=True))
        return fill_undefined(rng, groups), fill_undefined(rng, overall)

    @property
    def _sampler(self) -> MetricSampler:
        """The sampler of the posterior of the metric."""
        return MetricSampler(self.evaluation, self.joint or self.cell_posterior, self.pooled_cells, self.finite_pool)

    # -- the cells -------------------------------------------------------------------------------------------

    @cached_property
    def cell_posterior(self) -> "Conjugate | FinitePoolBeta | FinitePoolDirichlet":
        """The posterior of each cell: of the population, or of the finite pool."""
        if not self.finite_pool:
            return self.belief
        rest = self.cells.n_items - self.n_labelled.round().astype(np.int64)
        return restrict_to_pool(self.unlabelled or self.belief, self.counts, rest, self.residual_variance)

    @cached_property
    def joint_cell_posterior(self) -> Belief:
        """The joint posterior of the cells, averaged over imputed labels."""
        return (
            Mixture(tuple(part.joint_cell_posterior for part in self.parts))
            if self.parts
            else self.joint or self.cell_posterior
        )

    @cached_property
    def pooled_cells(self) -> PooledCells | None:
        """The partially pooled cells for the overall figure, or None where the prior is used as it is.

        Pooling is for metrics that average over single cells and for priors whose level is a guess. A Beta prior worth at
        most ten labels in all, which moves their mean by less than its standard error, is not pooled.
        """
        if self.exact is None or not self.metric.is_cell_accuracy or not self.is_level_guessed or self.cells.n == 1:
            return None
        if isinstance(self.prior, Dirichlet):
            return None
        pseudo = float(self.prior.strength().sum())
        if pseudo <= HANDFUL and pseudo**2 <= self.cells.n_labels.sum():
            return None
        assert isinstance(self.prior, Beta)
        rest = self.cells.n_items - self.cells.n_labels
        return fit_prior_level(self.prior, self.cells.outcomes, rest, finite_pool=self.finite_pool)

    @cached_property
    def covariance_with_pending(self) -> CellCovariance:
        """The covariance of cells after the pending answers; it does not depend on their values."""
        if self.learned_covariance is not None:
            return self.learned_covariance.observe(self.pending.astype(np.float64))
        mean, variance = self.with_pending.mean(), self.with_pending.variance()
        outcome = mean * (1 - mean)
        return independent_cells(*(x if x.ndim == 1 else x.sum(axis=1) for x in (variance, outcome)))

    @cached_property
    def learned_covariance(self) -> CellCovariance | None:
        """The covariance of cells that a learning prior correlates; None where they are independent."""
        if self.covariance is not None or self.parts or not isinstance(self.joint, JointAccuracies):
            return self.covariance
        rng = np.random.default_rng([*np.atleast_1d(self.seed), 2])
        return estimate_covariance(self.joint.accuracies.draw(rng, limit_covariance_draws(self.cells.n)))

    # -- items and labels ------------------------------------------------------------------------------------

    @cached_property
    def n_labelled(self) -> Float[np.ndarray, " cell"]:
        """Labelled items per cell; where labels are uncertain, `counts` may sum to fewer."""
        return (self.parts[0] if self.parts else self).counts.sum(axis=1)

    @property
    def is_informed(self) -> Bool[np.ndarray, " group"]:
        """Is the estimate of a group based on more than a guessed prior level?"""
        return (self.n_told > 0) | (self.sum_by_group(self.counts.sum(axis=1)) > 0) | (not self.is_level_guessed)

    # -- hypothetical cells and labels -----------------------------------------------------------------------

    def draw_cells_jointly(self, rng: Rng, n: int = 1) -> Theta:
        """Draw the cells with what they have in common, where a prior correlates them; pending answers left open."""
        joint = None if self.parts else self.joint
        return joint.draw(rng, n) if isinstance(joint, JointAccuracies) else self.draw_cells(rng, n)

    def simulate_completion(self, rng: Rng) -> "Posterior":
        """Return the posterior after labelling every remaining item, with labels drawn from the posterior predictive."""
        rest = self._count_askable()
        truth = self.belief.draw(rng, 1)[0]
        if truth.ndim == 1:
            right = rng.binomial(rest, truth)
            more = np.stack([right, rest - right], axis=1)
        else:
            more = rng.multinomial(rest, truth)
        pending, left = np.zeros_like(self.pending), np.zeros_like(self.left)
        return replace(self.label(more.astype(np.float64)), pending=pending, left=left, n_draws=N_DRAWS_ROUGH)

    def label(self, counts: Float[np.ndarray, "cell outcome"]) -> "Posterior":
        """Return the posterior with these labels added to their own cells, without refitting the prior."""
        covariance = None if self.learned_covariance is None else self.learned_covariance.observe(counts.sum(axis=1))
        parts = tuple(part.label(counts) for part in self.parts)
        return replace(
            self,
            counts=self.counts + counts,
            joint=None,
            unlabelled=None,
            residual_variance=None,
            covariance=covariance,
            parts=parts,
        )

    def set_queue(self, pending: Int[np.ndarray, " cell"], left: Int[np.ndarray, " group"]) -> "Posterior":
        """Return the posterior of the same labels with other pending and remaining items; nothing is computed again."""
        moved = replace(self, pending=pending, left=left)
        moved.__dict__.update({name: self.__dict__[name] for name in OF_LABELS if name in self.__dict__})
        return moved

    def _count_askable(self) -> Int[np.ndarray, " cell"]:
        """Items of each cell that can still be labelled; a group's remaining items are spread over its cells."""
        rest = self.cells.n_items - self.n_labelled
        askable = self.left + self.sum_by_group(self.pending.astype(np.float64))
        share = np.minimum(askable / np.maximum(self.sum_by_group(rest), 1.0), 1.0)
        return np.round(rest * share[self.cells.group]).astype(np.int64)
