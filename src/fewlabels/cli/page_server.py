"""Start the labelling page from the command line; `fewlabels.web` serves it."""

import os
import re
import socket
from pathlib import Path

from rich.console import Console

from fewlabels.cli.console import escape, stderr_console, stdout_console
from fewlabels.cli.page_options import PageOptions
from fewlabels.cli.session_files import OpenedSession
from fewlabels.errors import InputError
from fewlabels.web.app import make_app
from fewlabels.web.credentials import Credentials
from fewlabels.web.keys_file import change_keys, get_keys_path, read_keys
from fewlabels.web.listen_address import ListenAddress
from fewlabels.web.media import MediaFolder
from fewlabels.web.server import open_listener, serve
from fewlabels.web.service import LabellingRules, LabellingService

ORIGIN = re.compile(r"https?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


def prepare_page(page: PageOptions, session: str) -> socket.socket:
    """Check the options and bind the port, before any file is opened or written."""
    check_page(page, session)
    return open_listener(_make_address(page), get_keys_path(session))


def check_page(page: PageOptions, session: str) -> None:
    """Refuse invalid options."""
    keys = get_keys_path(session)
    if os.path.lexists(keys):
        read_keys(keys)
    _make_address(page).check()
    LabellingRules(page.lease)
    Credentials.create().invite(page.invite)
    for origin in page.media_from:
        if not ORIGIN.fullmatch(origin):
            raise InputError(
                f"media-from: {origin!r} is not an origin; write for instance https://pictures.example.org"
            )


def run_page(
    opened: OpenedSession,
    file: str,
    session: str,
    page: PageOptions,
    *,
    listening_socket: socket.socket | None = None,
    new_classes: bool,
    reveals: bool,
) -> None:
    """Serve the page until it is stopped, on the given socket or on a new one."""
    listen_address, keys = _make_address(page), get_keys_path(session)
    rules = LabellingRules(page.lease, new_classes, reveals, page.media_from)
    names = opened.session.list_names() if page.invite else []
    change_keys(keys, lambda known: known.invite(page.invite, names))
    if not listen_address.is_loopback and page.certificate is None:
        stderr_console().print(
            f"the connection to {escape(page.host)} is not encrypted: anyone on the network can read tokens and labels; use --certificate"
        )
    out = stdout_console()
    service = LabellingService(
        opened.session, rules, folder=MediaFolder(Path(page.media or Path(file).parent)), predicted=opened.predicted
    )
    serve(
        service,
        make_app,
        listen_address,
        listening_socket=listening_socket,
        keys=keys,
        on_ready=lambda known: _print_page_links(out, known),
        open_browser=not page.no_browser,
    )


def _make_address(page: PageOptions) -> ListenAddress:
    return ListenAddress(page.host, page.port, page.certificate, page.key, page.names)


def _print_page_links(out: Console, known: Credentials) -> None:
    """Print the owner's link and those of the annotators."""
    address = known.address
    out.print(f"label here: {escape(known.owner.link(address))}", soft_wrap=True)
    for one in known.annotators:
        out.print(f"{escape(one.name)} labels here: {escape(one.link(address))}", soft_wrap=True)
    out.print("stop with Ctrl-C; every answer is saved at once")
