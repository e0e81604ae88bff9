"""What is known of a pool while it is being labelled, and what more a label could tell.

Knowledge is a Belief about the metric in every group, made of a conjugate belief about the cells. Goals read it to say
what a label is worth; policies see a Prospect, which is knowledge seen through a goal, and nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.data.counts import Tally
from fewlabels.distributions.belief import Belief, Beta, Conjugate, Dirichlet, Draws, Rng, contain
from fewlabels.distributions.covariance import Ties, stand_alone
from fewlabels.distributions.finite_pool import Finite, FiniteShares, restrict
from fewlabels.distributions.mixture import Mixture, match
from fewlabels.metrics.evaluate import Scheme, Theta, arrange, fill
from fewlabels.metrics.metric import Cost, Metric
from fewlabels.models.priors import Prior, consult, pseudo_counts

N_DRAWS = 2000
ROUGHLY = 500
FEWEST = 200
BUDGET = 8_000_000  # numbers drawn at a time
MOST_OF = 0.999  # share of a belief that labels may be
PerGroup = Float[np.ndarray, " group"]
Gain = Callable[["Knowledge", Theta], Float[np.ndarray, "draw group"]]


@dataclass(frozen=True)
class Knowledge:
    """A belief about the metric in every group, and how far the pool has been labelled.

    `pending` items were asked about and not answered yet: what is chosen next reckons with their answers being as
    expected, so that a batch does not spend all its labels on the same doubt.
    """

    scheme: Scheme
    before: Conjugate
    counts: Float[np.ndarray, "cell outcome"]  # labels so far
    pending: Int[np.ndarray, " cell"]
    left: Int[np.ndarray, " group"]  # items one can still ask about
    finite: bool = False
    level: float = 0.95
    guessed: bool = (
        True  # is the prior's level a guess? then a group without a label is not known, however narrow it looks
    )
    joint: Belief | None = None  # of all cells together, where they hang together
    unlabelled: Conjugate | None = None  # of the items without a label, where these are set apart
    luck: Float[np.ndarray, " cell"] | None = None  # how much of their outcomes' variance their scores leave open
    n_draws: int = N_DRAWS  # for figures without a closed form
    seed: int = 0  # of these
    ties: Ties | None = None  # what a label in one cell tells of others, where it does
    parts: tuple["Knowledge", ...] = ()  # where labels are uncertain: what is known with each set of labels they may be

    # -- a belief about the metric --------------------------------------------------------------------------

    @property
    def groups(self) -> tuple[str, ...]:
        """Names, along the group axis."""
        return self.scheme.tally.groups

    def mean(self) -> PerGroup:
        """Expected metric per group."""
        return self._figures.mean()

    def interval(self, level: float | None = None) -> tuple[PerGroup, PerGroup]:
        """Credible interval per group; it contains the mean."""
        return contain(self.mean(), self._figures.interval(self.level if level is None else level))

    def width(self) -> PerGroup:
        """How wide the interval is, per group."""
        low, high = self.interval()
        return high - low

    def draw(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        """Joint samples of the metric, fewer than asked where the cells are very many.

        Unless it is about exactly these items, the sizes of cells are a sample of the population's, and drawn too.
        """
        if self.parts:
            return Mixture(self.parts).draw(rng, n)
        exact = self.exact
        if exact is not None and self.joint is None:
            return exact.draw(rng, n)
        n = min(n, max(FEWEST, BUDGET // self.counts.size))
        size = self.scheme.cells.n_items.astype(np.float64)
        weight = size[None] if self.finite else rng.standard_gamma(size, size=(n, len(size)))
        return fill(rng, self.scheme.value((self.joint or self.shown).draw(rng, n), weight))

    @cached_property
    def exact(self) -> Belief | None:
        """The closed form, where there is one; a mixture has none."""
        return None if self.parts else self.scheme.close(self.shown, finite=self.finite)

    @cached_property
    def shown(self) -> "Conjugate | Finite | FiniteShares":
        """What is believed of the cells: of the population's, or of exactly these items."""
        cells = self.scheme.cells
        if not self.finite:
            return self.belief
        return restrict(
            self.unlabelled or self.belief,
            self.counts,
            cells.n_items - self.n_labelled.round().astype(np.int64),
            self.luck,
        )

    @cached_property
    def _figures(self) -> Belief:
        if self.parts:
            return Mixture(tuple(part._figures for part in self.parts))
        exact = self.exact
        return Draws(self.groups, self.draw(np.random.default_rng(self.seed), self.n_draws)) if exact is None else exact

    @cached_property
    def undefined(self) -> Bool[np.ndarray, " group"]:
        """Which groups have no rate (0/0), whatever the labels turn out to be."""
        if self.parts:
            return np.all([part.undefined for part in self.parts], axis=0)
        if self.exact is not None:
            return np.zeros(len(self.groups), dtype=bool)
        size = self.scheme.cells.n_items[None].astype(np.float64)
        return np.isnan(self.scheme.value(self.shown.mean()[None], size)[0])

    # -- what it is made of ---------------------------------------------------------------------------------

    @property
    def metric(self) -> Metric:
        """What is asked of every group."""
        return self.scheme.metric

    @cached_property
    def belief(self) -> Conjugate:
        """Of the cells, after the labels so far."""
        return self.before.observe(self.counts)

    @cached_property
    def foreseen(self) -> Conjugate:
        """Of the cells, once the pending items were answered as expected."""
        return (
            self.belief.observe(_expected(self.belief) * self.pending[:, None]) if self.pending.any() else self.belief
        )

    @cached_property
    def ties_ahead(self) -> Ties:
        """How cells hang together once the pending items were answered, whatever the answers; each stands alone unless told."""
        if self.ties is not None:
            return self.ties.observe(self.pending.astype(np.float64))
        mean, variance = self.foreseen.mean(), self.foreseen.variance()
        outcome = mean * (1 - mean)
        return stand_alone(*(x if x.ndim == 1 else x.sum(axis=1) for x in (variance, outcome)))

    @cached_property
    def n_items(self) -> Int[np.ndarray, " group"]:
        """Items per group."""
        return self.sum_by_group(self.scheme.cells.n_items.astype(np.float64)).astype(np.int64)

    @cached_property
    def n_labels(self) -> PerGroup:
        """Labels per group, pending ones included."""
        return self.sum_by_group(self.counts.sum(axis=1) + self.pending)

    @cached_property
    def n_labelled(self) -> Float[np.ndarray, " cell"]:
        """Items with a label in each cell; where labels are uncertain, `counts` may be worth fewer."""
        return (self.parts[0] if self.parts else self).counts.sum(axis=1)

    @property
    def is_heard(self) -> Bool[np.ndarray, " group"]:
        """Is there anything in a group that speaks but a guess?"""
        return (self.n_told > 0) | (self.sum_by_group(self.counts.sum(axis=1)) > 0) | (not self.guessed)

    @property
    def share(self) -> PerGroup:
        """p_g: the share of the pool in each group."""
        return self.n_items / self.n_items.sum()

    @property
    def weight(self) -> Float[np.ndarray, " cell"]:
        """The share of its group in each cell."""
        cells = self.scheme.cells
        return cells.n_items / self.n_items[cells.group]

    @cached_property
    def n_told(self) -> Int[np.ndarray, " group"]:
        """Items per group that have a label, however much it is worth."""
        return self.sum_by_group(self.scheme.cells.n_labels.astype(np.float64)).astype(np.int64)

    def sum_by_group(self, values: Float[np.ndarray, " cell"]) -> PerGroup:
        """Add up the cells of each group."""
        return np.bincount(self.scheme.cells.group, weights=values, minlength=len(self.groups))

    def position(self, group: str) -> int:
        """Where a group stands on the group axis."""
        return self.groups.index(group)

    # -- what could be true ---------------------------------------------------------------------------------

    def imagine(self, rng: Rng, n: int = 1) -> Theta:
        """Draw what the cells may truly be like, (draw, cell, ...)."""
        return self.foreseen.draw(rng, n)

    def expect(self) -> Theta:
        """Return what the cells are expected to be like, as a single draw."""
        return self.foreseen.mean()[None]

    def values(self, truth: Theta) -> Float[np.ndarray, "draw group"]:
        """Return the metric per group, were the cells like this."""
        return self.scheme.value(truth, self.scheme.cells.n_items[None].astype(np.float64))

    def finish(self, rng: Rng) -> "Knowledge":
        """Imagine a future with every item labelled that still can be, as it may well turn out."""
        rest = self._count_askable()
        truth = self.belief.draw(rng, 1)[0]
        if truth.ndim == 1:
            right = rng.binomial(rest, truth)
            more = np.stack([right, rest - right], axis=1)
        else:
            more = rng.multinomial(rest, truth)
        pending, left = np.zeros_like(self.pending), np.zeros_like(self.left)
        return replace(self.label(more.astype(np.float64)), pending=pending, left=left, n_draws=ROUGHLY)

    def label(self, counts: Float[np.ndarray, "cell outcome"]) -> "Knowledge":
        """Return what is known with these labels too, each about its own cell: what it teaches of others comes later."""
        ties = None if self.ties is None else self.ties.observe(counts.sum(axis=1))
        parts = tuple(part.label(counts) for part in self.parts)
        return replace(
            self, counts=self.counts + counts, joint=None, unlabelled=None, luck=None, ties=ties, parts=parts
        )

    def _count_askable(self) -> Int[np.ndarray, " cell"]:
        """Items of each cell that may still get a label; what nobody could tell is spread over a group's cells."""
        rest = self.scheme.cells.n_items - self.n_labelled
        askable = self.left + self.sum_by_group(self.pending.astype(np.float64))
        share = np.minimum(askable / np.maximum(self.sum_by_group(rest), 1.0), 1.0)
        return np.round(rest * share[self.scheme.cells.group]).astype(np.int64)


