"""Options of the labelling page: where it is served, and what it may show."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from fewlabels.cli.options import Flag, Names

PAGE = Group("The page", sort_key=4)


@Parameter(name="*", group=PAGE)
@dataclass(frozen=True)
class Page:
    """Where the page is, and what it may show."""

    host: str = "127.0.0.1"
    "Address to listen on. Others than this machine's own can be reached from the network: use --certificate."
    port: Annotated[int, Parameter(show_default="any that is free")] = 0
    "Port to listen on."
    invite: Names = ()
    "Annotators, joined by commas, who get a link each; an annotator answers under that name and sees no results."
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
