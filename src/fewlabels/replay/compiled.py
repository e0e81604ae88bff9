"""The same replays, compiled: which trials have a kernel, and how their objects become arrays."""

import numpy as np
from jaxtyping import Float, Int

from fewlabels.beliefs import Rng
from fewlabels.replay.measures import choose_measures
from fewlabels.replay.trial import Trial, watch


def is_compiled(trial: Trial) -> bool:
    """Is there a kernel for this goal, policy and prior?"""
    return False


def play(trial: Trial, rng: Rng, budget: int) -> Int[np.ndarray, " step"]:
    """Play a trial, by a kernel where there is one."""
    return trial.play(rng, budget)


def measure(
    trial: Trial, order: Int[np.ndarray, " step"], checkpoints: Int[np.ndarray, " checkpoint"]
) -> dict[str, Float[np.ndarray, " checkpoint"]]:
    """Measure a replay at every checkpoint, by a kernel where there is one."""
    look = choose_measures(trial.goal)
    found = [look(trial, known) for _, known in watch(trial, order, checkpoints.tolist())]
    return {name: np.array([row[name] for row in found]) for name in found[0]}
