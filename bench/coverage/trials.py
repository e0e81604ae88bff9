"""Labels kept at random, and the intervals that the library makes of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import betaln

from bench.coverage.cases import Bools, Case, Floats, Ints
from fewlabels.data.counts import NONE, CountTable
from fewlabels.distributions.belief import include_mean
from fewlabels.distributions.beta_binomial import EXACT_UP_TO
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.finite_pool import FinitePoolBeta
from fewlabels.metrics.metric import accuracy
from fewlabels.models.inference import infer
from fewlabels.models.priors import Prior

LEVEL = 0.95
MANY = 50  # repeats of the overall figure where it is made of more than 100 groups
CLAIMS = {True: "finite pool", False: "population"}
TINY = 1e-12  # a share is k / n either way; only its last bit may differ


@dataclass(frozen=True)
class Counts:
    """Labels and right ones among them, (repeat, group)."""

    n_labels: Ints
    right: Ints


@dataclass(frozen=True)
class Trial:
    """Intervals of every repeat under one prior and claim, beside the truth; (repeat, group)."""

    case: Case
    prior: Prior
    finite: bool
    counts: Counts
    low: Floats
    high: Floats

    @cached_property
    def hit(self) -> Bools:
        """Does the interval contain the truth?"""
        return contains(self.low, self.high, self.case.truth)


def contains(low: Floats, high: Floats, truth: Floats) -> Bools:
    """Return whether the truth lies in the interval."""
    return np.asarray((low <= truth + TINY) & (truth <= high + TINY))


def mask(rng: np.random.Generator, case: Case, repeats: int) -> tuple[list[Ints], Counts]:
    """Keep 5 % of the labels at random, again and again."""
    kept = [np.asarray(rng.permutation(len(case.group))[: case.n_kept]) for _ in range(repeats)]
    n = len(case.groups)
    n_labels = [np.bincount(case.group[k], minlength=n) for k in kept]
    right = [np.bincount(case.group[k], weights=case.right[k], minlength=n) for k in kept]
    return kept, Counts(np.array(n_labels, dtype=np.int64), np.array(right, dtype=np.int64))


def redraw(rng: np.random.Generator, case: Case, repeats: int) -> Counts:
    """The same experiment without the items: hypergeometric counts, for many more repeats."""
    n_labels = rng.multivariate_hypergeometric(case.size, case.n_kept, size=repeats)
    return Counts(n_labels, rng.hypergeometric(case.hits, case.size - case.hits, n_labels))


def as_tally(case: Case, n_labels: Ints, right: Ints) -> CountTable:
    """Return counts as the library has them."""
    n = len(case.groups)
    none = np.full(n, NONE)
    return CountTable(case.by, case.groups, (), (), np.arange(n), none, none, none, case.size, n_labels, case.score_sum, right.astype(np.float64))  # fmt: skip


def start(case: Case, prior: Prior) -> Beta:
    """Return the prior of every group."""
    nothing = np.zeros(len(case.groups), dtype=np.int64)
    before = prior.before(as_tally(case, nothing, nothing).cells(), "right")
    assert isinstance(before, Beta)
    return before


def try_out(case: Case, prior: Prior, counts: Counts, *, finite: bool) -> Trial:
    """Intervals of all repeats at once, each different count worked out once."""
    before = start(case, prior)
    wrong = counts.n_labels - counts.right
    columns = np.broadcast_arrays(before.alpha, before.beta, counts.right, wrong, case.size - counts.n_labels)
    rows, where = np.unique(np.stack([c.ravel() for c in columns], axis=1), axis=0, return_inverse=True)
    parts = [_intervals(rows[i : i + EXACT_UP_TO], finite) for i in range(0, len(rows), EXACT_UP_TO)]
    low, high = (np.concatenate(ends)[where.ravel()].reshape(wrong.shape) for ends in zip(*parts, strict=True))
    return Trial(case, prior, finite, counts, low, high)


def _intervals(rows: Floats, finite: bool) -> tuple[Floats, Floats]:
    belief = Beta((), rows[:, 0], rows[:, 1]).observe(rows[:, 2:4])
    posterior = FinitePoolBeta(belief, rows[:, 2:4], rows[:, 4].astype(np.int64)) if finite else belief
    return include_mean(posterior.mean(), posterior.interval(LEVEL))


@dataclass(frozen=True)
class Whole:
    """The overall figure of every repeat: (repeat,)."""

    mean: Floats
    low: Floats
    high: Floats
    truth: float

    @property
    def hit(self) -> Bools:
        """Does the interval contain the truth?"""
        return np.asarray((self.low <= self.truth + TINY) & (self.truth <= self.high + TINY))


def n_draws(case: Case) -> int:
    """Return how many draws are affordable."""
    return int(np.clip(40_000 // len(case.groups), 200, 500))


def overall(case: Case, prior: Prior, counts: Counts, *, finite: bool) -> Whole:
    """The overall figure, from the library's own draws (of one group, its closed form), of as many repeats as we can afford."""
    rows = []
    most = MANY if len(case.groups) > 100 else len(counts.right)
    for i, (n_labels, right) in enumerate(zip(counts.n_labels[:most], counts.right[:most], strict=True)):
        tally = as_tally(case, n_labels, right)
        posterior = infer(tally, accuracy, prior, finite_pool=finite, n_draws=n_draws(case), seed=i)
        whole = posterior.per_group if len(case.groups) == 1 else posterior.overall
        low, high = include_mean(whole.mean(), whole.interval(LEVEL))
        rows.append((whole.mean()[0], low[0], high[0]))
    mean, lows, highs = np.array(rows).T
    return Whole(mean, lows, highs, float(case.right.mean()))


def mass(trial: Trial) -> Floats:
    """How much of the belief about a finite pool each interval holds: 95 %, or more where counts are coarse."""
    before, counts, size = start(trial.case, trial.prior), trial.counts, trial.case.size
    alpha, beta = before.alpha + counts.right, before.beta + counts.n_labels - counts.right
    low, high = (np.rint(end * size - counts.right) for end in (trial.low, trial.high))
    columns = (size - counts.n_labels, alpha, beta, low, high)
    rows, where = np.unique(np.stack([c.ravel() for c in columns], axis=1), axis=0, return_inverse=True)
    return np.array([_count_mass(*row) for row in rows])[where.ravel()].reshape(alpha.shape)


def _count_mass(rest: float, alpha: float, beta: float, low: float, high: float) -> float:
    k = np.arange(low, high + 1)
    log_p = betaln(k + alpha, rest - k + beta) - betaln(alpha, beta) - betaln(rest - k + 1, k + 1) - np.log(rest + 1)
    return float(np.exp(log_p).sum())
