"""Start the labelling page from the command line; `fewlabels.web` serves it."""

import os
import re
import socket
from pathlib import Path

from rich.console import Console

from fewlabels.cli.page_options import Page
from fewlabels.cli.session_files import Opened
from fewlabels.cli.tables import complainer, escape, printer
from fewlabels.errors import InputError
from fewlabels.web.addresses import Place
from fewlabels.web.credentials import Credentials
from fewlabels.web.keys_file import change_keys, name_keys, read_keys
from fewlabels.web.media import Folder
from fewlabels.web.server import serve, take_port
from fewlabels.web.service import Desk, Rules

ORIGIN = re.compile(r"https?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


def prepare_page(page: Page, session: str) -> socket.socket:
    """Check the options and bind the port, before any file is opened or written."""
    check_page(page, session)
    return take_port(_place(page), name_keys(session))


def check_page(page: Page, session: str) -> None:
    """Refuse invalid options."""
    keys = name_keys(session)
    if os.path.lexists(keys):
        read_keys(keys)
    _place(page).check()
    Rules(page.lease)
    Credentials.create().invite(page.invite)
    for origin in page.media_from:
        if not ORIGIN.fullmatch(origin):
            raise InputError(
                f"media-from: {origin!r} is not an origin; write for instance https://pictures.example.org"
            )


def run_page(
    opened: Opened,
    file: str,
    session: str,
    page: Page,
    *,
    taken: socket.socket | None = None,
    new_classes: bool,
    reveals: bool,
) -> None:
    """Serve the page until it is stopped, on the given socket or on a new one."""
    place, keys = _place(page), name_keys(session)
    rules = Rules(page.lease, new_classes, reveals, page.media_from)
    names = opened.session.list_names() if page.invite else []
    change_keys(keys, lambda known: known.invite(page.invite, names))
    if not place.is_private and page.certificate is None:
        complainer().print(
            f"the connection to {escape(page.host)} is not encrypted: anyone on the network can read tokens and labels; use --certificate"
        )
    out = printer()
    desk = Desk(opened.session, rules, folder=Folder(Path(page.media or Path(file).parent)), predicted=opened.predicted)
    serve(desk, place, taken=taken, keys=keys, said=lambda known: _say_links(out, known), opens=not page.no_browser)


def _place(page: Page) -> Place:
    return Place(page.host, page.port, page.certificate, page.key, page.names)


def _say_links(out: Console, known: Credentials) -> None:
    """Print the owner's link and those of the annotators."""
    address = known.address
    out.print(f"label here: {escape(known.owner.link(address))}", soft_wrap=True)
    for one in known.annotators:
        out.print(f"{escape(one.name)} labels here: {escape(one.link(address))}", soft_wrap=True)
    out.print("stop with Ctrl-C; every answer is saved at once")
