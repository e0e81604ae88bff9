"""Print sessions to a terminal: the items to label, the progress, and the next command."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from fewlabels.active.goals.goal import GoalStatus
from fewlabels.active.parsing import MODEL_GOALS
from fewlabels.cli.console import escape, print_warnings, spinner
from fewlabels.cli.items import print_item
from fewlabels.cli.session_options import format_session_options
from fewlabels.data.names import ItemId
from fewlabels.errors import count, join_names
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import describe_agreement
from fewlabels.sessions.exchange.sheets import LABEL_STUDIO, file_format
from fewlabels.sessions.session import Session
from fewlabels.text import sanitize_line

MAX_ITEM_LINES = 10  # per item in a list of several
MAX_CLASSES = 40
NOTHING_LEFT = "nothing is left to ask: every useful item has been asked for and answered"


def print_asked(
    out: Console,
    shown: Mapping[ItemId, Mapping[str, Any]],
    classes: Sequence[str],
    *,
    has_predictions: bool,
    session: str,
    who: str,
    sheet: str | None,
) -> None:
    """Print the items that a session asks to label, and the command that records the answers."""
    if not shown:
        print_session_line(out, NOTHING_LEFT)
        return
    for i, row in shown.items():
        print_item(out, i, row, max_lines=MAX_ITEM_LINES)
    if not has_predictions:
        print_session_line(out, "to see the items, name the file of predictions too: fewlabels ask FILE …")
    elif not any(shown.values()):
        print_session_line(out, "only ids are shown: the predictions have no other columns")
    print_session_line(out, f"labels: {format_classes(classes)}")
    place = format_session_options(session, who)
    if sheet and file_format(sheet) == LABEL_STUDIO:
        print_next_command(out, f"fewlabels import EXPORT.json {place}", "the export of Label Studio: JSON or JSON-MIN")
    elif sheet:
        print_next_command(out, f"fewlabels import {shlex.quote(sheet)} {place}", "after filling in the column label")
    else:
        answer = shlex.quote(f"{next(iter(shown))}=LABEL")
        print_next_command(out, f"fewlabels tell {place} {answer} …", "leave LABEL empty if you cannot tell")


def print_standing(out: Console, standing: GoalStatus, n_labels: int, prior: str = "flat") -> None:
    """Print the current answer to a session's goal."""
    print_session_line(out, f"so far: {format_standing(standing, n_labels, prior)}")
    if standing.settled:
        out.print("[green]settled[/]: you can stop")


def format_standing(standing: GoalStatus, n_labels: int, prior: str = "flat") -> str:
    """Return a session's answer to print; without labels only if the prior is informative, as all groups tie else."""
    if n_labels or standing.settled:
        return standing.sentence
    return "nothing is labelled yet" + ("" if prior == "flat" else f"; from the prior alone, {standing.sentence}")


def print_session(out: Console, session: Session) -> None:
    """Print the current answer of a session."""
    with spinner("computing"):
        standing, n_labels = session.standing(), count_session_labels(session.knowledge())
    print_standing(out, standing, n_labels)


def count_session_labels(known: Posterior) -> int:
    """Count the labels in a session's posterior, to print."""
    return int(known.n_told.sum())


def print_status(out: Console, found: Mapping[str, Any], *, session: str) -> None:
    """Print the progress of a session and the next command."""
    about = (
        f"{found['goal']} by {found['metric']}, groups: {found['by']}, policy {found['policy']}, prior {found['prior']}"
    )
    out.print(f"[bold]{escape(session)}[/]  {escape(about)}", soft_wrap=True)
    counts = (
        f"{count(found['n_items'], 'item')}: {found['n_labels']:,} labelled, {found['n_pending']:,} asked and not answered, "
        f"{found['n_left']:,} left to ask"
    )
    print_session_line(out, f"  {counts}")
    print_votes(out, found["votes"], session)
    print_progress(out, found)
    print_warnings(out, tuple(found["warnings"]))
    place = format_session_options(session)
    n_short = found["votes"]["n_short"] if found["votes"] else 0
    if found["settled"] or not found["n_left"] + found["n_pending"] + n_short:
        then = (
            f"then: fewlabels {choose_verb(found['goal'])} --labels labels.csv, with the column options of the session"
        )
        print_next_command(out, f"fewlabels export {place} --out labels.csv", then)
    else:
        place += " --as NAME" if found["votes"] else ""
        print_next_command(out, f"fewlabels ask {place} -n 5", f"or: fewlabels label FILE {place} --terminal")


def choose_verb(goal: str) -> str:
    """Return the verb that reports on the labels of a session, with what it needs besides the labels."""
    if goal == "fairness":
        return "fairness FILE --by COLUMN"
    return "compare OLD NEW" if goal in MODEL_GOALS else "assess FILE --by GROUPS"


def print_votes(out: Console, found: Mapping[str, Any] | None, session: str) -> None:
    """Print a session's agreement of annotators and open disagreements, if several label each item."""
    if found is None:
        return
    print_session_line(
        out,
        f"  {found['wanted']} annotators per item: {count(found['n_votes'], 'vote')}, {found['n_short']:,} with too few",
    )
    if found["agreement"] is not None:
        print_session_line(out, f"  {describe_agreement(found['agreement'])}")
    print_session_line(out, f"  {found['sentence']}")
    if found["n_disputed"]:
        command = f"fewlabels export {format_session_options(session)} --disputes"
        print_next_command(
            out, command, f"{count(found['n_disputed'], 'disagreement')}; resolve with tell --decide ID=LABEL --as NAME"
        )


def print_progress(out: Console, found: Mapping[str, Any]) -> None:
    """Print the progress of a session: its current answer, and why the goal may not be settled."""
    standing = GoalStatus(found["settled"], found["answer"]["sentence"])
    print_standing(out, standing, found["n_labels"], found["prior"])
    if not found["settled"]:
        print_session_line(out, f"not settled yet{': ' + found['obstacle'] if found['obstacle'] else ''}")
        if found.get("labels_left"):
            print_session_line(out, found["labels_left"]["sentence"])


def print_next_command(out: Console, command: str, remark: str = "") -> None:
    """Print the next command to run with a session."""
    aside = f"   [dim]({escape(remark)})[/]" if remark else ""
    out.print(f"  [bold]$ {escape(sanitize_line(command))}[/]{aside}", soft_wrap=True)


def print_session_line(out: Console, sentence: str) -> None:
    """Print a line about a session with control characters escaped; it is wrapped on a terminal only."""
    out.print(sanitize_line(sentence), markup=False, soft_wrap=not out.is_terminal)


def format_classes(classes: Sequence[str]) -> str:
    """Return the valid labels of a session as text to print."""
    return join_names(map(sanitize_line, classes), most=MAX_CLASSES) if classes else "a grade between 0 and 1"
