"""Serve the labelling pages of all sessions in a folder from the command line; `fewlabels.web` serves them."""

import os
import shlex
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from rich.console import Console

from fewlabels.cli.console import escape, print_warnings, spinner, stderr_console, stdout_console
from fewlabels.cli.model_files import ModelOptions
from fewlabels.cli.options import Columns
from fewlabels.cli.page_options import ServerOptions
from fewlabels.cli.page_setup import (
    check_page_origins,
    print_page_links,
    set_up_access_log,
    set_up_address,
    set_up_structured_log,
    warn_page_unencrypted,
)
from fewlabels.data.given_roles import GivenRoles, format_roles, naming_given_roles
from fewlabels.errors import InputError
from fewlabels.files import check_outputs
from fewlabels.sessions.session import Session
from fewlabels.web.app import make_app
from fewlabels.web.credentials import Credentials
from fewlabels.web.keys_file import get_keys_path, read_keys
from fewlabels.web.media import MediaFolder
from fewlabels.web.server import ServedSession, open_listener, serve_sessions
from fewlabels.web.service import LabellingRules, LabellingService

SUFFIX = ".db"  # of the files that are sessions


def serve_folder(folder: str, server: ServerOptions, columns: Columns) -> None:
    """Serve the sessions of a folder until it is stopped; those that cannot be served are named and left out."""
    found = find_sessions(folder)
    address = set_up_address(server)
    address.check()
    check_page_origins(server.media_from)
    rules = LabellingRules(server.lease, origins=server.media_from, blind=server.blind)
    check_outputs({"--access-log": server.access_log}, tuple(map(str, found.values())))
    with (
        open_listener(address, _find_last_keys(found.values())) as listening,
        set_up_access_log(server.access_log) as log,
        set_up_structured_log(enabled=server.json_log),
        ExitStack() as stack,
    ):
        with spinner("opening"):
            sessions, reasons = open_sessions(found, rules, columns, stack)
        print_warnings(stderr_console(), reasons)
        if not sessions:
            raise InputError(f"{folder}: none of its sessions can be served; the warnings say why")
        warn_page_unencrypted(address, server)
        out = stdout_console()
        serve_sessions(
            sessions,
            make_app,
            address,
            listening_socket=listening,
            on_ready=lambda known: _print_all_links(out, known),
            access_log=log,
        )


def find_sessions(folder: str) -> dict[str, Path]:
    """Return the session files of a folder by the name they are served under."""
    if not Path(folder).is_dir():
        raise InputError(f"{folder}: there is no such folder; name the folder of the session files")
    found = {path.stem: path for path in sorted(Path(folder).glob(f"*{SUFFIX}")) if not path.name.startswith(".")}
    if not found:
        raise InputError(f"{folder}: no session in it: none of its files ends in {SUFFIX}; start one with: fewlabels ask PREDICTIONS --session {folder}/audit.db")  # fmt: skip
    return found


def _find_last_keys(sessions: Iterable[Path]) -> Path | None:
    """Return the first keys of a folder's sessions that can be read: they have the port of the last start."""
    for keys in map(get_keys_path, sessions):
        with suppress(InputError):
            if os.path.lexists(keys) and read_keys(keys):
                return keys
    return None


def open_sessions(
    found: Mapping[str, Path], rules: LabellingRules, columns: Columns, stack: ExitStack
) -> tuple[dict[str, ServedSession], tuple[str, ...]]:
    """Open the sessions that can be served; return them by name, and why the others cannot be."""
    sessions: dict[str, ServedSession] = {}
    reasons: list[str] = []
    for name, path in found.items():
        try:
            sessions[name] = _open_session(path, rules, columns, stack)
        except InputError as error:
            reasons.append(f"{path} is not served: {str(error).removeprefix(f'{path}: ')}")
    return sessions, tuple(reasons)


def _open_session(path: Path, rules: LabellingRules, columns: Columns, stack: ExitStack) -> ServedSession:
    """Open a session of the folder and start its service; the session is closed with the stack."""
    keys = get_keys_path(path)
    if os.path.lexists(keys):
        read_keys(keys)
    with Session.open(path, read_only=True) as kept:
        source, given = kept.source, kept.given_roles
    file = find_predictions(path, source)
    try:
        with naming_given_roles(path, given):
            pool = ModelOptions().fill(given or {}).read([str(file)], columns.fill(given or {}))
        session = stack.enter_context(Session.open(path, pool))
    except InputError as error:
        raise InputError(f"{error}{_advise_columns(path, given, columns)}") from None
    return ServedSession(LabellingService(session, rules, folder=MediaFolder(file.parent)), keys)


def find_predictions(session: Path, source: str) -> Path:
    """Find the predictions of a session in a served folder: where they were when it started, or beside the session."""
    for path in (Path(source), session.parent / Path(source).name):
        if path.is_file():
            return path
    raise InputError(f"{session}: its predictions, {source}, are neither here nor in {session.parent}; copy them there, or {_advise_alone(session)}")  # fmt: skip


def _advise_columns(session: Path, given: GivenRoles | None, columns: Columns) -> str:
    """Say how to serve a session of the folder whose columns may be other ones than those of the other sessions."""
    if given is None:
        return f"; it does not remember its column options: if it was started with some that the other sessions do not need, {_advise_alone(session)} and these options"  # fmt: skip
    typed = {role: value for role, value in columns.roles().items() if given.get(role) != value}
    return f"; {format_roles(typed)} is not what it was created with: start serve without it, or {_advise_alone(session)}" if typed else ""  # fmt: skip


def _advise_alone(session: Path) -> str:
    """Say how to serve a session of the folder alone."""
    return f"serve this session alone with: fewlabels label FILE --session {shlex.quote(str(session))}"


def _print_all_links(out: Console, known: Mapping[str, Credentials]) -> None:
    """Print the links to the pages of all sessions in the folder."""
    for name, credentials in known.items():
        out.print(f"[bold]{escape(name)}[/]")
        print_page_links(out, credentials)
    out.print("stop with Ctrl-C; every answer is saved at once")
