"""Check that compressed files are complete, and bound their decompressed size before they are loaded.

A few megabytes can decompress to gigabytes. The limit is 100 times the size of the file, and at least 512 MiB; the
environment variable FEWLABELS_MAX_UNPACKED (bytes) replaces it.
"""

import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa

from fewlabels.errors import InputError

MAX_BYTES = 512 * 1024**2
MAX_RATIO = 100  # text usually compresses by a factor of 5 to 20, rarely 50
LIMIT_VARIABLE = "FEWLABELS_MAX_UNPACKED"
CHUNK_BYTES = 1 << 20


def find_decompression_limit(n_packed: int, least: int | None = None) -> int:
    """Return how many bytes a compressed file of this size may decompress to, or be downloaded."""
    said = os.environ.get(LIMIT_VARIABLE, "")
    if said and not said.isdecimal():
        raise InputError(f"{LIMIT_VARIABLE} is {said!r}; give a number of bytes")
    return int(said) if said else max(MAX_BYTES if least is None else least, MAX_RATIO * n_packed)


def require_bounded(path: str | Path, n_unpacked: int) -> None:
    """Refuse a compressed file that decompresses to more than the limit."""
    n_packed = Path(path).stat().st_size
    limit = find_decompression_limit(n_packed)
    if n_unpacked > limit:
        raise InputError(
            f"{path}: {_format_megabytes(n_packed)} unpack to more than {_format_megabytes(limit)}, too much to be loaded; "
            f"if that is right, set {LIMIT_VARIABLE} to the number of bytes to allow"
        )


def check_stream(path: str) -> None:
    """Decompress a .gz or .zst file once without storing it: it must be complete and within the limit."""
    if not path.lower().endswith((".gz", ".zst")):
        return
    limit, n = find_decompression_limit(Path(path).stat().st_size), 0
    try:
        with _open_compressed(path) as stream:
            while n <= limit and (chunk := stream.read(CHUNK_BYTES)):
                n += len(chunk)
    except EOFError:
        raise InputError(f"{path}: the compressed stream ends early; was the file cut short?") from None
    except (OSError, zlib.error, pa.ArrowException) as error:
        raise InputError(f"{path}: the compressed stream is damaged: {str(error).splitlines()[0]}") from None
    require_bounded(path, n)


def _open_compressed(path: str) -> Any:
    """Open a .gz or .zst file to read what it decompresses to."""
    return gzip.open(path, "rb") if path.lower().endswith(".gz") else pa.CompressedInputStream(path, "zstd")


def _format_megabytes(n: int) -> str:
    """Return a decompressed size in megabytes."""
    return f"{n / 1e6:,.1f} MB" if n < 1e7 else f"{n / 1e6:,.0f} MB"