@dataclass(frozen=True)
class Prospect:
    """All that a policy sees: what a label in each group may be worth, and where there is anything left to ask."""

    known: Knowledge = field(repr=False)
    gain: Gain
    plays: int = 1  # how many groups are sought

    @cached_property
    def left(self) -> Int[np.ndarray, " group"]:
        """Items per group one can still ask about; none where a label is worth nothing at all to the goal."""
        worth = self.gain(self.known, self.known.expect())[0]
        return np.where(np.isneginf(worth) | np.isnan(worth) | self.known.undefined, 0, self.known.left)

    @property
    def is_open(self) -> Bool[np.ndarray, " group"]:
        """Is there anything left to ask?"""
        return self.left > 0

    @property
    def n_items(self) -> Int[np.ndarray, " group"]:
        """Items per group."""
        return self.known.n_items

    @property
    def n_labels(self) -> PerGroup:
        """Labels per group, pending ones included."""
        return self.known.n_labels

    def draw(self, rng: Rng, n: int = 1) -> Float[np.ndarray, "draw group"]:
        """Sample what one label in each group may be worth; nothing where the group is closed."""
        n = min(n, max(FEWEST, BUDGET // self.known.counts.size))
        worth = self.gain(self.known, self.known.imagine(rng, n))
        return self._close(np.where(np.isnan(worth), self.expect(), worth))  # a draw of no mass at all tells nothing

    def expect(self) -> PerGroup:
        """What one label in each group is worth, were the cells as expected."""
        return self._close(self.gain(self.known, self.known.expect()))[0]

    def spread(self) -> PerGroup:
        """Standard deviation of one outcome within the cells of each group, as expected."""
        mean = self.known.foreseen.mean()
        each = 2 * mean * (1 - mean) if mean.ndim == 1 else 1 - (mean**2).sum(axis=1)
        return np.sqrt(self.known.sum_by_group(self.known.weight * each / 2))

    def _close(self, gain: Float[np.ndarray, "draw group"]) -> Float[np.ndarray, "draw group"]:
        return np.where(self.is_open, gain, -np.inf)


def know(
    tally: Tally, metric: Metric, prior: Prior, *, finite: bool = False, level: float = 0.95, seed: int = 0
) -> Knowledge:
    """Return what the labels in a tally tell; every item without one can be asked about."""
    scheme = arrange(tally, metric.over(tally.classes) if isinstance(metric, Cost) else metric)
    cells = scheme.cells
    counts = cells.outcomes if metric.reads == "right" else cells.labels
    left = tally.count("n_items") - tally.count("n_labels")
    lesson = consult(prior, cells, metric.reads, finite=finite)
    nothing = np.zeros(cells.n, dtype=np.int64)
    return Knowledge(
        scheme, lesson.before, counts, nothing, left, finite, level, prior.guesses_level, lesson.joint,
        lesson.unlabelled, lesson.luck, seed=seed, ties=lesson.ties,
    )  # fmt: skip


def know_of_each(known: Knowledge, truths: Sequence[Knowledge]) -> Knowledge:
    """Return what is known where labels are uncertain: a mixture over the sets of labels they may be, all as likely.

    Every figure comes from the mixture. What one more label is worth is judged by the conjugate belief with its mean and
    variance in each cell, split so that labels and prior are both positive.
    """
    after = match([truth.belief for truth in truths])
    whole = pseudo_counts(after)
    total = whole.sum(axis=1)
    counts = whole * np.minimum(MOST_OF, known.counts.sum(axis=1) / total)[:, None]
    rest = whole - counts
    before = replace(after, alpha=rest) if isinstance(after, Dirichlet) else Beta(after.groups, rest[:, 0], rest[:, 1])
    return replace(known, before=before, counts=counts, joint=None, unlabelled=None, parts=tuple(truths))


def _expected(belief: Conjugate) -> Float[np.ndarray, "cell outcome"]:
    """Chance of each outcome of the next label."""
    if isinstance(belief, Beta):
        return np.stack([belief.mean(), 1 - belief.mean()], axis=1)
    assert isinstance(belief, Dirichlet)
    return belief.mean()
