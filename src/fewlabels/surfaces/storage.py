"""A surface in one file: arrays, and a JSON document that says what they are. No row of the predictions is in it."""

import io
import json
import zipfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.errors import InputError
from fewlabels.files import write_whole
from fewlabels.labels import read_axis
from fewlabels.provenance import record
from fewlabels.summary import Estimate
from fewlabels.surfaces.chart import Chart
from fewlabels.surfaces.effects import Effects
from fewlabels.surfaces.fit import Fit, Sheet
from fewlabels.surfaces.plan import Plan
from fewlabels.surfaces.portrait import Scale
from fewlabels.surfaces.surface import Arm, Surface

FORMAT = "fewlabels surface"
VERSION = 1
PLAIN = ("attributes", "model", "health", "warnings", "level", "finite_pool", "source", "frame")
SHEET = ("scales", "terms", "covariance", "own", "stiff", "lean")


def write_surface(surface: Surface, path: str | Path) -> Path:
    """Write it whole, or not at all."""
    chart = surface.chart
    if chart is None:
        raise InputError(f"model {surface.model} cannot be saved, for it only knows the arms of its pool; use smooth")
    about = {
        "format": FORMAT, "version": VERSION, **{name: getattr(surface, name) for name in PLAIN},
        "overall": asdict(surface.overall), "arms": [asdict(arm) for arm in surface.arms],
        "scales": [asdict(scale) for scale in surface.scales], "axes": [asdict(axis) for axis in surface.axes],
        "pairs": chart.effects.pairs, "left_out": chart.effects.left_out, "knots": chart.knots,
        "kinds": chart.fit.plan.kinds, "weights": [sheet.weight for sheet in (*chart.fit.sheets, chart.fit.summit)],
        "n_looks": chart.fit.n_looks, "slope": chart.fit.slope, "together": chart.fit.together,
    }  # fmt: skip
    arrays: dict[str, Any] = {f"table_{i}": table for i, table in enumerate(chart.effects.tables)}
    arrays |= {name: getattr(chart, name) for name in ("level", "arm", "n_items", "score")}
    arrays |= {name: getattr(chart.fit.plan, name) for name in ("block", "centre", "spread")} | {
        "heard": chart.fit.heard
    }
    sheets = (*chart.fit.sheets, chart.fit.summit)
    arrays |= {f"{name}_{i}": getattr(sheet, name) for i, sheet in enumerate(sheets) for name in SHEET}
    packed = io.BytesIO()
    np.savez_compressed(packed, about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays)
    write_whole(path, packed.getvalue(), inputs=surface.provenance.inputs)
    return Path(path)


def read_surface(path: str | Path) -> Surface:
    """Read what `write_surface` wrote."""
    try:
        with np.load(path, allow_pickle=False) as packed:
            found = {name: packed[name] for name in packed.files}
            about = json.loads(found.pop("about").tobytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be read'}") from None
    except (ValueError, KeyError, zipfile.BadZipFile):
        raise InputError(f"{path} is no surface that fewlabels saved; make one with surface --save") from None
    if about.get("format") != FORMAT or about["version"] > VERSION:
        raise InputError(f"{path} is no surface, or one of a later version of fewlabels than this")
    return _assemble(about, found)


def _assemble(about: dict[str, Any], found: dict[str, np.ndarray]) -> Surface:
    axes = tuple(map(read_axis, about["axes"]))
    tables = tuple(found[f"table_{i}"] for i in range(len(axes)))
    pairs, left_out = (tuple(map(tuple, about[name])) for name in ("pairs", "left_out"))
    plan = Plan(found["block"], found["centre"], found["spread"], tuple(about["kinds"]))
    *sheets, summit = (
        Sheet(weight, *(found[f"{name}_{i}"] for name in SHEET)) for i, weight in enumerate(about["weights"])
    )
    knots = None if about["knots"] is None else tuple(about["knots"])
    chart = Chart(
        Effects(axes, tables, pairs, left_out),
        knots=knots,
        fit=Fit(
            plan, found["heard"], tuple(sheets), summit, about["n_looks"], about["slope"], about.get("together", 1.0)
        ),
        **{name: found[name] for name in ("level", "arm", "n_items", "score")},
    )
    plain = {name: about[name] for name in PLAIN} | {name: tuple(about[name]) for name in ("attributes", "warnings")}
    return Surface(
        **plain,
        arms=tuple(Arm(**arm) for arm in about["arms"]),
        overall=Estimate(**about["overall"]),
        scales=tuple(Scale(tuple(scale["attributes"]), scale["scale"]) for scale in about["scales"]),
        axes=axes,
        place=chart.level,
        chances=chart.relief,
        chart=chart,
        provenance=record(about["source"]),
    )
