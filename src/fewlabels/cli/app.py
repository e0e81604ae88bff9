"""The verbs. Each lives in its own module and is loaded when called, so that help is quick."""

import os
import sys

from cyclopts import App, CycloptsError, Parameter

from fewlabels import __version__
from fewlabels.errors import InputError

VERBS = {
    "demo": "The main job, end to end, on embedded data.",
    "doctor": "What is in this file, what is wrong with it, what can be assessed, what to type next.",
    "assess": "How good the model is, per group and overall, and how sure that is.",
    "compare": "How far two groups are apart, and whether by more than matters.",
}
DEBUG = "FEWLABELS_DEBUG"

app = App(
    name="fewlabels",
    help="How good is a classifier on my data, for each group I care about, and how sure can I be, when labels are few?",
    version=__version__,
    result_action="return_value",
    exit_on_error=False,  # its code for a wrong word is 2, which here means: done, and found what was to be found
    default_parameter=Parameter(negative=()),
)
for verb, summary in VERBS.items():
    app.command(f"fewlabels.cli.{verb}:{verb}", name=verb, help=summary)


def main() -> None:
    """Run a verb: 0 done, 2 done and a finding asked to fail on, 1 could not run."""
    try:
        code = app(sys.argv[1:])
    except CycloptsError:
        code = 1  # it has said why
    except InputError as error:
        code = _complain(str(error))
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        code = _complain(f"a bug in fewlabels: {type(error).__name__}: {error}; set {DEBUG}=1 to see where")
    sys.exit(code if isinstance(code, int) else 0)


def _complain(message: str) -> int:
    print(f"fewlabels: {message}", file=sys.stderr)
    return 1
