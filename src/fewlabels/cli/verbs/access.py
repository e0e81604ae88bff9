"""`fewlabels access`: manage the annotators of a session's labelling page."""

from collections.abc import Iterable

from rich.console import Console

from fewlabels.cli.console import escape, stdout_console
from fewlabels.cli.options import File, Names
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_options import format_session_options
from fewlabels.cli.session_tables import print_next_command
from fewlabels.errors import InputError, join_names
from fewlabels.text import sanitize_line
from fewlabels.web.credentials import Credentials, casefold_name
from fewlabels.web.keys_file import change_keys, get_keys_path


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
    both = {casefold_name(name) for name in invite} & {casefold_name(name) for name in revoke}
    if both:
        raise InputError(f"access: {join_names(map(sanitize_line, sorted(both)))} cannot be invited and revoked in one command; run two")  # fmt: skip
    with open_session(session, read_only=True) as opened:  # refuses a file that is not a session
        names = opened.list_names()
    known = change_keys(get_keys_path(session), lambda found: found.revoke(revoke).invite(invite, names))
    out = stdout_console()
    _print_names(out, "revoked", revoke)
    if known.address:
        _print_access_links(out, known)
    else:
        _print_names(out, "invited", (one.name for one in known.annotators))
        print_next_command(
            out,
            f"fewlabels label PREDICTIONS {format_session_options(session)}",
            "serves the page and prints the links",
        )
    return 0


def _print_names(out: Console, what: str, names: Iterable[str]) -> None:
    """Print the names of annotators whose access changed."""
    for name in names:
        out.print(f"{what}: {escape(name)}")


def _print_access_links(out: Console, known: Credentials) -> None:
    """Print the links that give access to the page."""
    for line in known.list_links():
        out.print(escape(line), soft_wrap=True)
