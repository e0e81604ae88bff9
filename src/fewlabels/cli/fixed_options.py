"""Options given with an existing session must equal those it was created with."""

from collections.abc import Callable
from typing import Any

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.fairness_gap import FairnessGap
from fewlabels.active.goals.goal import get_stated_metric
from fewlabels.active.parsing import parse_policy
from fewlabels.active.policies import name_policy
from fewlabels.cli.session_options import GOAL_FIELDS, SessionOptions
from fewlabels.data.parsing import parse_bins, parse_groups, parse_pair, split_names
from fewlabels.errors import InputError
from fewlabels.metrics.parsing import parse_metric
from fewlabels.models.parsing import parse_prior
from fewlabels.sessions.journal.storage import open_stored
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.spec_file import read_spec

PARSERS: dict[str, Callable[[str], Any]] = {  # option -> parser of the value it is compared by
    "groups": parse_pair,
    "by": lambda word: parse_groups(word).name,
    "policy": lambda word: name_policy(parse_policy(word)),
}


def refuse_changes(path: str, start: SessionOptions) -> None:
    """Refuse options that a session fixed when it was created, and that now differ."""
    if not start.given_options():
        return
    spec = _read_fixed_spec(path)
    existing = _list_fixed_options(spec)
    for option, wanted in _canonicalize(start, spec).items():
        if existing.get(option) != wanted:
            raise InputError(
                f"{path} exists, and the options of a session are fixed: it was created {_describe_option(option, existing.get(option))}; "
                f"leave --{option.replace('_', '-')} out to continue it, or name a new file to start a new session"
            )


def _read_fixed_spec(path: str) -> SessionSpec:
    """Read the spec of an existing session, which fixes its options."""
    journal = open_stored(path, read_only=True)
    try:
        return read_spec(journal.about, journal.blobs, where=path)
    finally:
        journal.close()


def _list_fixed_options(spec: SessionSpec) -> dict[str, Any]:
    """Return the options a session was created with."""
    goal = spec.design.goal
    return {
        **{option: getattr(goal, field, None) for option, field in GOAL_FIELDS.items()},
        "goal": goal.name, "groups": (goal.a, goal.b) if isinstance(goal, Compare | FairnessGap) else None,
        "metric": get_stated_metric(goal), "by": spec.design.by.name, "policy": name_policy(spec.design.policy), "prior": spec.design.prior,
        "strength": getattr(spec.design.prior, "strength", None), "discount": getattr(spec.design.prior, "weight", None), "level": spec.design.level, "seed": spec.design.seed,
        "finite_pool": spec.design.finite_pool, "bins": spec.tally.bins, "classes": spec.tally.classes,
        "votes": spec.design.votes, "random_share": spec.design.random_share, "price": spec.design.price, "hide_labels": not spec.tally.n_labels.any(),
    }  # fmt: skip


def _canonicalize(start: SessionOptions, spec: SessionSpec) -> dict[str, Any]:
    """Return the given options, parsed into the values that `_list_fixed_options` returns."""
    given_options = start.given_options()
    if start.metric or start.cost:
        given_options["metric"] = parse_metric(
            start.metric or get_stated_metric(spec.design.goal).name, given_options.pop("cost", None)
        )
    if start.prior:
        kept = getattr(spec.design.prior, "strength", None) if start.prior in ("flat", "scores") else None
        given_options["prior"] = parse_prior(
            start.prior, kept if start.strength is None else start.strength, start.discount
        )
    for option, read in PARSERS.items():
        if option in given_options:
            given_options[option] = read(given_options[option])
    if start.bins and (spec.design.bins is None or parse_bins(start.bins) == spec.design.bins):
        del given_options["bins"]  # files of earlier versions do not store the bins
    if start.classes and set(split_names(start.classes)) <= set(spec.tally.classes):
        del given_options["classes"]
    return given_options


def _describe_option(option: str, value: Any) -> str:
    """Name an option that a session fixed, with the value it has there."""
    name = f"--{option.replace('_', '-')}"
    if option == "bins":
        return f"with other {name} ({len(value):,} of them)"
    if value is None or value is False or option in ("classes", "hide_labels"):
        return f"without {name}" if option != "classes" else "without these --classes"
    if option == "groups":
        return f"with {name} {','.join(value)}"
    return f"with {name} {getattr(value, 'name', value)}"
