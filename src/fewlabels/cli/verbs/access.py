"""`fewlabels access`: manage the annotators of a session's labelling page."""

from collections.abc import Iterable

from rich.console import Console

from fewlabels.cli.options import File, Names
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import name_session, print_next
from fewlabels.cli.tables import escape, printer
from fewlabels.errors import InputError, listing
from fewlabels.text import tame_line
from fewlabels.web.credentials import Credentials, fold_name
from fewlabels.web.keys_file import change_keys, name_keys


def access(*, session: File, invite: Names = (), revoke: Names = ()) -> int:
    """Print the links to the labelling page; invite annotators, or revoke their links.

    Parameters
    ----------
    session: str
        File of the session.
    invite: tuple
        Annotators to invite, separated by commas. Each gets a link; answers given with it are recorded under that name.
        Annotators invited before keep their links.
    revoke: tuple
        Annotators, separated by commas, whose links and open pages stop working at once, even while the page is served.
        Their answers stay. If invited again, they get a new link.
    """
    both = {fold_name(name) for name in invite} & {fold_name(name) for name in revoke}
    if both:
        raise InputError(f"access: {listing(map(tame_line, sorted(both)))} cannot be invited and revoked in one command; run two")  # fmt: skip
    with open_session(session, read_only=True) as opened:  # refuses a file that is not a session
        names = opened.list_names()
    known = change_keys(name_keys(session), lambda found: found.revoke(revoke).invite(invite, names))
    out = printer()
    _say(out, "revoked", revoke)
    if known.address:
        _print_links(out, known)
    else:
        _say(out, "invited", (one.name for one in known.annotators))
        print_next(out, f"fewlabels label PREDICTIONS {name_session(session)}", "serves the page and prints the links")
    return 0


def _say(out: Console, what: str, names: Iterable[str]) -> None:
    for name in names:
        out.print(f"{what}: {escape(name)}")


def _print_links(out: Console, known: Credentials) -> None:
    for line in known.list_links():
        out.print(escape(line), soft_wrap=True)
