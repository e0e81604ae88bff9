"""`fewlabels ask`: which items to label next?"""

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
    """Say which items to label next; the same ones until they are told.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow. Needed to start a session, and to show what the items are.
    session: str
        File of the session; started if it is not there yet.
    n: int
        How many items.
    who: str
        Who asks. People with different names get different items.
    out: str
        Write a sheet to fill in (.csv or .jsonl): id, what there is to see, and an empty label; or tasks for Label
        Studio (.json).
    config: str
        Write the labelling config that fits these tasks: what a Label Studio project shows and asks.
    show_prediction: str
        Whether tasks hold what the model says: never, or before an item is labelled, which sways whoever labels.
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
        complainer().print(f"{count(len(shown), 'item')} instead of {n:,}: that is all there is left to ask")
    for path in (out, config, json):
        if path and path != "-":
            complainer().print(f"written: {path}", markup=False)
    return 0


def _check(session: str, n: int, out: str | None) -> list[Line]:
    """Refuse what cannot be done before a session is started; return what the sheet to be written holds now."""
    if n < 1:
        raise InputError(f"ask: {n} items make no sense; ask for one or more")
    if out:
        kind_of(out)
    earlier = read_earlier(out)
    if not FilePath(session).exists():
        refuse_to_lose(out, earlier, None)
    return earlier


def _check_studio(file: str | None, out: str | None, config: str | None, guessing: bool) -> None:
    """Refuse what only Label Studio's tasks have, where none are written."""
    if (config is not None or guessing) and not (out and kind_of(out) == STUDIO):
        option = "--config" if config is not None else "--show-prediction"
        raise InputError(f"ask: {option} goes with tasks for Label Studio: --out TASKS.json")
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
