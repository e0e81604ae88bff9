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

from fewlabels.distributions.randomness import Rng
from fewlabels.models.annotators.annotator_fit import AnnotatorFit, Imputation
from fewlabels.models.annotators.vote_matrix import NONE, VoteMatrix
from fewlabels.models.diagnostics import diagnose

EDGES = np.array([0, .005, .01, .02, .03, .04, .06, .08, .1, .13, .16, .2, .25, .3, .35, .4, .5, .6, .7, .8, .9])  # fmt: skip
ERROR_RATES = (EDGES[1:] + EDGES[:-1]) / 2  # of an annotator, relative to that of random guessing
ERROR_RATE_PRIOR = (1.0, 8.0)  # Beta prior of the common error rate
RATE_STRENGTHS = np.array([4.0, 16.0, 64.0])  # concentrations of annotators around the common rate, in votes
ROW_STRENGTHS = np.array(
    [4.0, 16.0, 64.0, 256.0]
)  # concentrations of confusion rows around the annotator's rate, in votes
ACCURACY_LEVELS = np.linspace(0.025, 0.975, 20)  # grid of the model's common accuracy
CELL_STRENGTHS = np.array([2.0, 8.0, 32.0, 128.0])  # concentrations of cells around that level, in labels
OTHER_CLASS_STRENGTH = 1.0  # concentration of the distribution over wrong classes, in labels
TINY = 1e-300
LARGE = 200_000  # items × classes above which chains are shorter
FARTHEST_START = 0.8  # share of equal probabilities in the start of the last chain; the first starts from the votes


