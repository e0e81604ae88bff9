"""The Surface result: estimates of all arms, and queries over combinations of attributes."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from itertools import product
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.result import Result
from fewlabels.analyses.surface.levels import find_levels
from fewlabels.data.counts import NONE, Axis
from fewlabels.data.sources import Frame
from fewlabels.data.tables import count_rows
from fewlabels.distributions.belief import include_mean
from fewlabels.distributions.budgets import MIN_DRAWS, limit_stored_draws
from fewlabels.errors import InputError, did_you_mean
from fewlabels.models.additive.effects_summary import Scale
from fewlabels.models.additive.fitted_surface import FittedSurface
from fewlabels.models.logit.joint import CellAccuracies

# The module that stores a Surface imports this one, so it is imported by name on use.
SAVE, LOAD = "fewlabels.analyses.surface.storage:save_surface", "fewlabels.analyses.surface.storage:load_surface"

WORST_BY = ("mean", "high")


@dataclass(frozen=True)
class Arm:
    """Estimate of one combination of attributes."""

    arm: dict[str, str]
    n_items: int
    n_labels: int
    mean: float
    low: float
    high: float
    p_worst: float  # probability of being the least accurate arm


@dataclass(frozen=True)
class SurfaceEstimate:
    """Average accuracy over some combinations, weighted by how often they occur."""

    values: dict[str, str]
    n_items: int
    n_labels: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, repr=False)
class Surface(Result):
    """How good the model is for every combination of attributes, with credible intervals."""

    attributes: tuple[str, ...]
    model: str
    arms: tuple[Arm, ...]
    overall: Estimate
    health: dict[str, Any]
    scales: tuple[Scale, ...]  # of effects; empty for baselines
    warnings: tuple[str, ...]
    level: float
    finite_pool: bool
    axes: tuple[Axis, ...] = field(repr=False)
    place: Int[np.ndarray, "arm axis"] = field(repr=False)  # index of each arm's values on the axes
    chances: CellAccuracies = field(repr=False)  # posterior of the arms of the pool, for the population
    fitted: FittedSurface | None = field(default=None, repr=False)  # only for the default model
    source: str = "the table"
    frame: Frame = "pandas"
    provenance: Provenance = field(default_factory=record, repr=False)

    @property
    def n_items(self) -> int:
        """Items of the surface's pool."""
        return int(self.size.sum())

    @property
    def n_labels(self) -> int:
        """Labels among the items of the surface."""
        return sum(arm.n_labels for arm in self.arms)

    @cached_property
    def size(self) -> Int[np.ndarray, " arm"]:
        """Items of every arm of the surface."""
        return np.array([arm.n_items for arm in self.arms])

    @property
    def worst_first(self) -> tuple[Arm, ...]:
        """The arms of the surface, least accurate first."""
        return tuple(sorted(self.arms, key=lambda arm: arm.mean))

    def list_worst(self, *, least_items: int = 1, by: str = "mean") -> tuple[Arm, ...]:
        """Return arms of the surface that have enough items, least accurate first.

        Parameters
        ----------
        least_items: int
            Leave out arms with fewer items.
        by: str
            `"mean"` orders by the estimate; `"high"` by the upper end of the interval, so that arms come first that are
            bad beyond doubt.
        """
        if by not in WORST_BY:
            raise InputError(f"worst by: there is no order {by!r}; {did_you_mean(by, WORST_BY)}")
        enough = [arm for arm in self.arms if arm.n_items >= least_items]
        return tuple(sorted(enough, key=lambda arm: (getattr(arm, by), arm.mean)))

    # -- queries --------------------------------------------------------------------------------------------

    def query(self, values: Mapping[str, object] | None = None, /, **more: object) -> SurfaceEstimate:
        """Estimate the accuracy where attributes have these values, averaged over the other attributes as in the pool.

        Combinations that the pool does not have are predicted from their attributes. The estimate is about the
        population, also where arms are about exactly these items (`finite_pool`). Also called `ask`.

        Parameters
        ----------
        values: mapping
            The value of each attribute that is fixed, for instance `{"light": "night"}`. Several values are given as a
            list, and numbers from A to B as `"A..B"`: all values whose number, or whose range's middle, lies between.
        **more: object
            The same as keywords: `light="night"`.
        """
        chosen = self._choose({**(values or {}), **more})
        said = {self.axes[i].name: ", ".join(self.axes[i].levels[at] for at in where) for i, where in chosen.items()}
        inside = self._match(chosen) * self.size
        if inside.any():
            return self._summarize([said], csr_array(inside[None].astype(np.float64)))[0]
        combinations = list(product(*chosen.values()))
        place = np.tile(self.place, (len(combinations), 1))
        place[:, list(chosen)] = np.repeat(combinations, len(self.place), axis=0)
        weight = np.tile(self.size.astype(np.float64), len(combinations))
        return SurfaceEstimate(said, 0, 0, *self._average(place, weight))

    def reweight(self, traffic: Any, weight: str | None = None) -> SurfaceEstimate:
        """Estimate the accuracy on another mix of items. Also called `mix`.

        Parameters
        ----------
        traffic: path, frame or dict of arrays
            A table with the attributes as columns.
        weight: str
            Its column with the weight of each row; without it every row counts once.
        """
        found = count_rows(traffic, self.attributes, weight)
        values = zip(*(found[name] for name in self.attributes), strict=True)
        place = np.array([[axis.find(v) for axis, v in zip(self.axes, row, strict=True)] for row in values])
        mean, low, high = self._average(place, _require_weights(found["n"]))
        at = np.unique(_look_up(self.place, place))
        seen = [self.arms[i] for i in at if i != NONE]
        return SurfaceEstimate({}, sum(arm.n_items for arm in seen), sum(arm.n_labels for arm in seen), mean, low, high)

    def marginals(self, *attributes: str, fixed: Mapping[str, object] | None = None) -> tuple[SurfaceEstimate, ...]:
        """Estimate the accuracy at every combination of a few attributes, averaged over the others as in the pool.

        Combinations that the pool does not have are left out. Also called `cross`.

        Parameters
        ----------
        *attributes: str
            The attributes.
        fixed: mapping
            Values of other attributes.
        """
        (held,) = np.nonzero(self._match(self._choose(fixed or {})) & (self.size > 0))
        axes = [self._find_axis(name) for name in attributes]
        found, where = np.unique(self.place[held][:, axes], axis=0, return_inverse=True)
        names = [{self.axes[i].name: self.axes[i].levels[at] for i, at in zip(axes, row, strict=True)} for row in found]
        inside = (self.size[held].astype(np.float64), (where.reshape(-1), held))
        return self._summarize(names, csr_array(inside, shape=(len(found), len(self.arms))))

    def adjust(self, attribute: str) -> tuple[SurfaceEstimate, ...]:
        """Estimate the accuracy for each value of an attribute, standardized to the pool's other attributes.

        Parameters
        ----------
        attribute: str
            The attribute.
        """
        axis, out = self._find_axis(attribute), []
        for at, name in enumerate(self.axes[axis].levels):
            place, there = self.place.copy(), self.place[:, axis] == at
            place[:, axis] = at
            n_labels = sum(self.arms[i].n_labels for i in np.nonzero(there)[0])
            low_to_high = self._average(place, self.size.astype(np.float64))
            out.append(SurfaceEstimate({attribute: name}, int(self.size[there].sum()), n_labels, *low_to_high))
        return tuple(out)

    ask, mix, cross = query, reweight, marginals  # earlier names

    # -- export ---------------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Return the surface's JSON as a dict."""
        return {
            "attributes": list(self.attributes), "model": self.model, "level": self.level, "finite_pool": self.finite_pool,
            "n_items": self.n_items, "n_labels": self.n_labels, "overall": asdict(self.overall),
            "arms": [asdict(arm) for arm in self.arms], "scales": [asdict(scale) for scale in self.scales],
            "health": self.health, "warnings": list(self.warnings), "provenance": self.provenance.to_dict(),
        }  # fmt: skip

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row per arm of the surface."""
        return [{**arm.arm, **{k: v for k, v in asdict(arm).items() if k != "arm"}} for arm in self.arms]

    def save(self, path: str | Path) -> Path:
        """Write the fitted surface to one file, which can be queried without the predictions."""
        written: Path = resolve_name(SAVE)(self, path)
        return written

    @classmethod
    def load(cls, path: str | Path) -> "Surface":
        """Read a surface that was saved."""
        found: Surface = resolve_name(LOAD)(path)
        return found

    # -- helpers --------------------------------------------------------------------------------------------

    @cached_property
    def _draws(self) -> Float[np.ndarray, "draw arm"]:
        """Joint draws of the accuracies of the surface's arms."""
        return self.chances.draw(np.random.default_rng(0), limit_stored_draws(MIN_DRAWS, len(self.arms)))

    def _summarize(self, names: Sequence[dict[str, str]], weights: csr_array) -> tuple[SurfaceEstimate, ...]:
        """Mean and interval over arms of the surface's pool, for every row of weights."""
        values = weights @ self._draws.T / weights.sum(axis=1)[:, None]
        low, high = np.quantile(values, self._tails, axis=1)
        low, high = include_mean(values.mean(axis=1), (low, high))
        inside, labels = (weights > 0).astype(np.int64), np.array([arm.n_labels for arm in self.arms])
        counts = (inside @ self.size).tolist(), (inside @ labels).tolist()
        figures = zip(names, *counts, values.mean(axis=1).tolist(), low.tolist(), high.tolist(), strict=True)
        return tuple(SurfaceEstimate(*figure) for figure in figures)

    def _average(self, place: Int[np.ndarray, "asked axis"], weight: Float[np.ndarray, " asked"]) -> tuple[float, ...]:
        """Mean and interval over combinations, seen or unseen."""
        combinations, where = np.unique(place, axis=0, return_inverse=True)
        share = np.bincount(where.reshape(-1), weights=weight) / weight.sum()
        at = _look_up(self.place, combinations)
        if self.fitted is None and (at == NONE).any():
            raise InputError(
                f"model {self.model} has no estimate for combinations that are not in the pool; use smooth"
            )
        n = limit_stored_draws(MIN_DRAWS, len(at))
        draws = self._draws[:, at] if self.fitted is None else self.fitted.draw(combinations, at, n)
        values = draws @ share
        mean = values.mean(keepdims=True)
        low, high = np.quantile(values, self._tails, axis=0, keepdims=True)
        low, high = include_mean(mean, (low, high))
        return float(mean[0]), float(low[0]), float(high[0])

    @property
    def _tails(self) -> list[float]:
        """The probabilities between which the surface's intervals lie."""
        return [(1 - self.level) / 2, (1 + self.level) / 2]

    def _choose(self, values: Mapping[str, object]) -> dict[int, tuple[int, ...]]:
        """Resolve names and values in a query of the surface to indices of axes and levels."""
        return {
            self._find_axis(name): find_levels(self.axes[self._find_axis(name)], value)
            for name, value in values.items()
        }

    def _find_axis(self, attribute: str) -> int:
        """Return the index of an attribute of the surface; raise for others."""
        if attribute not in self.attributes:
            raise InputError(f"the surface is not over {attribute!r}; {did_you_mean(attribute, list(self.attributes))}")
        return self.attributes.index(attribute)

    def _match(self, chosen: Mapping[int, tuple[int, ...]]) -> Bool[np.ndarray, " arm"]:
        """Return which arms of the surface have the chosen levels."""
        inside = np.ones(len(self.arms), dtype=bool)
        for axis, where in chosen.items():
            inside &= np.isin(self.place[:, axis], where)
        return inside


def _look_up(place: Int[np.ndarray, "arm axis"], asked: Int[np.ndarray, "asked axis"]) -> Int[np.ndarray, " asked"]:
    """Return the index of the surface's arm with these values; −1 where there is none."""
    at = {tuple(values): i for i, values in enumerate(place.tolist())}
    return np.array([at.get(tuple(values), NONE) for values in asked.tolist()], dtype=np.int64)


def _require_weights(given: Sequence[float | int | None]) -> Float[np.ndarray, " row"]:
    """Raise unless the weights of a query of the surface are finite, not negative and not all 0."""
    weights = np.array([0.0 if n is None else n for n in given], dtype=np.float64)
    if not (weights >= 0).all() or not 0 < weights.sum() < np.inf:
        raise InputError("mix: weights must be finite and not negative, with at least one above 0")
    return weights
