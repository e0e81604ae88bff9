"""The labelling page from the command line."""

from pathlib import Path

from fewlabels.cli.page import Page
from fewlabels.cli.printing import complainer, escape, printer
from fewlabels.cli.sessions import Opened
from fewlabels.web import Desk, Folder, Place, Rules, serve

ENDING = ".keys"  # of the file beside the session that lets open pages go on after a restart


def run_page(opened: Opened, file: str, session: str, page: Page, *, new_classes: bool, reveals: bool) -> None:
    """Serve the page until somebody stops it."""
    place = Place(page.host, page.port, page.certificate, page.key)
    rules = Rules(page.lease, new_classes, reveals, page.media_from)
    desk = Desk(opened.session, rules, folder=Folder(Path(page.media or Path(file).parent)), predicted=opened.predicted)
    if not place.is_private and page.certificate is None:
        complainer().print(
            f"anybody on the network can listen in on {escape(page.host)}: without --certificate nothing is encrypted, tokens and labels included"
        )
    out = printer()

    def say(address: str) -> None:
        out.print(f"label here: {escape(address)}", soft_wrap=True)
        out.print("stop with Ctrl-C; every answer is kept as it is given")

    serve(desk, place, names=page.names, keys=Path(session + ENDING), said=say, opens=not page.no_browser)
