"""`fewlabels status`: show a session's progress and current estimate."""

from fewlabels.analyses.result import write_json
from fewlabels.cli.console import sign, write_text
from fewlabels.cli.options import File, Path
from fewlabels.cli.output_paths import check_targets
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import print_status
from fewlabels.cli.tables import printer, working


def status(*, session: File, json: Path = None) -> int:
    """Show a session's progress, its current estimate, and whether you can stop.

    Parameters
    ----------
    session: str
        File of the session; it is only read.
    json: str
        Write JSON to this file instead; - for standard output.
    """
    check_targets(session, {"--json": json})
    with working("computing"), open_session(session, read_only=True) as opened:
        found = opened.status()
    if json:
        write_text(json, write_json(sign(found), None) + "\n")
    else:
        print_status(printer(), found, session=session)
    return 0
