"""From counts to beliefs about a metric: prior, counts and metric in; one belief per group and one overall out.

Closed form where a group is a single cell; draws, in blocks that fit in memory, everywhere else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from fewlabels.data.counts import Cells, Tally
from fewlabels.distributions.belief import Belief, Beta, Conjugate, Dirichlet, Draws, Rng
from fewlabels.distributions.finite_pool import restrict
from fewlabels.distributions.partial_pooling import Levelled, learn_level
from fewlabels.metrics.evaluate import Scheme, arrange, fill
from fewlabels.metrics.metric import Metric
from fewlabels.models.priors import Prior, consult

BLOCK = 4_000_000  # numbers drawn at a time
BUDGET = 50_000_000  # numbers drawn in all, before we settle for fewer draws
FEWEST = 1000
HANDFUL = 10  # labels
Block = tuple[Float[np.ndarray, "draw group"], Float[np.ndarray, "draw 1"]]


@dataclass(frozen=True)
class Answer:
    """What we believe about a metric."""

    groups: Belief
    overall: Belief
    draws: Float[np.ndarray, "draw group"]
    cells: Cells
    prior: Conjugate
    posterior: Conjugate
    shown: Belief  # of the cells: the posterior, or what it says about exactly these items
    whole: Levelled | None  # what the overall figure is made of, where the prior's level was learned
    undefined: Bool[np.ndarray, " group"]  # where a rate has nothing to be a rate of
    trust: Any = None  # how far the scores were trusted, where that was learned


def infer(
    rng: Rng,
    tally: Tally,
    metric: Metric,
    prior: Prior,
    *,
    finite: bool = False,
    n_draws: int = 10_000,
) -> Answer:
    """Combine prior and counts, and draw the metric in every group and overall.

    Unless `finite`, the quantity is the metric on the population the pool came from: then the sizes of cells are
    themselves a sample, and are drawn too (a Dirichlet over the counts, the Bayesian bootstrap).
    """
    scheme = arrange(tally, metric)
    cells = scheme.cells
    lesson = consult(prior, cells, metric.reads, finite=finite)
    before, joint = lesson.before, lesson.joint
    counts = cells.outcomes if metric.reads == "right" else cells.labels
    after = before.observe(counts)
    shown = (
        restrict(lesson.unlabelled or after, counts, cells.n_items - cells.n_labels, lesson.luck) if finite else after
    )
    exact = scheme.close(shown, finite=finite)
    whole = _level(prior, before, cells, finite) if exact is not None and metric.own_cell else None
    sampler = _Sampler(scheme, joint or shown, whole, finite)
    samples = list(
        sampler.sample_exact(rng, exact, n_draws)
        if exact and not joint
        else sampler.sample(rng, _affordable(n_draws, after))
    )
    raw = np.concatenate([groups for groups, _ in samples])
    draws, undefined = fill(rng, raw), np.isnan(raw).all(axis=0)
    overall = fill(rng, np.concatenate([whole for _, whole in samples]))
    return Answer(
        groups=exact or Draws(tally.groups, draws),
        overall=Draws(("overall",), overall),
        draws=draws,
        cells=cells,
        prior=before,
        posterior=after,
        shown=joint or shown,
        whole=whole,
        trust=lesson.trust,
        undefined=undefined,
    )


def _level(prior: Prior, before: Conjugate, cells: Cells, finite: bool) -> Levelled | None:
    """Learn the prior's level for a metric that is an average over single cells; there all counts is being right.

    A prior of right and wrong that is worth a handful of labels in all, and pulls on their mean by less than its
    standard error, is left as it is: it decides nothing.
    """
    pseudo = float(before.strength().sum())
    weak = isinstance(before, Beta) and pseudo <= HANDFUL and pseudo**2 <= cells.n_labels.sum()
    if not prior.guesses_level or cells.n == 1 or weak:
        return None
    right = before.marginal(cells.predicted) if isinstance(before, Dirichlet) else before
    assert isinstance(right, Beta)
    return learn_level(right, cells.outcomes, cells.n_items - cells.n_labels, finite=finite)


def _affordable(n_draws: int, belief: Conjugate) -> int:
    numbers = belief.alpha.size if isinstance(belief, Beta | Dirichlet) else 1
    return int(np.clip(BUDGET // numbers, min(FEWEST, n_draws), n_draws))


@dataclass(frozen=True)
class _Sampler:
    """Draws of the cells, put through a scheme block by block."""

    scheme: Scheme
    belief: Belief
    whole: Levelled | None
    finite: bool

    def weigh(self, rng: Rng, n: int) -> Float[np.ndarray, "draw cell"]:
        """Sizes of the cells: known in a finite pool, a sample of the population otherwise."""
        size = self.scheme.cells.n_items.astype(np.float64)
        return np.tile(size, (n, 1)) if self.finite else rng.standard_gamma(size, size=(n, len(size)))

    def _weigh_groups(self, rng: Rng, n: int) -> Float[np.ndarray, "draw group"]:
        size = self.scheme.tally.count("n_items").astype(np.float64)
        return rng.standard_gamma(size, size=(n, len(size)))

    def sample(self, rng: Rng, n_draws: int) -> Iterator[Block]:
        """Yield blocks of draws: the metric per group, and overall."""
        cells = self.scheme.cells
        width = cells.n if self.scheme.metric.reads == "right" else cells.labels.size
        block = max(1, min(n_draws, BLOCK // width))
        for start in range(0, n_draws, block):
            n = min(block, n_draws - start)
            yield self.scheme.combine(self.belief.draw(rng, n), self.weigh(rng, n))

    def sample_exact(self, rng: Rng, exact: Belief, n_draws: int) -> Iterator[Block]:
        """Yield blocks where each group is one cell with a closed form: no other draws are needed."""
        block = max(1, min(n_draws, BLOCK // self.scheme.cells.n))
        for start in range(0, n_draws, block):
            n = min(block, n_draws - start)
            values = exact.draw(rng, n)
            cells = self.whole.draw(rng, n) if self.whole else values
            if self.scheme.per_class:
                yield values, cells.sum(axis=1, keepdims=True) / len(self.scheme.occurring())
            else:
                weight = self.weigh(rng, n) if self.scheme.metric.own_cell else self._weigh_groups(rng, n)
                yield values, (cells * weight).sum(axis=1, keepdims=True) / weight.sum(axis=-1, keepdims=True)
