"""`fewlabels backup`: copy a session to a single file, even while it is in use."""

from fewlabels.cli.console import stdout_console
from fewlabels.cli.options import File, Flag
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import print_session_line
from fewlabels.errors import count


def backup(*, session: File, out: str, accept_missing: Flag = False, quiet: Flag = False) -> int:
    """Copy a session to a new file atomically, even while it is in use.

    Parameters
    ----------
    session: str
        File of the session.
    out: str
        File of the copy: a new file, readable only by its owner.
    accept_missing: bool
        Copy a session that lacks answers because it was itself copied without its log.
    quiet: bool
        Print nothing but errors.
    """
    with open_session(session, read_only=True, accept_missing=accept_missing) as opened:
        opened.backup(out)
    with open_session(out, read_only=True) as copy:
        print_session_line(
            stdout_console(quiet=quiet), f"{out}: a copy of {session} with {count(len(copy.answers()), 'answer')}"
        )
    return 0
