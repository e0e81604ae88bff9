"""`fewlabels ask`: choose the items to label next."""

from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from fewlabels.analyses.result import write_json
from fewlabels.cli.console import sign, write_text
from fewlabels.cli.options import Columns, File, Path
from fewlabels.cli.output_paths import check_targets, read_earlier, refuse_other_text, refuse_to_lose
from fewlabels.cli.session_files import Opened, Who, require_name, start_or_open
from fewlabels.cli.session_options import Start
from fewlabels.cli.session_tables import note_obstacle, print_asked
from fewlabels.cli.tables import complainer, printer, working
from fewlabels.errors import InputError, count
from fewlabels.files import write_whole
from fewlabels.sessions.exchange.label_studio import Form, render_tasks
from fewlabels.sessions.exchange.sheet_reader import Line
from fewlabels.sessions.exchange.sheets import STUDIO, kind_of, lay_out, render_sheet
from fewlabels.sessions.session import ItemId
from fewlabels.text import as_plain

Shown = dict[ItemId, dict[str, Any]]


def ask(
    file: File | None = None,
    /,
    *,
    session: File,
    n: Annotated[int, Parameter(name=("--n", "-n"))] = 5,
    who: Who = "",
    out: Path = None,
    config: str | None = None,
    show_prediction: Literal["never", "before"] = "never",
    json: Path = None,
    start: Start = Start(),
    columns: Columns = Columns(),
) -> int:
    """Choose the items to label next; the same items are returned until they are answered.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow. Needed to start a session, and to show the items.
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
    """
    require_name(start, who)
    check_targets(
        session, {"--out": out, "--config": config, "--json": json}, file, columns.labels, start.cost, start.prior
    )
    earlier = _check(session, n, out)
    _check_studio(file, out, config, show_prediction == "before")
    with working("opening"):
        opened = start_or_open(session, file, start, columns)
    with opened.session:
        refuse_to_lose(out, earlier, opened.session)
        note_obstacle(opened)
        with working("asking"):
            shown = opened.session.show(opened.session.ask(n, who=who))
        if out and kind_of(out) == STUDIO:
            _deliver_tasks(opened, shown, out, config, show_prediction == "before")
        elif out:
            write_text(out, render_sheet(*lay_out(shown), kind_of(out)))
        if json:
            write_text(json, write_json(sign(_as_plain(opened, shown)), None) + "\n")
        if "-" not in (out, json):
            print_asked(printer(), opened, shown, session=session, who=who, sheet=out)
    if 0 < len(shown) < n:
        complainer().print(f"{count(len(shown), 'item')} instead of {n:,}: no more are left to ask")
    for path in (out, config, json):
        if path and path != "-":
            complainer().print(f"written: {path}", markup=False)
    return 0


def _check(session: str, n: int, out: str | None) -> list[Line]:
    """Check the options before a session is started; return the lines of the file that would be overwritten."""
    if n < 1:
        raise InputError(f"ask: n must be at least 1, got {n}")
    if out:
        kind_of(out)
    earlier = read_earlier(out)
    if not FilePath(session).exists():
        refuse_to_lose(out, earlier, None)
    return earlier


def _check_studio(file: str | None, out: str | None, config: str | None, guessing: bool) -> None:
    """Refuse options of Label Studio tasks if none are written."""
    if (config is not None or guessing) and not (out and kind_of(out) == STUDIO):
        option = "--config" if config is not None else "--show-prediction"
        raise InputError(f"ask: {option} needs Label Studio tasks: --out TASKS.json")
    if guessing and file is None:
        raise InputError("ask: --show-prediction before needs the predictions; name their file before the options")


def _deliver_tasks(opened: Opened, shown: Shown, out: str, config: str | None, guessing: bool) -> None:
    form = Form.fit(shown, opened.session.classes)
    tasks = render_tasks(form, shown, opened.guess(list(shown)) if guessing else None)
    if config:
        refuse_other_text(config, form.render_config())
        write_whole(config, form.render_config())
    write_whole(out, tasks)


def _as_plain(opened: Opened, shown: Shown) -> dict[str, Any]:
    items = [{"id": i, "show": {name: as_plain(value) for name, value in row.items()}} for i, row in shown.items()]
    made = opened.session.provenance.to_dict()
    return {"items": items, "classes": list(opened.session.classes), "provenance": made}
