"""Gibbs sampler for true labels and annotator accuracies: Dawid and Skene's model with partial pooling.

- Annotator w votes v on an item of true class t with probability Π_w[t, v]. The rows of Π_w are Dirichlet around the
  annotator's error rate ε_w. Error rates are Beta around a common rate with a low prior mean, so annotators with few
  votes are shrunk towards the others.
- In cell c, where the model predicts k, an item is truly k with probability r_c, Beta around a common level; otherwise
  it is another class, with probabilities that depend on k.

Rates and strengths have discrete grids, so they are drawn exactly and tests can enumerate the model.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.sparse import csr_array
from scipy.special import betainc, betaln, gammaln, softmax

from fewlabels.distributions.belief import Rng
from fewlabels.models.annotators.result import Truth, Verdict
from fewlabels.models.annotators.vote_matrix import NONE, Poll

EDGES = np.array([0, .005, .01, .02, .03, .04, .06, .08, .1, .13, .16, .2, .25, .3, .35, .4, .5, .6, .7, .8, .9])  # fmt: skip
ERRORS = (EDGES[1:] + EDGES[:-1]) / 2  # of an annotator, relative to that of random guessing
GOOD = (1.0, 8.0)  # Beta prior of the common error rate
ALIKE = np.array([4.0, 16.0, 64.0])  # concentrations of annotators around the common rate, in votes
EVEN = np.array([4.0, 16.0, 64.0, 256.0])  # concentrations of confusion rows around the annotator's rate, in votes
LEVELS = np.linspace(0.025, 0.975, 20)  # grid of the model's common accuracy
TIES = np.array([2.0, 8.0, 32.0, 128.0])  # concentrations of cells around that level, in labels
OTHERS = 1.0  # concentration of the distribution over wrong classes, in labels
TINY = 1e-300
LARGE = 200_000  # items × classes above which the chain is shorter


@dataclass(frozen=True)
class Schedule:
    """Length of the chain: burn-in, kept states, and thinning between them."""

    burn: int = 150
    kept: int = 40
    thin: int = 8

    def shorten(self, size: int) -> "Schedule":
        """Return a shorter schedule for large data, where the chain converges faster."""
        return self if size <= LARGE else Schedule(self.burn // 3, self.kept, max(1, self.thin // 4))


def weigh(rng: Rng, poll: Poll, schedule: Schedule | None = None) -> Verdict:
    """Sample the posterior of the true labels and of the annotators' accuracies."""
    schedule = (schedule or Schedule()).shorten(len(poll.votes) * len(poll.classes))
    posterior = np.zeros((len(poll.votes), len(poll.classes)))
    truths, right = [], []
    for step, state in enumerate(_run(rng, poll, schedule.burn + schedule.kept * schedule.thin)):
        if step < schedule.burn:
            continue
        posterior += state.chance
        share = state.truth.sum(axis=0) / state.truth.sum()
        right.append(np.einsum("wtt,t->w", state.says, share))
        if (step - schedule.burn) % schedule.thin == schedule.thin - 1:
            item, label = np.nonzero(state.truth)
            truths.append(Truth(item, label, state.truth[item, label]))
    return Verdict(poll, posterior / posterior.sum(axis=1, keepdims=True), tuple(truths), np.array(right))


@dataclass(frozen=True)
class State:
    """State of the chain."""

    truth: Int[np.ndarray, "item class"]  # number of identical items of each true class
    chance: Float[np.ndarray, "item class"]  # probability of each class
    says: Float[np.ndarray, "annotator class class"]  # confusion matrices: true class, then vote


def _run(rng: Rng, poll: Poll, n: int) -> Iterator[State]:
    votes, k = _index(poll), len(poll.classes)
    people, model = _People(len(poll.people), k, int(poll.n.sum())), _Model(poll)
    chance = _guess(poll)
    for _ in range(n):
        truth = rng.multinomial(poll.n, chance)
        said = (votes.T @ truth).reshape(len(poll.people), k, k).transpose(0, 2, 1)
        says = people.draw(rng, said)
        spoken = votes @ np.log(says + TINY).transpose(0, 2, 1).reshape(-1, k)
        chance = softmax(model.draw(rng, truth)[poll.cell] + spoken, axis=1)
        chance = _fix(chance, poll.truth)
        yield State(truth, chance, says)


def _index(poll: Poll) -> csr_array:
    """One-hot encode votes: a row per item, a column per (annotator, class)."""
    item, person = np.nonzero(poll.votes != NONE)
    column = person * len(poll.classes) + poll.votes[item, person]
    shape = (len(poll.votes), len(poll.people) * len(poll.classes))
    return csr_array((np.ones(len(item)), (item, column)), shape=shape)


def _guess(poll: Poll) -> Float[np.ndarray, "item class"]:
    """Initial class probabilities from the shares of votes."""
    k = len(poll.classes)
    said = (poll.votes[:, :, None] == np.arange(k)).sum(axis=1) + 0.1
    return _fix(said / said.sum(axis=1, keepdims=True), poll.truth)


def _fix(chance: Float[np.ndarray, "item class"], truth: Int[np.ndarray, " item"]) -> Float[np.ndarray, "item class"]:
    """Set the probability of decided classes to 1."""
    decided = truth != NONE
    out = chance.copy()
    out[decided] = np.eye(chance.shape[1])[truth[decided]]
    return out


