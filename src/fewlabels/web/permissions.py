"""Permissions by role: annotators answer under their own name; only the owner reads results and all answers."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from fastapi import Depends, Request
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from fewlabels.text import sanitize_line
from fewlabels.web.board import Board
from fewlabels.web.credentials import Credential, Credentials, check_name
from fewlabels.web.rate_limit import RateLimit


class Identity(BaseModel):
    """The role and the name of a link. An annotator has one name; the owner sends a name with each request."""

    role: Literal["owner", "annotator"]
    name: str


def get_caller(request: Request) -> Credential:
    """Return the credential of a request, which decides its permissions."""
    found: Credential = request.state.caller
    return found


def get_owner(request: Request) -> Credential:
    """Return the credential of a request that needs the owner's permissions; refuse annotators."""
    caller = get_caller(request)
    if not caller.is_owner:
        raise HTTPException(403, "only the owner of the session may do this; ask them")
    return caller


Caller = Annotated[Credential, Depends(get_caller)]
Owner = Annotated[Credential, Depends(get_owner)]


def limit_rate(rate_limit: RateLimit, caller: Credential) -> None:
    """Permit no request above the rate limit of a credential, as names could be made up to get around limits."""
    if not rate_limit.allows(caller.token):
        raise HTTPException(429, "rate limit exceeded; retry in a moment")


def resolve_name(caller: Credential, who: str, known: Credentials | None) -> str:
    """Return the permitted name for an answer; only an annotator's own link may use the annotator's name."""
    name = check_name(who)
    if not caller.is_owner:
        if name not in ("", caller.name):
            raise HTTPException(
                403, f"this link is {caller.name}'s: answers under another name are refused; leave who out"
            )
        return caller.name
    if known is not None and known.find_annotator(name):
        raise HTTPException(
            403, f"{sanitize_line(name)} is an annotator with a link of their own; use that link, or another name"
        )
    return name


def hide_results(board: Board, caller: Credential) -> Board:
    """Remove what an annotator has no permission to see from a board: estimates and others' answers."""
    return board if caller.is_owner else board.hide_estimates().model_copy(update={"team": None})


def hide_paths(message: str, files: Mapping[str, str]) -> str:
    """Replace paths in a message by known files' descriptions or names, as no role has permission to see them.

    >>> hide_paths("/srv/a/s.db: not saved: /srv/a/log is full", {"/srv/a/s.db": "the session"})
    'the session: not saved: log is full'
    """
    spelled = {spelling: name for path, name in files.items() for spelling in (path, str(Path(path).resolve()))}
    folders = {str(Path(path).parent) + os.sep: "" for path in spelled if Path(path).is_absolute()}
    for path, name in sorted((spelled | folders).items(), key=lambda pair: -len(pair[0])):
        if os.sep in path[:-1]:  # a name without a folder may be a word of the message
            message = re.sub(rf"(?<![\w./-]){re.escape(path)}", name, message)
    return message
