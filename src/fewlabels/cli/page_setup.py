"""What every server of pages is set up with from the command line: address, logs, warnings and links."""

import logging
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from fewlabels.cli.console import escape, stderr_console
from fewlabels.cli.page_options import ServerOptions
from fewlabels.errors import InputError
from fewlabels.files import STDOUT
from fewlabels.web.access_log import LogFile
from fewlabels.web.credentials import Credentials
from fewlabels.web.error_log import JsonFormatter
from fewlabels.web.listen_address import ListenAddress

ORIGIN = re.compile(r"https?://([A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?")


def set_up_address(page: ServerOptions) -> ListenAddress:
    """Set up the address of a page's server, as the options name it."""
    return ListenAddress(page.host, page.port, page.certificate, page.key, page.names, page.public_url)


def check_page_origins(origins: Iterable[str]) -> None:
    """Refuse, when a page's server is set up, media from what is not an origin."""
    for origin in origins:
        if not ORIGIN.fullmatch(origin):
            raise InputError(
                f"media-from: {origin!r} is not an origin; write for instance https://pictures.example.org"
            )


def warn_page_unencrypted(listen_address: ListenAddress, page: ServerOptions) -> None:
    """Warn, when a page's server is set up, that others on the network can read along."""
    if not listen_address.is_loopback and page.certificate is None:
        stderr_console().print(
            f"the connection to {escape(page.host)} is not encrypted: anyone on the network can read tokens and labels; use --certificate"
        )


@contextmanager
def set_up_access_log(path: str | None) -> Iterator[LogFile | None]:
    """Set up the log of requests to a page's server: open it to append."""
    if path is None or path == STDOUT:
        yield sys.stderr if path else None
        return
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            yield file
    except OSError as error:
        raise InputError(f"access-log: cannot write {path}: {error.strerror}") from None


@contextmanager
def set_up_structured_log(*, enabled: bool) -> Iterator[None]:
    """Set up a page's server to write what this package logs to standard error, as lines of JSON."""
    logger, handler = logging.getLogger("fewlabels"), logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    if enabled:
        logger.addHandler(handler)
        logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


def print_page_links(out: Console, known: Credentials) -> None:
    """Print the links to a page that is set up: the owner's and those of the annotators."""
    address = known.address
    out.print(f"label here: {escape(known.owner.link(address))}", soft_wrap=True)
    for one in known.annotators:
        out.print(f"{escape(one.name)} labels here: {escape(one.link(address))}", soft_wrap=True)
