"""Parse options that only the command line has; words for groups, metrics, priors and policies are parsed below it."""

from collections.abc import Sequence
from typing import Any


def drop_missing(**words: Any) -> dict[str, Any]:
    """Return the options that are neither None nor empty."""
    return {
        name: word
        for name, word in words.items()
        if word is not None and not (isinstance(word, Sequence) and len(word) == 0)
    }
