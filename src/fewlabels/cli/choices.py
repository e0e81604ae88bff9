"""Which key stands for which class, and which class a few typed letters mean."""

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile

PLAIN = "123456789abcdefghijklmnoprstuvwxyzq"  # q comes last: while it is free, it stops
COMMANDS = " /+"
INITIALS = {"yes": "y", "no": "n", "true": "t", "false": "f"}  # words that everybody shortens


def assign_keys(classes: Sequence[str]) -> dict[str, str]:
    """Give every class a key, or none where they are too many.

    A name of one character is its own key, yes and no have their first letter, others 1 to 9 and a to z.

    >>> assign_keys(["cat", "dog", "2"]), assign_keys(["no", "yes"])
    ({'2': '2', '1': 'cat', '3': 'dog'}, {'n': 'no', 'y': 'yes'})
    """
    own = {name: name for name in classes if len(name) == 1 and name.isprintable() and name not in COMMANDS}
    own |= {key: name for key, name in _shorten(classes).items() if key not in own}
    others = [name for name in classes if name not in own.values()]
    free = [key for key in PLAIN if key not in own]
    if len(others) > len(free):
        return {}
    return own | dict(zip(free, others, strict=False))


def find_class(text: str, classes: Sequence[str]) -> list[str]:
    """Return the classes that typed text may mean: the one of that very name, else those that begin so.

    >>> find_class("Ca", ["car", "cat", "Cairo", "dog"])
    ['Cairo']
    """
    return [text] if text in classes else list_beginnings(text, classes)


def list_beginnings(text: str, classes: Sequence[str]) -> list[str]:
    """Return the classes that begin so, one of that very name first; capitals matter only where they tell apart.

    >>> list_beginnings("dog", ["dogs", "dog", "cat"])
    ['dog', 'dogs']
    """
    exact = [name for name in classes if name.startswith(text)]
    found = exact or [name for name in classes if name.casefold().startswith(text.casefold())]
    return sorted(found, key=lambda name: name != text)


def complete(text: str, classes: Sequence[str]) -> str:
    """Return the text, made as long as the classes that begin so agree.

    >>> complete("c", ["car", "cat", "dog"])
    'ca'
    """
    found = list_beginnings(text, classes)
    if not found:
        return text
    first, last = min(found), max(found)
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared if len(shared) >= len(text) else text


def _shorten(classes: Sequence[str]) -> dict[str, str]:
    """Give words like yes and no their first letter, where no two would share it."""
    short = [(INITIALS[name.casefold()], name) for name in classes if name.casefold() in INITIALS]
    shared = Counter(key for key, _ in short)
    return {key: name for key, name in short if shared[key] == 1}
