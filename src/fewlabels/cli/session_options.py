"""Options of a goal and of a new session, in three classes that extend each other.

`simulate` takes the first, `plan` the second, and the verbs that start a session the third. A session's options are fixed.
"""

import shlex
from dataclasses import dataclass, fields
from typing import Annotated, Any

from cyclopts import Group, Parameter

from fewlabels.active.goals.fairness_gap import FairnessGap
from fewlabels.active.goals.goal import Goal
from fewlabels.active.parsing import GOALS, MODEL_GOALS, find_goal, parse_policy
from fewlabels.cli.options import Flag
from fewlabels.data.parsing import parse_bins, parse_groups, parse_pair, split_names
from fewlabels.errors import InputError
from fewlabels.metrics.parsing import parse_metric
from fewlabels.models.parsing import DEFAULT_PRIOR, parse_prior

GOAL_FIELDS = {
    "m": "m",
    "target_width": "width",
    "confidence": "confidence",
    "rope": "rope",
    "margin": "margin",
}  # option -> field of a goal
GOAL_GROUP = Group("Goal", sort_key=0)


def shown_default(text: str) -> Parameter:
    """Show this default in the help of a session's option that is None when not given."""
    return Parameter(show_default=text)


@Parameter(name="*", group=GOAL_GROUP)
@dataclass(frozen=True)
class GoalOptions:
    """The goal, its metric and groups, and the policy and prior. None means not given."""

    goal: Annotated[str | None, shown_default("estimate")] = None
    "estimate (the metric in every group, large groups first), explore (every group equally), least-certain (the group with the largest variance), find-worst, find-best, compare (two groups), or fairness (the gap between two groups of people in tpr or another rate); with several files, compare-models (two models) or best-model."
    by: Annotated[str | None, shown_default("predicted")] = None
    "Groups: all, predicted, bins, bins:20, bins:equal-mass:10, a column, ranges:COLUMN for a numeric column (column:NAME for a column with one of these names), or several separated by commas (every combination)."
    metric: Annotated[str | None, shown_default("accuracy; tpr for fairness")] = None
    "accuracy, ece, brier, log-loss, cost, precision, recall, f1, balanced-accuracy, mcc, tpr, fpr, tnr, fnr, ppv, npv, fdr, for."
    target_width: Annotated[float | None, shown_default("0.1")] = None
    "estimate, explore, least-certain: stop when the credible interval of every group is this narrow."
    m: Annotated[int | None, shown_default("1")] = None
    "find-worst, find-best: how many groups to find."
    groups: str | None = None
    "compare, fairness: the two groups, separated by a comma: human,trees [fairness: the two there are]; compare-models: the two models [default: the second minus the first]."
    rope: Annotated[float | None, shown_default("0.05 for compare, 0.01 for models, else 0")] = None
    "compare, find-worst, find-best: differences up to this size do not matter (region of practical equivalence)."
    margin: Annotated[float | None, shown_default("0.05")] = None
    "fairness: is the gap at most this large, or larger?"
    confidence: Annotated[float | None, shown_default("0.95")] = None
    "compare, fairness, find-worst, find-best: stop when the answer has this probability."
    policy: Annotated[str | None, shown_default("thompson, or multi-play if m > 1")] = None
    "How to choose the group of the next item: random, stratified, stratified:equal, stratified:neyman, thompson, top-two, multi-play, epsilon-greedy, upper-bound."
    prior: Annotated[str | None, shown_default(DEFAULT_PRIOR)] = None
    "calibrated (learns the calibration of the scores from the labels), smooth (partial pooling of groups that share attributes), scores, flat, or the JSON file of an earlier assessment."
    strength: Annotated[float | None, shown_default("2 for Beta, 1 for Dirichlet")] = None
    "Strength of a flat or scores prior: how many labels it counts for in each group."
    discount: Annotated[float | None, shown_default("1")] = None
    "What a label of an earlier assessment (--prior FILE) counts for, from 0 (nothing) to 1 (as much as a new one)."
    bins: Annotated[str | None, shown_default("10")] = None
    "Score bins of ece: a number (equal width) or equal-mass:NUMBER."
    cost: str | None = None
    "CSV file of costs: one row per true class, one column per predicted class."
    level: Annotated[float | None, shown_default("0.95")] = None
    "Probability that a credible interval contains the true value."
    seed: Annotated[int | None, shown_default("0")] = None
    "Seed of the random draws."

    def given_options(self) -> dict[str, Any]:
        """Return the options that were given."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in values.items() if value is not None and value is not False}

    def choices(self) -> dict[str, Any]:
        """Return a session's options as keyword arguments; those not given are left to the callee's defaults."""
        words: dict[str, Any] = {
            "goal": self._make_goal(), "by": parse_groups(self.by or ("all" if self.goal in MODEL_GOALS else "predicted")),
            "prior": parse_prior(self.prior or DEFAULT_PRIOR, self.strength, self.discount),
        }  # fmt: skip
        if self.policy is not None:
            words["policy"] = parse_policy(self.policy)
        if self.bins is not None:
            words["bins"] = parse_bins(self.bins)
        return words | {name: value for name, value in self.given_options().items() if name in ("level", "seed")}

    def _make_goal(self) -> Goal:
        """Make the goal of a session from its options."""
        name = self.goal or "estimate"
        kind = find_goal(name)
        self._check_options_fit_goal(name)
        self._check_has_several_groups(name)
        words: dict[str, Any] = {
            field: self.given_options()[option]
            for option, field in GOAL_FIELDS.items()
            if option in self.given_options()
        }
        if name in ("compare-models", "fairness") and self.groups is not None:
            words["a"], words["b"] = parse_pair(self.groups)
        if name == "compare":
            if self.groups is None:
                raise InputError("goal compare: name the two groups, for instance --groups human,trees")
            words["a"], words["b"] = parse_pair(self.groups)
        if issubclass(kind, FairnessGap):
            return kind(rate=parse_metric(self.metric or "tpr", self.cost), **words)
        return kind(metric=parse_metric(self.metric or "accuracy", self.cost), **words)

    def _check_options_fit_goal(self, name: str) -> None:
        """Refuse options that this goal does not have."""
        for option, field in {**GOAL_FIELDS, "groups": "a"}.items():
            accepting_goals = [goal for goal, kind in GOALS.items() if field in {f.name for f in fields(kind)}]
            if option in self.given_options() and name not in accepting_goals:
                raise InputError(
                    f"--{option.replace('_', '-')} needs --goal {' or '.join(accepting_goals)}, not {name}"
                )

    def _check_has_several_groups(self, name: str) -> None:
        """Refuse to search for the worst or best of a single group."""
        if name in ("find-worst", "find-best") and self.by == "all":
            raise InputError(
                f"goal {name}: it needs several groups, and --by all is a single one; group by predicted or "
                "by a column, or use --goal estimate"
            )


@Parameter(name="*", group=GOAL_GROUP)
@dataclass(frozen=True)
class PlanOptions(GoalOptions):
    """A goal for a pool that is not fully labelled."""

    finite_pool: Flag = False
    "Estimate the metric on exactly these items instead of the population they came from."
    hide_labels: Flag = False
    "Ignore the labels in the file, to try out labelling."

    def choices(self) -> dict[str, Any]:
        """Return the options as keyword arguments."""
        return {**super().choices(), "finite_pool": self.finite_pool}


@Parameter(name="*", group=GOAL_GROUP)
@dataclass(frozen=True)
class SessionOptions(PlanOptions):
    """The options of a new session."""

    classes: str | None = None
    "True classes that the model never predicts, separated by commas."
    votes: Annotated[int | None, shown_default("1")] = None
    "How many annotators label each item. From 2 on, answers are votes: agreement is reported, disagreements are resolved with tell --decide, and estimates account for annotator errors."

    random_share: Annotated[float | None, shown_default("0.1; 0 to compare models")] = None
    "Share of the items that are drawn at random over the whole pool instead of by the policy; they check the overall figure. At least 0, less than 1."

    price: str | None = None
    "Column with what the label of each item costs (money or minutes): groups are chosen by gain per price. Not for the goal compare."

    def choices(self) -> dict[str, Any]:
        """Return the options as keyword arguments of `Session.create`."""
        given = {} if self.random_share is None else {"random_share": self.random_share}
        return {
            **super().choices(),
            **given,
            "classes": split_names(self.classes or ""),
            "price": self.price,
            "votes": 1 if self.votes is None else self.votes,
        }


def format_session_options(path: str, who: str = "") -> str:
    """Format the options of a session and an annotator for a command, quoted for a shell."""
    return f"--session {shlex.quote(path)}" + (f" --as {shlex.quote(who)}" if who else "")
