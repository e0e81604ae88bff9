"""Start the labelling page from the command line; `fewlabels.web` serves it."""

import os
import socket
from pathlib import Path

from rich.console import Console

from fewlabels.cli.console import stdout_console
from fewlabels.cli.page_options import PageOptions
from fewlabels.cli.page_setup import (
    check_page_origins,
    print_page_links,
    set_up_access_log,
    set_up_address,
    set_up_structured_log,
    warn_page_unencrypted,
)
from fewlabels.cli.session_files import OpenedSession
from fewlabels.files import check_outputs
from fewlabels.web.app import make_app
from fewlabels.web.credentials import Credentials
from fewlabels.web.keys_file import change_keys, get_keys_path, read_keys
from fewlabels.web.media import MediaFolder
from fewlabels.web.server import open_listener, serve
from fewlabels.web.service import LabellingRules, LabellingService


def prepare_page(page: PageOptions, session: str) -> socket.socket:
    """Prepare the server of the page: check the options and bind the port, before any file is opened or written."""
    check_page(page, session)
    check_outputs({"--access-log": page.access_log}, (session, str(get_keys_path(session)), page.certificate, page.key))
    return open_listener(set_up_address(page), get_keys_path(session))


def check_page(page: PageOptions, session: str) -> None:
    """Refuse invalid options of the page's server."""
    keys = get_keys_path(session)
    if os.path.lexists(keys):
        read_keys(keys)
    set_up_address(page).check()
    LabellingRules(page.lease)
    Credentials.create().invite(page.invite)
    check_page_origins(page.media_from)


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
    listen_address, keys = set_up_address(page), get_keys_path(session)
    check_outputs({"--access-log": page.access_log}, (file,))
    rules = LabellingRules(page.lease, new_classes, reveals, page.media_from, page.blind)
    names = opened.session.list_names() if page.invite else []
    change_keys(keys, lambda known: known.invite(page.invite, names))
    warn_page_unencrypted(listen_address, page)
    out = stdout_console()
    service = LabellingService(
        opened.session, rules, folder=MediaFolder(Path(page.media or Path(file).parent)), predicted=opened.predicted
    )
    with set_up_access_log(page.access_log) as access_log, set_up_structured_log(enabled=page.json_log):
        serve(
            service,
            make_app,
            listen_address,
            listening_socket=listening_socket,
            keys=keys,
            on_ready=lambda known: _print_page_links(out, known),
            open_browser=not page.no_browser,
            access_log=access_log,
        )


def _print_page_links(out: Console, known: Credentials) -> None:
    """Print the links to the page that the server serves, and how to stop it."""
    print_page_links(out, known)
    out.print("stop with Ctrl-C; every answer is saved at once")
