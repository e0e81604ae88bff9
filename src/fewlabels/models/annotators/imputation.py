"""Labels that are votes: the counts are themselves in doubt, and an answer allows for every way they may truly be."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fewlabels.data.counts import Tally
from fewlabels.distributions.belief import Draws, Rng
from fewlabels.distributions.mixture import Mixture, match
from fewlabels.metrics.evaluate import arrange
from fewlabels.metrics.metric import Metric
from fewlabels.models.annotators.result import Verdict
from fewlabels.models.posterior import Answer, infer
from fewlabels.models.priors import Prior

FEWEST = 100  # draws from each of the ways it may be


@dataclass(frozen=True)
class Testimony:
    """The ways the counts may truly be, each as likely as another, and how good those are whose votes they rest on."""

    truths: tuple[Tally, ...]
    verdict: Verdict

    def regroup(self, change: Callable[[Tally], Tally]) -> "Testimony":
        """Return the same about other groups."""
        return replace(self, truths=tuple(change(truth) for truth in self.truths))

    def caution(self, level: float) -> tuple[str, ...]:
        """Say so where people err."""
        return (self.verdict.say(level),) if self.verdict.errs else ()

    def to_dict(self, level: float) -> dict[str, Any]:
        """Return what is known of people as plain data."""
        return self.verdict.to_dict(level)


def hear(
    rng: Rng,
    tally: Tally,
    testimony: Testimony,
    metric: Metric,
    prior: Prior,
    *,
    finite: bool = False,
    n_draws: int = 10_000,
) -> Answer:
    """Answer from every way the counts may be, and mix; `tally` holds them as people left them."""
    each = max(FEWEST, n_draws // len(testimony.truths))
    parts = [infer(rng, truth, metric, prior, finite=finite, n_draws=each) for truth in testimony.truths]
    middle = sorted(parts, key=lambda part: float(part.overall.mean()[0]))[len(parts) // 2]
    draws = np.concatenate([part.draws for part in parts])
    overall = np.concatenate([part.overall.draw(rng, len(part.draws)) for part in parts])
    return replace(
        middle,
        groups=Draws(tally.groups, draws),
        overall=Draws(("overall",), overall),
        draws=draws,
        cells=arrange(tally, metric).cells,
        posterior=match([part.posterior for part in parts]),
        shown=Mixture(tuple(part.shown for part in parts)),
        undefined=np.all([part.undefined for part in parts], axis=0),
    )
