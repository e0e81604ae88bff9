"""Find names that look alike: they differ in spaces, invisible characters, Unicode composition, or case."""

import unicodedata
from collections.abc import Iterable

INVISIBLE = ("Cf", "Cc")  # Unicode categories: format and control characters


def fold_name(name: str) -> str:
    """Return a name as it looks, the same for its twins: composed, without invisible characters, with single spaces.

    >>> fold_name("cat\u200b ") == fold_name("cat"), fold_name("cafe\u0301") == fold_name("caf\u00e9")
    (True, True)
    """
    composed = unicodedata.normalize("NFKC", name)
    visible = (c for c in composed if c.isspace() or unicodedata.category(c) not in INVISIBLE)
    return " ".join("".join(visible).split())


def find_twins(names: Iterable[str], *, ignore_case: bool = False) -> list[tuple[str, ...]]:
    """Return the sets of names that look alike, sorted.

    >>> find_twins(["cat", "cat ", "dog", "Dog"]), find_twins(["dog", "Dog"], ignore_case=True)
    ([('cat', 'cat ')], [('Dog', 'dog')])
    """
    alike: dict[str, list[str]] = {}
    for name in sorted(set(names)):
        look = fold_name(name)
        alike.setdefault(look.casefold() if ignore_case else look, []).append(name)
    return [tuple(same) for same in alike.values() if len(same) > 1]


def describe_twins(twins: Iterable[tuple[str, ...]]) -> str:
    """Return names that look alike, with escapes for what cannot be seen.

    >>> describe_twins([("cat", "cat\u200b")])
    "'cat' and 'cat\\\\u200b'"
    """
    return "; ".join(" and ".join(ascii(name[:80]) for name in same) for same in list(twins)[:3])
