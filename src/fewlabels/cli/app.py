"""The application: its verbs, error messages and exit codes. Each verb is a module, imported when it is called."""

import gc
import os
import sys

from cyclopts import App, CycloptsError, MissingArgumentError, Parameter, UnknownOptionError, UnusedCliTokensError

from fewlabels import __version__
from fewlabels.errors import InputError, naming_options
from fewlabels.text import sanitize, shorten

VERBS = {
    "demo": "Run a complete assessment on built-in data.",
    "doctor": "Check a file: what is in it, what is wrong, what can be assessed, what to run next.",
    "assess": "Estimate how good the model is, per group and overall, with credible intervals.",
    "compare": "Estimate how much two groups differ, and whether the difference matters.",
    "rate": "Estimate how good outputs are by people's standard, from few grades of people and many of judges.",
    "fairness": "Estimate how differently the model treats groups of people, with credible intervals.",
    "surface": "Estimate how good the model is for every combination of attributes, with credible intervals.",
    "label": """Label items one by one, chosen for a goal, and watch the estimate improve.

It opens a page in the browser, served to this machine only; --terminal labels in the terminal instead. The terminal \
ignores keys typed before an item is shown.""",
    "serve": "Serve the labelling pages of all sessions in a folder, under one address.",
    "access": "Manage access to the labelling page: invite annotators, revoke their links, print the links.",
    "ask": "Choose the items to label next, for scripts, spreadsheets and other labelling tools.",
    "tell": "Record answers, or undo the last one.",
    "status": "Show a session's progress, its current estimate, and whether you can stop.",
    "export": "Write a session's answers, or its pending items, as CSV or JSON lines (or Label Studio tasks).",
    "import": "Read a file of answers, or a Label Studio export, into a session.",
    "backup": "Copy a session to a new file, even while it is in use.",
    "watch": "Import answers into a session as their files arrive in a folder.",
    "simulate": "Compare labelling policies and priors by simulation on a fully labelled file.",
    "plan": "Estimate how many more labels a goal needs.",
    "schema": "Print the JSON Schema of what a verb writes with --json.",
}
VERB_FUNCTIONS = {
    "import": "importing:import_answers"
}  # `import` is a Python keyword, so its function has another name
UNSUPPORTED_OPTIONS = {  # options of other verbs that users may expect here
    ("simulate", "--finite-pool"): "a simulation always measures the metric on exactly these items",
    ("simulate", "--hide-labels"): "a simulation hides every label until the policy asks for it",
    ("simulate", "--classes"): "the labels contain every class",
    ("plan", "--classes"): "simulated labels are drawn from the classes that are predicted, scored or labelled",
}
DEBUG_VARIABLE = "FEWLABELS_DEBUG"
OBJECTS_PER_COLLECTION = 100_000  # importing creates many objects and little garbage: a tenth of the time, by default

app = App(
    name="fewlabels",
    help="Estimate how good a classifier is on your data, per group, with credible intervals, from few labels.",
    version=__version__,
    result_action="return_value",
    exit_on_error=False,  # cyclopts exits with 2 on a usage error; here 2 means that a --fail-if condition holds
    default_parameter=Parameter(negative=()),
)
for verb, summary in VERBS.items():
    app.command(f"fewlabels.cli.verbs.{VERB_FUNCTIONS.get(verb, f'{verb}:{verb}')}", name=verb, help=summary)
app.register_install_completion_command(
    help="Install shell completion of verbs and options (bash, zsh, fish, PowerShell)."
)


def main() -> None:
    """Run the application: call a verb and exit: 0 done, 1 could not run, 2 done and a `--fail-if` condition holds."""
    gc.set_threshold(OBJECTS_PER_COLLECTION)
    try:
        with naming_options():
            code = app(_name_stdin(sys.argv[1:]), print_error=False)
    except CycloptsError as error:
        code = _print_error(" ".join(_explain_usage_error(error).split("\n")))
    except InputError as error:
        code = _print_error(str(error))
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        sys.stderr.close()
        code = 0
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            raise
        code = _print_error(
            f"a bug in fewlabels: {type(error).__name__}: {error}; set {DEBUG_VARIABLE}=1 to see the traceback"
        )
    sys.exit(code if isinstance(code, int) else 0)


def _name_stdin(words: list[str]) -> list[str]:
    """Write the FILE `-` as a path before the application parses it; cyclopts takes it for an option.

    >>> _name_stdin(["assess", "-", "--json", "-"])
    ['assess', '/dev/stdin', '--json', '-']
    """
    return [*words[:1], "/dev/stdin", *words[2:]] if words[1:2] == ["-"] else words


def _explain_usage_error(error: CycloptsError) -> str:
    """Return the application's message on a usage error, in clearer words than cyclopts' own where needed."""
    verb = " ".join(error.command_chain or ())
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        _, _, hint = str(error).partition("requires an argument.")
        return f"{verb}: {error.argument.name} is missing or has no value;{hint} see fewlabels {verb} --help"
    if isinstance(error, UnusedCliTokensError):
        return f"{verb}: unexpected argument {' '.join(map(repr, error.unused_tokens or ()))}; options have names: see fewlabels {verb} --help"
    if isinstance(error, UnknownOptionError):
        option = error.token.keyword or error.token.value or ""  # a value where a verb takes any number of files
        explanation = (
            f"{option} has no effect: {UNSUPPORTED_OPTIONS[verb, option]}."
            if (verb, option) in UNSUPPORTED_OPTIONS
            else str(error)
        )
        return f"{verb}: {explanation} See fewlabels {verb} --help for the options"
    return str(error)


def _print_error(message: str) -> int:
    """Print the message with which the application ends, and return its exit code."""
    print(f"fewlabels: {shorten(sanitize(message))}", file=sys.stderr)
    return 1
