"""Maximisation of a smooth function of a few dozen parameters by BFGS (Broyden, Fletcher, Goldfarb, Shanno)."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

Place = Float[np.ndarray, " number"]
MOST_STEPS, MOST_CUTS = 100, 8
LONGEST = 1.0  # largest change of any parameter in one step
CUT = 0.4  # factor by which a rejected step is shortened
CLOSE = 5e-3  # expected gain below which the search stops
SLIGHT = 1e-2  # actual gain below which the search stops
FAIR = 1e-4  # sufficient increase: least share of the gain that the gradient predicts (Armijo)


@runtime_checkable
class View(Protocol):
    """The value and gradient of a function at one point."""

    @property
    def value(self) -> float:
        """Value."""
        ...

    @property
    def slope(self) -> Place:
        """Gradient."""
        ...


V = TypeVar("V", bound=View)


def climb(look: Callable[[Place], V], at: Place, bend: Callable[[V], Float[np.ndarray, "number number"]]) -> V:
    """Maximise a function from a starting point, and return it at the local maximum.

    The last argument gives the initial inverse of the negative Hessian, which BFGS updates.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Quadratic:
    ...     value: float
    ...     slope: np.ndarray
    >>> def look(x):
    ...     return Quadratic(-((x - [1.0, 2.0]) ** 2 * [1.0, 9.0]).sum(), -2 * (x - [1.0, 2.0]) * [1.0, 9.0])
    >>> maximum = climb(look, np.zeros(2), lambda view: np.eye(2))
    >>> bool(maximum.value > -0.01)
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
    """Backtracking line search: shorten the step until the increase is sufficient; None if it never is."""
    for _ in range(MOST_CUTS):
        ahead = look(at + step)
        if ahead.value > view.value + FAIR * (view.slope @ step):
            return ahead, step
        step = CUT * step
    return None, step


def _learn(inverse: Float[np.ndarray, "number number"], step: Place, fall: Place) -> Float[np.ndarray, "number number"]:
    """BFGS update of the inverse Hessian from a step and the decrease of the gradient along it."""
    along = float(step @ fall)
    if along <= 1e-8:
        return inverse
    aside = np.eye(len(step)) - np.outer(step, fall) / along
    return aside @ inverse @ aside.T + np.outer(step, step) / along
