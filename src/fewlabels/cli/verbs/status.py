"""`fewlabels status`: show a session's progress and current estimate."""

from fewlabels.analyses.result import write_json
from fewlabels.cli.console import add_command, spinner, stdout_console
from fewlabels.cli.options import File, Flag, Path
from fewlabels.cli.output import write_text
from fewlabels.cli.output_paths import check_output_paths
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import print_status


def status(*, session: File, json: Path = None, quiet: Flag = False) -> int:
    """Show a session's progress, its current estimate, and whether you can stop.

    Parameters
    ----------
    session: str
        File of the session; it is only read.
    json: str
        Write JSON to this file instead; - for standard output.
    quiet: bool
        Print nothing but errors.
    """
    check_output_paths(session, {"--json": json})
    with spinner("computing"), open_session(session, read_only=True) as opened:
        found = opened.status()
    if json:
        write_text(json, write_json(add_command(found), None) + "\n")
    else:
        print_status(stdout_console(quiet=quiet), found, session=session)
    return 0
