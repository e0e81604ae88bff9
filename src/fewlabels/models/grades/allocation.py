"""Which kinds of answers people should grade next, and how far the intervals narrow: a normal approximation of the posterior.

The joint draws of the cells' figures give their covariance; one more grade in a cell is an observation of its figure with
the spread of single grades as noise, so every covariance after any number of grades has a closed form. What the model
learns about the scales of its effects meanwhile is left out.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from fewlabels.distributions.randomness import Rng
from fewlabels.models.grades.posterior import GradePosterior

MIN_NOISE = 1e-3  # variance of single grades in a cell, as a share of the largest possible
KNOWN_WORTH = 0.05  # of a target that is narrow enough, against 1 of one that is not
MIN_SEEN = 5  # grades of people that a group needs before it counts as known, whatever the judge says
BATCH_SHARE = 20  # steps grow: a twentieth of the grades so far
ROUNDING = 1e-9
PerCell = Float[np.ndarray, " cell"]
PerTarget = Float[np.ndarray, " target"]


@dataclass(frozen=True, eq=False)
class AllocationPrecision:
    """How well the figure is known, overall (the first target) and in every group, after some more grades."""

    covariance: Float[np.ndarray, "cell cell"]
    noise: PerCell  # variance of a single grade
    member: Float[np.ndarray, "target cell"]  # the share of every cell in a target
    n_items: Int[np.ndarray, " cell"]
    rest: Int[np.ndarray, " cell"]  # items without a grade of people
    floor: PerTarget  # variance that no grade of these items reduces
    finite_pool: bool

    @property
    def variance(self) -> PerTarget:
        """The expected variance of every target, on which the allocation of grades is based."""
        aim = self._aim
        own = self.member**2 @ (self.noise * self.rest / self.n_items**2) if self.finite_pool else 0.0
        return np.einsum("tc,cd,td->t", aim, self.covariance, aim, optimize=True) + own + self.floor

    @property
    def gain(self) -> Float[np.ndarray, "target cell"]:
        """How much the variance of every target falls by allocating one more grade to every cell."""
        shared = self._aim @ self.covariance
        if self.finite_pool:
            shared = shared + self.member * self.noise / self.n_items
        outcome = np.diagonal(self.covariance) + self.noise
        return np.where(self.rest > 0, shared**2 / outcome, 0.0)

    @property
    def n_grades(self) -> Float[np.ndarray, " target"]:
        """The number of people's grades in every target of the allocation."""
        return (self.member > 0) @ (self.n_items - self.rest).astype(float)

    def observe(self, cell: int, n: int = 1) -> "AllocationPrecision":
        """Return the precision after `n` more grades are allocated to a cell."""
        along = self.covariance[cell]
        covariance = self.covariance - np.outer(along, along) / (along[cell] + self.noise[cell] / n)
        rest = self.rest.copy()
        rest[cell] -= n
        return replace(self, covariance=covariance, rest=rest)

    def is_open(self, width: PerTarget, z: float) -> Bool[np.ndarray, " target"]:
        """Which targets have an interval wider than `width`, or fewer grades than show that the judge is right there?"""
        n_items = (self.member > 0) @ self.n_items.astype(float)
        is_unseen = self.n_grades < np.minimum(MIN_SEEN, n_items)
        return (2 * z * np.sqrt(np.maximum(self.variance, 0.0)) > width * (1 + ROUNDING)) | is_unseen

    def keep_overall(self) -> "AllocationPrecision":
        """Return the precision of the overall figure alone, to allocate grades by it."""
        return replace(self, member=self.member[:1], floor=self.floor[:1])

    @property
    def _aim(self) -> Float[np.ndarray, "target cell"]:
        """Weight of the cells in every target of the allocation: in a finite pool only ungraded items are uncertain."""
        return self.member * (self.rest / self.n_items) if self.finite_pool else self.member


