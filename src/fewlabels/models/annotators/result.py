"""What votes teach: how good each person is, and what the items may truly be."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from fewlabels.models.annotators.vote_matrix import Poll

ERRS = 0.99  # whoever is surely right less often than this errs
NAMED = 3  # people in a sentence


class Truth(NamedTuple):
    """One way it may truly be: of the items alike to this one, so many are of this class."""

    item: Int[np.ndarray, " part"]
    label: Int[np.ndarray, " part"]
    n: Int[np.ndarray, " part"]


@dataclass(frozen=True)
class Annotator:
    """How often a person is right, as far as the votes of others tell."""

    who: str
    n_votes: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Verdict:
    """What is believed of people and items, given all votes."""

    poll: Poll
    posterior: Float[np.ndarray, "item class"]
    truths: tuple[Truth, ...]  # draws of it, each as likely as another
    right: Float[np.ndarray, "draw person"]  # how often each person is right

    def rate(self, level: float = 0.95) -> tuple[Annotator, ...]:
        """Return everybody with an interval, who spoke most coming first."""
        low, high = np.quantile(self.right, [(1 - level) / 2, (1 + level) / 2], axis=0)
        rows = zip(self.poll.people, self.poll.n_votes.tolist(), self.right.mean(axis=0), low, high, strict=True)
        found = [Annotator(who, n, float(mean), float(a), float(b)) for who, n, mean, a, b in rows]
        return tuple(sorted(found, key=lambda one: -one.n_votes))

    @property
    def errs(self) -> bool:
        """Is anybody surely wrong now and then?"""
        return any(one.high < ERRS for one in self.rate())

    @property
    def claim(self) -> str:
        """Say in a few words whether people err."""
        n = f"{self.poll.n_shared:,} item{'' if self.poll.n_shared == 1 else 's'} with several votes"
        if self.errs:
            return f"annotators seem to err, judged by {n}; the figures allow for it"
        return f"nothing on {n} shows that annotators err much"

    def say(self, level: float = 0.95) -> str:
        """Put it in a sentence, with how often people are right."""
        rows = self.rate(level)
        said = ", ".join(f"{one.who} {one.mean:.0%} ({one.low:.0%} to {one.high:.0%})" for one in rows[:NAMED])
        more = f" and {len(rows) - NAMED:,} more" if len(rows) > NAMED else ""
        return f"{self.claim}: right are {said}{more}"

    def to_dict(self, level: float = 0.95) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "n_shared": self.poll.n_shared, "errs": self.errs, "sentence": self.say(level),
            "people": [asdict(one) for one in self.rate(level)],
        }  # fmt: skip
