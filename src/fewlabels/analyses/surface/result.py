"""Accuracy as a surface over combinations of attributes: what it holds, and what can be asked of it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from fewlabels.analyses.assessment import Estimate
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.data.counts import NONE, Axis
from fewlabels.data.predictions import count_rows
from fewlabels.data.sources import Frame
from fewlabels.distributions.belief import contain
from fewlabels.errors import InputError, did_you_mean
from fewlabels.models.additive.explanation import Scale
from fewlabels.models.additive.fitted import Chart
from fewlabels.models.logit.joint import Chances

# A Surface is stored by a module that imports this one: it is reached by name, when asked for.
SAVE, LOAD = "fewlabels.analyses.surface.storage:write_surface", "fewlabels.analyses.surface.storage:read_surface"
N_DRAWS, FEWEST, BUDGET = 4000, 500, 20_000_000  # draws behind an answer, and how many numbers they may be
BRIEFLY = 4_000_000  # where an answer is one of many, and a mean over many arms


@dataclass(frozen=True)
class Arm:
    """What we believe about one combination of attributes."""

    arm: dict[str, str]
    n_items: int
    n_labels: int
    mean: float
    low: float
    high: float
    p_worst: float  # chance to be the least accurate of all


@dataclass(frozen=True)
class Reading:
    """What the surface says of some combinations, weighted by how often they occur."""

    values: dict[str, str]
    n_items: int
    n_labels: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Surface(Result):
    """How good the model is for every combination of attributes, and how sure that is."""

    attributes: tuple[str, ...]
    model: str
    arms: tuple[Arm, ...]
    overall: Estimate
    health: dict[str, Any]
    scales: tuple[Scale, ...]  # how far attributes move accuracy; none where the model does not say
    warnings: tuple[str, ...]
    level: float
    finite_pool: bool
    axes: tuple[Axis, ...] = field(repr=False)
    place: Int[np.ndarray, "arm axis"] = field(repr=False)  # of each arm's values on the axes
    chances: Chances = field(repr=False)  # of the population, in the arms of the pool
    chart: Chart | None = field(default=None, repr=False)  # of the default model alone
    source: str = "the table"
    frame: Frame = "pandas"
    provenance: Provenance = field(default_factory=record, repr=False)

    @property
    def n_items(self) -> int:
        """Items of the pool."""
        return int(self.size.sum())

    @property
    def n_labels(self) -> int:
        """Labels among them."""
        return sum(arm.n_labels for arm in self.arms)

    @cached_property
    def size(self) -> Int[np.ndarray, " arm"]:
        """Items of every arm."""
        return np.array([arm.n_items for arm in self.arms])

    @property
    def worst_first(self) -> tuple[Arm, ...]:
        """The arms, least accurate first."""
        return tuple(sorted(self.arms, key=lambda arm: arm.mean))

    # -- questions ------------------------------------------------------------------------------------------

    def ask(self, values: Mapping[str, object] | None = None, /, **more: object) -> Reading:
        """Say how accurate the model is where attributes have these values, over all that others take in the pool.

        Of a combination that the pool does not have, it says what the attributes suggest. It speaks of the population that
        items came from, also where arms are about exactly these items.
        """
        chosen = self._choose({**(values or {}), **more})
        said = {self.axes[i].name: self.axes[i].levels[at] for i, at in chosen.items()}
        inside = self._match(chosen) * self.size
        if inside.any():
            return self._read([said], csr_array(inside[None].astype(np.float64)))[0]
        place = self.place.copy()
        for axis, at in chosen.items():
            place[:, axis] = at
        return Reading(said, 0, 0, *self._blend(place, self.size.astype(np.float64)))

    def mix(self, traffic: Any, weight: str | None = None) -> Reading:
        """Say how accurate the model is on somebody's traffic: a table with the attributes as columns.

        Every row counts once, or as often as its column `weight` says.
        """
        found = count_rows(traffic, self.attributes, weight)
        values = zip(*(found[name] for name in self.attributes), strict=True)
        place = np.array([[axis.find(v) for axis, v in zip(self.axes, row, strict=True)] for row in values])
        mean, low, high = self._blend(place, _require_weights(found["n"]))
        at = np.unique(_look_up(self.place, place))
        seen = [self.arms[i] for i in at if i != NONE]
        return Reading({}, sum(arm.n_items for arm in seen), sum(arm.n_labels for arm in seen), mean, low, high)

    def cross(self, *attributes: str, fixed: Mapping[str, object] | None = None) -> tuple[Reading, ...]:
        """Read the surface at every combination of a few attributes, over all that the others take in the pool.

        `fixed` are values of others. Combinations that the pool does not have are left out.
        """
        (held,) = np.nonzero(self._match(self._choose(fixed or {})) & (self.size > 0))
        axes = [self._find_axis(name) for name in attributes]
        found, where = np.unique(self.place[held][:, axes], axis=0, return_inverse=True)
        names = [{self.axes[i].name: self.axes[i].levels[at] for i, at in zip(axes, row, strict=True)} for row in found]
        inside = (self.size[held].astype(np.float64), (where.reshape(-1), held))
        return self._read(names, csr_array(inside, shape=(len(found), len(self.arms))))

    def adjust(self, attribute: str) -> tuple[Reading, ...]:
        """Say what each value of an attribute would do, were the other attributes as they are in the whole pool."""
        axis, out = self._find_axis(attribute), []
        for at, name in enumerate(self.axes[axis].levels):
            place, there = self.place.copy(), self.place[:, axis] == at
            place[:, axis] = at
            n_labels = sum(self.arms[i].n_labels for i in np.nonzero(there)[0])
            low_to_high = self._blend(place, self.size.astype(np.float64))
            out.append(Reading({attribute: name}, int(self.size[there].sum()), n_labels, *low_to_high))
        return tuple(out)

    # -- taking it elsewhere --------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON as a dict."""
        return {
            "attributes": list(self.attributes), "model": self.model, "level": self.level, "finite_pool": self.finite_pool,
            "n_items": self.n_items, "n_labels": self.n_labels, "overall": asdict(self.overall),
            "arms": [asdict(arm) for arm in self.arms], "scales": [asdict(scale) for scale in self.scales],
            "health": self.health, "warnings": list(self.warnings), "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row per arm."""
        return [{**arm.arm, **{k: v for k, v in asdict(arm).items() if k != "arm"}} for arm in self.arms]

    def save(self, path: str | Path) -> Path:
        """Write the fitted surface to one file, from which it can be asked without the predictions."""
        written: Path = resolve_name(SAVE)(self, path)
        return written

    @classmethod
    def load(cls, path: str | Path) -> "Surface":
        """Read a surface that was saved."""
        found: Surface = resolve_name(LOAD)(path)
        return found

    # -- how ------------------------------------------------------------------------------------------------

    @cached_property
    def _draws(self) -> Float[np.ndarray, "draw arm"]:
        n = int(np.clip(BUDGET // len(self.arms), FEWEST, N_DRAWS))
        return self.chances.draw(np.random.default_rng(0), n)

    def _read(self, names: Sequence[dict[str, str]], weights: csr_array) -> tuple[Reading, ...]:
        """Mean and interval over some arms of the pool, for every question and its weights of arms."""
        values = weights @ self._draws.T / weights.sum(axis=1)[:, None]
        low, high = np.quantile(values, self._tails, axis=1)
        low, high = contain(values.mean(axis=1), (low, high))
        inside, labels = (weights > 0).astype(np.int64), np.array([arm.n_labels for arm in self.arms])
        counts = (inside @ self.size).tolist(), (inside @ labels).tolist()
        figures = zip(names, *counts, values.mean(axis=1).tolist(), low.tolist(), high.tolist(), strict=True)
        return tuple(Reading(*figure) for figure in figures)

    def _blend(self, place: Int[np.ndarray, "asked axis"], weight: Float[np.ndarray, " asked"]) -> tuple[float, ...]:
        """Mean and interval over combinations, seen or not."""
        combinations, where = np.unique(place, axis=0, return_inverse=True)
        share = np.bincount(where.reshape(-1), weights=weight) / weight.sum()
        at = _look_up(self.place, combinations)
        if self.chart is None and (at == NONE).any():
            raise InputError(f"model {self.model}: it says nothing of combinations that are not in the pool")
        n = int(np.clip(BRIEFLY // len(at), FEWEST, len(self._draws)))
        draws = self._draws[:, at] if self.chart is None else self.chart.draw(combinations, at, n)
        values = draws @ share
        mean = values.mean(keepdims=True)
        low, high = np.quantile(values, self._tails, axis=0, keepdims=True)
        low, high = contain(mean, (low, high))
        return float(mean[0]), float(low[0]), float(high[0])

    @property
    def _tails(self) -> list[float]:
        return [(1 - self.level) / 2, (1 + self.level) / 2]

    def _choose(self, values: Mapping[str, object]) -> dict[int, int]:
        """Find the axes and values that are meant."""
        chosen = {}
        for name, value in values.items():
            axis = self.axes[self._find_axis(name)]
            at = axis.find(value)
            if at == NONE:
                raise InputError(
                    f"{name}: no item has the value {value!r}; {did_you_mean(str(value), list(axis.levels))}"
                )
            chosen[self._find_axis(name)] = at
        return chosen

    def _find_axis(self, attribute: str) -> int:
        if attribute not in self.attributes:
            raise InputError(f"the surface is not over {attribute!r}; {did_you_mean(attribute, list(self.attributes))}")
        return self.attributes.index(attribute)

    def _match(self, chosen: Mapping[int, int]) -> Bool[np.ndarray, " arm"]:
        inside = np.ones(len(self.arms), dtype=bool)
        for axis, at in chosen.items():
            inside &= self.place[:, axis] == at
        return inside


def _look_up(place: Int[np.ndarray, "arm axis"], asked: Int[np.ndarray, "asked axis"]) -> Int[np.ndarray, " asked"]:
    """Return which arm has these values; −1 where none has."""
    at = {tuple(values): i for i, values in enumerate(place.tolist())}
    return np.array([at.get(tuple(values), NONE) for values in asked.tolist()], dtype=np.int64)


def _require_weights(given: Sequence[float | int | None]) -> Float[np.ndarray, " row"]:
    """Refuse weights that cannot say how often rows occur; without any row there is nothing to average over."""
    weights = np.array([0.0 if n is None else n for n in given], dtype=np.float64)
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise InputError("mix: weights say how often rows occur: finite, none below 0, and some above")
    return weights
