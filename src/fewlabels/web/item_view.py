"""An item as the page shows it: every column is text, or an image or audio file that the text names."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel

from fewlabels.sessions.session import ItemId
from fewlabels.text import as_text, tame, tame_line
from fewlabels.web.media import Folder, guess_kind

MOST_CHARACTERS = 20_000


class Field(BaseModel):
    """A column of an item."""

    name: str
    kind: Literal["text", "image", "audio"]
    text: str  # sanitized; of an image or audio file, its name
    source: str = ""  # URL of an image or audio file
    n_more: int = 0  # number of truncated characters


class Card(BaseModel):
    """The shown columns of an item."""

    id: ItemId
    fields: list[Field]


def show_item(id: ItemId, row: Mapping[str, Any], folder: Folder | None, origins: tuple[str, ...] = ()) -> Card:
    """Return the view of an item; files come from the folder, and URLs only from allowed origins."""
    return Card(id=id, fields=[_show_value(id, name, as_text(value), folder, origins) for name, value in row.items()])


def _show_value(id: ItemId, name: str, text: str, folder: Folder | None, origins: tuple[str, ...]) -> Field:
    kind, shown = guess_kind(text), tame_line(name)
    if kind is not None:
        if _name_origin(text) in origins:
            return Field(name=shown, kind=kind, text=tame(text), source=text)
        if folder is not None and folder.find(text) is not None:
            query = urlencode({"item": id, "column": name})
            return Field(name=shown, kind=kind, text=tame(text), source=f"/media?{query}")
    return Field(name=shown, kind="text", text=tame(text[:MOST_CHARACTERS]), n_more=max(0, len(text) - MOST_CHARACTERS))


def _name_origin(text: str) -> str:
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
