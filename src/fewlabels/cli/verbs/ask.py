"""`fewlabels ask`: choose the items to label next."""

from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from fewlabels.analyses.result import write_json
from fewlabels.cli.console import add_command, spinner, stderr_console, stdout_console
from fewlabels.cli.model_files import ModelOptions
from fewlabels.cli.options import Columns, File, Flag, Path
from fewlabels.cli.output import write_text
from fewlabels.cli.output_paths import (
    check_no_unread_answers,
    check_output_paths,
    check_replaces_same_text,
    read_existing_sheet,
)
from fewlabels.cli.session_files import OpenedSession, Who, require_annotator_name, start_or_open
from fewlabels.cli.session_options import SessionOptions
from fewlabels.cli.session_tables import print_asked
from fewlabels.data.names import ItemId
from fewlabels.errors import InputError, count
from fewlabels.files import write_atomic
from fewlabels.sessions.exchange.label_studio_tasks import LabelingForm, render_tasks
from fewlabels.sessions.exchange.sheet_reader import AnswerRow
from fewlabels.sessions.exchange.sheets import LABEL_STUDIO, file_format, make_form_rows, render_sheet
from fewlabels.text import to_json_value

ShownItems = dict[ItemId, dict[str, Any]]


def ask(
    file: File | None = None,
    /,
    *more: File,
    session: File,
    n: Annotated[int, Parameter(name=("--n", "-n"))] = 5,
    who: Who = "",
    out: Path = None,
    config: str | None = None,
    show_prediction: Literal["never", "before"] = "never",
    json: Path = None,
    quiet: Flag = False,
    start: SessionOptions = SessionOptions(),
    columns: Columns = Columns(),
    models: ModelOptions = ModelOptions(),
) -> int:
    """Choose the items to label next; the same items are returned until they are answered.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow. Needed to start a session, and to show the items.
    more: str
        Predictions of further models on the same items, for the goals compare-models and best-model.
    session: str
        File of the session; created if it does not exist.
    n: int
        Number of items.
    who: str
        Name of the annotator. Different annotators get different items.
    out: str
        Write a file to fill in (.csv or .jsonl) with the columns id, the columns to show, and an empty label; or Label
        Studio tasks (.json).
    config: str
        Write the Label Studio labelling config for these tasks.
    show_prediction: str
        Whether the tasks contain the prediction: never, or before labelling, which biases annotators.
    json: str
        Write JSON to this file; - for standard output.
    quiet: bool
        Print nothing but errors; the items still count as asked for.
    """
    require_annotator_name(start, who)
    check_output_paths(
        session, {"--out": out, "--config": config, "--json": json}, file, columns.labels, start.cost, start.prior
    )
    existing = _check_before_asking(session, n, out)
    _check_task_options(file, out, config, show_prediction == "before")
    with spinner("opening"):
        opened = start_or_open(session, file, start, columns, more, models)
    with opened.session:
        check_no_unread_answers(out, existing, opened.session)
        with spinner("asking"):
            shown = opened.session.show(opened.session.ask(n, who=who))
        if out and file_format(out) == LABEL_STUDIO:
            _write_tasks(opened, shown, out, config, show_prediction == "before")
        elif out:
            write_text(out, render_sheet(*make_form_rows(shown), file_format(out)))
        if json:
            write_text(json, write_json(add_command(_as_plain(opened, shown)), None) + "\n")
        if "-" not in (out, json):
            print_asked(
                stdout_console(quiet=quiet), shown, opened.session.classes, has_predictions=opened.pool is not None, session=session, who=who, sheet=out
            )  # fmt: skip
    if 0 < len(shown) < n:
        stderr_console(quiet=quiet).print(f"{count(len(shown), 'item')} instead of {n:,}: no more are left to ask")
    for path in (out, config, json):
        if path and path != "-":
            stderr_console(quiet=quiet).print(f"written: {path}", markup=False)
    return 0


def _check_before_asking(session: str, n: int, out: str | None) -> list[AnswerRow]:
    """Check the options before a session is started; return the lines of the file that would be overwritten."""
    if n < 1:
        raise InputError(f"ask: n must be at least 1, got {n}")
    if out:
        file_format(out)
    existing = read_existing_sheet(out)
    if not FilePath(session).exists():
        check_no_unread_answers(out, existing, None)
    return existing


def _check_task_options(file: str | None, out: str | None, config: str | None, with_predictions: bool) -> None:
    """Refuse options of Label Studio tasks if `ask` writes none."""
    if (config is not None or with_predictions) and not (out and file_format(out) == LABEL_STUDIO):
        option = "--config" if config is not None else "--show-prediction"
        raise InputError(f"ask: {option} needs Label Studio tasks: --out TASKS.json")
    if with_predictions and file is None:
        raise InputError("ask: --show-prediction before needs the predictions; name their file before the options")


def _write_tasks(
    opened: OpenedSession, shown: ShownItems, out: str, config: str | None, with_predictions: bool
) -> None:
    """Write the items that are asked for as tasks of Label Studio."""
    form = LabelingForm.fit(shown, opened.session.classes)
    tasks = render_tasks(form, shown, opened.get_predictions(list(shown)) if with_predictions else None)
    if config:
        check_replaces_same_text(config, form.render_config())
        write_atomic(config, form.render_config())
    write_atomic(out, tasks)


def _as_plain(opened: OpenedSession, shown: ShownItems) -> dict[str, Any]:
    """Return the items that are asked for as JSON data."""
    items = [{"id": i, "show": {name: to_json_value(value) for name, value in row.items()}} for i, row in shown.items()]
    made = opened.session.provenance.to_dict()
    return {"items": items, "classes": list(opened.session.classes), "provenance": made}
