"""Print sessions to a terminal: the items to label, the progress, and the next command."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from fewlabels.active.goals.goal import Standing
from fewlabels.cli.items import print_item
from fewlabels.cli.session_files import Opened
from fewlabels.cli.tables import complainer, escape, print_warnings, working
from fewlabels.errors import count, listing
from fewlabels.models.posterior import Posterior
from fewlabels.sessions.annotations import say_agreement
from fewlabels.sessions.exchange.sheets import STUDIO, kind_of
from fewlabels.sessions.session import ItemId, Session
from fewlabels.text import tame_line

LINES = 10  # per item in a list of several
MANY_CLASSES = 40
NOTHING_LEFT = "nothing is left to ask: every useful item has been asked for and answered"


def print_asked(
    out: Console,
    opened: Opened,
    shown: Mapping[ItemId, Mapping[str, Any]],
    *,
    session: str,
    who: str,
    sheet: str | None,
) -> None:
    """Print the items to label and the command that records the answers."""
    if not shown:
        say(out, NOTHING_LEFT)
        return
    for i, row in shown.items():
        print_item(out, i, row, most_lines=LINES)
    if opened.pool is None:
        say(out, "to see the items, name the file of predictions too: fewlabels ask FILE …")
    elif not any(shown.values()):
        say(out, "only ids are shown: the predictions have no other columns")
    say(out, f"labels: {say_classes(opened.session.classes)}")
    place = name_session(session, who)
    if sheet and kind_of(sheet) == STUDIO:
        print_next(out, f"fewlabels import EXPORT.json {place}", "the export of Label Studio: JSON or JSON-MIN")
    elif sheet:
        print_next(out, f"fewlabels import {shlex.quote(sheet)} {place}", "after filling in the column label")
    else:
        answer = shlex.quote(f"{next(iter(shown))}=LABEL")
        print_next(out, f"fewlabels tell {place} {answer} …", "leave LABEL empty if you cannot tell")


def print_standing(out: Console, standing: Standing, n_labels: int, prior: str = "flat") -> None:
    """Print the current answer to the goal."""
    say(out, f"so far: {say_standing(standing, n_labels, prior)}")
    if standing.settled:
        out.print("[green]settled[/]: you can stop")


def say_standing(standing: Standing, n_labels: int, prior: str = "flat") -> str:
    """Return the current answer; without labels only if the prior is informative, as with a flat one all groups tie."""
    if n_labels or standing.settled:
        return standing.sentence
    return "nothing is labelled yet" + ("" if prior == "flat" else f"; from the prior alone, {standing.sentence}")


def print_session(out: Console, session: Session) -> None:
    """Print the current answer of a session."""
    with working("computing"):
        standing, n_labels = session.standing(), count_labels(session.knowledge())
    print_standing(out, standing, n_labels)


def note_obstacle(opened: Opened) -> None:
    """Warn at the start if labelling every item would hardly settle the goal."""
    if opened.is_new:
        with working("checking the goal"):
            obstacle = opened.session.status()["obstacle"]
        print_warnings(complainer(), (obstacle,) if obstacle else ())


def count_labels(known: Posterior) -> int:
    """Return the number of labels in the posterior."""
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
    say(out, f"  {counts}")
    print_votes(out, found["votes"], session)
    print_progress(out, found)
    print_warnings(out, tuple(found["warnings"]))
    place = name_session(session)
    if found["settled"] or not found["n_left"] + found["n_pending"]:
        print_next(out, f"fewlabels export {place} --out labels.csv", "then: fewlabels assess FILE --labels labels.csv")
    else:
        place += " --as NAME" if found["votes"] else ""
        print_next(out, f"fewlabels ask {place} -n 5", f"or: fewlabels label FILE {place} --terminal")


def print_votes(out: Console, found: Mapping[str, Any] | None, session: str) -> None:
    """Print the agreement of the annotators and the open disagreements, if several annotators label each item."""
    if found is None:
        return
    say(
        out,
        f"  {found['wanted']} annotators per item: {count(found['n_votes'], 'vote')}, {found['n_short']:,} with too few",
    )
    if found["agreement"] is not None:
        say(out, f"  {say_agreement(found['agreement'])}")
    say(out, f"  {found['sentence']}")
    if found["n_disputed"]:
        command = f"fewlabels export {name_session(session)} --disputes"
        print_next(
            out, command, f"{count(found['n_disputed'], 'disagreement')}; resolve with tell --decide ID=LABEL --as NAME"
        )


def print_progress(out: Console, found: Mapping[str, Any]) -> None:
    """Print the current answer, and why the goal may not be settled."""
    standing = Standing(found["settled"], found["answer"]["sentence"])
    print_standing(out, standing, found["n_labels"], found["prior"])
    if not found["settled"]:
        say(out, f"not settled yet{': ' + found['obstacle'] if found['obstacle'] else ''}")


def print_next(out: Console, command: str, remark: str = "") -> None:
    """Print the next command to run."""
    aside = f"   [dim]({escape(remark)})[/]" if remark else ""
    out.print(f"  [bold]$ {escape(tame_line(command))}[/]{aside}", soft_wrap=True)


def say(out: Console, sentence: str) -> None:
    """Print a line with control characters escaped; it is wrapped on a terminal only."""
    out.print(tame_line(sentence), markup=False, soft_wrap=not out.is_terminal)


def say_classes(classes: Sequence[str]) -> str:
    """Return the valid labels as text."""
    return listing(map(tame_line, classes), most=MANY_CLASSES) if classes else "a grade between 0 and 1"


def name_session(path: str, who: str = "") -> str:
    """Return the options of a session and an annotator, quoted for a shell."""
    return f"--session {shlex.quote(path)}" + (f" --as {shlex.quote(who)}" if who else "")
