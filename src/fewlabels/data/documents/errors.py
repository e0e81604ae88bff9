"""Convert pydantic validation errors to one sentence: the position, what is expected, and what was found."""

import re
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from fewlabels.errors import InputError, count
from fewlabels.text import sanitize_line

MAX_VALUE_LENGTH = 60  # maximum number of characters of a value or a name in a message
MAX_PATH_STEPS = 8  # maximum number of steps of a path in a message
SYNTAX = re.compile(r"(.*?) at line (\d+) column (\d+)")
TOO_DEEP = "nested too deeply"
EXPECTED = {
    "string_type": "text", "int_type": "a whole number", "int_from_float": "a whole number", "float_type": "a number",
    "finite_number": "a finite number", "bool_type": "true or false", "list_type": "a list", "tuple_type": "a list",
    "dict_type": "an object", "mapping_type": "an object", "model_type": "an object", "model_attributes_type": "an object",
    "none_required": "null",
}  # fmt: skip
BOUNDS = {
    "greater_than": "more than {gt}", "greater_than_equal": "at least {ge}", "less_than": "less than {lt}",
    "less_than_equal": "at most {le}", "literal_error": "{expected}", "string_too_short": "text that is not empty",
    "too_short": "a list of at least {min_length}", "too_long": "a list of at most {max_length}",
}  # fmt: skip
REWORDED = {
    "recursion limit exceeded": TOO_DEEP,
    "number out of range": "a number of too many digits",
    "unexpected end of hex escape": "half of a character (a lone surrogate)",
    "lone leading surrogate in hex escape": "half of a character (a lone surrogate)",
}


def as_input_error(error: ValidationError, where: str, advice: str = "") -> InputError:
    """Convert the validation errors of a document to an `InputError` of one line: file, position and reason."""
    faults = error.errors(include_url=False)
    first, more = faults[0], len(faults) - 1
    end = f"; {advice}" if advice else ""
    if first["type"] == "json_invalid":
        return InputError(f"{_explain_syntax(where, first['ctx']['error'])}{end}")
    place = _format_path(first["loc"])
    others = f" (and {count(more, 'more fault')})" if more else ""
    return InputError(f"{where}: {f'{place}: ' if place else ''}{_explain_fault(first)}{others}{end}")


def describe_value(value: Any) -> str:
    """Describe a value of a document in a few words for an error, whatever its length.

    >>> describe_value(None), describe_value("x" * 100), describe_value([1, 2]), describe_value(10**400)
    ('null', "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…'", 'a list of 2', 'a number of 401 digits')
    """
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {count(len(value), 'field')}"
    if isinstance(value, int) and abs(value) > 10**MAX_VALUE_LENGTH:
        return f"a number of {len(str(abs(value)))} digits"
    return f"'{_truncate_text(value)}'" if isinstance(value, str) else _truncate_text(str(value))


def _explain_syntax(where: str, said: str) -> str:
    """Explain in an error where a document is not JSON."""
    found = SYNTAX.fullmatch(said)
    if found is None:
        return f"{where}: not JSON: {_truncate_text(said)}"
    reason = REWORDED.get(found[1], found[1].removeprefix("EOF while parsing ").replace("EOF", "it ends early"))
    if found[1].startswith("EOF while parsing"):
        reason = f"it ends inside {reason}"
    line = "" if ", line " in where else f", line {found[2]}"
    return (
        f"{where}{line}: {reason}" if reason == TOO_DEEP else f"{where}{line}: not JSON: {reason} (column {found[3]})"
    )


def _explain_fault(fault: Any) -> str:
    """Explain a validation error: what a value should be, and what it is."""
    kind, value, bounds = fault["type"], fault["input"], fault.get("ctx", {})
    if kind == "missing":
        return "it is missing"
    if kind in EXPECTED:
        return f"it should be {EXPECTED[kind]}, and is {describe_value(value)}"
    if kind in BOUNDS:
        return f"it should be {BOUNDS[kind].format(**bounds)}, and is {describe_value(value)}"
    if kind == "value_error":
        return _truncate_text(str(bounds["error"]), 4 * MAX_VALUE_LENGTH)
    return f"{_truncate_text(fault['msg'][:1].lower() + fault['msg'][1:], 4 * MAX_VALUE_LENGTH)}; it is {describe_value(value)}"


def _format_path(steps: Sequence[str | int]) -> str:
    """Format the position of a document's error as a path in JavaScript: samples[3].scores.exact_match."""
    path = "".join(
        f"[{step}]" if isinstance(step, int) else f".{_truncate_text(step)}" for step in steps[:MAX_PATH_STEPS]
    )
    return path.removeprefix(".") + (" …" if len(steps) > MAX_PATH_STEPS else "")


def _truncate_text(text: str, longest: int = MAX_VALUE_LENGTH) -> str:
    """Shorten a document's text for a validation error."""
    text = sanitize_line(text)
    return text if len(text) < longest else f"{text[: longest - 1]}…"
