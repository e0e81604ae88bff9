"""What to do after a result, and about how many labels it takes: sentences, with commands between backticks."""

import shlex
from collections.abc import Iterator

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.comparison import Comparison
from fewlabels.analyses.fairness.gaps import LARGEST
from fewlabels.analyses.fairness.result import Fairness
from fewlabels.analyses.models.result import ModelComparison
from fewlabels.analyses.provenance import Provenance
from fewlabels.analyses.rating.result import Rating
from fewlabels.analyses.rating.systems import SystemRow
from fewlabels.analyses.surface.result import Surface
from fewlabels.distributions.difference import NOT_SETTLED
from fewlabels.errors import count
from fewlabels.reporting.html.assessment_text import SETTLED_PROBABILITY, number
from fewlabels.reporting.rating_text import format_figure, format_share, name_figure

FACTOR = 3  # with four times the labels an interval is about half as wide, so three times as many more
SESSION = "--session audit.db"
COLUMNS = (
    "--id", "--predicted", "--score", "--scores", "--positive-score", "--positive", "--threshold", "--label", "--agreement",
    "--propensity", "--show", "--labels",
)  # fmt: skip


def propose_next_steps(a: Assessment) -> list[str]:
    """Propose at most three steps after an assessment."""
    file = _name_files(a.provenance)
    if not a.n_labels:
        return [f"Label some items: until then, every figure rests on the prior alone. `fewlabels label {file} {SESSION} --goal explore` starts with those that tell most."]  # fmt: skip
    return [*_settle_worst(a, file), *_halve_overall(a, file), *_label_blank_groups(a)][:3]


def propose_after_comparison(c: Comparison) -> list[str]:
    """Propose, as the next step, labels that settle the difference between two groups."""
    if c.verdict != NOT_SETTLED:
        return ["The question is settled with these labels; more labels only narrow the interval."]
    groups = shlex.quote(",".join(c.groups))
    asked = f"--goal compare --groups {groups} --rope {c.rope:g}{_name_metric(c.metric)}"
    return [_plan_and_label("To settle it", _name_files(c.provenance, also=("--by",)), asked)]


def propose_after_models(c: ModelComparison) -> list[str]:
    """Propose, as the next step, labels that settle which model is better: of items on which they disagree."""
    if c.is_settled:
        return ["The question is settled with these labels; more labels only narrow the intervals."]
    goal = "compare-models" if len(c.models) == 2 else "best-model"
    n_more = c.list_differences()[0].n_more if len(c.models) == 2 else None
    aim = "To settle it: label items on which the models disagree" + (f", about {n_more:,} more" if n_more else "")
    ask = f"`fewlabels label {_name_files(c.provenance, 'OLD NEW')} {SESSION} --goal {goal} --rope {c.rope:g}`"
    return [f"{aim}. {ask} asks for those that help."]


def propose_after_fairness(f: Fairness) -> list[str]:
    """Propose, as the next step, people to label, drawn at random: as many as the gap nearest to settled takes."""
    unsettled = [gap for gap in f.gaps if gap.group != LARGEST and not gap.is_settled]
    reachable = [gap.more_labels for gap in unsettled if gap.more_labels]
    if not unsettled:
        return ["Every gap is settled with these labels. A gap shows that groups differ, not why: look at the people in the groups that differ."]  # fmt: skip
    if not reachable:
        return [f"Collect more people of every group: labelling all {f.n_items:,} might not settle the gaps that are open. Or state a wider margin (`--rope`), if larger differences do not matter."]  # fmt: skip
    said = f"Label about {min(reachable):,} more {'person' if min(reachable) == 1 else 'people'}, drawn at random, for the gap that is nearest to settled"
    rest = f"; about {max(reachable):,} for all that labels can settle" if max(reachable) > min(reachable) else ""
    file = _name_files(f.provenance)
    ask = (
        f"`fewlabels ask {file} {SESSION} --by {shlex.quote(f.by)} --policy random -n {min(reachable)} --out sheet.csv`"
    )
    return [f"{said}{rest}. {ask} draws them."]


def propose_after_surface(s: Surface) -> list[str]:
    """Propose, as the next step, items to label in the arms whose intervals are wide and that have many items."""
    by = shlex.quote(",".join(s.attributes))
    file = _name_files(s.provenance)
    goal = "estimate" if s.n_labels else "explore"
    return [f"Label where many items have wide intervals: `fewlabels label {file} {SESSION} --by {by} --goal {goal} --prior smooth` asks for those that help."]  # fmt: skip


