"""Sessions as text for a terminal: what is asked, how far it is, and what to type next."""

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

LINES = 10  # of an item in a list of several
MANY_CLASSES = 40
NOTHING_LEFT = "nothing is left to ask: every item that could help has been asked about and answered"


def print_asked(
    out: Console,
    opened: Opened,
    shown: Mapping[ItemId, Mapping[str, Any]],
    *,
    session: str,
    who: str,
    sheet: str | None,
) -> None:
    """Print the items to label, and how to answer."""
    if not shown:
        say(out, NOTHING_LEFT)
        return
    for i, row in shown.items():
        print_item(out, i, row, most_lines=LINES)
    if opened.pool is None:
        say(out, "to see what the items are, name the predictions too: fewlabels ask FILE …")
    elif not any(shown.values()):
        say(out, "there is nothing to show but ids: the predictions have no other columns")
    say(out, f"labels: {say_classes(opened.session.classes)}")
    place = name_session(session, who)
    if sheet and kind_of(sheet) == STUDIO:
        print_next(out, f"fewlabels import EXPORT.json {place}", "what Label Studio exports: JSON or JSON-MIN")
    elif sheet:
        print_next(out, f"fewlabels import {shlex.quote(sheet)} {place}", "once its column label is filled in")
    else:
        answer = shlex.quote(f"{next(iter(shown))}=LABEL")
        print_next(out, f"fewlabels tell {place} {answer} …", "nothing after the = where nobody can tell")


def print_standing(out: Console, standing: Standing, n_labels: int, prior: str = "flat") -> None:
    """Print where the goal stands."""
    say(out, f"so far: {say_standing(standing, n_labels, prior)}")
    if standing.settled:
        out.print("[green]settled[/]: you may stop")


def say_standing(standing: Standing, n_labels: int, prior: str = "flat") -> str:
    """Say where the goal stands: before any label that is open, whatever group happens to come first."""
    if n_labels or standing.settled:
        return standing.sentence
    return "nothing is labelled yet" + ("" if prior == "flat" else f"; by the prior alone, {standing.sentence}")


def print_session(out: Console, session: Session) -> None:
    """Print where a session's goal stands, after answers came in."""
    with working("reckoning"):
        standing, n_labels = session.standing(), count_labels(session.knowledge())
    print_standing(out, standing, n_labels)


def note_obstacle(opened: Opened) -> None:
    """Say at once, and aside, where all the labels there could be would not do."""
    if opened.is_new:
        with working("looking ahead"):
            obstacle = opened.session.status()["obstacle"]
        print_warnings(complainer(), (obstacle,) if obstacle else ())


def count_labels(known: Posterior) -> int:
    """Count the labels that count."""
    return int(known.n_told.sum())


def print_status(out: Console, found: Mapping[str, Any], *, session: str) -> None:
    """Print how far a session is."""
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
    """Print how far people agree, and what is to be settled, where several answer each item."""
    if found is None:
        return
    say(
        out,
        f"  {found['wanted']} people answer each item: {count(found['n_votes'], 'vote')}, {found['n_short']:,} with too few",
    )
    if found["agreement"] is not None:
        say(out, f"  {say_agreement(found['agreement'])}")
    say(out, f"  {found['sentence']}")
    if found["n_disputed"]:
        command = f"fewlabels export {name_session(session)} --disputes"
        print_next(
            out, command, f"{count(found['n_disputed'], 'disagreement')}; settle with tell --decide ID=LABEL --as NAME"
        )


def print_progress(out: Console, found: Mapping[str, Any]) -> None:
    """Print where the goal stands, and what is in its way."""
    standing = Standing(found["settled"], found["answer"]["sentence"])
    print_standing(out, standing, found["n_labels"], found["prior"])
    if not found["settled"]:
        say(out, f"not settled yet{': ' + found['obstacle'] if found['obstacle'] else ''}")


def print_next(out: Console, command: str, remark: str = "") -> None:
    """Print a command to type."""
    aside = f"   [dim]({escape(remark)})[/]" if remark else ""
    out.print(f"  [bold]$ {escape(tame_line(command))}[/]{aside}", soft_wrap=True)


def say(out: Console, sentence: str) -> None:
    """Print a sentence that may hold other people's names, broken between words where there is a screen."""
    out.print(tame_line(sentence), markup=False, soft_wrap=not out.is_terminal)


def say_classes(classes: Sequence[str]) -> str:
    """Name the labels one may give."""
    return listing(map(tame_line, classes), most=MANY_CLASSES) if classes else "a grade between 0 and 1"


def name_session(path: str, who: str = "") -> str:
    """Return the options that name a session and a person, as one would type them."""
    return f"--session {shlex.quote(path)}" + (f" --as {shlex.quote(who)}" if who else "")
