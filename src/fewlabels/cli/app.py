"""The verbs. Each lives in its own module and is loaded when called, so that help is quick."""

import os
import sys

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter, UnknownOptionError, UnusedCliTokensError

from fewlabels import __version__
from fewlabels.errors import InputError
from fewlabels.text import shorten, tame

VERBS = {
    "demo": "The main job, end to end, on embedded data.",
    "doctor": "What is in this file, what is wrong with it, what can be assessed, what to type next.",
    "assess": "How good the model is, per group and overall, and how sure that is.",
    "compare": "How far two groups are apart, and whether by more than matters.",
    "fairness": "How differently groups of people are treated, and how sure that is.",
    "surface": "How good the model is for every combination of attributes, and how sure that is.",
    "label": """Label items one by one, towards a goal, and see the answer grow.

It opens a page in the browser, served to this machine alone; --terminal labels here instead. There, keys typed before an \
item is on the screen are ignored, because nobody can label what they have not seen.""",
    "access": "Who may use the labelling page: invite annotators, revoke their links, print links again.",
    "ask": "Which items to label next: for scripts, sheets and other labelling tools.",
    "tell": "Record answers, or take the last one back.",
    "status": "How far a session is, what its labels answer so far, and whether one may stop.",
    "export": "Write a session's answers, or what it is waiting for, as CSV or JSON lines (or Label Studio's tasks).",
    "import": "Read a sheet of answers, or Label Studio's export, into a session.",
    "backup": "Copy a session to a new file, also while people label.",
    "watch": "Read answers into a session as their files arrive in a folder.",
    "simulate": "What each way of labelling would have cost, replayed on a labelled table.",
    "plan": "How many labels a goal will take.",
    "schema": "The JSON Schema of what a verb writes with --json.",
}
HOMES = {"import": "importing:import_answers"}  # a verb that is a word of Python's lives elsewhere
IDLE = {  # options of other verbs that one might expect
    ("simulate", "--finite-pool"): "a replay is always measured on exactly these items",
    ("simulate", "--hide-labels"): "a replay takes every label as unknown until it is asked for",
    ("simulate", "--classes"): "the labels show every class there is",
    ("plan", "--classes"): "imagined labels are of classes that are predicted, scored or seen",
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
    app.command(f"fewlabels.cli.verbs.{HOMES.get(verb, f'{verb}:{verb}')}", name=verb, help=summary)
app.register_install_completion_command(help="Let the shell complete verbs and options (bash, zsh, fish, PowerShell).")


def main() -> None:
    """Run a verb: 0 done, 2 done and a finding asked to fail on, 1 could not run."""
    try:
        code = app(sys.argv[1:], print_error=False)
    except CycloptsError as error:
        code = _complain(" ".join(_explain(error).split("\n")))
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


def _explain(error: CycloptsError) -> str:
    """Say what is wrong with the words, where cyclopts' own sentence leaves a newcomer wondering."""
    verb = " ".join(error.command_chain or ())
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        _, _, hint = str(error).partition("requires an argument.")
        return (
            f"{verb}: {error.argument.name} is missing or has no value;{hint} fewlabels {verb} --help says what it is"
        )
    if isinstance(error, UnusedCliTokensError):
        return f"{verb}: {' '.join(map(repr, error.unused_tokens or ()))} is too much; options have names: fewlabels {verb} --help"
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or ""
        said = f"{option} would do nothing: {IDLE[verb, option]}." if (verb, option) in IDLE else str(error)
        return f"{verb}: {said} fewlabels {verb} --help lists the options there are"
    return str(error)


def _complain(message: str) -> int:
    print(f"fewlabels: {shorten(tame(message))}", file=sys.stderr)
    return 1
