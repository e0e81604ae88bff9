"""Uphill to the summit of a smooth function of a few dozen numbers, by the method of Broyden, Fletcher, Goldfarb and Shanno."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

Place = Float[np.ndarray, " number"]
MOST_STEPS, MOST_CUTS = 100, 8
LONGEST = 1.0  # change of any number in one step
CUT = 0.4  # of a step that was too long
CLOSE = 5e-3  # expected gain that is not worth a step
SLIGHT = 1e-2  # gain of a step that was the last worth taking
FAIR = 1e-4  # share of the gain that a slope promises and a step must bring


@runtime_checkable
class View(Protocol):
    """A function at some place."""

    @property
    def value(self) -> float:
        """How high."""
        ...

    @property
    def slope(self) -> Place:
        """Where it rises."""
        ...


V = TypeVar("V", bound=View)


def climb(look: Callable[[Place], V], at: Place, bend: Callable[[V], Float[np.ndarray, "number number"]]) -> V:
    """Climb from a place to the next summit, and return the view from there.

    What the function bends like, inversely, is guessed once by `bend` and learned from then on.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Hill:
    ...     value: float
    ...     slope: np.ndarray
    >>> views = []
    >>> def look(x):
    ...     views.append(x)
    ...     return Hill(-((x - [1.0, 2.0]) ** 2 * [1.0, 9.0]).sum(), -2 * (x - [1.0, 2.0]) * [1.0, 9.0])
    >>> summit = climb(look, np.zeros(2), lambda view: np.eye(2))
    >>> bool(summit.value > -0.01)
    True
    """
    view = look(at)
    inverse = bend(view)
    for turn in range(MOST_STEPS):
        step = inverse @ view.slope
        step *= min(1.0, LONGEST / max(float(np.abs(step).max(initial=0.0)), LONGEST))
        if view.slope @ step < CLOSE:
            break
        ahead, step = _step(look, at, step, view)
        if ahead is None:
            break
        inverse = _learn(inverse, step, view.slope - ahead.slope)
        gain, at, view = ahead.value - view.value, at + step, ahead
        if gain < SLIGHT and turn > 2:
            break
    return view


def _step(look: Callable[[Place], V], at: Place, step: Place, view: V) -> tuple[V | None, Place]:
    """Take a step, or part of it, that climbs as the slope promised; none where no step does."""
    for _ in range(MOST_CUTS):
        ahead = look(at + step)
        if ahead.value > view.value + FAIR * (view.slope @ step):
            return ahead, step
        step = CUT * step
    return None, step


def _learn(inverse: Float[np.ndarray, "number number"], step: Place, fall: Place) -> Float[np.ndarray, "number number"]:
    """Correct what is known of how the function bends by how its slope fell over a step."""
    along = float(step @ fall)
    if along <= 1e-8:
        return inverse
    aside = np.eye(len(step)) - np.outer(step, fall) / along
    return aside @ inverse @ aside.T + np.outer(step, step) / along
