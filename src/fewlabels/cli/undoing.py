"""Taking the last answer back, if it is one's own."""

from fewlabels.cli.text import tame_line
from fewlabels.errors import InputError
from fewlabels.session import Session


def undo_last(session: Session, who: str) -> str:
    """Take the last answer back, and say which it was; nobody takes back what somebody else said."""
    answers = session.answers()
    if not answers:
        raise InputError("undo: there is no answer to take back")
    last = answers[-1]
    if last["who"] != who:
        whose = f"{last['who']!r}: say --as {last['who']}" if last["who"] else "somebody without a name: leave --as out"
        raise InputError(f"undo: the last answer (item {last['id']!r}) was given by {whose} to take it back")
    session.undo(who=who)
    label = "nobody can tell" if last["label"] is None else last["label"]
    return f"taken back: {tame_line(last['id'])}: {tame_line(label)}"
