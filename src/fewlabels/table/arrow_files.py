"""Arrow files (IPC, Feather), read batch by batch and checked in full before an engine sees them.

An engine trusts Arrow data: an offset that points outside its buffer would end the process. Files are not mapped into
memory either, since a file that is truncated while it is mapped would end the process, too.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from fewlabels.errors import InputError
from fewlabels.table.unpacking import find_limit, require_bounded

DAMAGED = (pa.ArrowException, OSError, MemoryError, struct.error)
MAGIC = b"ARROW1\0\0"  # the file format is this, the stream format, and a footer
DICTIONARY = 2  # the type of a header that wraps that of a batch


def read_batches(paths: Sequence[str]) -> pa.RecordBatchReader:
    """Return a reader of the batches of several files, which must have the same columns."""
    schemas = [_read_schema(path) for path in paths]
    for path, schema in zip(paths, schemas, strict=True):
        if schema != schemas[0]:
            raise InputError(f"{path}: its columns differ from those of {paths[0]}; read them one at a time")
    return pa.RecordBatchReader.from_batches(schemas[0], (batch for path in paths for batch in _read_sound(path)))


def _read_schema(path: str) -> pa.Schema:
    try:
        with pa.OSFile(path) as file:
            return (pa.ipc.open_file(file) if _is_file_format(path) else pa.ipc.open_stream(file)).schema
    except DAMAGED as error:
        raise _refuse(path, error) from None


def _read_sound(path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file, each checked in full: lengths, offsets, indices and text."""
    try:
        _bound_buffers(path)
        n = 0
        with pa.OSFile(path) as file:
            for n, batch in enumerate(pa.ipc.open_stream(_skip_magic(path, file)), start=1):
                batch.validate(full=True)
                yield batch
        _require_all(path, n)
    except DAMAGED as error:
        raise _refuse(path, error) from None


def _is_file_format(path: str) -> bool:
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _skip_magic(path: str, file: pa.NativeFile) -> pa.NativeFile:
    """Go to where the stream begins. The footer is not followed: what is bounded and checked is what is read."""
    file.seek(len(MAGIC) if _is_file_format(path) else 0)
    return file


def _require_all(path: str, n: int) -> None:
    """Compare how many batches were read with how many the footer promises."""
    if not _is_file_format(path):
        return
    with pa.OSFile(path) as file:
        promised = pa.ipc.open_file(file).num_record_batches
    if n != promised:
        raise InputError(f"{path}: cannot be read as arrow: {promised:,} batches were written, {n:,} are there")


def _refuse(path: str, error: BaseException) -> InputError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(f"{path}: cannot be read as arrow: {reason[:200]}")


def _bound_buffers(path: str) -> None:
    """Add up what the compressed buffers say they unpack to: a reader would allocate it at once."""
    limit, total = find_limit(Path(path).stat().st_size), 0
    with pa.OSFile(path) as file:
        for message in pa.ipc.MessageReader.open_stream(_skip_magic(path, file)):
            total += sum(_list_lengths(message))
            if total > limit:
                require_bounded(path, total)


def _list_lengths(message: pa.ipc.Message) -> Iterator[int]:
    """Yield the length before compression of every compressed buffer: it stands in the buffer's first eight bytes.

    The message's header is a flatbuffer, as `format/Message.fbs` of Apache Arrow defines it.
    """
    if message.body is None:
        return
    head, body = message.metadata.to_pybytes(), memoryview(message.body)
    (root,) = struct.unpack_from("<I", head, 0)
    batch = _follow(head, _find_field(head, root, 2))
    if head[_find_field(head, root, 1)] == DICTIONARY:
        batch = _follow(head, _find_field(head, batch, 1))
    if not _find_field(head, batch, 3):  # no compression
        return
    buffers = _follow(head, _find_field(head, batch, 2))
    (n,) = struct.unpack_from("<I", head, buffers)
    for i in range(n):
        offset, length = struct.unpack_from("<qq", head, buffers + 4 + 16 * i)
        if length >= 8 and offset >= 0:
            yield max(0, struct.unpack_from("<q", body, offset)[0])


def _find_field(head: bytes, table: int, index: int) -> int:
    """Return where a field of a flatbuffer's table stands; 0 where it is left out."""
    vtable = table - struct.unpack_from("<i", head, table)[0]
    (size,) = struct.unpack_from("<H", head, vtable)
    at = 4 + 2 * index
    offset = struct.unpack_from("<H", head, vtable + at)[0] if at < size else 0
    return table + offset if offset else 0


def _follow(head: bytes, at: int) -> int:
    return at + int(struct.unpack_from("<I", head, at)[0])
