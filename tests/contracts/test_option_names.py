"""Messages outside the command line name its options only through `choose_words` and `format_option`, else Python users read them."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import fewlabels

SOURCE = Path(fewlabels.__file__).parent
OPTION = re.compile(r"(?:^|[ (;])--[a-z]")
CHOOSERS = ("choose_words", "format_option")
ABOUT_COMMANDS = (
    "cli/",  # the command line itself
    "analyses/commands.py", "analyses/doctor.py", "analyses/graded_doctor.py", "reporting/html/next_steps.py",  # propose commands
    "sessions/journal/write_ahead_log.py", "web/keys_file.py",  # name a command to run
    "reporting/schemas/",  # describe what verbs write
    "data/logs/inspect_logs.py",  # an option of another program
    "metrics/parsing.py", "models/calibrated/explanation.py", "analyses/fairness/stratification.py",  # name both, or are asked for there
)  # fmt: skip


def test_options_are_named_where_they_are_typed() -> None:
    found = [
        f"{name}: {text}" for name in _list_modules() for text in _list_texts(SOURCE / name) if OPTION.search(text)
    ]
    assert found == []


def _list_modules() -> Iterator[str]:
    names = (path.relative_to(SOURCE).as_posix() for path in sorted(SOURCE.rglob("*.py")))
    return (name for name in names if not name.startswith(ABOUT_COMMANDS))


def _list_texts(path: Path) -> Iterator[str]:
    """List the texts of a module, without docstrings and what is given to the functions that choose words."""
    nodes: list[ast.AST] = [ast.parse(path.read_text(encoding="utf-8"))]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CHOOSERS:
            continue
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            continue
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        nodes += ast.iter_child_nodes(node)
