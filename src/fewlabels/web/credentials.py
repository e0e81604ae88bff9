"""Who may use the page: the owner and the annotators, each with a token of their own.

A token is 256 random bits. The first visit exchanges it for a cookie that is derived from it, so a cookie reveals no
token, survives a restart of the server, and ends when its token is revoked. The tokens themselves are stored (see
`keys`), not their hashes: links can then be printed again, and a reader of that file could read the session beside it.
"""

import hmac
import secrets
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict, Field, model_validator

from fewlabels.errors import InputError, did_you_mean, listing
from fewlabels.text import tame_line

UNAVAILABLE = "the file of keys cannot be read at the moment; send the request again"
LONGEST_NAME = 80  # characters
MOST_ANNOTATORS = 1000


class KeysUnavailableError(InputError):
    """The credentials cannot be read at the moment; that says nothing about them."""


def make_token() -> str:
    """Return a new secret of 256 bits."""
    return secrets.token_urlsafe(32)


def check_name(who: str) -> str:
    """Return a person's name as it is kept: without spaces around it, and with single spaces inside."""
    name = " ".join(who.split())
    if len(name) > LONGEST_NAME:
        raise InputError(f"a name of more than {LONGEST_NAME} characters is too long; shorten it")
    return name


def check_annotator(name: str) -> str:
    """Return the name of an annotator to be invited; it is a file's word and a person's, so it must be plain text."""
    found = check_name(name)
    if not found:
        raise InputError("an annotator needs a name; write for instance --invite ann,bob")
    if tame_line(found) != found:
        raise InputError(f"the name {tame_line(found)!r} has characters that cannot be shown; use another")
    return found


def fold_name(name: str) -> str:
    """Names that differ only in case are one name: people would take them for the same person."""
    return check_name(name).casefold()


