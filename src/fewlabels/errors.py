"""`InputError`, raised by every package for invalid input, and helpers that format its message.

The command line prints the message on one line and exits with code 1.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from types import FunctionType
from typing import TypeVar

T = TypeVar("T")


class InputError(ValueError):
    """Invalid input. The message tells the user what was given, where, and what to do."""


MAX_NAME_LENGTH = 80  # maximum number of characters of a name in a message


def truncate_name(name: str) -> str:
    """Shorten a long name for a message by removing its middle.

    >>> truncate_name("cat"), len(truncate_name("x" * 2000))
    ('cat', 83)
    """
    return (
        name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH // 2]} … {name[-(MAX_NAME_LENGTH // 2) :]}"
    )


def join_names(names: Iterable[object], most: int = 6) -> str:
    """Join the first names with commas and count the rest.

    >>> join_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    words = [truncate_name(str(name)) for name in names]
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most:,} more"


def count(n: int, what: str) -> str:
    """Format a count with its noun in singular or plural.

    >>> count(1, "answer"), count(2000, "answer"), count(3, "class")
    ('1 answer', '2,000 answers', '3 classes')
    """
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('s') else 's'}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the closest known words; list all of them if none is close.

    >>> did_you_mean("lable", ["id", "label"])
    "did you mean 'label'?"
    >>> did_you_mean("acc", ["mcc", "accuracy"])
    "did you mean 'accuracy'?"
    """
    known = list(known)
    begun = [name for name in known if word and name.lower().startswith(word.lower())]
    close = begun[:2] or get_close_matches(word, known, n=2, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(repr(name) for name in close)}?"
    return f"there is: {join_names(known, most=20)}"


def format_option(role: str, value: object = None) -> str:
    """Format an option as it is typed on the command line and in Python.

    >>> format_option("positive_score", "risk")
    "--positive-score risk (Python: positive_score='risk')"
    >>> format_option("label")
    '--label (Python: label=)'
    """
    option = f"--{role.replace('_', '-')}"
    if value is None:
        return f"{option} (Python: {role}=)"
    typed = f"{value:g}" if isinstance(value, float) else str(value)
    return f"{option} {typed} (Python: {role}={typed if isinstance(value, float) else repr(value)})"


def end_sentence(said: str) -> str:
    """Add a full stop unless the text already ends with a question mark.

    >>> end_sentence(did_you_mean("lable", ["id", "label"])), end_sentence(did_you_mean("x", ["id", "label"]))
    ("did you mean 'label'?", 'there is: id, label.')
    """
    return said if said.endswith("?") else f"{said}."


def require_instance(argument: str, given: T, method: str, example: str) -> T:
    """Return an object that has a method; raise for a class or a function that was not called, and for other objects.

    >>> require_instance("metric", 3, "value", "fl.recall")
    Traceback (most recent call last):
    fewlabels.errors.InputError: metric: expected a word or an object like fl.recall, got 3
    """
    if isinstance(given, type):
        raise InputError(f"{argument}: {given.__name__} is a class; give an instance, like {given.__name__}()")
    if not hasattr(given, method) and isinstance(given, FunctionType):
        raise InputError(f"{argument}: {given.__name__} is a function; call it: {given.__name__}(...)")
    if not hasattr(given, method):
        raise InputError(f"{argument}: expected a word or an object like {example}, got {truncate_name(repr(given))}")
    return given
