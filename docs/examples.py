"""Examples in docstrings, fenced: Markdown would take their brackets for links."""

from typing import Any

from griffe import Extension, Object


class Fences(Extension):
    """Puts a fence around every example of a docstring."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object that was read."""
        if obj.docstring is not None:
            obj.docstring.value = fence_examples(obj.docstring.value)


def fence_examples(text: str) -> str:
    """Fence paragraphs that are examples."""
    parts = text.split("\n\n")
    return "\n\n".join(f"```pycon\n{part}\n```" if part.lstrip().startswith(">>>") else part for part in parts)
