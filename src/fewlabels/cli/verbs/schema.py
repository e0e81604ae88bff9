"""`fewlabels schema`: print the JSON Schema of a verb's JSON output."""

from fewlabels.cli.console import stdout_console
from fewlabels.cli.options import Path
from fewlabels.cli.output import write_text
from fewlabels.errors import InputError
from fewlabels.files import STDOUT, check_outputs
from fewlabels.reporting.schemas.verbs import SCHEMAS
from fewlabels.reporting.schemas.verbs import schema as describe_json
from fewlabels.text import dump_json


def schema(verb: str | None = None, /, *, out: Path = STDOUT) -> int:
    """Print the JSON Schema (draft 2020-12) of what a verb writes with --json.

    Parameters
    ----------
    verb: str
        A verb, for instance assess [default: list the verbs that write JSON].
    out: str
        Write to this file; - for standard output.
    """
    check_outputs({"--out": out})
    if verb is None:
        if out != STDOUT:
            raise InputError("schema: --out needs a verb, for instance: fewlabels schema assess --out assess.json")
        for name in SCHEMAS:
            stdout_console().print(name)
        return 0
    write_text(out or STDOUT, dump_json(describe_json(verb), indent=2) + "\n")
    return 0
