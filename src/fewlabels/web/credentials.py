"""Credentials of the owner and the annotators: a role, a name and a token each.

A token is 256 random bits. The first visit exchanges it for a cookie that is derived from it, so a cookie reveals no
token, survives a restart of the server, and ends when its token is revoked. The tokens themselves are stored (see
`keys_file`), not their hashes: links can be printed again, and who can read that file can read the session as well.
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

from fewlabels.errors import InputError, choose_words, did_you_mean, join_names
from fewlabels.text import sanitize_line

UNAVAILABLE = "the keys file cannot be read at the moment; send the request again"
MAX_NAME_LENGTH = 80  # characters
MAX_ANNOTATORS = 1000


class KeysUnavailableError(InputError):
    """The credentials cannot be read at the moment, valid or not."""


def make_token() -> str:
    """Return a new token for a credential: a secret of 256 bits."""
    return secrets.token_urlsafe(32)


def check_name(who: str) -> str:
    """Return the name of a credential with whitespace trimmed and collapsed."""
    name = " ".join(who.split())
    if len(name) > MAX_NAME_LENGTH:
        raise InputError(f"a name of more than {MAX_NAME_LENGTH} characters is too long; shorten it")
    return name


def check_annotator(name: str) -> str:
    """Return the normalized name for an annotator's credentials; refuse empty names and control characters."""
    found = check_name(name)
    if not found:
        raise InputError(f"an annotator needs a name; write for instance {choose_words('--invite ann,bob', 'ann')}")
    if sanitize_line(found) != found:
        raise InputError(f"the name {sanitize_line(found)!r} has characters that cannot be shown; use another")
    return found


def casefold_name(name: str) -> str:
    """Return the key of a credential's name: names that differ only in case belong to one annotator."""
    return check_name(name).casefold()


