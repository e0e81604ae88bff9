"""An item as the page shows it: every column is text, or an image or audio file that the text names."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel

from fewlabels.data.names import ItemId
from fewlabels.text import as_text, sanitize, sanitize_line
from fewlabels.web.media import MediaFolder, guess_media_kind

MAX_CHARACTERS = 20_000


class ItemField(BaseModel):
    """A column of an item."""

    name: str
    kind: Literal["text", "image", "audio"]
    text: str  # sanitized; of an image or audio file, its name
    source: str = ""  # URL of an image or audio file
    n_more: int = 0  # number of truncated characters


class ItemView(BaseModel):
    """The shown columns of an item."""

    id: ItemId
    fields: list[ItemField]


def show_item(
    id: ItemId, row: Mapping[str, Any], folder: MediaFolder | None, origins: tuple[str, ...] = ()
) -> ItemView:
    """Return the view of an item; files come from the folder, and URLs only from allowed origins."""
    return ItemView(
        id=id, fields=[_show_value(id, name, as_text(value), folder, origins) for name, value in row.items()]
    )


def _show_value(id: ItemId, name: str, text: str, folder: MediaFolder | None, origins: tuple[str, ...]) -> ItemField:
    """Return the view of one value of an item: text, or a link to its media file."""
    kind, shown = guess_media_kind(text), sanitize_line(name)
    if kind is not None:
        if _parse_origin(text) in origins:
            return ItemField(name=shown, kind=kind, text=sanitize(text), source=text)
        if folder is not None and folder.find(text) is not None:
            query = urlencode({"item": id, "column": name})
            return ItemField(name=shown, kind=kind, text=sanitize(text), source=f"media?{query}")
    return ItemField(
        name=shown, kind="text", text=sanitize(text[:MAX_CHARACTERS]), n_more=max(0, len(text) - MAX_CHARACTERS)
    )


def _parse_origin(text: str) -> str:
    """Return the origin of a URL in an item; empty if it is none."""
    try:
        parts = urlsplit(text)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"
