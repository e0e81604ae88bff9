"""Item votes -> vote matrix -> imputed labels -> counts: from the votes of a session to the input of the posterior."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.data.counts import NONE, Tally
from fewlabels.distributions.belief import Rng
from fewlabels.errors import count
from fewlabels.models.annotators.agreement import measure_agreement
from fewlabels.models.annotators.dawid_skene import weigh
from fewlabels.models.annotators.imputation import Testimony
from fewlabels.models.annotators.result import Truth
from fewlabels.models.annotators.vote_matrix import Poll
from fewlabels.sessions.votes import Ballot

ALONE = "no item has votes of two annotators yet, so their error rates are unknown; every answer is taken as correct"
HARDLY = 0.005
FEWEST_SHARED = 3  # items with two votes that kappa needs
Pattern = tuple[int, tuple[tuple[str, str], ...], str | None]  # entry, votes, decided label


@dataclass(frozen=True)
class Posed:
    """A vote matrix, and the entry of the pool's counts that each of its rows belongs to."""

    poll: Poll
    entry: Int[np.ndarray, " item"]
    counts: Tally  # of the pool, with its initial labels
    at: Mapping[Pattern, int]  # row of each pattern of votes


def pose(counts: Tally, ballots: Sequence[Ballot]) -> Posed:
    """Build the vote matrix, with one row per distinct pattern of votes; skips are missing votes."""
    patterns = Counter(filter(None, map(_read, ballots)))
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
    key, where = counts.place(("predicted",))
    known = np.zeros((len(key), len(counts.classes)))
    labelled = counts.label != NONE
    np.add.at(known, (where[labelled], counts.label[labelled]), counts.n_labels[labelled])
    n = np.array(list(patterns.values()), dtype=np.int64)
    poll = Poll(people, counts.classes, votes, truth, n, where[entry], key[:, 1], known)
    return Posed(poll, entry, counts, {pattern: i for i, pattern in enumerate(patterns)})


def weigh_ballots(rng: Rng, posed: Posed) -> Testimony | None:
    """Impute the true labels; None if no item has votes of two annotators."""
    if not posed.poll.n_shared:
        return None
    verdict = weigh(rng, posed.poll)
    return Testimony(tuple(_count(posed, truth) for truth in verdict.truths), verdict)


def guess_truth(posed: Posed, testimony: Testimony, ballot: Ballot) -> dict[str, float]:
    """Return the posterior probability of each class given these votes, largest first, without negligible ones."""
    pattern = _read(ballot)
    if pattern is None or pattern not in posed.at:
        return {}
    chance = testimony.verdict.posterior[posed.at[pattern]]
    order = np.argsort(-chance)
    return {posed.poll.classes[c]: float(chance[c]) for c in order if chance[c] >= HARDLY}


def describe_votes(posed: Posed, testimony: Testimony | None, level: float) -> dict[str, Any]:
    """Return the agreement between annotators and the accuracy of each, as plain data."""
    agreement = measure_agreement(posed.poll, level)
    if agreement is not None and agreement.n_items < FEWEST_SHARED:
        agreement = None
    people = [] if testimony is None else [asdict(one) for one in testimony.verdict.rate(level)]
    return {
        "n_votes": int(posed.poll.n_votes.sum()), "agreement": None if agreement is None else asdict(agreement),
        "annotators": people, "errs": testimony is not None and testimony.verdict.errs,
        "claim": ALONE if testimony is None else testimony.verdict.claim,
        "sentence": ALONE if testimony is None else testimony.verdict.say(level),
    }  # fmt: skip


def say_agreement(found: dict[str, Any]) -> str:
    """Describe the agreement in a sentence."""
    whose = "Cohen's" if found["method"] == "cohen" else "Fleiss'"
    return (
        f"{found['n_people']} people agree on {found['share']:.0%} of {count(found['n_items'], 'item')}: "
        f"{whose} kappa {found['kappa']:.2f} [{found['low']:.2f}, {found['high']:.2f}]"
    )


def _read(ballot: Ballot) -> Pattern | None:
    """Return the pattern of votes and decision; None if the item was skipped."""
    if ballot.label is None:
        return None
    votes = tuple(sorted((who, label) for who, label in ballot.votes.items() if label is not None))
    return ballot.item.entry, votes, None if ballot.decision is None else ballot.decision.label


def _count(posed: Posed, truth: Truth) -> Tally:
    entry = posed.entry[truth.item]
    right = truth.n * (truth.label == posed.counts.predicted[entry])
    return posed.counts.stick(entry, truth.label, truth.n, right.astype(np.float64))
