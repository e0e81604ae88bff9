"""`InputError`, raised by every package for invalid input, and helpers that format its message.

The command line prints the message on one line and exits with code 1.
"""

import shlex
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from types import FunctionType
from typing import TypeVar

T = TypeVar("T")


class InputError(ValueError):
    """Invalid input. The message tells the user what was given, where, and what to do."""


MAX_NAME_LENGTH = 80  # maximum number of characters of a name in a message


def truncate_name(name: str) -> str:
    """Shorten a long name for an error message by removing its middle.

    >>> truncate_name("cat"), len(truncate_name("x" * 2000))
    ('cat', 83)
    """
    return (
        name if len(name) <= MAX_NAME_LENGTH else f"{name[: MAX_NAME_LENGTH // 2]} … {name[-(MAX_NAME_LENGTH // 2) :]}"
    )


def quote_name(name: object) -> str:
    """Quote a name for an error message, without its middle if it is long.

    >>> quote_name("cat"), quote_name(3), len(quote_name("x" * 2000))
    ("'cat'", '3', 85)
    """
    return repr(truncate_name(name)) if isinstance(name, str) else truncate_name(repr(name))


def join_names(names: Iterable[object], most: int = 6) -> str:
    """Join the first names in an error message with commas and count the rest.

    >>> join_names(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    words = [truncate_name(str(name)) for name in names]
    if len(words) <= most:
        return ", ".join(words)
    return f"{', '.join(words[:most])} and {len(words) - most:,} more"


def count(n: int, what: str) -> str:
    """Format a count in an error message with its noun in singular or plural.

    >>> count(1, "answer"), count(2000, "answer"), count(3, "class")
    ('1 answer', '2,000 answers', '3 classes')
    """
    return f"{n:,} {what}{'' if n == 1 else 'es' if what.endswith('s') else 's'}"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Suggest the closest known words in an error message; list all of them if none is close.

    >>> did_you_mean("lable", ["id", "label"])
    "did you mean 'label'?"
    >>> did_you_mean("acc", ["mcc", "accuracy"])
    "did you mean 'accuracy'?"
    """
    known = list(known)
    begun = [name for name in known if word and name.lower().startswith(word.lower())]
    close = begun[:2] or get_close_matches(word, known, n=2, cutoff=0.6)
    if close:
        return f"did you mean {' or '.join(map(quote_name, close))}?"
    return f"there is: {join_names(known, most=20)}"


@dataclass
class _Interface:
    """What the user works with: messages name the options of the command line, or the arguments of Python."""

    is_command_line: bool = False


_interface = _Interface()  # of the whole process: a page server's threads belong to the command that started them


@contextmanager
def naming_options() -> Iterator[None]:
    """Name the options of the command line in error messages, instead of Python's arguments."""
    before, _interface.is_command_line = _interface.is_command_line, True
    try:
        yield
    finally:
        _interface.is_command_line = before


def choose_words(command_line: str, python: str) -> str:
    """Return how an error message says something with the interface in use.

    >>> choose_words("--hide-labels", "pool.hide_labels()")
    'pool.hide_labels()'
    """
    return command_line if _interface.is_command_line else python


def format_option(role: str, value: object = None) -> str:
    """Format a choice in an error message as it is written with the interface in use.

    >>> format_option("positive_score", "risk"), format_option("label")
    ("positive_score='risk'", 'label=')
    >>> with naming_options():
    ...     format_option("positive_score", "risk"), format_option("label")
    ('--positive-score risk', '--label')
    """
    option, is_float = f"--{role.replace('_', '-')}", isinstance(value, float)
    if value is None:
        return choose_words(option, f"{role}=")
    typed = f"{value:g}" if is_float else str(value)
    return choose_words(f"{option} {shlex.quote(typed)}", f"{role}={typed if is_float else repr(value)}")


def end_sentence(said: str) -> str:
    """Add a full stop to an error message unless it already ends with a question mark.

    >>> end_sentence(did_you_mean("lable", ["id", "label"])), end_sentence(did_you_mean("x", ["id", "label"]))
    ("did you mean 'label'?", 'there is: id, label.')
    """
    return said if said.endswith("?") else f"{said}."


def require_instance(argument: str, given: T, method: str, example: str) -> T:
    """Return an object that has a method; raise an error for a class, an uncalled function, and other objects.

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
