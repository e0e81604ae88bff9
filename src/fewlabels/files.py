"""Files written whole or not at all."""

import os
import tempfile
from pathlib import Path

from fewlabels.errors import InputError


def write_whole(path: str | Path, content: str | bytes) -> Path:
    """Write beside the target and move into place, so that nobody ever reads half a file."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file in it")
    try:
        with tempfile.NamedTemporaryFile("wb", dir=path.parent, delete=False, suffix=".part") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        _give_usual_rights(file.name)
        os.replace(file.name, path)  # noqa: PTH105
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from None
    return path


def _give_usual_rights(name: str) -> None:
    """Temporary files are private; what was asked for by name is as readable as any other file."""
    mask = os.umask(0)
    os.umask(mask)
    Path(name).chmod(0o666 & ~mask)
