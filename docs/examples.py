"""Format docstrings as Markdown: examples in fences (their brackets would become links), parameters as a list."""

import re
from typing import Any

from griffe import Extension, Object

HEADING = "Parameters\n----------\n"
PARAMETER = re.compile(r"^(\S.*?): (.*)\n((?:    .*\n?)+)", flags=re.MULTILINE)


class Fences(Extension):
    """Puts a fence around every example of a docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(list_parameters(obj.docstring.value))


def list_parameters(text: str) -> str:
    """Turn the section of parameters into a list."""
    before, heading, rest = text.partition(HEADING)
    section, gap, after = rest.partition("\n\n")
    items = PARAMETER.sub(lambda found: f"- `{found[1]}` ({found[2]}): {' '.join(found[3].split())}\n", section)
    return f"{before}**Parameters**\n\n{items.rstrip()}{gap}{after}" if heading else text


def fence_examples(text: str) -> str:
    """Fence paragraphs that are examples."""
    parts = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.lstrip().startswith(">>>") else part for part in parts)
