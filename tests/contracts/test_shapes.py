"""While tests run, every call of fewlabels is checked against its types and the shapes of its arrays."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, Int, TypeCheckError
from shape_checks import OFTEN, check_shapes, install, start_test

import fewlabels as fl
from fewlabels.distributions.covariance import CellCovariance

WRONG = (BeartypeCallHintViolation, TypeCheckError)
Pair = tuple[Float[np.ndarray, " group"], Int[np.ndarray, " group"]]


def add(one: Float[np.ndarray, "draw group"], two: Float[np.ndarray, " group"]) -> Float[np.ndarray, "draw group"]:
    return one + two if len(two) < 5 else one[:1]


def call_with_other_axes(one: Float[np.ndarray, " draw"]) -> float:
    return float(check_shapes(add)(np.ones((7, 2)), np.ones(2)).sum() + one.sum())


def count(one: Float[np.ndarray, " group"], two: Float[np.ndarray, " group"]) -> Iterator[Float[np.ndarray, " group"]]:
    yield one + two


def take(pair: Pair, call: Callable[[Pair], int]) -> int:
    return call(pair)


@check_shapes
@dataclass(frozen=True)
class Counts:
    right: Int[np.ndarray, " group"]
    wrong: Int[np.ndarray, " group"]

    @property
    def n(self) -> int:
        return int(self.right.sum())


def test_names_of_axes_mean_one_number_in_a_call_and_another_in_the_next() -> None:
    checked = check_shapes(add)
    assert checked(np.ones((3, 2)), np.ones(2)).shape == (3, 2)
    assert checked(np.ones((1, 4)), np.ones(4)).shape == (1, 4)
    assert check_shapes(call_with_other_axes)(np.ones(3)) == 31.0


@pytest.mark.parametrize(
    ("function", "given"),
    [
        (add, (np.ones((3, 2)), np.ones(3))),
        (add, (np.ones((3, 5)), np.ones(5))),  # what is returned has another number of draws
        (add, (np.ones(2), np.ones(2))),
        (add, (np.ones((3, 2), int), np.ones(2))),
        (count, (np.ones(2), np.ones(3))),
        (take, ((np.ones(2), np.ones(3, int)), len)),
        (Counts, (np.ones(2, int), np.ones(3, int))),
    ],
)
def test_a_wrong_shape_ends_a_call(function: Callable, given: tuple) -> None:
    with pytest.raises(WRONG):
        (function if function is Counts else check_shapes(function))(*given)


def test_all_of_the_package_is_checked() -> None:
    with pytest.raises(WRONG):
        fl.flat(strength=np.ones(2))
    cells = CellCovariance(np.ones((3, 1)), *np.ones((3, 3)))
    with pytest.raises(WRONG):
        cells.observe(np.ones(2, int))
    with pytest.raises(WRONG):
        CellCovariance(np.ones((3, 1)), *np.ones((3, 4)))


def test_a_package_that_was_imported_before_is_refused() -> None:
    with pytest.raises(RuntimeError, match="numpy was imported before its shapes could be checked"):
        install("numpy")


def test_every_test_checks_the_first_calls_of_a_function() -> None:
    checked = check_shapes(add)
    wrong = np.ones((3, 2)), np.ones(3)
    for _ in range(OFTEN):
        with pytest.raises(WRONG):
            checked(*wrong)
    with pytest.raises(ValueError, match="broadcast"):  # from NumPy: nothing was checked
        checked(*wrong)
    start_test()
    with pytest.raises(WRONG):
        checked(*wrong)
