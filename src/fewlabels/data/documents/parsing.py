"""Read files and archive members within size limits, and parse them into a schema."""

import gzip
import json
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyarrow as pa
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from fewlabels.data.documents.errors import as_input_error, describe_value
from fewlabels.errors import InputError

MAX_BYTES = 1 << 30  # of a whole document, decompressed
MAX_LINE_BYTES = 1 << 26  # bytes
READ_ERRORS = (OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError, ValueError)
ZSTANDARD = 93  # compression method of zip members that zipfile cannot read before Python 3.14
S = TypeVar("S", bound=BaseModel)


class Schema(BaseModel):
    """Base of all schemas: frozen, strict types, finite numbers; unknown fields are ignored."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False, extra="ignore")


def _to_text(value: Any) -> Any:
    """Parse a name or an id in a document as text; numbers are allowed."""
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 2**64:
        return str(value)
    raise ValueError(f"it should be text or a number, and is {describe_value(value)}")


Name = Annotated[str, BeforeValidator(_to_text)]
Count = Annotated[int, Field(ge=0, lt=2**53)]
UnitFloat = Annotated[float, Field(ge=0, le=1)]
STRICT_CONFIG = ConfigDict(strict=True, allow_inf_nan=False, arbitrary_types_allowed=True)
JSON_VALUE: TypeAdapter[Any] = TypeAdapter(Any)


def parse(schema: type[S], raw: bytes | str, where: str, advice: str = "") -> S:
    """Parse a JSON document into a schema; error messages start with `where` and end with `advice`."""
    try:
        return schema.model_validate_json(_decode_utf8(raw, where))
    except ValidationError as error:
        raise as_input_error(error, where, advice) from None


def parse_any(raw: bytes | str, where: str, advice: str = "") -> Any:
    """Parse a JSON document without a schema."""
    try:
        return JSON_VALUE.validate_json(_decode_utf8(raw, where))
    except ValidationError as error:
        raise as_input_error(error, where, advice) from None


def check(schema: type[S], value: Any, where: str, advice: str = "") -> S:
    """Validate a parsed value against a schema of documents; tuples count as lists, as in JSON."""
    return parse(schema, json.dumps(value, default=str), where, advice)


def check_type(type_: Any, value: Any, name: str) -> None:
    """Raise `InputError` (a ValueError) if a value parsed from a document does not match its declared type."""
    try:
        TypeAdapter(type_, config=STRICT_CONFIG).validate_python(value)
    except ValidationError as error:
        raise as_input_error(error, name) from None


def read_file(path: Path) -> bytes:
    """Read the whole file of a document to parse; refuse one that is too large."""
    try:
        with path.open("rb") as file:
            return _read_document(file, str(path))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the numbered lines of a document to parse, decompressed if the file ends in .gz; skip blank ones."""
    n_bytes = number = 0
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as file:
            while line := file.readline(MAX_LINE_BYTES + 1):
                n_bytes, number = n_bytes + len(line), number + 1
                _require_small(len(line), MAX_LINE_BYTES, f"{path}, line {number}")
                _require_small(n_bytes, MAX_BYTES, str(path))
                if line.strip():
                    yield number, line
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{path}: it cannot be read beyond line {number}: {_error_reason(error)}; was it cut short?"
        ) from None


def read_member(archive: zipfile.ZipFile, name: str, where: str) -> bytes:
    """Read a document to parse from a zip archive, including zstandard compression."""
    try:
        info = archive.getinfo(name)
        _require_small(info.file_size, MAX_BYTES, f"{where}, {name}")
        if info.compress_type == ZSTANDARD:
            return _read_document(pa.CompressedInputStream(pa.BufferReader(_read_packed(archive, info)), "zstd"), where)
        with archive.open(info) as member:
            return _read_document(member, f"{where}, {name}")
    except InputError:
        raise
    except READ_ERRORS as error:
        raise InputError(f"{where}, {name}: {_error_reason(error)}; was it cut short?") from None


def _read_packed(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Read the raw bytes of a document in a zip archive, after its local header."""
    file = archive.fp
    assert file is not None
    file.seek(info.header_offset + 26)
    n_name, n_extra = (int.from_bytes(file.read(2), "little") for _ in range(2))
    file.seek(n_name + n_extra, 1)
    return file.read(info.compress_size)


def _read_document(file: Any, where: str) -> bytes:
    """Read the bytes of a document to parse, within the size limit."""
    raw: bytes = file.read(MAX_BYTES + 1)
    _require_small(len(raw), MAX_BYTES, where)
    return raw


def _require_small(n_bytes: int, most: int, where: str) -> None:
    """Refuse a document that is too large to parse."""
    if n_bytes > most:
        raise InputError(f"{where}: larger than {most >> 20:,} MiB, the limit for a document; split it")


def _decode_utf8(raw: bytes | str, where: str) -> str:
    """Decode the bytes of a document to parse as UTF-8."""
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        number = raw[: error.start].count(b"\n") + 1
        line = "" if ", line " in where else f", line {number}"
        raise InputError(
            f"{where}{line}: this is not UTF-8; was the file damaged, or saved in another encoding?"
        ) from None


def _error_reason(error: Exception) -> str:
    """Return the first line of the reason why a document cannot be parsed."""
    said = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return said[:200].splitlines()[0]