@dataclass(frozen=True)
class GibbsSchedule:
    """Length of each chain: burn-in, kept states, and thinning between them; and the number of chains."""

    burn: int = 80
    kept: int = 10
    thin: int = 8
    chains: int = 4

    @property
    def n_steps(self) -> int:
        """Steps of a chain of the Dawid-Skene sampler after burn-in."""
        return self.kept * self.thin

    def shorten(self, size: int) -> "GibbsSchedule":
        """Return a shorter schedule of Dawid and Skene's Gibbs sampler for large data, where chains converge faster."""
        return self if size <= LARGE else GibbsSchedule(self.burn // 2, self.kept, max(2, self.thin // 4), self.chains)


def fit_annotators(rng: Rng, vote_matrix: VoteMatrix, schedule: GibbsSchedule | None = None) -> AnnotatorFit:
    """Sample the Dawid-Skene posterior of true labels and annotators' accuracies, by several chains from apart."""
    schedule = (schedule or GibbsSchedule()).shorten(len(vote_matrix.votes) * len(vote_matrix.classes))
    starts = np.linspace(0, FARTHEST_START, schedule.chains)
    chains = [_run_chain(rng, vote_matrix, schedule, share) for share in starts]
    posterior = np.sum([chain.posterior for chain in chains], axis=0)
    traced = np.stack([np.column_stack([chain.right, chain.accuracy]) for chain in chains], axis=1)
    return AnnotatorFit(
        vote_matrix,
        posterior / posterior.sum(axis=1, keepdims=True),
        tuple(imputation for chain in chains for imputation in chain.imputations),
        np.concatenate([chain.right for chain in chains]),
        diagnose(traced),
        schedule.chains,
    )


@dataclass(frozen=True)
class _GibbsChain:
    """What is kept of a chain after burn-in."""

    posterior: Float[np.ndarray, "item class"]  # summed over steps
    imputations: list[Imputation]
    right: Float[np.ndarray, "step annotator"]  # accuracy of each annotator
    accuracy: Float[np.ndarray, " step"]  # of the classifier, on the items with votes


def _run_chain(rng: Rng, vote_matrix: VoteMatrix, schedule: GibbsSchedule, share_uniform: float) -> _GibbsChain:
    """Run one chain of the Dawid-Skene sampler."""
    posterior = np.zeros((len(vote_matrix.votes), len(vote_matrix.classes)))
    imputations, right, accuracy = [], [], []
    start, predicted = _start_near_majority(vote_matrix, share_uniform), vote_matrix.predicted[vote_matrix.cell]
    for step, state in enumerate(_sample_truths(rng, vote_matrix, schedule.burn + schedule.n_steps, start)):
        if step < schedule.burn:
            continue
        posterior += state.chance
        share = state.truth.sum(axis=0) / state.truth.sum()
        right.append(np.einsum("wtt,t->w", state.confusion, share))
        accuracy.append(state.truth[np.arange(len(predicted)), predicted].sum() / state.truth.sum())
        if (step - schedule.burn) % schedule.thin == schedule.thin - 1:
            item, label = np.nonzero(state.truth)
            imputations.append(Imputation(item, label, state.truth[item, label]))
    return _GibbsChain(posterior, imputations, np.array(right), np.array(accuracy))


@dataclass(frozen=True)
class GibbsState:
    """State of the chain."""

    truth: Int[np.ndarray, "item class"]  # number of identical items of each true class
    chance: Float[np.ndarray, "item class"]  # probability of each class
    confusion: Float[np.ndarray, "annotator class class"]  # confusion matrices: true class, then vote


def _sample_truths(
    rng: Rng, vote_matrix: VoteMatrix, n: int, chance: Float[np.ndarray, "item class"]
) -> Iterator[GibbsState]:
    """Yield the states of a Gibbs sampler of the true labels and of the annotators' confusion matrices."""
    votes, k = _one_hot_votes(vote_matrix), len(vote_matrix.classes)
    annotators, model = (
        _AnnotatorModel(len(vote_matrix.annotators), k, int(vote_matrix.n.sum())),
        _ClassifierModel(vote_matrix),
    )
    for _ in range(n):
        truth = rng.multinomial(vote_matrix.n, chance)
        said = (votes.T @ truth).reshape(len(vote_matrix.annotators), k, k).transpose(0, 2, 1)
        confusion = annotators.draw(rng, said)
        log_votes = votes @ np.log(confusion + TINY).transpose(0, 2, 1).reshape(-1, k)
        chance = softmax(model.draw(rng, truth)[vote_matrix.cell] + log_votes, axis=1)
        chance = _set_decided(chance, vote_matrix.truth)
        yield GibbsState(truth, chance, confusion)


def _one_hot_votes(vote_matrix: VoteMatrix) -> csr_array:
    """One-hot encode votes for the Dawid-Skene likelihood: a row per item, a column per (annotator, class)."""
    item, annotator = np.nonzero(vote_matrix.votes != NONE)
    column = annotator * len(vote_matrix.classes) + vote_matrix.votes[item, annotator]
    shape = (len(vote_matrix.votes), len(vote_matrix.annotators) * len(vote_matrix.classes))
    return csr_array((np.ones(len(item)), (item, column)), shape=shape)


def _start_near_majority(vote_matrix: VoteMatrix, share_uniform: float) -> Float[np.ndarray, "item class"]:
    """Start the Gibbs sampler near the majority of votes, mixed with equal probabilities so that chains start apart."""
    k = len(vote_matrix.classes)
    said = (vote_matrix.votes[:, :, None] == np.arange(k)).sum(axis=1) + 0.1
    mixed = (1 - share_uniform) * said / said.sum(axis=1, keepdims=True) + share_uniform / k
    return _set_decided(mixed, vote_matrix.truth)


def _set_decided(
    chance: Float[np.ndarray, "item class"], truth: Int[np.ndarray, " item"]
) -> Float[np.ndarray, "item class"]:
    """Set the probability of true classes that are decided to 1, for the Gibbs sampler."""
    decided = truth != NONE
    out = chance.copy()
    out[decided] = np.eye(chance.shape[1])[truth[decided]]
    return out


class _AnnotatorModel:
    """Draws confusion matrices given true labels, with rates and strengths marginalized where possible."""

    def __init__(self, n_people: int, k: int, most: int) -> None:
        self.n, self.k = n_people, k
        self.error = ERROR_RATES * (k - 1) / k
        hit, miss = ROW_STRENGTHS[:, None] * (1 - self.error), ROW_STRENGTHS[:, None] * self.error / (k - 1)
        self.hit, self.miss = (
            _log_rising_factorials(hit, most),
            _log_rising_factorials(miss, most),
        )  # (strength, error, count)
        self.whole = _log_rising_factorials(ROW_STRENGTHS, most)
        self.expected, self.likely = compute_error_prior()

    def log_likelihood(
        self, said: Float[np.ndarray, "annotator class class"]
    ) -> Float[np.ndarray, "strength error annotator"]:
        """Log likelihood of each annotator's votes, for every row strength and error rate."""
        said = said.astype(np.int64)
        (who, true, log_votes) = np.nonzero(said)
        n, is_hit = said[who, true, log_votes], true == log_votes
        terms = np.where(is_hit, self.hit[:, :, n], self.miss[:, :, n])
        total = terms @ (who[:, None] == np.arange(self.n)).astype(np.float64)
        return total - self.whole[:, said.sum(axis=2)].sum(axis=2)[:, None, :]

    def draw(
        self, rng: Rng, said: Float[np.ndarray, "annotator class class"]
    ) -> Float[np.ndarray, "annotator class class"]:
        """Draw strengths and rates of Dawid and Skene's annotators, then the rows of their confusion matrices."""
        found = self.log_likelihood(said)
        top = found.max(axis=1, keepdims=True)
        seen = np.exp(found - top)  # (strength, error, annotator)
        each = np.log(np.einsum("he,sew->hsw", self.expected, seen) + TINY) + top[None, :, 0]
        whole = each.sum(axis=2) + self.likely[:, None]
        common, even = np.unravel_index(_sample_categorical(rng, softmax(whole).reshape(1, -1))[0], whole.shape)
        rate = self.expected[common][:, None] * seen[even]
        error = self.error[_sample_categorical(rng, (rate / rate.sum(axis=0)).T)]
        centre = np.repeat((ROW_STRENGTHS[even] * error / (self.k - 1))[:, None, None], self.k, axis=1).repeat(
            self.k, axis=2
        )
        at = np.arange(self.k)
        centre[:, at, at] = (ROW_STRENGTHS[even] * (1 - error))[:, None]
        rows = rng.standard_gamma(said + centre) + TINY
        return rows / rows.sum(axis=2, keepdims=True)


def compute_error_prior() -> tuple[Float[np.ndarray, "setting error"], Float[np.ndarray, " setting"]]:
    """P(error rate | common rate, concentration) on the grids of Dawid-Skene, and the log prior of the settings."""
    rate, alike = (grid.reshape(-1, 1) for grid in np.meshgrid(ERROR_RATES, RATE_STRENGTHS, indexing="ij"))
    mass = np.diff(betainc(alike * rate, alike * (1 - rate), EDGES[None]), axis=1) + TINY
    before = np.diff(betainc(*ERROR_RATE_PRIOR, EDGES))
    return mass / mass.sum(axis=1, keepdims=True), np.log(before / before.sum() / len(RATE_STRENGTHS)).repeat(
        len(RATE_STRENGTHS)
    )


class _ClassifierModel:
    """Draws the accuracy of the classifier in each cell, given true labels."""

    def __init__(self, vote_matrix: VoteMatrix) -> None:
        self.vote_matrix, self.k, self.cells = vote_matrix, len(vote_matrix.classes), len(vote_matrix.predicted)
        self.place = csr_array(
            (np.ones(len(vote_matrix.cell)), (vote_matrix.cell, np.arange(len(vote_matrix.cell)))),
            shape=(self.cells, len(vote_matrix.cell)),
        )
        level, strength = (grid.reshape(-1, 1) for grid in np.meshgrid(ACCURACY_LEVELS, CELL_STRENGTHS, indexing="ij"))
        self.alpha, self.beta = strength * level, strength * (1 - level)

    def draw(self, rng: Rng, truth: Int[np.ndarray, "item class"]) -> Float[np.ndarray, "cell class"]:
        """Draw the log probability by which Dawid and Skene's classifier gives every class in every cell."""
        counts = self.place @ truth + self.vote_matrix.known
        at, said = np.arange(self.cells), self.vote_matrix.predicted
        right, wrong = counts[at, said], counts.copy()
        wrong[at, said] = 0
        total = right + wrong.sum(axis=1)
        labelled = total > 0
        fits = betaln(self.alpha + right[labelled], self.beta + (total - right)[labelled]) - betaln(
            self.alpha, self.beta
        )
        setting = _sample_categorical(rng, softmax(fits.sum(axis=1))[None])[0]
        rate = rng.beta(self.alpha[setting] + right, self.beta[setting] + total - right)
        others = np.zeros((self.k, self.k))
        np.add.at(others, said, wrong)
        shares = rng.standard_gamma(others + OTHER_CLASS_STRENGTH / max(self.k - 1, 1)) + TINY
        shares[np.arange(self.k), np.arange(self.k)] = 0
        shares = shares / shares.sum(axis=1, keepdims=True)
        chance = (1 - rate)[:, None] * shares[said]
        chance[at, said] = rate
        return np.log(chance + TINY)


def _log_rising_factorials(start: Float[np.ndarray, "*grid"], most: int) -> Float[np.ndarray, "*grid count"]:
    """Tabulate log Γ(start + n) − log Γ(start) for the likelihoods of the Dawid-Skene model."""
    return gammaln(start[..., None] + np.arange(most + 1)) - gammaln(start)[..., None]


def _sample_categorical(rng: Rng, chance: Float[np.ndarray, "row option"]) -> Int[np.ndarray, " row"]:
    """Draw an option per row in proportion to its weight: the true class of an item in a Gibbs step."""
    up = np.cumsum(chance, axis=1)
    return np.minimum((up < rng.random((len(chance), 1)) * up[:, -1:]).sum(axis=1), chance.shape[1] - 1)
