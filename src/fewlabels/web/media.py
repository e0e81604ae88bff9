"""Image and audio files that items name: only formats that cannot run scripts, and only from one folder."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

MEDIA_TYPES = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".bmp": "image/bmp", ".avif": "image/avif", ".mp3": "audio/mpeg", ".wav": "audio/wav", ".ogg": "audio/ogg",
    ".flac": "audio/flac", ".m4a": "audio/mp4",
}  # fmt: skip
MAX_BYTES = 50_000_000  # bytes
MAX_PATH_LENGTH = 1000  # characters of a path


@dataclass(frozen=True)
class MediaFolder:
    """The folder that files are served from; paths that leave it, by dots or by links, are not found."""

    root: Path

    def find(self, name: str) -> Path | None:
        """Return the path of a file, or None if it may not be served."""
        if guess_media_kind(name) is None or "\x00" in name:
            return None
        try:
            root, file = self.root.resolve(strict=True), (self.root / name).resolve(strict=True)
            is_allowed = file.is_relative_to(root) and file.is_file() and file.stat().st_size <= MAX_BYTES
        except (OSError, RuntimeError, ValueError):
            return None
        return file if is_allowed and guess_media_kind(file.name) is not None else None


def guess_media_kind(name: str) -> Literal["image", "audio"] | None:
    """Return the kind of media file that a value names, by its suffix.

    >>> guess_media_kind("cats/1.JPG"), guess_media_kind("a.svg"), guess_media_kind("he said .png") is None
    ('image', None, False)
    """
    if len(name) > MAX_PATH_LENGTH or "\n" in name:
        return None
    found = MEDIA_TYPES.get(Path(name.partition("?")[0]).suffix.lower(), "")
    return "image" if found.startswith("image") else "audio" if found else None
