"""Write the spec of a session as a JSON document and an archive of counts, and restore it from them."""

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal
from fewlabels.active.study_design import StudyDesign
from fewlabels.data.counts import NONE, STRATA, Axis, CountTable
from fewlabels.data.documents.arrays import Arrays, read_arrays
from fewlabels.data.documents.parsing import check
from fewlabels.data.given_roles import GivenRoles
from fewlabels.data.groups import Bins, Groups
from fewlabels.data.model_columns import ModelColumns
from fewlabels.errors import InputError
from fewlabels.models.priors import Prior
from fewlabels.sessions.file_schema import SessionDocument
from fewlabels.sessions.serialize import find_custom, restore_choice, to_plain
from fewlabels.sessions.spec import RESTORE_COPY, SessionSpec

OPTIONAL_ARRAYS = ("probability", "stratum", "level")
SCALAR_FIELDS = ("source", "notes", "graded", "whole_ids", "frame", "prices", "grades")
MAX_ITEMS, MAX_STRATA, TOLERANCE = 2**53, len(STRATA), 1e-6
MODEL_ARRAYS = ("predicted", "slot", "bin", "score")
ARRAYS = ("group", "predicted", "bin", "label", "n_items", "n_labels", "score", "right")


def write_spec(spec: SessionSpec) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return the spec file's contents: a JSON document and binary attachments."""
    design = spec.design
    about = {
        "goal": to_plain(design.goal), "policy": to_plain(design.policy), "prior": to_plain(design.prior),
        "by": to_plain(design.by), "level": design.level, "finite": design.finite_pool, "seed": design.seed,
        "fingerprint": dict(spec.fingerprint), "source": spec.source,
        "notes": list(spec.notes), "graded": spec.graded, "whole_ids": spec.whole_ids, "frame": spec.frame, "by_name": spec.tally.by,
        "groups": list(spec.tally.groups), "classes": list(spec.tally.classes), "bins": list(spec.tally.bins),
        "positive": spec.tally.positive, "n_askable": spec.n_askable.tolist(), "ranges": to_plain(design.bins),
        "axes": [asdict(axis) for axis in spec.tally.axes], "votes": design.votes, "random_share": design.random_share, "price": design.price, "prices": list(spec.prices),
        "models": [] if spec.tally.models is None else list(spec.tally.models.models),
        "single_grades": spec.tally.graded, "grades": [list(one) for one in spec.grades],
        "given_roles": None if spec.given_roles is None else dict(spec.given_roles),
    }  # fmt: skip
    return about, {"tally": _pack_counts(spec.tally)}


def read_spec(
    about: Mapping[str, Any],
    blobs: Mapping[str, bytes],
    *,
    goal: Goal | None = None,
    policy: Policy | None = None,
    where: object = "the session",
) -> SessionSpec:
    """Restore the spec from the contents of a spec file; `where` is what messages about damage begin with."""
    found = check(SessionDocument, about, f"{where}: damaged", RESTORE_COPY)
    arrays = read_arrays(blobs.get("tally", b""), f"{where}: damaged: its counts", RESTORE_COPY)
    if found.prices and len(found.prices) != len(found.groups):
        raise arrays.refuse("the prices do not fit the groups")
    if len(found.n_askable) != len(found.groups):
        raise arrays.refuse("the items to ask about do not fit the groups")
    return SessionSpec(
        tally=_read_counts(found, arrays),
        n_askable=np.array(found.n_askable, dtype=np.int64),
        design=StudyDesign(
            goal=_restore_choice(found.goal, goal, "goal", Goal, where),
            by=_restore_choice(found.by, None, "by", Groups, where),
            policy=_restore_choice(found.policy, policy, "policy", Callable, where),
            prior=_restore_choice(found.prior, None, "prior", Prior, where),
            level=found.level,
            finite_pool=found.finite,
            bins=_restore_choice(found.ranges, None, "ranges", Bins | None, where),
            seed=found.seed,
            votes=found.votes,
            random_share=found.random_share,
            price=found.price,
        ),
        fingerprint=found.fingerprint.model_dump(exclude_unset=True),
        given_roles=_restore_given_roles(found),
        **{name: getattr(found, name) for name in SCALAR_FIELDS},
    )


def read_spec_roles(about: Mapping[str, Any], where: object) -> GivenRoles | None:
    """Read from the contents of a spec file only the roles that the predictions were read with."""
    return _restore_given_roles(check(SessionDocument, about, f"{where}: damaged", RESTORE_COPY))