def measure_precision(posterior: GradePosterior, *, passes: bool) -> AllocationPrecision:
    """Return how precisely pass rates, or mean grades, are known before more grades are allocated."""
    value = posterior.counts.outcomes.passes.astype(float) if passes else posterior.value.mean(axis=0)
    figure = posterior.chance @ value
    spread = (posterior.chance @ value**2 - figure**2).mean(axis=0)
    floor = MIN_NOISE * (value[-1] - value[0]) ** 2 / 4
    now = AllocationPrecision(
        covariance=np.atleast_2d(np.cov(figure.T)), noise=np.maximum(spread, floor), member=_find_members(posterior),
        n_items=posterior.counts.n_items, rest=posterior.counts.n_items - posterior.counts.n_grades,
        floor=np.zeros(1 + len(posterior.counts.groups)), finite_pool=posterior.finite_pool,
    )  # fmt: skip
    groups, overall = (posterior.pass_rate, posterior.overall_pass_rate) if passes else (posterior.mean_grade, posterior.overall_mean_grade)  # fmt: skip
    drawn = np.concatenate([[overall.var()], groups.var(axis=0)])
    return replace(now, floor=np.zeros(len(drawn)) if posterior.finite_pool else np.maximum(drawn - now.variance, 0.0))


Step = tuple[int, int, AllocationPrecision]  # a cell, how many more grades in it, and the precision after them


def allocate_by_gain(start: AllocationPrecision, *, width: PerTarget | None = None, z: float = 1.96) -> Iterator[Step]:
    """Allocate the next grades to the cells where they narrow the intervals most, overall and of groups by share.

    With a target width, targets that have reached it hardly count, and the others count alike.
    """
    now, share, n = start, np.concatenate([[1.0], start.member[0] @ (start.member[1:] > 0).T]), 0
    while now.rest.any():
        worth = share if width is None else np.where(now.is_open(width, z), 1.0, KNOWN_WORTH * share)
        cell = int(np.argmax(worth @ now.gain))
        k = min(max(1, n // BATCH_SHARE), int(now.rest[cell]))
        now, n = now.observe(cell, k), n + k
        yield cell, k, now


def allocate_at_random(rng: Rng, start: AllocationPrecision) -> Iterator[Step]:
    """Allocate the next grades to items drawn at random from the pool."""
    order, now, n = rng.permutation(np.repeat(np.arange(len(start.rest)), start.rest)), start, 0
    while n < len(order):
        k = max(1, n // BATCH_SHARE)
        for cell, more in zip(*np.unique(order[n : n + k], return_counts=True), strict=True):
            now, n = now.observe(int(cell), int(more)), n + int(more)
            yield int(cell), int(more), now


def allocate_in_open_groups(rng: Rng, start: AllocationPrecision, width: PerTarget, z: float) -> Iterator[Step]:
    """Allocate the next grades at random within a group: of those not known well enough, the one that gains most."""
    now, n = start, 0
    while True:
        rest = now.rest * (now.member[1:] > 0)
        is_open = now.is_open(width, z)[1:] & rest.any(axis=1)
        if not is_open.any():
            return
        mean_gain = (rest * now.gain[1:]).sum(axis=1) / np.maximum(rest.sum(axis=1), 1)
        group = int(np.argmax(np.where(is_open, mean_gain, -1.0)))
        k = min(max(1, n // BATCH_SHARE), int(rest[group].sum()))
        drawn = rng.multivariate_hypergeometric(rest[group], k)
        for cell in np.flatnonzero(drawn):
            now, n = now.observe(int(cell), int(drawn[cell])), n + int(drawn[cell])
            yield int(cell), int(drawn[cell]), now


def count_allocated_grades(steps: Iterable[Step], start: AllocationPrecision, width: PerTarget, z: float) -> int | None:
    """Return after how many allocated grades every interval is narrow enough; None if all grades do not do it."""
    if not start.is_open(width, z).any():
        return 0
    n = 0
    for _, more, now in steps:
        n += more
        if not now.is_open(width, z).any():
            return n
    return None


def _find_members(posterior: GradePosterior) -> Float[np.ndarray, "target cell"]:
    """Return the mean share of every cell in all items, and in its group, for the allocation."""
    counts = posterior.counts
    share = posterior.share.mean(axis=0)
    mine = (counts.group == np.arange(len(counts.groups))[:, None]) * share
    return np.vstack([share / share.sum(), mine / mine.sum(axis=1, keepdims=True)])
