"""Options given with an existing session must equal those it was created with."""

from collections.abc import Callable
from typing import Any

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.policies import name_policy
from fewlabels.cli.parsing import read_bins, read_groups, read_metric, read_pair, read_policy, read_prior, split_names
from fewlabels.cli.session_options import FIELDS, Start
from fewlabels.errors import InputError
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.spec import Ground, read_ground

READERS: dict[str, Callable[[str], Any]] = {  # option -> parser of the value it is compared by
    "groups": read_pair,
    "by": lambda word: read_groups(word).name,
    "policy": lambda word: name_policy(read_policy(word)),
}


def refuse_changes(path: str, start: Start) -> None:
    """Refuse options that differ from those the session was created with."""
    if not start.said():
        return
    ground = _look_into(path)
    had = _describe(ground)
    for option, wanted in _canonical(start, ground).items():
        if had.get(option) != wanted:
            raise InputError(
                f"{path} exists, and the options of a session are fixed: it was created {_say(option, had.get(option))}; "
                f"leave --{option.replace('_', '-')} out to continue it, or name a new file to start a new session"
            )


def _look_into(path: str) -> Ground:
    journal = SqliteJournal.open(path, read_only=True)
    try:
        return read_ground(journal.about, journal.blobs, where=path)
    finally:
        journal.close()


def _describe(ground: Ground) -> dict[str, Any]:
    """Return the options a session was created with."""
    goal = ground.goal
    return {
        **{option: getattr(goal, field, None) for option, field in FIELDS.items()},
        "goal": goal.name, "groups": (goal.a, goal.b) if isinstance(goal, Compare) else None,
        "metric": goal.metric, "by": ground.by.name, "policy": name_policy(ground.policy), "prior": ground.prior,
        "strength": getattr(ground.prior, "strength", None), "level": ground.level, "seed": ground.seed,
        "finite_pool": ground.finite, "bins": ground.tally.bins, "classes": ground.tally.classes,
        "votes": ground.votes, "hide_labels": not ground.tally.n_labels.any(),
    }  # fmt: skip


def _canonical(start: Start, ground: Ground) -> dict[str, Any]:
    """Return the given options, parsed into the values that `_describe` returns."""
    said = start.said()
    if start.metric or start.cost:
        said["metric"] = read_metric(start.metric or ground.goal.metric.name, said.pop("cost", None))
    if start.prior:
        kept = getattr(ground.prior, "strength", None) if start.prior in ("flat", "scores") else None
        said["prior"] = read_prior(start.prior, kept if start.strength is None else start.strength)
    for option, read in READERS.items():
        if option in said:
            said[option] = read(said[option])
    if start.bins and (ground.bins is None or read_bins(start.bins) == ground.bins):
        del said["bins"]  # files of earlier versions do not store the bins
    if start.classes and set(split_names(start.classes)) <= set(ground.tally.classes):
        del said["classes"]
    return said


def _say(option: str, value: Any) -> str:
    name = f"--{option.replace('_', '-')}"
    if option == "bins":
        return f"with other {name} ({len(value):,} of them)"
    if value is None or value is False or option in ("classes", "hide_labels"):
        return f"without {name}" if option != "classes" else "without these --classes"
    if option == "groups":
        return f"with {name} {','.join(value)}"
    return f"with {name} {getattr(value, 'name', value)}"