def match_names(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return each name by its folded form, spelled as a known one if they differ only in case: it is the same person.

    >>> match_names(["Ann", "Bob"], ["ann", "cleo"])
    {'ann': 'ann', 'bob': 'Bob'}
    """
    known = [name for name in known if 0 < len(name) <= LONGEST_NAME and name == tame_line(" ".join(name.split()))]
    spelled = {fold_name(name): name for name in known}
    return {fold_name(name): name if name in known else spelled.get(fold_name(name), name) for name in names}


class Credential(BaseModel):
    """A token, and whose it is. An annotator answers under one name; the owner chooses a name for each request."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    role: Literal["owner", "annotator"]
    name: Annotated[str, Field(max_length=LONGEST_NAME)] = ""
    token: Annotated[str, Field(min_length=40, max_length=200, pattern=r"^[A-Za-z0-9_-]+$", repr=False)]

    @property
    def is_owner(self) -> bool:
        """May it adjudicate, and see other people's answers and the results?"""
        return self.role == "owner"

    @property
    def cookie(self) -> str:
        """What the browser keeps instead of the token."""
        return hmac.new(self.token.encode(), b"fewlabels cookie", sha256).hexdigest()

    @property
    def label(self) -> str:
        """Whose page it is, as the page says with each request."""
        return f"{self.role}:{self.name}"

    def link(self, address: str) -> str:
        """Return what a person opens."""
        return f"{address}/?token={self.token}"


class Credentials(BaseModel):
    """All credentials of a session, and the address that the page was served at last."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    port: Annotated[int, Field(ge=0, le=65535, strict=True)] = 0
    address: Annotated[str, Field(max_length=500)] = ""  # scheme, host and port; none before the first start
    credentials: Annotated[tuple[Credential, ...], Field(max_length=MOST_ANNOTATORS + 1)]
    shared: Annotated[bool, Field(exclude=True, repr=False)] = False  # read from a file of the first version

    @model_validator(mode="before")
    @classmethod
    def _read_first_version(cls, found: Any) -> Any:
        """Files of the first version hold one token, which everybody was given."""
        if isinstance(found, dict) and set(found) == {"port", "token", "visit"}:
            return {"port": found["port"], "credentials": [{"role": "owner", "token": found["token"]}], "shared": True}
        return found

    @model_validator(mode="after")
    def _check(self) -> "Credentials":
        if [one.role for one in self.credentials].count("owner") != 1:
            raise ValueError("there must be one owner")
        if any(one.name != check_annotator(one.name) for one in self.annotators):
            raise ValueError("an annotator's name must have single spaces only, inside it")
        _refuse_repeated("name", (fold_name(one.name) for one in self.annotators))
        _refuse_repeated("token", (one.token for one in self.credentials))
        return self

    @classmethod
    def create(cls) -> "Credentials":
        """Make the owner's credential, and no other."""
        return cls(credentials=(Credential(role="owner", token=make_token()),))

    def replace_shared(self) -> "Credentials":
        """Give the owner a new token where everybody had the old one."""
        return self.model_copy(update={"credentials": self.create().credentials}) if self.shared else self

    @property
    def owner(self) -> Credential:
        """The one that may do everything."""
        return next(one for one in self.credentials if one.is_owner)

    @property
    def annotators(self) -> tuple[Credential, ...]:
        """The others."""
        return tuple(one for one in self.credentials if not one.is_owner)

    @cached_property
    def _by_secret(self) -> dict[bytes, Credential]:
        """Look up by hashes: how long that takes tells nothing about a secret."""
        tokens = {_hash("token", one.token): one for one in self.credentials}
        return tokens | {_hash("cookie", one.cookie): one for one in self.credentials}

    @cached_property
    def _by_name(self) -> dict[str, Credential]:
        return {fold_name(one.name): one for one in self.annotators}

    def find(self, kind: Literal["token", "cookie"], secret: str) -> Credential | None:
        """Return the credential that a token or a cookie belongs to."""
        return self._by_secret.get(_hash(kind, secret))

    def find_annotator(self, name: str) -> Credential | None:
        """Return the credential of an annotator."""
        return self._by_name.get(fold_name(name))

    def list_links(self) -> list[str]:
        """Return a line for everybody: who it is, and the link to open."""
        return [f"{one.name or one.role}: {one.link(self.address)}" for one in self.credentials]

    def invite(self, names: Iterable[str], known: Iterable[str] = ()) -> "Credentials":
        """Add annotators; those who are there keep their token. Names that are `known` from answers keep their spelling."""
        wanted = match_names(map(check_annotator, names), known)
        new = [Credential(role="annotator", name=name, token=make_token()) for key, name in wanted.items() if key not in self._by_name]  # fmt: skip
        if len(self.annotators) + len(new) > MOST_ANNOTATORS:
            raise InputError(f"a session has at most {MOST_ANNOTATORS:,} annotators; revoke some first")
        return self._with((*self.credentials, *new))

    def revoke(self, names: Iterable[str]) -> "Credentials":
        """Take annotators away: their links and open pages are refused from now on; their answers stay."""
        gone = {fold_name(name): check_name(name) for name in names}
        unknown = [name for key, name in gone.items() if key not in self._by_name]
        if unknown:
            known = [one.name for one in self.annotators]
            hint = did_you_mean(unknown[0], known) if known else "no annotator was invited"
            raise InputError(f"no annotator is called {listing(map(tame_line, unknown))}; {hint}")
        return self._with(one for one in self.credentials if one.is_owner or fold_name(one.name) not in gone)

    def _with(self, credentials: Iterable[Credential]) -> "Credentials":
        return Credentials(port=self.port, address=self.address, credentials=tuple(credentials))

    def served_at(self, address: str, port: int) -> "Credentials":
        """Note where the page is served."""
        return Credentials(port=port, address=address, credentials=self.credentials)


@runtime_checkable
class CredentialStore(Protocol):
    """Where credentials are looked up, at every request."""

    def read(self) -> Credentials | None:
        """Return the credentials as they are now; None where they cannot be trusted, and everybody is refused."""
        ...


@dataclass(frozen=True)
class MemoryStore:
    """Credentials that do not change: without a file, for tests and programs."""

    credentials: Credentials = field(default_factory=Credentials.create)

    def read(self) -> Credentials:
        """Return them."""
        return self.credentials


def _hash(kind: str, secret: str) -> bytes:
    return sha256(f"{kind}:{secret}".encode("utf-8", "surrogateescape")).digest()


def _refuse_repeated(what: str, values: Iterable[str]) -> None:
    if any(n > 1 for n in Counter(values).values()):
        raise ValueError(f"two credentials have the same {what}")
