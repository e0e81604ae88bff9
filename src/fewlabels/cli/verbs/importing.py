"""`fewlabels import`: read a file of answers or a Label Studio export into a session."""

from fewlabels.cli.console import stdout_console
from fewlabels.cli.import_options import ImportOptions
from fewlabels.cli.options import File, Flag
from fewlabels.cli.session_files import open_session
from fewlabels.cli.session_tables import print_session, print_session_line
from fewlabels.sessions.exchange.importer import import_file


def import_answers(
    sheet: File, /, *, session: File, quiet: Flag = False, options: ImportOptions = ImportOptions()
) -> int:
    """Read a file of answers into a session: all rows or none.

    Parameters
    ----------
    sheet: str
        File (.csv or .jsonl) with the columns id and label; rows without a label are skipped. Or a Label Studio export
        (.json): JSON or JSON-MIN.
    session: str
        File of the session.
    quiet: bool
        Print nothing but errors.
    """
    out = stdout_console(quiet=quiet)
    with open_session(session) as opened:
        taken = import_file(opened, session, sheet, options)
        print_session_line(out, taken.say(sheet))
        for remark in taken.notes:
            print_session_line(out, remark)
        print_session(out, opened)
    return 0
