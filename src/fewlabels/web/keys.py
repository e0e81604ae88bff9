"""What lets people in, kept beside the session and readable by its owner alone, so that open pages survive a restart."""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path

from fewlabels.web.door import Door


@dataclass(frozen=True)
class Kept:
    """The port and the secrets of last time; none the first time."""

    port: int = 0
    secrets: dict[str, str] = field(default_factory=dict, repr=False)


def recall(path: Path | None) -> Kept:
    """Read what was kept; whatever is not as we wrote it is forgotten."""
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
        return Kept(int(found["port"]), {name: str(found[name]) for name in ("token", "visit")})
    except (OSError, ValueError, KeyError, TypeError):
        return Kept()


def keep(path: Path | None, port: int, door: Door) -> None:
    """Write it, for the owner's eyes."""
    if path is None:
        return
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        json.dump({"port": port, "token": door.token, "visit": door.visit}, file)
