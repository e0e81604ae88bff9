"""`fewlabels export`: a session's answers, or what it is waiting for, as a sheet."""

from collections.abc import Sequence
from typing import Any

from fewlabels.cli.console import write_text
from fewlabels.cli.options import File, Flag, Path
from fewlabels.cli.output_paths import check_targets, read_earlier, refuse_other_than_export, refuse_to_lose
from fewlabels.cli.session_files import open_session
from fewlabels.cli.tables import complainer
from fewlabels.data.joins import CANNOT_TELL
from fewlabels.errors import InputError, count
from fewlabels.files import STDOUT
from fewlabels.sessions.exchange.label_studio import Form, render_tasks
from fewlabels.sessions.exchange.sheets import STUDIO, kind_of, lay_out, render_sheet
from fewlabels.sessions.session import ItemId

REST = ("asked", "who", "note", "at")


def export(
    *, session: File, out: Path = "-", pending: Flag = False, votes: Flag = False, disputes: Flag = False
) -> int:
    """Write every answer: id, label (? where nobody could tell), asked, who, note, at.

    Parameters
    ----------
    session: str
        File of the session; it is only read.
    out: str
        Write to this file, .csv or .jsonl; - for CSV on standard output.
    pending: bool
        Write what was asked and not answered yet instead, as a sheet to fill in, or as tasks for Label Studio (.json).
    votes: bool
        Write what everybody said of every item instead, where several people answer each; decided: the word that settled it.
    disputes: bool
        Write the items on which people disagree and that nobody has decided: who says what, and what they noted.
    """
    if pending + votes + disputes > 1:
        raise InputError("export: --pending, --votes and --disputes are three different sheets; say one")
    out = out or "-"
    kind = kind_of(out)
    check_targets(session, {"--out": out})
    if kind == STUDIO and not pending:
        raise InputError(f"{out}: answers are written as .csv or .jsonl; tasks for Label Studio are --pending")
    with open_session(session, read_only=True) as opened:
        if pending:
            refuse_to_lose(out, read_earlier(out), opened)
            shown: dict[ItemId, dict[str, Any]] = {i: {} for i in opened.pending}
            rows, columns = lay_out(shown)
        elif disputes:
            rows, columns = [_lay_dispute(row) for row in opened.disputes()], ["id", "votes", "notes"]
            refuse_other_than_export(out, columns)
        elif votes:
            rows, columns = (
                _mark_untold(opened.votes(), opened.classes),
                ["id", "label", "who", "decided", "note", "at"],
            )
            refuse_other_than_export(out, columns)
        else:
            answer = "label" if opened.classes else "agreement"  # what other verbs call it in a file
            rows = [{**row, answer: row["label"]} for row in _mark_untold(opened.answers(), opened.classes)]
            columns = ["id", answer, *REST]
            refuse_other_than_export(out, columns)
    text = render_tasks(Form.fit(shown, ()), shown) if kind == STUDIO else render_sheet(rows, columns, kind)
    write_text(out, text)
    if out == STDOUT:
        return 0
    complainer().print(f"written: {out} ({count(len(rows), 'item' if pending else 'answer')})", markup=False)
    return 0


def _mark_untold(rows: list[dict[str, Any]], classes: Sequence[str]) -> list[dict[str, Any]]:
    """Mark what nobody could tell, unless a class is called like the mark."""
    untold = "" if CANNOT_TELL in classes else CANNOT_TELL
    return [{**row, "label": untold if row["label"] is None else row["label"]} for row in rows]


def _lay_dispute(row: dict[str, Any]) -> dict[str, Any]:
    """Put a disagreement on a line."""
    votes = "; ".join(f"{who}: {CANNOT_TELL if label is None else label}" for who, label in row["votes"].items())
    notes = "; ".join(f"{who}: {note}" for who, note in row["notes"].items())
    return {"id": row["id"], "votes": votes, "notes": notes}
