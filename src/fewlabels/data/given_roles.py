"""The column roles that predictions were read with, as they were given: sessions keep them, to read the predictions again.

Roles that were recognised by name are not among them, nor is a second file of labels, whose address may hold a password.
"""

import re
import shlex
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fewlabels.data.names import to_name
from fewlabels.errors import InputError, choose_words, format_option
from fewlabels.text import redact_passwords

GivenRoles = Mapping[str, str | float | tuple[str, ...]]
BESIDE_LABELS = ("label", "agreement", "propensity", "grade")  # roles whose column may be in the file of labels


def record_roles(given: Mapping[str, Any], columns: Collection[str], *, has_labels: bool = False) -> GivenRoles:
    """Return the given roles as plain values, without those whose column is in a second file of labels.

    >>> record_roles({"predicted": "yhat", "show": ["text"], "threshold": None}, ["yhat", "text"])
    {'predicted': 'yhat', 'show': ('text',)}
    >>> record_roles({"id": "key", "label": "truth"}, ["key", "predicted"], has_labels=True)
    {'id': 'key'}
    """
    found = {role: _record_value(role, value) for role, value in given.items() if value is not None}
    elsewhere = {role for role in BESIDE_LABELS if has_labels and given.get(role) not in columns}
    return {role: value for role, value in found.items() if value != () and role not in elsewhere}


def _record_value(role: str, value: Any) -> str | float | tuple[str, ...]:
    """Return the value given for a role as text, a number or names."""
    if role == "threshold":
        return float(value)
    if role in ("show", "models") or (role == "scale" and not isinstance(value, str)):
        return tuple(map(to_name, value))
    return str(value)


def format_roles(given: GivenRoles) -> str:
    """Format roles in a message as they are written with the interface in use.

    >>> format_roles({"predicted": "yhat", "show": ("text", "url")})
    "predicted='yhat', show=('text', 'url')"
    """
    if not given:
        return choose_words("no column options", "no column roles")
    return choose_words(" ", ", ").join(_format_role(role, value) for role, value in given.items())


def _format_role(role: str, value: str | float | tuple[str, ...]) -> str:
    """Format one role, which may have several columns."""
    if isinstance(value, tuple):
        return choose_words(f"--{role} {shlex.quote(','.join(value))}", f"{role}={value!r}")
    return format_option(role, value)


@contextmanager
def naming_given_roles(where: object, given: GivenRoles | None) -> Iterator[None]:
    """Say in messages about a role that a session keeps, raised in the block, where the role comes from."""
    try:
        yield
    except InputError as error:
        roles = "|".join(role.replace("_", "[-_]") for role in given or ())
        if not roles or not re.search(rf"\b({roles})\b", str(error)):
            raise
        raise InputError(f"{redact_passwords(str(where))} was created with {format_roles(given or {})}; give the predictions it was made from, or name the columns of these: {error}") from None  # fmt: skip
