"""Which key stands for which class, and which class a few typed letters mean."""

from collections.abc import Sequence
from itertools import takewhile

PLAIN = "123456789abcdefghijklmnopqrstuvwxyz"
COMMANDS = " /+"


def assign_keys(classes: Sequence[str]) -> dict[str, str]:
    """Give every class a key: its own name if that is one character, else 1 to 9 and a to z; none where they are too many.

    >>> assign_keys(["cat", "dog", "2"])
    {'2': '2', '1': 'cat', '3': 'dog'}
    """
    own = {name: name for name in classes if len(name) == 1 and name.isprintable() and name not in COMMANDS}
    others = [name for name in classes if name not in own]
    free = [key for key in PLAIN if key not in own]
    if len(others) > len(free):
        return {}
    return own | dict(zip(free, others, strict=False))


def find_class(text: str, classes: Sequence[str]) -> list[str]:
    """Return the classes that typed text may mean: the one of that very name, else those that begin so.

    >>> find_class("Ca", ["car", "cat", "Cairo", "dog"])
    ['Cairo']
    """
    if text in classes:
        return [text]
    exact = [name for name in classes if name.startswith(text)]
    return exact or [name for name in classes if name.casefold().startswith(text.casefold())]


def complete(text: str, classes: Sequence[str]) -> str:
    """Return the text, made as long as the classes that begin so agree.

    >>> complete("c", ["car", "cat", "dog"])
    'ca'
    """
    found = [name for name in classes if name.startswith(text)] or find_class(text, classes)
    if not found:
        return text
    first, last = min(found), max(found)
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared if len(shared) >= len(text) else text
