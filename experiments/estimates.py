"""Estimators of accuracy surfaces side by side, ours and others', on the same labels."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from joblib import delayed
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression

from experiments.replays import Floats, Ints
from experiments.terrains import Site, Terrain
from fewlabels.active.simulation.parallel import spread
from fewlabels.analyses.surface.api import fit_surface
from fewlabels.models.baselines import DEEP

OURS = "smooth"
INSIDE = ("constant", "beta-i", *DEEP, OURS)
BAR = ("beta-i", "beta-gp-sl", "logistic")  # what ours has to beat
ROUNDING = 1e-9


@dataclass(frozen=True)
class Guess:
    """Accuracy of every arm as estimated, with an interval where there is one."""

    mean: Floats
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True)
class Score:
    """How far off a guess is: mean squared errors times 100, over arms alike; and how often intervals hold the truth."""

    macro: float
    worst: float
    coverage: float
    width: float


def assess_counts(terrain: Terrain, guess: Guess) -> Score:
    """Compare a guess with the truth."""
    error, at = 100 * (guess.mean - terrain.truth) ** 2, terrain.known
    coverage = width = float("nan")
    if guess.low is not None and guess.high is not None:
        inside = (guess.low - ROUNDING <= terrain.truth) & (terrain.truth <= guess.high + ROUNDING)
        coverage, width = 100 * float(inside[at].mean()), 100 * float((guess.high - guess.low)[at].mean())
    return Score(float(error[at].mean()), float(error[terrain.worst].mean()), coverage, width)


def guess_inside(terrain: Terrain, n_labels: Ints, right: Ints, model: str, seed: int) -> Guess:
    """Ask one of the library's estimators, about exactly these items."""
    found = fit_surface(terrain.count(n_labels, right), model=model, finite_pool=True, seed=seed)
    figures = np.array([(arm.mean, arm.low, arm.high) for arm in found.arms]).T
    return Guess(*(terrain.spread(values) for values in figures))


def guess_logistic(terrain: Terrain, n_labels: Ints, right: Ints) -> Guess:
    """Ask a logistic regression on one column per value, as people would."""
    learner = LogisticRegression(max_iter=1000)
    return _complete(terrain, n_labels, right, _learn(learner, _spell_out(terrain), n_labels, right))


def guess_boosting(terrain: Terrain, n_labels: Ints, right: Ints) -> Guess:
    """Ask gradient boosting, with every attribute a category."""
    learner = HistGradientBoostingClassifier(categorical_features=[True] * terrain.level.shape[1], random_state=0)
    return _complete(terrain, n_labels, right, _learn(learner, terrain.level.astype(float), n_labels, right))


def guess_knowingly(terrain: Terrain, n_labels: Ints, right: Ints) -> Guess:
    """Ask somebody who knows what every attribute does, and nothing of single arms: the best that attributes can tell."""
    return _complete(terrain, n_labels, right, terrain.expected)


OUTSIDE: dict[str, Callable[[Terrain, Ints, Ints], Guess]] = {
    "logistic": guess_logistic, "boosting": guess_boosting, "effects known": guess_knowingly,
}  # fmt: skip


def compare(
    site: Site, n_labels: int, models: Sequence[str], runs: int, jobs: int | None, seed: int
) -> dict[str, list[Score]]:
    """Let all of them learn from the same labels, on several surfaces of a kind."""
    calls = (delayed(_compare_once)(site, n_labels, models, [seed, run]) for run in range(runs))
    found = list(spread(calls, n_jobs=jobs))
    return {model: [scores[model] for scores in found] for model in models}


def _compare_once(site: Site, n: int, models: Sequence[str], seed: list[int]) -> dict[str, Score]:
    terrain = site.make(seed[1])
    n_labels, right = terrain.draw(n, np.random.default_rng([*seed, n]))
    guesses = {
        model: OUTSIDE[model](terrain, n_labels, right) if model in OUTSIDE else guess_inside(terrain, n_labels, right, model, seed[1])
        for model in models
    }  # fmt: skip
    return {model: assess_counts(terrain, guess) for model, guess in guesses.items()}


def average(scores: Sequence[Score], what: str) -> tuple[float, float]:
    """Mean of a figure over runs, and its standard error."""
    values = np.array([getattr(score, what) for score in scores])
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")


def _spell_out(terrain: Terrain) -> Floats:
    columns = [np.eye(len(axis.levels))[terrain.level[:, i]] for i, axis in enumerate(terrain.axes)]
    return np.concatenate(columns, axis=1)


def _learn(
    learner: LogisticRegression | HistGradientBoostingClassifier, design: Floats, n_labels: Ints, right: Ints
) -> Floats:
    """Fit right and wrong, counted, and say how likely right is everywhere."""
    heard = n_labels > 0
    outcome = np.repeat([1, 0], heard.sum())
    weight = np.concatenate([right[heard], (n_labels - right)[heard]])
    rows = np.concatenate([design[heard], design[heard]])
    learner.fit(rows[weight > 0], outcome[weight > 0], sample_weight=weight[weight > 0])
    return learner.predict_proba(design)[:, 1]


def _complete(terrain: Terrain, n_labels: Ints, right: Ints, chance: Floats) -> Guess:
    """What is labelled is known; of the rest one expects as many right as predicted."""
    return Guess((right + (terrain.n_items - n_labels) * chance) / np.maximum(terrain.n_items, 1))
