"""Complete and match class names from a prefix."""

from collections.abc import Sequence
from itertools import takewhile


def find_class(text: str, classes: Sequence[str]) -> list[str]:
    """Complete what was typed: the class with exactly this name, else the classes with this prefix.

    >>> find_class("Ca", ["car", "cat", "Cairo", "dog"])
    ['Cairo']
    """
    return [text] if text in classes else list_prefix_matches(text, classes)


def list_prefix_matches(text: str, classes: Sequence[str]) -> list[str]:
    """List the classes that complete a prefix, an exact match first; case is ignored if no class has it.

    >>> list_prefix_matches("dog", ["dogs", "dog", "cat"])
    ['dog', 'dogs']
    """
    exact = [name for name in classes if name.startswith(text)]
    found = exact or [name for name in classes if name.casefold().startswith(text.casefold())]
    return sorted(found, key=lambda name: name != text)


def complete(text: str, classes: Sequence[str]) -> str:
    """Complete a prefix: return the longest common prefix of the classes with it.

    >>> complete("c", ["car", "cat", "dog"])
    'ca'
    """
    found = list_prefix_matches(text, classes)
    if not found:
        return text
    first, last = min(found), max(found)
    shared = "".join(a for a, _ in takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False)))
    return shared if len(shared) >= len(text) else text
