"""Maximisation of a smooth function of a few dozen parameters, by Newton's method or by BFGS.

BFGS (Broyden, Fletcher, Goldfarb, Shanno) needs no Hessian.
"""

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
from jaxtyping import Float

Parameters = Float[np.ndarray, " number"]
MAX_STEPS, MAX_BACKTRACKS = 100, 8  # of BFGS
BACKTRACK_FACTOR = 0.4  # factor by which a rejected step is shortened
MIN_CURVATURE = 1e-8  # along a step, below which the inverse Hessian is not updated
ARMIJO = 1e-4  # sufficient increase: least share of the gain that the gradient predicts (Armijo)


@runtime_checkable
class ObjectivePoint(Protocol):
    """The value and gradient of a function at one point."""

    @property
    def value(self) -> float:
        """Value of the function that is maximised."""
        ...

    @property
    def gradient(self) -> Parameters:
        """Gradient of the function that is maximised."""
        ...


V = TypeVar("V", bound=ObjectivePoint)


def maximize_newton(
    evaluate: Callable[[Parameters], V],
    at: Parameters,
    find_step: Callable[[V], Parameters],
    *,
    max_steps: int,
    max_halvings: int,
    min_expected_gain: float,
    max_step: float = np.inf,
    noise: float = 0.0,
) -> tuple[Parameters, V]:
    """Maximise a function by Newton's method with step halving; return the local maximum and the function there.

    Parameters
    ----------
    find_step: callable
        Returns the Newton step: the inverse of the negative Hessian times the gradient.
    max_steps, max_halvings: int
        The search stops after so many steps, or after so many halvings of one step.
    min_expected_gain: float
        The search stops once the gradient times the step is smaller.
    max_step: float
        Largest change of any parameter in one step.
    noise: float
        Numerical error of the value: a step may decrease the value by as much.

    >>> from typing import NamedTuple
    >>> class Concave(NamedTuple):
    ...     value: float
    ...     gradient: np.ndarray
    ...     hessian: np.ndarray
    >>> def evaluate(x):
    ...     return Concave(float((x - np.exp(x)).sum()), 1 - np.exp(x), -np.exp(x))
    >>> limits = {"max_steps": 20, "max_halvings": 10, "min_expected_gain": 1e-9}
    >>> at, view = maximize_newton(evaluate, np.array([-2.0]), lambda view: view.gradient / -view.hessian, **limits)
    >>> bool(abs(at[0]) < 1e-4)
    True
    """
    view = evaluate(at)
    for _ in range(max_steps):
        step = find_step(view)
        if step @ view.gradient < min_expected_gain:
            break
        length = min(1.0, max_step / float(np.abs(step).max()))
        ahead = halve_step(evaluate, at, length * step, view.value - noise, max_halvings)
        if ahead is None:
            break
        at, view = ahead
    return at, view


def halve_step(
    evaluate: Callable[[Parameters], V], at: Parameters, step: Parameters, least: float, max_halvings: int
) -> tuple[Parameters, V] | None:
    """Halve a step of an optimizer until the value is at least `least`; None if it never is."""
    for _ in range(max_halvings):
        ahead = evaluate(at + step)
        if ahead.value >= least:
            return at + step, ahead
        step = step / 2
    return None


def maximize_bfgs(
    evaluate: Callable[[Parameters], V],
    at: Parameters,
    inverse_hessian: Callable[[V], Float[np.ndarray, "number number"]],
    *,
    min_expected_gain: float,
    min_gain: float = 0.0,
    max_step: float = np.inf,
) -> tuple[Parameters, V]:
    """Maximise a function by BFGS with a backtracking line search; return the local maximum and the function there.

    Parameters
    ----------
    inverse_hessian: callable
        Returns the initial inverse of the negative Hessian, which BFGS updates.
    min_expected_gain: float
        The search stops once the gradient times the step is smaller.
    min_gain: float
        The search stops once a step gains less, but not before the fourth.
    max_step: float
        Largest change of any parameter in one step.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Quadratic:
    ...     value: float
    ...     gradient: np.ndarray
    >>> def evaluate(x):
    ...     return Quadratic(-((x - [1.0, 2.0]) ** 2 * [1.0, 9.0]).sum(), -2 * (x - [1.0, 2.0]) * [1.0, 9.0])
    >>> at, _ = maximize_bfgs(evaluate, np.zeros(2), lambda view: np.eye(2), min_expected_gain=1e-6)
    >>> at.round(2).tolist()
    [1.0, 2.0]
    """
    view = evaluate(at)
    inverse = inverse_hessian(view)
    for turn in range(MAX_STEPS):
        step = inverse @ view.gradient
        largest = float(np.abs(step).max(initial=0.0))
        if largest > max_step:
            step = step * (max_step / largest)
        if view.gradient @ step < min_expected_gain:
            break
        ahead, step = _line_search(evaluate, at, step, view)
        if ahead is None:
            break
        inverse = _update_inverse_hessian(inverse, step, view.gradient - ahead.gradient)
        gain, at, view = ahead.value - view.value, at + step, ahead
        if gain < min_gain and turn > 2:
            break
    return at, view


def _line_search(
    evaluate: Callable[[Parameters], V], at: Parameters, step: Parameters, view: V
) -> tuple[V | None, Parameters]:
    """Backtracking line search of the optimizer: shorten the step until the increase suffices; None if it never does."""
    for _ in range(MAX_BACKTRACKS):
        ahead = evaluate(at + step)
        if ahead.value > view.value + ARMIJO * (view.gradient @ step):
            return ahead, step
        step = BACKTRACK_FACTOR * step
    return None, step


def _update_inverse_hessian(
    inverse: Float[np.ndarray, "number number"], step: Parameters, fall: Parameters
) -> Float[np.ndarray, "number number"]:
    """BFGS update of the optimizer's inverse Hessian from a step and the decrease of the gradient along it."""
    along = float(step @ fall)
    if along <= MIN_CURVATURE:
        return inverse
    aside = np.eye(len(step)) - np.outer(step, fall) / along
    return aside @ inverse @ aside.T + np.outer(step, step) / along
