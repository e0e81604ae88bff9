"""Result of the annotator model: accuracy of each annotator, and posterior of the true labels."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.annotators.vote_matrix import VoteMatrix
from fewlabels.models.diagnostics import ChainDiagnostics

ERROR_THRESHOLD = 0.99  # an annotator errs if the upper end of the accuracy interval is below this
MAX_RHAT, MIN_ESS = 1.1, 50.0  # of chains of 80 steps, whose R-hat is itself uncertain by some hundredths
MAX_NAMED = 3  # annotators named in a sentence


class Imputation(NamedTuple):
    """One posterior draw of the true labels: `n` of the identical items `item` have class `label`."""

    item: Int[np.ndarray, " part"]
    label: Int[np.ndarray, " part"]
    n: Int[np.ndarray, " part"]


@dataclass(frozen=True)
class Annotator:
    """Accuracy of an annotator, with its credible interval."""

    who: str
    n_votes: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class AnnotatorFit:
    """Posterior of true labels and annotator accuracies, given all votes."""

    vote_matrix: VoteMatrix
    posterior: Float[np.ndarray, "item class"]
    imputations: tuple[Imputation, ...]  # posterior draws of the true labels
    right: Float[np.ndarray, "draw annotator"]  # draws of each annotator's accuracy
    diagnostics: ChainDiagnostics  # of the annotators' accuracies and of the classifier's
    n_chains: int

    def rate(self, level: float = 0.95) -> tuple[Annotator, ...]:
        """Return the accuracy of every annotator with its interval, most votes first."""
        low, high = np.quantile(self.right, [(1 - level) / 2, (1 + level) / 2], axis=0)
        rows = zip(
            self.vote_matrix.annotators,
            self.vote_matrix.n_votes.tolist(),
            self.right.mean(axis=0),
            low,
            high,
            strict=True,
        )
        found = [Annotator(who, n, float(mean), float(a), float(b)) for who, n, mean, a, b in rows]
        return tuple(sorted(found, key=lambda one: -one.n_votes))

    @property
    def errs(self) -> bool:
        """Whether any annotator is almost surely below the accuracy threshold."""
        return any(one.high < ERROR_THRESHOLD for one in self.rate())

    @property
    def warning(self) -> str | None:
        """A warning where the chains of the annotator fit disagree, or have too few effective draws for an interval."""
        found = self.diagnostics
        if found.is_exact or (found.rhat < MAX_RHAT and found.ess > MIN_ESS):
            return None
        return (
            f"the {self.n_chains} chains that estimate true labels from votes disagree (R-hat {found.rhat:.2f}, {found.ess:,.0f} "
            "effective draws): the votes fit several explanations of who errs, and the figures that rest on them are rough; "
            "let several people answer more items, or decide disputed ones"
        )

    @property
    def health(self) -> dict[str, float | int]:
        """R-hat and effective draws of the annotator fit, as plain data."""
        return {"rhat": self.diagnostics.rhat, "ess": self.diagnostics.ess, "chains": self.n_chains}

    @property
    def claim(self) -> str:
        """Whether annotators err, in a few words."""
        n = f"{self.vote_matrix.n_shared:,} item{'' if self.vote_matrix.n_shared == 1 else 's'} with several votes"
        if self.errs:
            return f"annotators seem to err, judged by {n}; the estimates account for it"
        return f"no sign of frequent annotator errors on {n}"

    def say(self, level: float = 0.95) -> str:
        """Return a sentence with the annotators' accuracies."""
        rows = self.rate(level)
        said = ", ".join(f"{one.who} {one.mean:.0%} ({one.low:.0%} to {one.high:.0%})" for one in rows[:MAX_NAMED])
        more = f" and {len(rows) - MAX_NAMED:,} more" if len(rows) > MAX_NAMED else ""
        return f"{self.claim}; accuracy: {said}{more}"

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return the annotator fit as plain data."""
        return {
            "n_shared": self.vote_matrix.n_shared, "errs": self.errs, "sentence": self.say(level),
            "people": [asdict(one) for one in self.rate(level)], "health": self.health,
        }  # fmt: skip