def match_names(names: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """Return the names of credentials by their case-folded form, spelled as a known name up to case.

    >>> match_names(["Ann", "Bob"], ["ann", "cleo"])
    {'ann': 'ann', 'bob': 'Bob'}
    """
    known = [
        name for name in known if 0 < len(name) <= MAX_NAME_LENGTH and name == sanitize_line(" ".join(name.split()))
    ]
    spelled = {casefold_name(name): name for name in known}
    return {casefold_name(name): name if name in known else spelled.get(casefold_name(name), name) for name in names}


class Credential(BaseModel):
    """A token with its role and name. An annotator has one name; the owner chooses a name for each request."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    role: Literal["owner", "annotator"]
    name: Annotated[str, Field(max_length=MAX_NAME_LENGTH)] = ""
    token: Annotated[str, Field(min_length=40, max_length=200, pattern=r"^[A-Za-z0-9_-]+$", repr=False)]

    @property
    def is_owner(self) -> bool:
        """Whether it may adjudicate, and read results and the answers of all annotators."""
        return self.role == "owner"

    @property
    def cookie(self) -> str:
        """The cookie that replaces the token in the browser: an HMAC of the token."""
        return hmac.new(self.token.encode(), b"fewlabels cookie", sha256).hexdigest()

    @property
    def identity(self) -> str:
        """Role and name, which the page sends with each request."""
        return f"{self.role}:{self.name}"

    def link(self, address: str) -> str:
        """Return the URL that signs this credential in."""
        return f"{address}/?token={self.token}"


class Credentials(BaseModel):
    """All credentials of a session, and the address at which the page was last served."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    port: Annotated[int, Field(ge=0, le=65535, strict=True)] = 0
    address: Annotated[str, Field(max_length=500)] = ""  # scheme, host and port; empty before the first start
    credentials: Annotated[tuple[Credential, ...], Field(max_length=MAX_ANNOTATORS + 1)]
    shared: Annotated[bool, Field(exclude=True, repr=False)] = False  # read from a file in the format of version 1

    @model_validator(mode="before")
    @classmethod
    def _read_first_version(cls, found: Any) -> Any:
        """Read the format of version 1: one token shared by all users."""
        if isinstance(found, dict) and set(found) == {"port", "token", "visit"}:
            return {"port": found["port"], "credentials": [{"role": "owner", "token": found["token"]}], "shared": True}
        return found

    @model_validator(mode="after")
    def _check(self) -> "Credentials":
        """Refuse credentials without exactly one owner, or with repeated names or tokens."""
        if [one.role for one in self.credentials].count("owner") != 1:
            raise ValueError("there must be one owner")
        if any(one.name != check_annotator(one.name) for one in self.annotators):
            raise ValueError("an annotator's name must have no spaces around it and single spaces inside")
        _refuse_repeated("name", (casefold_name(one.name) for one in self.annotators))
        _refuse_repeated("token", (one.token for one in self.credentials))
        return self

    @classmethod
    def create(cls) -> "Credentials":
        """Create the owner's credential only."""
        return cls(credentials=(Credential(role="owner", token=make_token()),))

    def replace_shared(self) -> "Credentials":
        """Give the owner a new token if the old one was shared by all users."""
        return self.model_copy(update={"credentials": self.create().credentials}) if self.shared else self

    @property
    def owner(self) -> Credential:
        """The owner's credential."""
        return next(one for one in self.credentials if one.is_owner)

    @property
    def annotators(self) -> tuple[Credential, ...]:
        """The credentials of the annotators."""
        return tuple(one for one in self.credentials if not one.is_owner)

    @cached_property
    def _by_secret(self) -> dict[bytes, Credential]:
        """Credentials by the hash of their secrets, so that the time of a lookup reveals nothing about a secret."""
        tokens = {_hash_secret("token", one.token): one for one in self.credentials}
        return tokens | {_hash_secret("cookie", one.cookie): one for one in self.credentials}

    @cached_property
    def _by_name(self) -> dict[str, Credential]:
        """Credentials by the case-folded name."""
        return {casefold_name(one.name): one for one in self.annotators}

    def find(self, kind: Literal["token", "cookie"], secret: str) -> Credential | None:
        """Return the credential of a token or a cookie."""
        return self._by_secret.get(_hash_secret(kind, secret))

    def find_annotator(self, name: str) -> Credential | None:
        """Return the credential of an annotator."""
        return self._by_name.get(casefold_name(name))

    def list_links(self) -> list[str]:
        """Return one line per credential: its name or role, and its link."""
        return [f"{one.name or one.role}: {one.link(self.address)}" for one in self.credentials]

    def invite(self, names: Iterable[str], known: Iterable[str] = ()) -> "Credentials":
        """Add annotators; existing ones keep their token. Names `known` from answers keep their spelling."""
        wanted = match_names(map(check_annotator, names), known)
        new = [Credential(role="annotator", name=name, token=make_token()) for key, name in wanted.items() if key not in self._by_name]  # fmt: skip
        if len(self.annotators) + len(new) > MAX_ANNOTATORS:
            raise InputError(f"a session has at most {MAX_ANNOTATORS:,} annotators; revoke some first")
        return self._with_credentials((*self.credentials, *new))

    def revoke(self, names: Iterable[str]) -> "Credentials":
        """Remove annotators: their links and open pages are refused from now on; their answers stay."""
        gone = {casefold_name(name): check_name(name) for name in names}
        unknown = [name for key, name in gone.items() if key not in self._by_name]
        if unknown:
            known = [one.name for one in self.annotators]
            hint = did_you_mean(unknown[0], known) if known else "no annotator was invited"
            raise InputError(f"no annotator is called {join_names(map(sanitize_line, unknown))}; {hint}")
        return self._with_credentials(
            one for one in self.credentials if one.is_owner or casefold_name(one.name) not in gone
        )

    def _with_credentials(self, credentials: Iterable[Credential]) -> "Credentials":
        """Return the same with other credentials."""
        return Credentials(port=self.port, address=self.address, credentials=tuple(credentials))

    def served_at(self, address: str, port: int) -> "Credentials":
        """Return them with the address at which the page is served."""
        return Credentials(port=port, address=address, credentials=self.credentials)


@runtime_checkable
class CredentialStore(Protocol):
    """A store of credentials, read at every request."""

    def read(self) -> Credentials | None:
        """Return the current credentials; None if they cannot be trusted: then all requests are refused."""
        ...


@dataclass(frozen=True)
class MemoryStore:
    """Credentials in memory that do not change, for tests and programs."""

    credentials: Credentials = field(default_factory=Credentials.create)

    def read(self) -> Credentials:
        """Return the credentials."""
        return self.credentials


def _hash_secret(kind: str, secret: str) -> bytes:
    """Hash the secret of a credential, a token or a cookie."""
    return sha256(f"{kind}:{secret}".encode("utf-8", "surrogateescape")).digest()


def _refuse_repeated(what: str, values: Iterable[str]) -> None:
    """Refuse two credentials with the same name or token."""
    if any(n > 1 for n in Counter(values).values()):
        raise ValueError(f"two credentials have the same {what}")
