"""`fewlabels export`: write a session's answers or pending items to a file."""

from typing import Any

from fewlabels.cli.console import stderr_console
from fewlabels.cli.options import File, Flag, Path
from fewlabels.cli.output import write_text
from fewlabels.cli.output_paths import (
    check_no_unread_answers,
    check_output_paths,
    check_replaces_export,
    read_existing_sheet,
)
from fewlabels.cli.session_files import open_session
from fewlabels.data.label_join import CANNOT_TELL
from fewlabels.data.names import ItemId
from fewlabels.errors import InputError, count
from fewlabels.files import STDOUT
from fewlabels.sessions.exchange.answer_table import mark_cannot_tell, tabulate_answers
from fewlabels.sessions.exchange.label_studio_tasks import LabelingForm, render_tasks
from fewlabels.sessions.exchange.sheets import LABEL_STUDIO, file_format, make_form_rows, render_sheet


def export(
    *,
    session: File,
    out: Path = "-",
    pending: Flag = False,
    votes: Flag = False,
    disputes: Flag = False,
    quiet: Flag = False,
) -> int:
    """Write every answer: id, label (? for cannot tell), asked, who, note, at.

    Parameters
    ----------
    session: str
        File of the session; it is only read.
    out: str
        Write to this file, .csv or .jsonl; - for CSV on standard output.
    pending: bool
        Write the pending items instead, as a file to fill in, or as Label Studio tasks (.json).
    votes: bool
        Write every annotator's vote on every item instead; the column decided marks decisions that resolved a disagreement.
    disputes: bool
        Write the unresolved disagreements instead: the annotators' votes and notes on each item.
    quiet: bool
        Do not say what was written.
    """
    if pending + votes + disputes > 1:
        raise InputError("export: --pending, --votes and --disputes are different tables; choose one")
    out = out or "-"
    kind = file_format(out)
    check_output_paths(session, {"--out": out})
    if kind == LABEL_STUDIO and not pending:
        raise InputError(f"{out}: answers are written as .csv or .jsonl; for Label Studio tasks add --pending")
    with open_session(session, read_only=True) as opened:
        if pending:
            check_no_unread_answers(out, read_existing_sheet(out), opened)
            shown: dict[ItemId, dict[str, Any]] = {i: {} for i in opened.pending}
            rows, columns = make_form_rows(shown)
        elif disputes:
            rows, columns = [_format_dispute(row) for row in opened.disputes()], ["id", "votes", "notes"]
            check_replaces_export(out, columns)
        elif votes:
            rows, columns = (
                mark_cannot_tell(opened.votes(), opened.classes),
                ["id", "label", "who", "decided", "note", "at"],
            )
            check_replaces_export(out, columns)
        else:
            rows, columns = tabulate_answers(opened.answers(), opened.classes)
            check_replaces_export(out, columns)
    text = (
        render_tasks(LabelingForm.fit(shown, ()), shown) if kind == LABEL_STUDIO else render_sheet(rows, columns, kind)
    )
    write_text(out, text)
    if out == STDOUT:
        return 0
    stderr_console(quiet=quiet).print(
        f"written: {out} ({count(len(rows), 'item' if pending else 'answer')})", markup=False
    )
    return 0


def _format_dispute(row: dict[str, Any]) -> dict[str, Any]:
    """Return a disagreement as one row of the exported file."""
    votes = "; ".join(f"{who}: {CANNOT_TELL if label is None else label}" for who, label in row["votes"].items())
    notes = "; ".join(f"{who}: {note}" for who, note in row["notes"].items())
    return {"id": row["id"], "votes": votes, "notes": notes}
