"""What labels are for: the options of a goal, and those that start a session, fixed from then on.

Verbs take no more of them than they heed: `simulate` an aim, `plan` an outlook, sessions all.
"""

from dataclasses import dataclass, fields
from typing import Annotated, Any

from cyclopts import Group, Parameter

from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.active.goals.extremes import FindBest, FindWorst
from fewlabels.active.goals.goal import Goal
from fewlabels.cli.options import Flag
from fewlabels.cli.parsing import (
    DEFAULT,
    read_bins,
    read_groups,
    read_metric,
    read_pair,
    read_policy,
    read_prior,
    split_names,
)
from fewlabels.errors import InputError, did_you_mean

GOALS: dict[str, type[Estimate] | type[FindWorst] | type[Compare]] = {
    "estimate": Estimate, "explore": Explore, "least-certain": LeastCertain, "find-worst": FindWorst, "find-best": FindBest,
    "compare": Compare,
}  # fmt: skip
FIELDS = {"m": "m", "target_width": "width", "confidence": "confidence", "rope": "rope"}  # option -> field of a goal
GOAL = Group("The goal", sort_key=0)


def usually(text: str) -> Parameter:
    """Show in the help what holds where nothing is said."""
    return Parameter(show_default=text)


@Parameter(name="*", group=GOAL)
@dataclass(frozen=True)
class Aim:
    """What is to be found out, and how. None: not said."""

    goal: Annotated[str | None, usually("estimate")] = None
    "estimate (know the metric in every group, first the large ones), explore (in every group alike), least-certain (the group one knows least of), find-worst, find-best, or compare (two groups)."
    by: Annotated[str | None, usually("predicted")] = None
    "Groups: all, predicted, bins, bins:20, bins:equal-mass:10, a column, ranges:COLUMN of numbers (column:NAME if it is called like one of these), or several joined by commas (their cross)."
    metric: Annotated[str | None, usually("accuracy")] = None
    "accuracy, ece, cost, precision, recall, f1, balanced-accuracy, mcc, tpr, fpr, tnr, fnr, ppv, npv, fdr, for."
    target_width: Annotated[float | None, usually("0.1")] = None
    "estimate, explore, least-certain: stop when every group's interval is this narrow."
    m: Annotated[int | None, usually("1")] = None
    "find-worst, find-best: how many groups are sought."
    groups: str | None = None
    "compare: the two groups, joined by a comma: human,trees."
    rope: Annotated[float | None, usually("0.05 for compare, else 0")] = None
    "compare, find-worst, find-best: differences up to this size do not matter."
    confidence: Annotated[float | None, usually("0.95")] = None
    "compare, find-worst, find-best: stop when the answer is this probable."
    policy: Annotated[str | None, usually("thompson, or multi-play if m > 1")] = None
    "Which group is asked about next: random, stratified, stratified:equal, stratified:neyman, thompson, top-two, multi-play, epsilon-greedy, upper-bound."
    prior: Annotated[str | None, usually(DEFAULT)] = None
    "calibrated (learns from the labels how far to trust the scores), smooth (groups that share attributes learn from each other), scores, flat, or the JSON file of an earlier assessment."
    strength: Annotated[float | None, usually("2, or 1 for metrics of classes")] = None
    "flat, scores: how many labels they are worth in each group."
    bins: Annotated[str | None, usually("10")] = None
    "Score bins inside ece: a number (equal width) or equal-mass:NUMBER."
    cost: str | None = None
    "CSV file of costs: a row per true class, a column per predicted class."
    level: Annotated[float | None, usually("0.95")] = None
    "Probability that an interval contains the truth."
    seed: Annotated[int | None, usually("0")] = None
    "Seed of the random draws."

    def said(self) -> dict[str, Any]:
        """Return the options that were given."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def choices(self) -> dict[str, Any]:
        """Return the words as keyword arguments of what is called; what was not said is left to it."""
        words: dict[str, Any] = {
            "goal": self._make_goal(), "by": read_groups(self.by or "predicted"),
            "prior": read_prior(self.prior or DEFAULT, self.strength),
        }  # fmt: skip
        if self.policy is not None:
            words["policy"] = read_policy(self.policy)
        if self.bins is not None:
            words["bins"] = read_bins(self.bins)
        return words | {name: value for name, value in self.said().items() if name in ("level", "seed")}

    def _make_goal(self) -> Goal:
        name = self.goal or "estimate"
        if name not in GOALS:
            raise InputError(f"goal: {name!r} is not known; {did_you_mean(name, GOALS)}")
        self._refuse_strangers(name)
        self._refuse_single(name)
        words: dict[str, Any] = {
            field: self.said()[option] for option, field in FIELDS.items() if option in self.said()
        }
        if name == "compare":
            if self.groups is None:
                raise InputError("goal compare: say which two groups: --groups human,trees")
            words["a"], words["b"] = read_pair(self.groups)
        return GOALS[name](metric=read_metric(self.metric or "accuracy", self.cost), **words)

    def _refuse_strangers(self, name: str) -> None:
        """Refuse options of other goals: they would be ignored."""
        for option, field in {**FIELDS, "groups": "a"}.items():
            takers = [goal for goal, kind in GOALS.items() if field in {f.name for f in fields(kind)}]
            if option in self.said() and name not in takers:
                raise InputError(
                    f"--{option.replace('_', '-')} goes with --goal {' or '.join(takers)}, not with {name}"
                )

    def _refuse_single(self, name: str) -> None:
        """Refuse to seek the worst of one group."""
        if name in ("find-worst", "find-best") and self.by == "all":
            raise InputError(
                f"goal {name}: --by all is a single group, and there is nothing to find among one; group by predicted or "
                "by a column, or take --goal estimate"
            )


@Parameter(name="*", group=GOAL)
@dataclass(frozen=True)
class Outlook(Aim):
    """What is to be found out about a pool that is not labelled yet."""

    finite_pool: Flag = False
    "Ask about exactly these items instead of the population they came from."
    hide_labels: Flag = False
    "Take no notice of the labels in the file, as if nothing were labelled: to play."

    def choices(self) -> dict[str, Any]:
        """Return the words as keyword arguments."""
        return {**super().choices(), "finite_pool": self.finite_pool}


@Parameter(name="*", group=GOAL)
@dataclass(frozen=True)
class Start(Outlook):
    """How a session starts."""

    classes: str | None = None
    "True classes that the model never predicts, joined by commas."
    votes: Annotated[int | None, usually("1")] = None
    "How many different people answer each item. From 2 on answers are votes: agreement is shown, disagreements are settled by somebody (tell --decide), and figures allow for people's mistakes."

    def choices(self) -> dict[str, Any]:
        """Return the words as keyword arguments of `Session.create`."""
        return {
            **super().choices(),
            "classes": split_names(self.classes or ""),
            "votes": 1 if self.votes is None else self.votes,
        }
