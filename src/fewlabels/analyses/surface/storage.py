"""Save and load a surface: one file of arrays with a JSON document, without any row of the predictions."""

import io
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.provenance import record
from fewlabels.analyses.surface.file_schema import SurfaceDocument
from fewlabels.analyses.surface.result import Arm, Surface
from fewlabels.data.counts import NONE, Axis
from fewlabels.data.documents.arrays import Arrays, read_arrays
from fewlabels.data.documents.parsing import parse
from fewlabels.errors import InputError, choose_words
from fewlabels.files import write_atomic
from fewlabels.models.additive.effect_priors import FIXED, EffectPriors
from fewlabels.models.additive.effects import Effects
from fewlabels.models.additive.effects_summary import Scale
from fewlabels.models.additive.fit_result import AdditiveFit, ConditionalFit
from fewlabels.models.additive.fitted_surface import FittedSurface
from fewlabels.models.additive.item_terms import ItemTerms
from fewlabels.models.additive.items import Items

FORMAT = "fewlabels surface"
VERSION = 1
PLAIN = ("attributes", "model", "health", "warnings", "level", "finite_pool", "source", "frame")
MOST, MOST_LOG = 1e9, 20.0  # largest plausible value of a number, and of a log scale
TOLERANCE = 1e-3


def save_surface(surface: Surface, path: str | Path) -> Path:
    """Store a surface in a file, written atomically."""
    fitted = surface.fitted
    if fitted is None:
        raise InputError(f"model {surface.model} cannot be saved, as it covers only the arms of its pool; use smooth")
    about = {
        "format": FORMAT, "version": VERSION, **{name: getattr(surface, name) for name in PLAIN},
        "overall": asdict(surface.overall), "arms": [asdict(arm) for arm in surface.arms],
        "scales": [asdict(scale) for scale in surface.scales], "axes": [asdict(axis) for axis in surface.axes],
        "pairs": fitted.effects.pairs, "left_out": fitted.effects.left_out, "knots": fitted.items.knots,
        "slopes": fitted.items.slopes, "slope_centre": fitted.items.centre, "slope_scale": fitted.items.scale, "classifiers": fitted.items.classifiers,
        "n_factors": 0 if fitted.doubt is None else fitted.doubt.shape[1], "n_classes": fitted.items.n_classes, "by_class": fitted.items.by_class,
        "kinds": fitted.fit.priors.kinds, "weights": [conditional.weight for conditional in (*fitted.fit.conditionals, fitted.fit.mode)],
        "n_looks": fitted.fit.n_evaluations, "slope": fitted.fit.gradient_norm, "together": fitted.fit.together,
    }  # fmt: skip
    arrays: dict[str, Any] = {f"table_{i}": table for i, table in enumerate(fitted.effects.tables)}
    arrays |= {name: getattr(fitted, name) for name in ("level", "arm", "n_items")}
    arrays |= {
        "score": fitted.values.score,
        "predicted": fitted.values.predicted,
        "said": fitted.values.classifier_terms,
    }
    arrays |= {name: getattr(fitted.fit.priors, name) for name in ("block", "centre", "spread")} | {
        "heard": fitted.fit.labelled
    }
    if fitted.doubt is not None:
        arrays["doubt"] = fitted.doubt
    conditionals = (*fitted.fit.conditionals, fitted.fit.mode)
    for i, conditional in enumerate(conditionals):
        arrays |= _pack_conditional(conditional, i)
    packed = io.BytesIO()
    np.savez_compressed(packed, about=np.frombuffer(json.dumps(about).encode(), dtype=np.uint8), **arrays)
    write_atomic(path, packed.getvalue(), inputs=surface.provenance.inputs)
    return Path(path)


def _pack_conditional(conditional: ConditionalFit, i: int) -> dict[str, Any]:
    """Return the arrays that a saved surface stores of the fit at one set of scales."""
    return {
        f"scales_{i}": conditional.scales, f"terms_{i}": conditional.terms, f"covariance_{i}": conditional.covariance,
        f"own_{i}": conditional.own, f"stiff_{i}": conditional.arm_precision, f"lean_{i}": conditional.loadings,
    }  # fmt: skip


def load_surface(path: str | Path) -> Surface:
    """Load a stored surface from a file written by `save_surface`."""
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or 'it cannot be read'}") from None
    advice = f"make one with {choose_words('surface --save', 'Surface.save')}"
    found = read_arrays(raw, f"{path} is not a surface saved by fewlabels, or is damaged", advice)
    packed = found.take("about", "u", (None,))
    about = parse(SurfaceDocument, packed.tobytes(), str(path), advice)
    return _restore_surface(about, found)


def _restore_surface(about: SurfaceDocument, found: Arrays) -> Surface:
    """Make a surface from the document and arrays of its file."""
    fitted = _assemble_fitted(about, found)
    return Surface(
        **{name: getattr(about, name) for name in PLAIN if name != "health"},
        health=about.health.model_dump(exclude_unset=True),
        arms=tuple(Arm(**dict(arm)) for arm in about.arms),
        overall=Estimate(**dict(about.overall)),
        scales=tuple(Scale(scale.attributes, scale.scale) for scale in about.scales),
        axes=fitted.effects.axes,
        place=fitted.level,
        chances=fitted.posterior,
        fitted=fitted,
        provenance=record(about.source),
    )


