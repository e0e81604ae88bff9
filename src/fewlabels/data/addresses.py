"""Predictions at an address: files that are downloaded, and tables of a database that Ibis connects to."""

import http.client
import re
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Protocol, runtime_checkable
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit, urlunsplit

import ibis
import ibis.expr.types as ir

from fewlabels.data.compression import CHUNK_BYTES, LIMIT_VARIABLE, find_decompression_limit
from fewlabels.errors import InputError
from fewlabels.text import redact_passwords

ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
DATABASES = {"postgresql": "postgres", "postgres": "postgres"}  # scheme -> extra with its driver
STORES = {"s3": "aws s3 cp", "gs": "gcloud storage cp", "az": "azcopy copy", "abfss": "azcopy copy"}
SECONDS = 60  # without an answer
MAX_DOWNLOAD = 16 * 1024**3  # bytes; FEWLABELS_MAX_UNPACKED replaces it
MAX_NAME = 100  # characters of the name of a temporary file
UNQUOTED = "%/:=&?~#+!$,;'@()*[]"  # characters of an address that stay as they are


@runtime_checkable
class ByteStream(Protocol):
    """What bytes are read from: a response, or standard input."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes from an address or standard input; none at the end."""
        ...


def is_address(source: object) -> bool:
    """Is this source an address, such as https:// or postgresql://, and not a path?

    >>> is_address("https://example.org/a.csv"), is_address("a.csv"), is_address("C://a.csv")
    (True, False, False)
    """
    return isinstance(source, str) and ADDRESS.match(source) is not None


def list_inputs(*sources: Any) -> tuple[str, ...]:
    """List the sources that are files and not addresses."""
    return tuple(str(one) for one in sources if isinstance(one, str | Path) and not is_address(one))


def open_table_at(address: str) -> ir.Table:
    """Open the table at the address of a database: `postgresql://user@host/database?table=name` or `schema.name`."""
    parts = _split_address(address)
    query = parse_qsl(parts.query)
    name = dict(query).get("table")
    if not name:
        raise InputError(f"{_hide_password(address)}: which table? Add ?table=NAME to the address")
    rest = urlunsplit(parts._replace(query=urlencode([one for one in query if one[0] != "table"])))
    schema, _, table = name.rpartition(".")
    try:
        return ibis.connect(rest).table(table, database=schema or None)
    except ImportError:
        extra = DATABASES[parts.scheme.lower()]
        raise InputError(
            f"{_hide_password(address)}: its driver is not installed: pip install 'fewlabels[{extra}]'"
        ) from None
    except Exception as error:  # drivers have errors of their own
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise InputError(f"{_hide_password(address)}: cannot be opened: {redact_passwords(reason)[:300]}") from None


def is_database(address: str) -> bool:
    """Is this the address of a database?"""
    return address.partition(":")[0].lower() in DATABASES


def _split_address(address: str) -> SplitResult:
    """Split an address into scheme, host, path and query."""
    try:
        return urlsplit(address)
    except ValueError as error:
        raise InputError(f"{_hide_password(address)}: this is no address: {error}") from None


def download(address: str) -> Path:
    """Download the file at a web address to a temporary folder, which is removed when the program ends."""
    parts = _split_address(address)
    scheme, name = parts.scheme.lower(), Path(unquote(parts.path)).name
    if scheme not in ("http", "https"):
        raise InputError(_explain_scheme(address, scheme, name))
    try:
        with urllib.request.urlopen(_escape_address(address), timeout=SECONDS) as answer:
            return _save_download(answer, name)
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = getattr(error, "reason", error) or type(error).__name__
        raise InputError(f"{_hide_password(address)}: cannot be downloaded: {_shorten_reason(reason)}") from None


def _escape_address(address: str) -> str:
    """Write the spaces of an address and its letters beyond ASCII as browsers send them."""
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=quote(parts.path, safe=UNQUOTED), query=quote(parts.query, safe=UNQUOTED)))


def _save_download(answer: http.client.HTTPResponse, name: str) -> Path:
    """Save what an address answers to a temporary file; refuse it if it ends early, as half a file may look like a whole one."""
    encoding = answer.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding not in ("", "identity"):
        raise ValueError(f"the server sent it in the encoding {encoding!r}, which was not asked for")
    announced = answer.headers.get("Content-Length", "")
    path = spool(answer, name)
    size = path.stat().st_size
    if announced.isdecimal() and size < int(announced):
        raise ValueError(f"it ended early, after {size:,} of {int(announced):,} bytes; try again")
    return path


def spool(stream: ByteStream, name: str) -> Path:
    """Copy the stream from an address to a temporary file of about this name; too large a one is refused."""
    plain = re.sub(r"[\x00-\x1f/\\]", "_", name)[-MAX_NAME:]
    path = Path(tempfile.mkdtemp(dir=_make_download_folder().name)) / (plain if plain.strip(".") else "predictions")
    limit, size = find_decompression_limit(0, least=MAX_DOWNLOAD), 0
    try:
        with path.open("wb") as file:
            while chunk := stream.read(CHUNK_BYTES):
                size += len(chunk)
                if size > limit:
                    raise ValueError(f"it is larger than {limit:,} bytes; set {LIMIT_VARIABLE} to the number of bytes to allow")  # fmt: skip
                file.write(chunk)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return path


def spool_input(stream: ByteStream, name: str) -> Path:
    """Copy standard input, like the stream from an address, to a temporary file of this name."""
    try:
        return spool(stream, name)
    except (OSError, ValueError) as error:
        raise InputError(f"standard input: cannot be read: {_shorten_reason(error)}") from None


@contextmanager
def name_in_messages(path: Path, name: str) -> Iterator[None]:
    """Name the address in messages instead of its temporary copy."""
    try:
        yield
    except InputError as error:
        raise InputError(str(error).replace(str(path), name)) from None


@cache
def _make_download_folder() -> tempfile.TemporaryDirectory[str]:
    """Make a temporary folder for the file at an address."""
    return tempfile.TemporaryDirectory(prefix="fewlabels-")


def _explain_scheme(address: str, scheme: str, name: str) -> str:
    """Say how to read predictions from an address with another scheme, such as s3://."""
    if scheme in STORES:
        return f"{_hide_password(address)}: object storage is not read directly; copy the file first: {STORES[scheme]} {_hide_password(address)} {name or '.'}"
    return (
        f"{_hide_password(address)}: {scheme}:// is read from Python: fl.assess(ibis.connect({_hide_password(address)!r}).table('NAME')); "
        "from the command line, postgresql://...?table=NAME, https:// and files are"
    )


def _shorten_reason(reason: object) -> str:
    """Shorten the reason why an address could not be read to one line."""
    return " ".join(str(reason).split())[:300]


def _hide_password(address: str) -> str:
    """Name an address in messages without its password."""
    return redact_passwords(address)