def propose_after_rating(r: Rating) -> list[str]:
    """Propose, as the next step, the answers that were chosen and the grades that were foreseen, else how many more grades halve the interval."""
    if not r.n_grades:
        return ["Have people grade some outputs, drawn at random in every group; thirty are a start."]
    chosen = [f"Have people grade the {count(len(r.next), 'answer')} listed under “To grade next”, and rate again."] if r.next else []  # fmt: skip
    if r.plan:
        return [f"{r.plan.sentence[:1].upper()}{r.plan.sentence[1:]}.", *chosen]
    if r.ranking:
        return [*chosen, *_halve_best_system(r, r.ranking.systems[0])]
    o, left = r.sets.micro.f1 if r.sets else r.overall, r.n_items - r.n_grades
    half = f"from a width of {format_figure(r, o.high - o.low)} to {format_figure(r, (o.high - o.low) / 2)}"
    name, what = ("micro F1", "labelled item") if r.sets else (f"the {name_figure(r)}", "grade")
    return [*chosen, *_halve_interval(f"To halve the interval of {name} ({half})", what, r.n_grades, left, finite=r.finite_pool)]  # fmt: skip


def _halve_best_system(r: Rating, best: SystemRow) -> Iterator[str]:
    """Propose, as a next step, as many grades as halve the interval of the best system."""
    half = f"from a width of {format_share(best.high - best.low)} to {format_share((best.high - best.low) / 2)}"
    aim = f"To halve the interval of “{best.system}” ({half})"
    yield from _halve_interval(aim, "grade", r.n_grades, r.n_items - r.n_grades, finite=r.finite_pool)


def _settle_worst(a: Assessment, file: str) -> Iterator[str]:
    """Propose, as a next step, to label until the worst group is settled."""
    certain = max((row.p_worst or 0.0 for row in a.groups), default=1.0)
    if len(a.groups) > 1 and a.spec.m == 1 and certain < SETTLED_PROBABILITY:
        yield _plan_and_label(
            "To settle which group is the worst", file,
            f"--goal find-worst --by {shlex.quote(a.by)}{_name_metric(a.metric)}",
        )  # fmt: skip


def _plan_and_label(aim: str, file: str, asked: str) -> str:
    """Propose a next step with its commands: plan and label."""
    return f"{aim}: `fewlabels plan {file} {asked}` predicts how many labels it takes, `fewlabels label {file} {SESSION} {asked}` asks for those that help."


def _halve_overall(a: Assessment, file: str) -> Iterator[str]:
    """Propose, as a next step, as many labels as halve the overall interval."""
    width, left = a.overall.high - a.overall.low, a.n_items - a.n_labels
    aim = f"To halve the overall interval (from a width of {number(a, width)} to {number(a, width / 2)})"
    if width > 0 and left:
        for said in _halve_interval(aim, "label", a.n_labels, left, finite=a.finite_pool):
            yield f"{said} `fewlabels plan {file} --by all --target-width {width / 2:.2g}{_name_metric(a.metric)}` predicts it for these data."


def _halve_interval(aim: str, what: str, n: int, left: int, *, finite: bool) -> Iterator[str]:
    """Say how many more labels, as a next step, halve an interval."""
    more = FACTOR * n
    if not left:
        return
    if more <= left:
        yield f"{aim}: about {count(_round_n(more), f'more {what}')}, drawn at random."
    elif finite:
        yield f"{aim}: fewer than the {count(left, 'item')} that are left."
    else:
        yield f"{aim}: about {count(_round_n(more), f'more {what}')}, and only {count(left, 'item')} are left; collect more items, or ask about exactly these (finite pool)."


def _label_blank_groups(a: Assessment) -> Iterator[str]:
    """Propose, as a next step, to label groups that have no labels."""
    blank = [row.group for row in a.groups if not row.n_labels]
    if blank and len(a.groups) > 1:
        named = "a group has" if len(blank) == 1 else f"{len(blank):,} groups have"
        yield f"Label a few items of every group: {named} no label yet, and their estimates come from the prior."


def _name_metric(metric: str) -> str:
    """Return the option for the metric in the command of a next step."""
    return "" if metric == "accuracy" else f" --metric {shlex.quote(metric)}"


def _name_files(made: Provenance, unknown: str = "FILE", also: tuple[str, ...] = ()) -> str:
    """Return the files and the columns for the command of a next step, from the command line that made the result, as a shell reads them."""
    if not made.command or not made.inputs:
        return unknown
    words = shlex.split(made.command)
    named = [word for word in words if word in made.inputs and words[words.index(word) - 1] != "--labels"]
    columns = [
        part for i, word in enumerate(words) if word.partition("=")[0] in COLUMNS + also
        for part in words[i : i + 1 + ("=" not in word)]
    ]  # fmt: skip
    return shlex.join([*named, *columns]) if named else unknown


def _round_n(n: int) -> int:
    """Round the number of labels of a next step to two digits; more would be pretence."""
    unit = 10 ** max(0, len(str(n)) - 2)
    return round(n / unit) * unit
