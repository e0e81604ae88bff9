"""The posterior of a metric of several models, per group and overall: every difference comes from the same draws."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.data.counts import NONE, Cells, CountTable
from fewlabels.distributions.budgets import limit_draws
from fewlabels.distributions.class_masses import ClassMassDraws
from fewlabels.distributions.randomness import Rng
from fewlabels.metrics.evaluate import fill_undefined
from fewlabels.metrics.metric import ClassRate, Metric, Sample, ScopeRate, accuracy
from fewlabels.models.joint_outcomes.design import JointDesign
from fewlabels.models.joint_outcomes.fit import JointFit, fit_joint
from fewlabels.models.joint_outcomes.model_standing import ModelStanding
from fewlabels.models.joint_outcomes.outcome_sampler import OutcomeSampler, Shares, Sizes
from fewlabels.models.joint_outcomes.strata import JointStrata, build_strata

N_DRAWS, N_EXPECTED = 4000, 100  # of figures, and of the chances that choose the next label
TINY = 1e-300
PRIOR_MISSED = 0.5  # pseudo-count of every class among items on which no model is right


@dataclass(frozen=True, eq=False)
class JointPosterior(ModelStanding):
    """The posterior of a metric of every model, in every group and overall."""

    counts: CountTable = field(repr=False)
    strata: JointStrata
    estimated: Metric
    fit: JointFit
    finite_pool: bool
    level: float
    n_draws: int
    seed: int | tuple[int, ...]

    @property
    def tally(self) -> CountTable:
        """Counts of the items that the models predict."""
        return self.counts

    @property
    def metric(self) -> Metric:
        """The metric that is estimated for every model."""
        return self.estimated

    @property
    def is_about_pool(self) -> bool:
        """Are the models' figures those on exactly these items?"""
        return self.finite_pool

    @property
    def models(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the models whose joint posterior it is."""
        return self.strata.models

    @property
    def groups(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the groups in the models' joint posterior."""
        return self.strata.groups

    @property
    def draws(self) -> Float[np.ndarray, "draw model group"]:
        """Joint draws of the metric of every model in every group."""
        return self._samples[0]

    @property
    def overall(self) -> Float[np.ndarray, "draw model"]:
        """Joint draws of the metric of every model over the whole pool."""
        return self._samples[1]

    def outcome_variance(self, a: int, b: int) -> Float[np.ndarray, " stratum"]:
        """Expected variance, within every stratum, of one item's outcome difference: a right minus b right."""
        chance, place = self._expected, np.arange(len(self.models) + 1)
        sign = (self.strata.first[:, [a]] == place).astype(float) - (self.strata.first[:, [b]] == place)
        return (chance * sign**2).sum(axis=1) - (chance * sign).sum(axis=1) ** 2

    def simulate_outcomes(self, rng: Rng) -> Int[np.ndarray, "entry outcome"]:
        """Draw the outcomes of the unlabelled items of every entry: the first model that is right; the last, none is."""
        sampler = OutcomeSampler(self.fit, self._cell_of_stratum, len(self.cells[0].group), self.finite_pool)
        chances = sampler.expect(rng, 1)[self._stratum_of_entry]
        rest = np.where(self.tally.label == NONE, self.tally.n_items - self.tally.n_labels, 0)
        return rng.multinomial(rest, chances / chances.sum(axis=1, keepdims=True))

    @cached_property
    def _expected(self) -> Float[np.ndarray, "stratum outcome"]:
        """Expected chance of every outcome in every stratum."""
        rng = np.random.default_rng([*np.atleast_1d(self.seed), 3])
        sampler = OutcomeSampler(self.fit, self._cell_of_stratum, len(self.cells[0].group), self.finite_pool)
        return sampler.expect(rng, N_EXPECTED)

    @cached_property
    def _samples(self) -> tuple[Float[np.ndarray, "draw model group"], Float[np.ndarray, "draw model"]]:
        """Draws of the metric of every model, from the joint posterior of the outcomes: per group, and overall."""
        rng = np.random.default_rng(self.seed)
        sampler = OutcomeSampler(self.fit, self._cell_of_stratum, len(self.cells[0].group), self.finite_pool)
        n = limit_draws(self.n_draws, self.strata.first.size)
        if self.metric is accuracy and not self.finite_pool:
            return self._sample_accuracies(rng, sampler, n)
        blocks = [self._evaluate(rng, *block) for block in sampler.sample(rng, n)]
        groups, overall = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        filled = fill_undefined(rng, groups.reshape(len(groups), -1)).reshape(groups.shape)
        return filled, fill_undefined(rng, overall)

    def _sample_accuracies(
        self, rng: Rng, sampler: OutcomeSampler, n: int
    ) -> tuple[Float[np.ndarray, "draw model group"], Float[np.ndarray, "draw model"]]:
        """Draw accuracies without the outcomes of all cells: of many models, almost every item is a cell of its own."""
        right, sizes = (np.concatenate(parts) for parts in zip(*sampler.sample_right(rng, n), strict=True))
        overall = right.sum(axis=2) / sizes.sum(axis=1)[:, None]
        return right / np.maximum(sizes, TINY)[:, None, :], overall

    def _evaluate(self, rng: Rng, shares: Shares, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
        """Evaluate the metric of every model from the outcomes of the cells."""
        whole = np.zeros_like(self.cells[0].group)
        scopes = ((self.cells[0].group, len(self.groups)), (whole, 1))
        masses = _draw_joint_masses(rng, self, shares, sizes) if self.metric.reads == "label" else None
        values = [
            np.stack([self._value(j, shares, sizes, *scope, masses) for j in range(len(self.models))], axis=1)
            for scope in scopes
        ]
        return values[0], values[1][:, :, 0]

    def _value(
        self,
        model: int,
        shares: Shares,
        sizes: Sizes,
        scope: Int[np.ndarray, " cell"],
        n: int,
        masses: "_Masses | None",
    ) -> Float[np.ndarray, "draw scope"]:
        """Evaluate the metric of one model over the cells of a scope, from draws of the joint outcomes."""
        cells = self.cells[model]
        right = shares[:, np.arange(cells.n), self._first[:, model]]
        theta = right if masses is None else masses.to_theta(self.metric, right, scope, n)
        at = NONE if self.tally.positive is None else self.tally.classes.index(self.tally.positive)
        return self.metric.value(Sample(theta, sizes, cells, scope, n, at, False))

    # -- cells ----------------------------------------------------------------------------------------------

    @cached_property
    def _cell_keys(
        self,
    ) -> tuple[Int[np.ndarray, "cell column"], Int[np.ndarray, " stratum"], Int[np.ndarray, " cell"]]:
        """Distinct kinds of strata as far as the metric distinguishes them, and one stratum of each."""
        strata, splits = self.strata, self.metric.splits
        columns = [strata.group[:, None], strata.first]
        columns += [strata.predicted] if "predicted" in splits else []
        columns += [strata.bin] if "bin" in splits else []
        columns += [strata.slot] if "stratum" in splits else []
        key, example, where = np.unique(np.column_stack(columns), axis=0, return_index=True, return_inverse=True)
        return key, where.reshape(-1), example

    @property
    def _cell_of_stratum(self) -> Int[np.ndarray, " stratum"]:
        """The cell of the joint posterior that every stratum belongs to."""
        return self._cell_keys[1]

    @property
    def _first(self) -> Int[np.ndarray, "cell model"]:
        """The first model that predicts the same class as each model, in every cell of the joint posterior."""
        return self.strata.first[self._cell_keys[2]]

    @cached_property
    def cells(self) -> tuple[Cells, ...]:
        """The cells as every model sees them: its predicted classes, score bins and mean scores."""
        strata, (_, where, example) = self.strata, self._cell_keys
        n = len(example)
        n_items = np.bincount(where, weights=strata.n_items, minlength=n)
        labels = self._count_labels(where, n)
        n_labels = np.bincount(where, weights=strata.n_labels, minlength=n).astype(np.int64)
        out = []
        for j in range(len(self.models)):
            score = np.bincount(where, weights=strata.score[:, j] * strata.n_items, minlength=n) / np.maximum(
                n_items, 1
            )
            out.append(Cells(
                strata.group[example], strata.predicted[example, j], strata.bin[example, j], n_items.astype(np.int64), n_labels,
                score, np.zeros(n), labels, None, None, (), self.tally.classes, self.tally.by, (), np.zeros((n, 0), dtype=np.int64),
            ))  # fmt: skip
        return tuple(out)

    def _count_labels(self, where: Int[np.ndarray, " stratum"], n: int) -> Float[np.ndarray, "cell class"]:
        """Count labels by class in every cell, for metrics that average over the classes that occur."""
        if self.metric.reads != "label":
            return np.zeros((n, 1))
        out = np.zeros((n, len(self.tally.classes)))
        known = self.tally.label != NONE
        np.add.at(out, (where[self._stratum_of_entry[known]], self.tally.label[known]), self.tally.n_labels[known])
        return out

    @cached_property
    def _stratum_of_entry(self) -> Int[np.ndarray, " entry"]:
        """The stratum of the joint posterior that every entry of the counts belongs to."""
        by_class = "predicted" in self.metric.splits
        return build_strata(
            self.tally, self.strata.n_classes, use_scores=bool(self.strata.has_scores.any()), by_class=by_class
        )[1]


@dataclass(frozen=True)
class _Masses:
    """The true classes of the items of every cell: the candidates' classes, and the classes of those all models miss."""

    predicted: Int[np.ndarray, "cell candidate"]  # class of each candidate; NONE where there is none
    counted: Float[np.ndarray, "draw cell outcome"]  # items by outcome
    missed: Float[np.ndarray, "draw class"]  # how likely a missed item is of each class
    sizes: Sizes

    def to_theta(
        self, metric: Metric, right: Sizes, scope: Int[np.ndarray, " cell"], n: int
    ) -> ClassMassDraws | np.ndarray:
        """Return what a metric of several models reads: masses of classes, or shares of classes per cell."""
        if isinstance(metric, ClassRate | ScopeRate):
            return ClassMassDraws(right, np.stack([self._sum_scope(scope == s) for s in range(n)], axis=1))
        shares = np.stack([self._sum_scope(np.arange(len(scope)) == c) for c in range(len(scope))], axis=1)
        return shares / np.maximum(self.sizes, 1e-12)[:, :, None]

    def _sum_scope(self, chosen: np.ndarray) -> Float[np.ndarray, "draw class"]:
        """Sum the items of each true class over these cells, from the joint outcomes of models."""
        counted, predicted = self.counted[:, chosen], self.predicted[chosen]
        out = np.zeros_like(self.missed)
        has = predicted != NONE
        for c in range(predicted.shape[1]):
            (cells,) = np.nonzero(has[:, c])
            np.add.at(out.T, predicted[cells, c], counted[:, cells, c].T)
        open_mass = np.ones(counted.shape[:2])
        for c in range(predicted.shape[1]):
            open_mass -= np.where(has[:, c], self.missed[:, np.where(has[:, c], predicted[:, c], 0)], 0.0)
        rate = np.where(open_mass > 1e-9, counted[:, :, -1] / np.maximum(open_mass, 1e-9), 0.0)
        lost = np.tile(rate.sum(axis=1)[:, None], (1, out.shape[1]))
        for c in range(predicted.shape[1]):
            (cells,) = np.nonzero(has[:, c])
            np.subtract.at(lost.T, predicted[cells, c], rate[:, cells].T)
        return out + self.missed * np.maximum(lost, 0.0)


def _draw_joint_masses(rng: Rng, posterior: JointPosterior, shares: Shares, sizes: Sizes) -> _Masses:
    """Draw the true classes of all cells for the models' joint posterior, those that all models miss included."""
    _, _, example = posterior._cell_keys
    strata = posterior.strata
    occurs = strata.supporters[example] > 0
    predicted = np.where(occurs, strata.predicted[example], NONE)
    missed = rng.dirichlet(strata.missed + PRIOR_MISSED, len(shares))
    return _Masses(predicted, shares * sizes[:, :, None], missed, sizes)


def infer_joint(
    tally: CountTable,
    metric: Metric,
    *,
    n_classes: int | None = None,
    use_scores: bool = True,
    finite_pool: bool = False,
    level: float = 0.95,
    n_draws: int = N_DRAWS,
    seed: int | tuple[int, ...] = 0,
) -> JointPosterior:
    """Compute the joint posterior of a metric of several models from their counts.

    `n_classes` is given where the classes of the counts are names of agreement; then there are more or fewer of them.
    """
    strata = build_strata(
        tally, n_classes or len(tally.classes), use_scores=use_scores, by_class="predicted" in metric.splits
    )[0]
    if not finite_pool:
        strata = _add_unseen_disagreement(strata)
    fit = fit_joint(JointDesign(strata))
    return JointPosterior(tally, strata, metric, fit, finite_pool, level, n_draws, seed)


def _add_unseen_disagreement(strata: JointStrata) -> JointStrata:
    """Add an empty stratum of disagreement to groups of two models that have none: their population may have some."""
    known = np.bincount(strata.group, weights=~strata.is_unanimous, minlength=len(strata.groups)) > 0
    (group,) = np.nonzero(~known)
    if len(strata.models) != 2 or not len(group):
        return strata
    mean = np.average(np.nan_to_num(strata.score, nan=0.5), axis=0, weights=strata.n_items)
    like = np.zeros(len(group), dtype=np.int64)
    label = np.tile([0, 1], (len(group), 1))

    def extend(column: np.ndarray, new: np.ndarray) -> np.ndarray:
        return np.concatenate([column, new])

    return replace(
        strata, group=extend(strata.group, group), first=extend(strata.first, label), predicted=extend(strata.predicted, label),
        slot=extend(strata.slot, strata.slot[like]), bin=extend(strata.bin, strata.bin[like]), n_items=extend(strata.n_items, like),
        score=extend(strata.score, np.tile(np.where(strata.has_scores, mean, np.nan), (len(group), 1))),
        outcomes=extend(strata.outcomes, np.zeros((len(group), 3))),
    )  # fmt: skip
