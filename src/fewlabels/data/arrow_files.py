"""Read Arrow files (IPC, Feather) batch by batch, and validate each batch before an engine reads it.

Engines do not validate Arrow data: an offset outside its buffer crashes the process. Files are not memory-mapped,
because truncating a mapped file crashes the process too.
"""

import struct
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from fewlabels.data.compression import find_decompression_limit, require_bounded
from fewlabels.errors import InputError

READ_ERRORS = (pa.ArrowException, OSError, MemoryError, IndexError, struct.error)
MAGIC = b"ARROW1\0\0"  # the file format: this magic, messages, and a footer that lists them
TAIL, BLOCK, BLOCKS = 10, 24, (2, 3)  # bytes after the footer, bytes per block, footer fields that list blocks
DICTIONARY = 2  # header type of a dictionary batch, which wraps a record batch


def read_batches(paths: Sequence[str]) -> pa.RecordBatchReader:
    """Return a reader over the batches of several Arrow files with the same columns."""
    schemas = [_read_schema(path) for path in paths]
    for path, schema in zip(paths, schemas, strict=True):
        if schema != schemas[0]:
            raise InputError(f"{path}: its columns differ from those of {paths[0]}; read them one at a time")
    return pa.RecordBatchReader.from_batches(schemas[0], (batch for path in paths for batch in _read_validated(path)))


def _read_schema(path: str) -> pa.Schema:
    """Read the columns of an Arrow file."""
    try:
        with pa.OSFile(path) as file:
            return (pa.ipc.open_file(file) if _is_file_format(path) else pa.ipc.open_stream(file)).schema
    except READ_ERRORS as error:
        raise _make_unreadable_error(path, error) from None


def _read_validated(path: str) -> Iterator[pa.RecordBatch]:
    """Yield the batches of an Arrow file, each validated in full: lengths, offsets, indices and UTF-8."""
    try:
        _require_bounded_buffers(path)
        with pa.OSFile(path) as file:
            for batch in _list_batches(file) if _is_file_format(path) else pa.ipc.open_stream(file):
                batch.validate(full=True)
                yield batch
    except READ_ERRORS as error:
        raise _make_unreadable_error(path, error) from None


def _is_file_format(path: str) -> bool:
    """Is this Arrow file in the file format, and not a stream?"""
    with Path(path).open("rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def _list_batches(file: pa.NativeFile) -> Iterator[pa.RecordBatch]:
    """Yield the batches of a file in the Arrow file format."""
    reader = pa.ipc.open_file(file)
    return (reader.get_batch(i) for i in range(reader.num_record_batches))


def _make_unreadable_error(path: str, error: BaseException) -> InputError:
    """Make the error about an Arrow file that cannot be read."""
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InputError(f"{path}: cannot be read as arrow: {reason[:200]}")


def _require_bounded_buffers(path: str) -> None:
    """Refuse an Arrow file whose buffers decompress to more than the limit: a reader allocates all of it at once."""
    size, total = Path(path).stat().st_size, 0
    limit = max(find_decompression_limit(size), size)
    with pa.OSFile(path) as file:
        for message in _read_messages(file) if _is_file_format(path) else pa.ipc.MessageReader.open_stream(file):
            total += sum(_list_buffer_lengths(message))
            if total > limit:
                require_bounded(path, total)


def _read_messages(file: pa.NativeFile) -> Iterator[pa.ipc.Message]:
    """Yield the messages listed in the footer of an Arrow file: not every writer precedes it with a complete stream."""
    pa.ipc.open_file(file)  # verifies the footer
    for offset in _list_offsets(_read_arrow_footer(file)):
        file.seek(offset)
        yield pa.ipc.read_message(file)


def _read_arrow_footer(file: pa.NativeFile) -> bytes:
    """Read the footer of an Arrow file, which lists its batches."""
    end = file.size() - TAIL
    file.seek(end)
    (length,) = struct.unpack_from("<i", file.read(4))
    file.seek(end - length)
    return bytes(file.read(length))


def _list_offsets(footer: bytes) -> Iterator[int]:
    """Yield the offsets of the dictionaries and batches of an Arrow file (Apache Arrow, `format/File.fbs`)."""
    (root,) = struct.unpack_from("<I", footer, 0)
    for field in BLOCKS:
        at = _find_flatbuffer_field(footer, root, field)
        blocks = _follow_offset(footer, at) if at else 0
        n = struct.unpack_from("<I", footer, blocks)[0] if at else 0
        yield from (struct.unpack_from("<q", footer, blocks + 4 + BLOCK * i)[0] for i in range(n))


def _list_buffer_lengths(message: pa.ipc.Message) -> Iterator[int]:
    """Yield the uncompressed lengths of the buffers of an Arrow message; a compressed buffer stores it in its first eight bytes.

    The message header is a flatbuffer (Apache Arrow, `format/Message.fbs`).
    """
    if message.body is None:
        return
    head, body = message.metadata.to_pybytes(), memoryview(message.body)
    (root,) = struct.unpack_from("<I", head, 0)
    batch = _follow_offset(head, _find_flatbuffer_field(head, root, 2))
    if head[_find_flatbuffer_field(head, root, 1)] == DICTIONARY:
        batch = _follow_offset(head, _find_flatbuffer_field(head, batch, 1))
    if not _find_flatbuffer_field(head, batch, 3):  # no compression
        yield len(body)
        return
    buffers = _follow_offset(head, _find_flatbuffer_field(head, batch, 2))
    (n,) = struct.unpack_from("<I", head, buffers)
    for i in range(n):
        offset, length = struct.unpack_from("<qq", head, buffers + 4 + 16 * i)
        if length >= 8 and offset >= 0:
            yield max(0, struct.unpack_from("<q", body, offset)[0])


def _find_flatbuffer_field(head: bytes, table: int, index: int) -> int:
    """Return the offset of a field of a flatbuffer table in an Arrow file; 0 if it is absent."""
    vtable = table - struct.unpack_from("<i", head, table)[0]
    (size,) = struct.unpack_from("<H", head, vtable)
    at = 4 + 2 * index
    offset = struct.unpack_from("<H", head, vtable + at)[0] if at < size else 0
    return table + offset if offset else 0


def _follow_offset(head: bytes, at: int) -> int:
    """Follow a relative offset in the flatbuffers of an Arrow file."""
    return at + int(struct.unpack_from("<I", head, at)[0])
