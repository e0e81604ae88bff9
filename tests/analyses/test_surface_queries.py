"""Queries of surfaces: ranges, several values, and the worst arms that matter."""

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.errors import InputError


@pytest.fixture(scope="module")
def surface():
    rng = np.random.default_rng(1)
    n = 2000
    age, light = rng.integers(18, 70, n), rng.choice(["day", "dusk", "night"], n, p=[0.6, 0.3, 0.1])
    right = rng.random(n) < np.where(age > 50, 0.5, 0.9)
    label = np.where(np.arange(n) < 400, np.where(right, "a", "b"), None)
    table = {"predicted": ["a"] * n, "label": label, "age": age, "light": light}
    return fl.surface(table, attributes=("age", "light"))


def test_a_range_covers_the_values_whose_middle_is_inside(surface):
    old, young = surface.query(age="50..70"), surface.query(age="..40")
    assert old.high < young.low
    axis = surface.axes[0]
    middles = [(low + high) / 2 for low, high in zip(axis.edges, axis.edges[1:], strict=False)]
    inside = [name for name, middle in zip(axis.levels, middles, strict=True) if 50 <= middle <= 70]
    assert old.n_items == sum(arm.n_items for arm in surface.arms if arm.arm["age"] in inside)


def test_several_values_are_averaged_by_their_items(surface):
    dark = surface.query(light=["dusk", "night"])
    parts = [surface.query(light="dusk"), surface.query(light="night")]
    assert dark.n_items == sum(part.n_items for part in parts)
    assert dark.mean == pytest.approx(sum(part.mean * part.n_items for part in parts) / dark.n_items)


def test_an_empty_range_is_refused(surface):
    with pytest.raises(InputError, match="none of them has its middle in 90"):
        surface.query(age="90..95")
    with pytest.raises(InputError, match="begins above its end"):
        surface.query(age="50..20")
    with pytest.raises(InputError, match="no item has the value"):
        surface.query(light="noon")


def test_the_worst_arms_can_be_those_that_matter(surface):
    least = 100
    worst = surface.list_worst(least_items=least)
    assert 0 < len(worst) < len(surface.arms)
    assert min(arm.n_items for arm in worst) >= least
    assert [arm.mean for arm in worst] == sorted(arm.mean for arm in worst)
    surely = surface.list_worst(by="high")
    assert [arm.high for arm in surely] == sorted(arm.high for arm in surely)
    with pytest.raises(InputError, match="no order"):
        surface.list_worst(by="low")
