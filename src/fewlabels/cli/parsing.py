"""Parse options that only the command line has; words for groups, metrics, priors and policies are parsed below it."""

from collections.abc import Sequence
from typing import Any

from cyclopts import Token

from fewlabels.data.parsing import split_names


def drop_missing(**words: Any) -> dict[str, Any]:
    """Keep the parsed options that are neither None nor empty."""
    return {
        name: word
        for name, word in words.items()
        if word is not None and not (isinstance(word, Sequence) and len(word) == 0)
    }


def split_tokens(_: Any, tokens: Sequence[Token]) -> tuple[str, ...]:
    """Parse the names in an option, separated by commas and given once or several times."""
    return tuple(name for token in tokens for name in split_names(token.value))