def _restore_given_roles(found: SessionDocument) -> GivenRoles | None:
    """Restore the roles that a file keeps; None in files of earlier versions."""
    return None if found.given_roles is None else found.given_roles.model_dump(exclude_none=True)


def _restore_choice(plain: Any, given: Any, what: str, kind: Any, where: object) -> Any:
    """Restore a choice stored in the spec file, or refuse the file as damaged."""
    try:
        made = restore_choice(plain, given, what)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, InputError) and find_custom(plain) is not None:
            raise
        raise InputError(
            f"{where}: damaged: {what}: no choice that fewlabels wrote ({str(error)[:100]}); {RESTORE_COPY}"
        ) from None
    if not isinstance(made, kind):
        raise InputError(f"{where}: damaged: {what}: this is another kind of choice; {RESTORE_COPY}")
    return made


def _pack_counts(counts: CountTable) -> bytes:
    """Return the counts as the archive in a spec file."""
    file = io.BytesIO()
    of_models = (
        {} if counts.models is None else {f"models_{name}": getattr(counts.models, name) for name in MODEL_ARRAYS}
    )
    arrays = of_models | {name: getattr(counts, name) for name in ARRAYS}
    arrays |= {name: getattr(counts, name) for name in OPTIONAL_ARRAYS if getattr(counts, name) is not None}
    np.savez_compressed(file, **arrays)
    return file.getvalue()


def _read_counts(found: SessionDocument, arrays: Arrays) -> CountTable:
    """Read the counts from the archive in a spec file, and check their types, shapes and ranges."""
    n_groups, n_classes, n_bins = len(found.groups), len(found.classes), len(found.bins)
    group = arrays.take("group", "iu", (None,), low=0, high=n_groups - 1)
    shape, axes = group.shape, tuple(Axis(a.name, a.levels, a.ordered, a.edges) for a in found.axes)
    n_items = arrays.take("n_items", "iu", shape, low=1, high=MAX_ITEMS)
    n_labels = arrays.take("n_labels", "iu", shape, low=0, high=MAX_ITEMS)
    right = arrays.take("right", "f", shape, low=0, high=MAX_ITEMS)
    if (n_labels > n_items).any() or (right > n_labels + TOLERANCE).any() or len(np.unique(group)) < n_groups:
        raise arrays.refuse("the array n_labels does not fit n_items")
    probability, stratum, level = (arrays.found.get(name) for name in OPTIONAL_ARRAYS)
    return CountTable(
        by=found.by_name,
        groups=found.groups,
        classes=found.classes,
        bins=found.bins,
        group=group,
        predicted=arrays.take("predicted", "iu", shape, low=NONE, high=n_classes - 1),
        bin=arrays.take("bin", "iu", shape, low=NONE, high=n_bins - 1),
        label=arrays.take("label", "iu", shape, low=NONE, high=n_classes - 1),
        n_items=n_items,
        n_labels=n_labels,
        score=arrays.take("score", "f", shape, low=0, high=MAX_ITEMS, nan=not found.bins),
        right=right,
        probability=probability if probability is None else arrays.take("probability", "f", (*shape, n_classes), low=0, high=MAX_ITEMS),
        positive=found.positive,
        stratum=stratum if stratum is None else arrays.take("stratum", "iu", shape, low=0, high=MAX_STRATA),
        axes=axes,
        level=level if level is None else _read_axis_levels(arrays, n_groups, axes),
        models=_read_models(found, arrays, len(group)) if found.models else None,
        graded=found.single_grades,
    )  # fmt: skip


def _read_models(found: SessionDocument, arrays: Arrays, n: int) -> ModelColumns:
    """Read from the archive in a spec file what several models predict."""
    shape = (n, len(found.models))
    return ModelColumns(
        found.models,
        arrays.take("models_predicted", "iu", shape, low=NONE, high=len(found.classes) - 1),
        arrays.take("models_slot", "iu", shape, low=NONE, high=MAX_STRATA * MAX_STRATA),
        arrays.take("models_bin", "iu", shape, low=NONE, high=max(len(found.bins) - 1, 0)),
        arrays.take("models_score", "f", shape, low=0, high=MAX_ITEMS, nan=True),
    )


def _read_axis_levels(arrays: Arrays, n_groups: int, axes: Sequence[Axis]) -> Int[np.ndarray, "group axis"]:
    """Read from the archive in a spec file the level of each group on each axis."""
    level: np.ndarray = arrays.take("level", "iu", (n_groups, len(axes)), low=0)
    if (level >= [len(axis.levels) for axis in axes]).any():
        raise arrays.refuse("groups have values that no attribute takes")
    return level
