"""Options of the labelling page: address, TLS, access and media."""

from dataclasses import dataclass
from typing import Annotated

from cyclopts import Group, Parameter

from fewlabels.cli.options import Flag, Names, Path

PAGE_GROUP = Group("Page", sort_key=4)


@Parameter(name="*", group=PAGE_GROUP)
@dataclass(frozen=True)
class ServerOptions:
    """Where to serve the page, and which media it may load."""

    host: str = "127.0.0.1"
    "Address to listen on. Any address but loopback can be reached from the network: use --certificate."
    port: Annotated[int, Parameter(show_default="any free port")] = 0
    "Port to listen on."
    names: Names = ()
    "Host names under which browsers reach this machine, separated by commas, if --host is not one of them."
    certificate: str | None = None
    "File with a TLS certificate."
    key: str | None = None
    "File with the private key of the certificate."
    public_url: str = ""
    "URL under which browsers reach a reverse proxy in front of this server, for instance https://label.example.org/ or https://example.org/label/."
    access_log: Path = None
    "Append a line of JSON for each request to this file; - for standard error."
    json_log: Flag = False
    "Write errors and warnings of the server to standard error as lines of JSON, like the access log."
    media_from: Names = ()
    "Origins from which images and sounds may be loaded, for instance https://pictures.example.org [default: none]."
    lease: float = 600.0
    "Seconds for which an item is reserved for one annotator; then it can be given to another."
    blind: Flag = False
    "Hide the estimates on the page while labelling, from the owner too, so that they influence no answer."


@Parameter(name="*", group=PAGE_GROUP)
@dataclass(frozen=True)
class PageOptions(ServerOptions):
    """Where to serve the page of one session, to whom, and which media it may load."""

    invite: Names = ()
    "Annotators to invite, separated by commas. Each gets a link; answers given with it are recorded under that name. Annotators see no results."
    media: str | None = None
    "Folder with the images and sounds that items refer to [default: the folder of the predictions]."
    no_browser: Flag = False
    "Do not open a browser."
