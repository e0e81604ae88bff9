"""`fewlabels doctor`: check a file of predictions."""

from fewlabels.analyses.doctor import diagnose
from fewlabels.analyses.result import write_json
from fewlabels.cli.console import add_command, spinner, stdout_console
from fewlabels.cli.options import STDIN, Columns, File, Flag, Path
from fewlabels.cli.output import write_text
from fewlabels.cli.parsing import drop_missing
from fewlabels.cli.tables import print_diagnosis
from fewlabels.errors import InputError
from fewlabels.files import check_outputs


def doctor(file: File, /, *, json: Path = None, quiet: Flag = False, columns: Columns = Columns()) -> int:
    """Check a file: what is in it, what is wrong, what can be assessed, what to run next.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob. Or a language model's log: samples of lm-evaluation-harness or Inspect.
    json: str
        Write JSON to this file instead; - for standard output.
    quiet: bool
        Print nothing but errors.
    """
    if file == STDIN:
        raise InputError("doctor proposes commands for a file: save standard input to one")
    check_outputs({"--json": json}, (file, columns.labels))
    with spinner("checking"):
        found = diagnose(file, **columns.roles(), **drop_missing(labels=columns.labels))
    if json:
        write_text(json, write_json(add_command(found.to_dict()), None) + "\n")
    else:
        print_diagnosis(stdout_console(quiet=quiet), found)
    return 0 if found.is_sound else 1
