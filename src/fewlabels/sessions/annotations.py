"""Item votes -> vote matrix -> imputed labels -> counts: from the votes of a session to the input of the posterior."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.data.counts import NONE, CountTable
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import count
from fewlabels.models.annotators.agreement import measure_agreement
from fewlabels.models.annotators.annotator_fit import Imputation
from fewlabels.models.annotators.dawid_skene import fit_annotators
from fewlabels.models.annotators.imputation import ImputedCounts
from fewlabels.models.annotators.vote_matrix import VoteMatrix
from fewlabels.sessions.votes import ItemVotes

NO_SHARED_ITEMS = (
    "no item has votes of two annotators yet, so their error rates are unknown; every answer is taken as correct"
)
MIN_PROBABILITY = 0.005
MIN_SHARED_ITEMS = 3  # items with two votes that kappa needs
VotePattern = tuple[int, tuple[tuple[str, str], ...], str | None]  # entry, votes, decided label


@dataclass(frozen=True)
class PoolVotes:
    """A vote matrix, and the entry of the pool's counts that each of its rows belongs to."""

    vote_matrix: VoteMatrix
    entry: Int[np.ndarray, " item"]
    counts: CountTable  # of the pool, with its initial labels
    at: Mapping[VotePattern, int]  # row of each pattern of votes


def build_vote_matrix(counts: CountTable, voted_items: Sequence[ItemVotes]) -> PoolVotes:
    """Build the vote matrix of a session's annotations, one row per distinct pattern; skips are missing votes."""
    patterns = Counter(filter(None, map(_read_pattern, voted_items)))
    people = tuple(sorted({who for _, votes, _ in patterns for who, _ in votes}))
    who_at = {who: i for i, who in enumerate(people)}
    class_at = {name: i for i, name in enumerate(counts.classes)}
    votes = np.full((len(patterns), len(people)), NONE)
    truth = np.full(len(patterns), NONE)
    for i, (_, said, decided) in enumerate(patterns):
        for who, label in said:
            votes[i, who_at[who]] = class_at[label]
        truth[i] = NONE if decided is None else class_at[decided]
    entry = np.array([pattern[0] for pattern in patterns], dtype=np.int64)
    key, where = counts.assign_cells(("predicted",))
    known = np.zeros((len(key), len(counts.classes)))
    labelled = counts.label != NONE
    np.add.at(known, (where[labelled], counts.label[labelled]), counts.n_labels[labelled])
    n = np.array(list(patterns.values()), dtype=np.int64)
    vote_matrix = VoteMatrix(people, counts.classes, votes, truth, n, where[entry], key[:, 1], known)
    return PoolVotes(vote_matrix, entry, counts, {pattern: i for i, pattern in enumerate(patterns)})


def impute_counts(rng: Rng, pool_votes: PoolVotes) -> ImputedCounts | None:
    """Impute the true labels from annotations; None if no item has votes of two annotators."""
    if not pool_votes.vote_matrix.n_shared:
        return None
    annotator_fit = fit_annotators(rng, pool_votes.vote_matrix)
    return ImputedCounts(
        tuple(_count_imputed_labels(pool_votes, truth) for truth in annotator_fit.imputations), annotator_fit
    )


def label_probabilities(pool_votes: PoolVotes, imputed: ImputedCounts, item_votes: ItemVotes) -> dict[str, float]:
    """Return the posterior probability of each class given an item's annotations, largest first, without tiny ones."""
    pattern = _read_pattern(item_votes)
    if pattern is None or pattern not in pool_votes.at:
        return {}
    chance = imputed.annotator_fit.posterior[pool_votes.at[pattern]]
    order = np.argsort(-chance)
    return {pool_votes.vote_matrix.classes[c]: float(chance[c]) for c in order if chance[c] >= MIN_PROBABILITY}


def describe_votes(pool_votes: PoolVotes, imputed: ImputedCounts | None, level: float) -> dict[str, Any]:
    """Describe a session's annotations as plain data: agreement between annotators and the accuracy of each."""
    agreement = measure_agreement(pool_votes.vote_matrix, level)
    if agreement is not None and agreement.n_items < MIN_SHARED_ITEMS:
        agreement = None
    people = [] if imputed is None else [asdict(one) for one in imputed.annotator_fit.rate(level)]
    return {
        "n_votes": int(pool_votes.vote_matrix.n_votes.sum()), "agreement": None if agreement is None else asdict(agreement),
        "annotators": people, "errs": imputed is not None and imputed.annotator_fit.errs,
        "claim": NO_SHARED_ITEMS if imputed is None else imputed.annotator_fit.claim,
        "sentence": NO_SHARED_ITEMS if imputed is None else imputed.annotator_fit.say(level),
        "health": None if imputed is None else imputed.annotator_fit.health,
    }  # fmt: skip


def describe_agreement(found: dict[str, Any]) -> str:
    """Describe the agreement of a session's annotations in a sentence."""
    whose = "Cohen's" if found["method"] == "cohen" else "Fleiss'"
    return (
        f"{found['n_people']} people agree on {found['share']:.0%} of {count(found['n_items'], 'item')}: "
        f"{whose} kappa {found['kappa']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    )


def _read_pattern(item_votes: ItemVotes) -> VotePattern | None:
    """Return the pattern of an item's annotations: votes and decision; None if it was skipped."""
    if item_votes.label is None:
        return None
    votes = tuple(sorted((who, label) for who, label in item_votes.votes.items() if label is not None))
    return item_votes.item.entry, votes, None if item_votes.decision is None else item_votes.decision.label


def _count_imputed_labels(pool_votes: PoolVotes, truth: Imputation) -> CountTable:
    """Count the true labels that were imputed from annotations."""
    entry = pool_votes.entry[truth.item]
    right = truth.n * (truth.label == pool_votes.counts.predicted[entry])
    return pool_votes.counts.add_labels(entry, truth.label, truth.n, right.astype(np.float64))