class _People:
    """Draws confusion matrices given true labels, with rates and strengths marginalized where possible."""

    def __init__(self, n_people: int, k: int, most: int) -> None:
        self.n, self.k = n_people, k
        self.error = ERRORS * (k - 1) / k
        hit, miss = EVEN[:, None] * (1 - self.error), EVEN[:, None] * self.error / (k - 1)
        self.hit, self.miss = _rise(hit, most), _rise(miss, most)  # (strength, error, count)
        self.whole = _rise(EVEN, most)
        self.expected, self.likely = expect_errors()

    def log_likelihood(
        self, said: Float[np.ndarray, "annotator class class"]
    ) -> Float[np.ndarray, "strength error annotator"]:
        """Log likelihood of each annotator's votes, for every row strength and error rate."""
        said = said.astype(np.int64)
        (who, true, spoken) = np.nonzero(said)
        n, is_hit = said[who, true, spoken], true == spoken
        terms = np.where(is_hit, self.hit[:, :, n], self.miss[:, :, n])
        total = terms @ (who[:, None] == np.arange(self.n)).astype(np.float64)
        return total - self.whole[:, said.sum(axis=2)].sum(axis=2)[:, None, :]

    def draw(
        self, rng: Rng, said: Float[np.ndarray, "annotator class class"]
    ) -> Float[np.ndarray, "annotator class class"]:
        """Draw strengths and rates, then the rows of confusion matrices."""
        found = self.log_likelihood(said)
        top = found.max(axis=1, keepdims=True)
        seen = np.exp(found - top)  # (strength, error, annotator)
        each = np.log(np.einsum("he,sew->hsw", self.expected, seen) + TINY) + top[None, :, 0]
        whole = each.sum(axis=2) + self.likely[:, None]
        common, even = np.unravel_index(_pick(rng, softmax(whole).reshape(1, -1))[0], whole.shape)
        rate = self.expected[common][:, None] * seen[even]
        error = self.error[_pick(rng, (rate / rate.sum(axis=0)).T)]
        centre = np.repeat((EVEN[even] * error / (self.k - 1))[:, None, None], self.k, axis=1).repeat(self.k, axis=2)
        at = np.arange(self.k)
        centre[:, at, at] = (EVEN[even] * (1 - error))[:, None]
        rows = rng.standard_gamma(said + centre) + TINY
        return rows / rows.sum(axis=2, keepdims=True)


def expect_errors() -> tuple[Float[np.ndarray, "setting error"], Float[np.ndarray, " setting"]]:
    """P(error rate | common rate, concentration) on the grids, and the log prior of the common settings."""
    rate, alike = (grid.reshape(-1, 1) for grid in np.meshgrid(ERRORS, ALIKE, indexing="ij"))
    mass = np.diff(betainc(alike * rate, alike * (1 - rate), EDGES[None]), axis=1) + TINY
    before = np.diff(betainc(*GOOD, EDGES))
    return mass / mass.sum(axis=1, keepdims=True), np.log(before / before.sum() / len(ALIKE)).repeat(len(ALIKE))


class _Model:
    """Draws the accuracy of the classifier in each cell, given true labels."""

    def __init__(self, poll: Poll) -> None:
        self.poll, self.k, self.cells = poll, len(poll.classes), len(poll.predicted)
        self.place = csr_array(
            (np.ones(len(poll.cell)), (poll.cell, np.arange(len(poll.cell)))), shape=(self.cells, len(poll.cell))
        )
        level, ties = (grid.reshape(-1, 1) for grid in np.meshgrid(LEVELS, TIES, indexing="ij"))
        self.alpha, self.beta = ties * level, ties * (1 - level)

    def draw(self, rng: Rng, truth: Int[np.ndarray, "item class"]) -> Float[np.ndarray, "cell class"]:
        """Draw the log probability of every class in every cell."""
        counts = self.place @ truth + self.poll.known
        at, said = np.arange(self.cells), self.poll.predicted
        right, wrong = counts[at, said], counts.copy()
        wrong[at, said] = 0
        total = right + wrong.sum(axis=1)
        heard = total > 0
        fits = betaln(self.alpha + right[heard], self.beta + (total - right)[heard]) - betaln(self.alpha, self.beta)
        setting = _pick(rng, softmax(fits.sum(axis=1))[None])[0]
        rate = rng.beta(self.alpha[setting] + right, self.beta[setting] + total - right)
        others = np.zeros((self.k, self.k))
        np.add.at(others, said, wrong)
        shares = rng.standard_gamma(others + OTHERS / max(self.k - 1, 1)) + TINY
        shares[np.arange(self.k), np.arange(self.k)] = 0
        shares = shares / shares.sum(axis=1, keepdims=True)
        chance = (1 - rate)[:, None] * shares[said]
        chance[at, said] = rate
        return np.log(chance + TINY)


def _rise(start: Float[np.ndarray, "*grid"], most: int) -> Float[np.ndarray, "*grid count"]:
    """Tabulate log Γ(start + n) − log Γ(start)."""
    return gammaln(start[..., None] + np.arange(most + 1)) - gammaln(start)[..., None]


def _pick(rng: Rng, chance: Float[np.ndarray, "row option"]) -> Int[np.ndarray, " row"]:
    """Draw an option per row, in proportion to its weight."""
    up = np.cumsum(chance, axis=1)
    return np.minimum((up < rng.random((len(chance), 1)) * up[:, -1:]).sum(axis=1), chance.shape[1] - 1)