def _assemble_fitted(about: SurfaceDocument, found: Arrays) -> FittedSurface:
    """Make the fitted surface from the stored arrays."""
    effects, n_arms = _read_effects(about, found), len(about.arms)
    if any(axis >= len(effects.axes) for axis in (*about.slopes, *about.by_class)):
        raise found.refuse("slopes refer to attributes that do not exist")
    items = ItemTerms(
        about.knots,
        about.slopes,
        about.slope_centre,
        about.slope_scale,
        about.n_classes,
        about.by_class,
        about.classifiers,
    )
    arm = found.take("arm", "iu", (None,), low=0, high=n_arms - 1)
    if len(np.unique(arm)) < n_arms:
        raise found.refuse("some arms have no items")
    return FittedSurface(
        effects,
        level=_read_arm_levels(about, found),
        arm=arm,
        n_items=found.take("n_items", "f", arm.shape, low=1e-9, high=MOST),
        values=_read_items(about, found, arm.shape),
        items=items,
        fit=_read_fit(about, found, effects, items),
        doubt=found.take("doubt", "f", (n_arms, about.n_factors), low=-MOST, high=MOST) if about.n_factors else None,
    )


def _read_items(about: SurfaceDocument, found: Arrays, shape: tuple[int]) -> Items:
    """Read the items of every stratum from a stored surface; earlier versions have scores alone."""
    score = found.take("score", "f", shape, low=0, high=1, nan=about.knots is None)
    predicted, classifier_terms = np.full(shape, NONE), np.zeros((*shape, 0))
    if about.n_classes:
        predicted = found.take("predicted", "iu", shape, low=0, high=about.n_classes - 1)
    if about.classifiers:
        classifier_terms = found.take("said", "f", (*shape, sum(about.classifiers)), low=-MOST, high=MOST)
    return Items(score, predicted, classifier_terms)


def _read_effects(about: SurfaceDocument, found: Arrays) -> Effects:
    """Read the effects of attributes from a stored surface."""
    axes = tuple(Axis(axis.name, axis.levels, axis.ordered, axis.edges) for axis in about.axes)
    tables = tuple(
        found.take(f"table_{i}", "f", (len(axis.levels) + 1, None), low=-MOST, high=MOST) for i, axis in enumerate(axes)
    )
    if about.attributes != tuple(axis.name for axis in axes):
        raise found.refuse("its attributes are not those of its arms")
    if any(place >= len(axes) for block in (*about.pairs, *about.left_out) for place in block):
        raise found.refuse("pairs refer to attributes that do not exist")
    return Effects(axes, tables, about.pairs, about.left_out)


def _read_arm_levels(about: SurfaceDocument, found: Arrays) -> np.ndarray:
    """Read the attribute values of arms from a stored surface."""
    level: np.ndarray = found.take("level", "iu", (len(about.arms), len(about.axes)), low=0)
    if (level >= [len(axis.levels) for axis in about.axes]).any():
        raise found.refuse("arms have values that their attributes do not have")
    return level


def _read_fit(about: SurfaceDocument, found: Arrays, effects: Effects, items: ItemTerms) -> AdditiveFit:
    """Read the additive fit from a stored surface."""
    n_terms = items.count_terms(effects) + len(effects.block)
    if about.kinds != (*items.kinds, *effects.kinds) or abs(sum(about.weights[:-1]) - 1) > TOLERANCE:
        raise found.refuse("its effects or weights are inconsistent")
    priors = EffectPriors(
        found.take("block", "iu", (n_terms,), low=FIXED, high=len(about.kinds) - 1),
        found.take("centre", "f", (n_terms,), low=-MOST, high=MOST),
        found.take("spread", "f", (n_terms,), low=-MOST, high=MOST),
        about.kinds,
    )
    labelled = found.take("heard", "iu", (None,), low=0, high=len(about.arms) - 1)
    *conditionals, mode = (
        _read_conditional(found, i, weight, priors, len(labelled), n_terms) for i, weight in enumerate(about.weights)
    )
    return AdditiveFit(priors, labelled, tuple(conditionals), mode, about.n_looks, about.slope, about.together)


def _read_conditional(
    found: Arrays, i: int, weight: float, priors: EffectPriors, n_labelled: int, most_terms: int
) -> ConditionalFit:
    """Read the fit at one set of scales from a stored surface."""
    terms = found.take(f"terms_{i}", "f", (None,), low=-MOST, high=MOST)
    n = len(terms)
    if n > most_terms:
        raise found.refuse(f"the array terms_{i} has more terms than the model")
    covariance = found.take(f"covariance_{i}", "f", (n, n), low=-MOST, high=MOST)
    if not np.allclose(covariance, covariance.T, rtol=TOLERANCE) or not _is_positive_definite(covariance):
        raise found.refuse(f"the array covariance_{i} is not a covariance matrix")
    return ConditionalFit(
        weight,
        found.take(f"scales_{i}", "f", (len(priors.start),), high=MOST_LOG),
        terms,
        covariance,
        found.take(f"own_{i}", "f", (n_labelled,), low=-MOST, high=MOST),
        found.take(f"stiff_{i}", "f", (n_labelled,), low=1e-12, high=MOST),
        found.take(f"lean_{i}", "f", (n_labelled, n), low=-MOST, high=MOST),
    )


def _is_positive_definite(covariance: np.ndarray) -> bool:
    """Is a covariance that was stored positive definite?"""
    try:
        np.linalg.cholesky(covariance)
    except np.linalg.LinAlgError:
        return False
    return True
