"""Maximisation of a smooth function of a few dozen parameters by BFGS (Broyden, Fletcher, Goldfarb, Shanno)."""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

Parameters = Float[np.ndarray, " number"]
MAX_STEPS, MAX_BACKTRACKS = 100, 8
MAX_STEP = 1.0  # largest change of any parameter in one step
BACKTRACK_FACTOR = 0.4  # factor by which a rejected step is shortened
MIN_EXPECTED_GAIN = 5e-3  # expected gain below which the search stops
MIN_GAIN = 1e-2  # actual gain below which the search stops
ARMIJO = 1e-4  # sufficient increase: least share of the gain that the gradient predicts (Armijo)


@runtime_checkable
class ObjectivePoint(Protocol):
    """The value and gradient of a function at one point."""

    @property
    def value(self) -> float:
        """Value."""
        ...

    @property
    def gradient(self) -> Parameters:
        """Gradient."""
        ...


V = TypeVar("V", bound=ObjectivePoint)


def maximize_bfgs(
    evaluate: Callable[[Parameters], V],
    at: Parameters,
    inverse_hessian: Callable[[V], Float[np.ndarray, "number number"]],
) -> V:
    """Maximise a function from a starting point, and return it at the local maximum.

    The last argument gives the initial inverse of the negative Hessian, which BFGS updates.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Quadratic:
    ...     value: float
    ...     gradient: np.ndarray
    >>> def evaluate(x):
    ...     return Quadratic(-((x - [1.0, 2.0]) ** 2 * [1.0, 9.0]).sum(), -2 * (x - [1.0, 2.0]) * [1.0, 9.0])
    >>> maximum = maximize_bfgs(evaluate, np.zeros(2), lambda view: np.eye(2))
    >>> bool(maximum.value > -0.01)
    True
    """
    view = evaluate(at)
    inverse = inverse_hessian(view)
    for turn in range(MAX_STEPS):
        step = inverse @ view.gradient
        step *= min(1.0, MAX_STEP / max(float(np.abs(step).max(initial=0.0)), MAX_STEP))
        if view.gradient @ step < MIN_EXPECTED_GAIN:
            break
        ahead, step = _line_search(evaluate, at, step, view)
        if ahead is None:
            break
        inverse = _update_inverse_hessian(inverse, step, view.gradient - ahead.gradient)
        gain, at, view = ahead.value - view.value, at + step, ahead
        if gain < MIN_GAIN and turn > 2:
            break
    return view


def _line_search(
    evaluate: Callable[[Parameters], V], at: Parameters, step: Parameters, view: V
) -> tuple[V | None, Parameters]:
    """Backtracking line search: shorten the step until the increase is sufficient; None if it never is."""
    for _ in range(MAX_BACKTRACKS):
        ahead = evaluate(at + step)
        if ahead.value > view.value + ARMIJO * (view.gradient @ step):
            return ahead, step
        step = BACKTRACK_FACTOR * step
    return None, step


def _update_inverse_hessian(
    inverse: Float[np.ndarray, "number number"], step: Parameters, fall: Parameters
) -> Float[np.ndarray, "number number"]:
    """BFGS update of the inverse Hessian from a step and the decrease of the gradient along it."""
    along = float(step @ fall)
    if along <= 1e-8:
        return inverse
    aside = np.eye(len(step)) - np.outer(step, fall) / along
    return aside @ inverse @ aside.T + np.outer(step, step) / along
