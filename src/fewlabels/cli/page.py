"""Options of the labelling page: where it is served, and what it may show."""

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from cyclopts import Group, Parameter

from fewlabels.cli.options import Flag, Names
from fewlabels.errors import InputError

PAGE = Group("The page", sort_key=4)


@Parameter(name="*", group=PAGE)
@dataclass(frozen=True)
class Page:
    """Where the page is, and what it may show."""

    host: str = "127.0.0.1"
    "Address to listen on. Others than this machine's own are reached by everybody on the network: use --certificate."
    port: Annotated[int, Parameter(show_default="any that is free")] = 0
    "Port to listen on."
    names: Names = ()
    "Names that browsers know this machine by, where --host is not one."
    certificate: str | None = None
    "File with a TLS certificate."
    key: str | None = None
    "File with its private key."
    media: str | None = None
    "Folder that pictures and sounds named by items may come from [default: that of the predictions]."
    media_from: Names = ()
    "Origins that pictures and sounds may be fetched from, for instance https://pictures.example.org [default: none]."
    lease: float = 600.0
    "Seconds for which an item is one person's; then it goes to the next who asks."
    no_browser: Flag = False
    "Do not open a browser."


def check_page(page: Page) -> None:
    """Refuse what cannot be served, before anything is opened or written."""
    if (page.certificate is None) != (page.key is None):
        raise InputError("--certificate and --key go together")
    if not page.lease > 0:
        raise InputError(f"lease: {page.lease:g} seconds make no sense; an item is somebody's for a while")
    if page.host in ("0.0.0.0", "::") and not page.names:
        raise InputError(f"host: on {page.host} browsers reach this machine by another name; say which: --names NAME")
    for origin in page.media_from:
        parts = urlsplit(origin)
        if parts.scheme not in ("http", "https") or not parts.netloc or f"{parts.scheme}://{parts.netloc}" != origin:
            raise InputError(f"media-from: {origin!r} is no origin; write for instance https://pictures.example.org")
