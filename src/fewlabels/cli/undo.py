"""Undo an annotator's last answer."""

from fewlabels.errors import InputError
from fewlabels.sessions.session import Session
from fewlabels.text import sanitize_line


def undo_last(session: Session, who: str) -> str:
    """Undo this annotator's last answer, and return a message that names it."""
    votes = session.votes()
    given = {row["id"]: row["label"] for row in votes if row["who"] == who}
    last = session.undo(who=who)
    if last is None:
        whose = f" of {who!r}" if who else ""
        others = "; to undo another annotator's answer, add --as NAME" if votes else ""
        raise InputError(f"undo: there is no answer{whose} to undo{others}")
    label = given.get(last)
    return f"undone: {sanitize_line(last)}: {'cannot tell' if label is None else sanitize_line(label)}"
