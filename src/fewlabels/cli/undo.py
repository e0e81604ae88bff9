"""Taking one's last answer back."""

from fewlabels.errors import InputError
from fewlabels.sessions.session import Session
from fewlabels.text import tame_line


def undo_last(session: Session, who: str) -> str:
    """Take one's last answer back, and say which it was; nobody takes back what somebody else said."""
    said = session.votes()
    given = {row["id"]: row["label"] for row in said if row["who"] == who}
    last = session.undo(who=who)
    if last is None:
        whose = f" of {who!r}" if who else ""
        others = "; say --as whoever gave it" if said else ""
        raise InputError(f"undo: there is no answer{whose} to take back{others}")
    label = given.get(last)
    return f"taken back: {tame_line(last)}: {'nobody can tell' if label is None else tame_line(label)}"
