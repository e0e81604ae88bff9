"""A Gibbs sampler for what is true and how good people are: Dawid and Skene's model with everything pooled.

- A person w who sees class t says v with chance Π_w[t, v]. The rows of Π_w are Dirichlet around a person's own error
  rate ε_w, and the rates of all people are Beta around a common one, which is expected to be low: whoever said little is
  judged by what is known of others.
- In a cell c, where the model predicts k, an item is truly k with chance r_c, Beta around a common level; else it is
  some other class, by shares that hang on k.

Rates and strengths live on grids, so that they are drawn exactly and the model can be enumerated.
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
ERRORS = (EDGES[1:] + EDGES[:-1]) / 2  # of a person, as a share of what blind guessing would make
GOOD = (1.0, 8.0)  # the Beta of the common error rate beforehand: people are expected to be good
ALIKE = np.array([4.0, 16.0, 64.0])  # how closely people follow the common rate, in votes
EVEN = np.array([4.0, 16.0, 64.0, 256.0])  # how closely the rows of a person follow their own rate, in votes
LEVELS = np.linspace(0.025, 0.975, 20)  # of the model's being right
TIES = np.array([2.0, 8.0, 32.0, 128.0])  # how closely cells follow the level, in labels
OTHERS = 1.0  # of the shares of other classes, in labels
TINY = 1e-300
LARGE = 200_000  # items × classes beyond which the chain is shorter


@dataclass(frozen=True)
class Schedule:
    """How long the chain runs: to forget where it started, and between the states that are kept."""

    burn: int = 150
    kept: int = 40
    thin: int = 8

    def shorten(self, size: int) -> "Schedule":
        """Return one that large polls can afford: much data settles soon."""
        return self if size <= LARGE else Schedule(self.burn // 3, self.kept, max(1, self.thin // 4))


def weigh(rng: Rng, poll: Poll, schedule: Schedule | None = None) -> Verdict:
    """Draw from what votes leave open: the truth of every item, and how often each person is right."""
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
    """Where the chain is."""

    truth: Int[np.ndarray, "item class"]  # how many of the items alike are of each class
    chance: Float[np.ndarray, "item class"]  # that they are
    says: Float[np.ndarray, "person class class"]  # what each person says (last) of a true class


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
    """Mark who said what: a row per item, a column per (person, class)."""
    item, person = np.nonzero(poll.votes != NONE)
    column = person * len(poll.classes) + poll.votes[item, person]
    shape = (len(poll.votes), len(poll.people) * len(poll.classes))
    return csr_array((np.ones(len(item)), (item, column)), shape=shape)


def _guess(poll: Poll) -> Float[np.ndarray, "item class"]:
    """Start from what most people say."""
    k = len(poll.classes)
    said = (poll.votes[:, :, None] == np.arange(k)).sum(axis=1) + 0.1
    return _fix(said / said.sum(axis=1, keepdims=True), poll.truth)


def _fix(chance: Float[np.ndarray, "item class"], truth: Int[np.ndarray, " item"]) -> Float[np.ndarray, "item class"]:
    """What was decided is known."""
    decided = truth != NONE
    out = chance.copy()
    out[decided] = np.eye(chance.shape[1])[truth[decided]]
    return out


class _People:
    """How people err, given what is true: drawn with rates and strengths integrated out where they can be."""

    def __init__(self, n_people: int, k: int, most: int) -> None:
        self.n, self.k = n_people, k
        self.error = ERRORS * (k - 1) / k
        hit, miss = EVEN[:, None] * (1 - self.error), EVEN[:, None] * self.error / (k - 1)
        self.hit, self.miss = _rise(hit, most), _rise(miss, most)  # (strength, error, count)
        self.whole = _rise(EVEN, most)
        self.expected, self.likely = expect_errors()

    def log_likelihood(
        self, said: Float[np.ndarray, "person class class"]
    ) -> Float[np.ndarray, "strength error person"]:
        """Log-chance of what each person said, for every strength of rows and every error rate."""
        said = said.astype(np.int64)
        (who, true, spoken) = np.nonzero(said)
        n, is_hit = said[who, true, spoken], true == spoken
        terms = np.where(is_hit, self.hit[:, :, n], self.miss[:, :, n])
        total = terms @ (who[:, None] == np.arange(self.n)).astype(np.float64)
        return total - self.whole[:, said.sum(axis=2)].sum(axis=2)[:, None, :]

    def draw(self, rng: Rng, said: Float[np.ndarray, "person class class"]) -> Float[np.ndarray, "person class class"]:
        """Draw strengths and rates, then the rows."""
        found = self.log_likelihood(said)
        top = found.max(axis=1, keepdims=True)
        seen = np.exp(found - top)  # (strength, error, person)
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
    """Chances of error rates for every common rate and likeness of people, and log-chances of these beforehand."""
    rate, alike = (grid.reshape(-1, 1) for grid in np.meshgrid(ERRORS, ALIKE, indexing="ij"))
    mass = np.diff(betainc(alike * rate, alike * (1 - rate), EDGES[None]), axis=1) + TINY
    before = np.diff(betainc(*GOOD, EDGES))
    return mass / mass.sum(axis=1, keepdims=True), np.log(before / before.sum() / len(ALIKE)).repeat(len(ALIKE))


class _Model:
    """How often the classifier is right in each cell, given what is true."""

    def __init__(self, poll: Poll) -> None:
        self.poll, self.k, self.cells = poll, len(poll.classes), len(poll.predicted)
        self.place = csr_array(
            (np.ones(len(poll.cell)), (poll.cell, np.arange(len(poll.cell)))), shape=(self.cells, len(poll.cell))
        )
        level, ties = (grid.reshape(-1, 1) for grid in np.meshgrid(LEVELS, TIES, indexing="ij"))
        self.alpha, self.beta = ties * level, ties * (1 - level)

    def draw(self, rng: Rng, truth: Int[np.ndarray, "item class"]) -> Float[np.ndarray, "cell class"]:
        """Draw the log-chance of every class in every cell."""
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
    """Draw an option per row."""
    up = np.cumsum(chance, axis=1)
    return np.minimum((up < rng.random((len(chance), 1)) * up[:, -1:]).sum(axis=1), chance.shape[1] - 1)
