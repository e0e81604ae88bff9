"""Ways to damage a document: bytes, text, JSON values, members of archives, rows of a database."""

import gzip
import io
import json
import sqlite3
import struct
import zipfile
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

ODD_NUMBERS = (
    0, -1, 1, 2, 0.5, -0.0, 1e308, -1e308, 5e-324, 2**31, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400,
    float("nan"), float("inf"), float("-inf"),
)  # fmt: skip
ODD_TEXT = (
    "", " ", "a", "b", "nan", "NaN", "None", "null", "true", "1e999", "-1", "²", "٣", "A" * 5000, "\u202e", "\x1b[31m", "é\u0301",
    "😀", "a\nb", "\x00", "'", '"', "=1+1", "../x", "[bold]", ":x:", "%s", "{}",
)  # fmt: skip
ODD_BYTES = (b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\n", b"\r", b'"', b",", b"{", b"[", b"}", b"1e999", b"NaN", b"9" * 5000, b"\\ud800")  # fmt: skip
ODD_COLUMNS: tuple[tuple[Any, tuple[Any, ...]], ...] = (
    (0.7, (float("nan"), 0.0, 1.0, None)), (0.7, (float("inf"), -0.1, 1.5, 1e300)), (1, (0, 2, -1, None, 2**62)), ("a", ("b", "", None, " a", "A", "c")),
    (True, (False, None)), (Decimal("0.50"), (Decimal("1.00"), None)), (datetime(2024, 1, 1, tzinfo=UTC), (datetime(2025, 1, 1, tzinfo=UTC), None)),
    ("93%", ("7%", "nan", "0,5", "x")), ("é", ("e\u0301", "é")), (1, (1,)), ("x", ("=1+1", "\x1b[31m", "\u202e", "x" * 300)),
)  # fmt: skip
DEEP = 100_000


def mutate(rng: Random, path: Path) -> None:
    """Damage a file in place, in a way that fits its kind, or like any other file."""
    name = path.name
    ways = [_damage_bytes]
    if name.endswith((".json", ".keys", ".jsonl", ".ndjson", ".csv", ".tsv")):
        ways += [_damage_text]
    if name.endswith((".json", ".keys")):
        ways += 4 * [_damage_json]
    if name.endswith((".jsonl", ".ndjson")):
        ways += 4 * [_damage_lines]
    if name.endswith((".csv", ".tsv")):
        ways += 3 * [_damage_cells]
    if name.endswith((".parquet", ".csv")):
        ways += 3 * [_damage_column]
    if name.endswith((".gz", ".zst")):
        ways += 2 * [_damage_packed]
    if name.endswith((".eval", ".surface")):
        ways += 5 * [_damage_member]
    if name.endswith(".db"):
        ways += 5 * [_damage_rows]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        with suppress(Exception):  # what is broken by now may not be what this way takes apart
            rng.choice(ways)(rng, path)


def _damage_column(rng: Random, path: Path) -> None:
    """Replace the values of a column by odd ones of one type; or repeat, shuffle, or drop rows."""
    is_csv = path.suffix == ".csv"
    table = pa.csv.read_csv(path) if is_csv else pq.read_table(path)
    order = [rng.randrange(table.num_rows) for _ in range(table.num_rows)]
    way = rng.randrange(8)
    if way < 6:
        at = rng.randrange(table.num_columns)
        table = table.set_column(at, table.column_names[at], _make_odd_column(rng, table.num_rows))
    else:
        table = table.take(order if way == 6 else order[: rng.choice((0, 1, 2))])
    (pa.csv.write_csv if is_csv else pq.write_table)(table, path)


def _make_odd_column(rng: Random, n: int) -> pa.Array:
    """Return a column that is valid, and not what was there: of another type, constant, or with a few odd values."""
    usual, odd = rng.choice(ODD_COLUMNS)
    some = rng.choice((0.0, 0.1, 0.5, 1.0))
    return pa.array([rng.choice(odd) if rng.random() < some else usual for _ in range(n)])


def damage_bytes(rng: Random, raw: bytes) -> bytes:
    """Flip, cut, repeat, insert, or splice bytes."""
    if not raw:
        return bytes([rng.randrange(256)])
    at, end = sorted((rng.randrange(len(raw)), rng.randrange(len(raw) + 1)))
    noise = bytes(rng.randrange(256) for _ in range(rng.choice((1, 4, 64))))
    ways = (
        raw[:at], raw[:at] + raw[end:], raw[:end] + raw[at:], raw[:at] + rng.choice(ODD_BYTES) + raw[at:],
        raw[:at] + noise + raw[end:],
    )  # fmt: skip
    return rng.choice((*ways, *3 * (_flip(rng, raw),)))


def _flip(rng: Random, raw: bytes) -> bytes:
    out = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(out)


def damage_value(rng: Random, value: Any) -> Any:
    """Return a JSON document with one of its values dropped, repeated, retyped or nested."""
    spots: list[tuple[Any, Any]] = list(_list_spots(value))
    if not spots or rng.random() < 0.03:
        return _pick_value(rng, value)
    home, key = rng.choice(spots)
    way = rng.randrange(8)
    if way == 0:
        del home[key]
    elif way == 1:
        home[key] = [home[key]] if rng.random() < 0.5 else {"x": home[key]}
    elif way == 2:
        _, other = rng.choice(spots), rng.choice(spots)
        home[key] = json.loads(json.dumps(other[0][other[1]]))
    elif way == 3 and isinstance(home, dict):
        home[rng.choice(ODD_TEXT)] = home.pop(key)
    elif way == 3:
        home.insert(key, home[key])
    else:
        home[key] = _pick_value(rng, home[key])
    return value


def _list_spots(value: Any) -> Any:
    stack = [value]
    while stack:
        home = stack.pop()
        for key in list(home) if isinstance(home, dict) else range(len(home)) if isinstance(home, list) else ():
            yield home, key
            stack.append(home[key])


def _pick_value(rng: Random, old: Any) -> Any:
    way = rng.randrange(6)
    if way <= 1:
        return rng.choice(ODD_NUMBERS)
    if way == 2:
        return rng.choice(ODD_TEXT)
    if way == 3:
        return rng.choice((None, True, False, [], {}, [[]], [None], {"": None}))
    if way == 4:
        return str(old) if not isinstance(old, str) else len(old)
    return [old, old] if rng.random() < 0.5 else [[old], {"a": old}]


def _write_json(rng: Random, value: Any) -> str:
    """Write a document, now and then with a key twice or far too deep."""
    text = json.dumps(value)
    if rng.random() < 0.03:
        depth = rng.choice((50, 150, 250, 1500, DEEP))
        return (
            text.replace("null", "[" * depth + "]" * depth, 1) if "null" in text else "[" * depth + text + "]" * depth
        )
    if rng.random() < 0.03 and text.startswith("{") and "," in text:
        return text[:-1] + "," + text[1:].split(",", 1)[0] + "}"
    return text


def _damage_bytes(rng: Random, path: Path) -> None:
    path.write_bytes(damage_bytes(rng, path.read_bytes()))


def _damage_text(rng: Random, path: Path) -> None:
    raw = path.read_bytes()
    at = rng.randrange(len(raw) + 1)
    path.write_bytes(raw[:at] + rng.choice(ODD_TEXT).encode() + raw[at:])


def _damage_json(rng: Random, path: Path) -> None:
    path.write_text(_write_json(rng, damage_value(rng, json.loads(path.read_bytes()))))


def _damage_lines(rng: Random, path: Path) -> None:
    lines = path.read_bytes().split(b"\n")
    at = rng.randrange(max(len(lines) - 1, 1))
    with suppress(ValueError, RecursionError):
        lines[at] = _write_json(rng, damage_value(rng, json.loads(lines[at]))).encode()
    if rng.random() < 0.1:
        lines = rng.choice((lines[: at + 1], lines[:1], [b"", *lines], [*lines, *lines], lines[at:]))
    path.write_bytes(b"\n".join(lines))


def _damage_cells(rng: Random, path: Path) -> None:
    between = b"\t" if path.suffix == ".tsv" else b","
    rows = [line.split(between) for line in path.read_bytes().split(b"\n")]
    row = rng.choice(rows)
    at = rng.randrange(len(row))
    new = rng.choice([*map(str, ODD_NUMBERS), *ODD_TEXT]).encode()
    if rng.random() < 0.2:  # the whole column
        for other in rows[1:]:
            other[at:][:1] = [new]
            if at < len(other):
                other[at] = new
    row[at : at + rng.choice((0, 1, 1, 1, 2))] = [new] if rng.random() < 0.9 else []
    path.write_bytes(b"\n".join(between.join(row) for row in rows))


def _damage_packed(rng: Random, path: Path) -> None:
    """Damage what is inside as what it is, and now and then cut the stream."""
    inside, is_zstd = path.with_suffix(""), path.suffix == ".zst"
    raw = path.read_bytes()
    inside.write_bytes(
        pa.CompressedInputStream(pa.BufferReader(raw), "zstd").read() if is_zstd else gzip.decompress(raw)
    )
    mutate(rng, inside)
    raw = inside.read_bytes()
    path.write_bytes(pa.compress(raw, codec="zstd", asbytes=True) if is_zstd else gzip.compress(raw, mtime=0))
    inside.unlink()
    if rng.random() < 0.2:
        raw = path.read_bytes()
        path.write_bytes(raw[: rng.randrange(len(raw) + 1)])


def _damage_member(rng: Random, path: Path) -> None:
    """Damage a member of an archive: a JSON document as such, an array by bytes."""
    path.write_bytes(repack(rng, path.read_bytes()))


def repack(rng: Random, raw: bytes) -> bytes:
    """Return an archive with a member damaged, dropped or repeated."""
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        members = [(name, archive.read(name)) for name in archive.namelist()]
    at = rng.randrange(len(members))
    name, content = members[at]
    if rng.random() < 0.4:
        at, (name, content) = next(
            ((i, m) for i, m in enumerate(members) if m[0].startswith("about")), (at, members[at])
        )
    if rng.random() < 0.1:
        del members[at]
    else:
        members[at] = name, damage_member(rng, name, content)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", rng.choice((zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED))) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return out.getvalue()


def damage_member(rng: Random, name: str, content: bytes) -> bytes:
    """Damage JSON as JSON, an array in its head or its body, and what is packed in an array as what it is."""
    if name.endswith(".json"):
        return _write_json(rng, damage_value(rng, json.loads(content))).encode()
    if name.startswith("about") and rng.random() < 0.9:
        about = _write_json(rng, damage_value(rng, json.loads(content[128:]))).encode()
        head = content[:128].replace(str(len(content) - 128).encode(), str(len(about)).encode(), 1)
        return head[:127].ljust(127) + b"\n" + about
    if rng.random() < 0.5:
        swaps = [(b"<f8", b"<i8"), (b"<i8", b"<f8"), (b"<f8", b"<f4"), (b"<f8", b">f8"), (b"|u1", b"|i1"), (b"<f8", b"|O8"),
                 (b"<i8", b"<U2"), (b"'shape': (", b"'shape': (9"), (b"False", b"True "), (b",)", b",1"), (b"1", b"2"), (b"2", b"1")]  # fmt: skip
        old, new = rng.choice(swaps)
        return content.replace(old, new, 1)
    head, body = content[:128], bytearray(content[128:])
    if body:
        at = rng.randrange(0, len(body), 8) if len(body) >= 8 else 0
        body[at : at + 8] = struct.pack("<d", float(rng.choice([n for n in ODD_NUMBERS if abs(n) < 1e300 or n != n])))
    return head + bytes(body)


def _damage_rows(rng: Random, path: Path) -> None:
    """Change a session's rows behind its back."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("DROP TRIGGER IF EXISTS no_update")
        connection.execute("DROP TRIGGER IF EXISTS no_delete")
        rng.choice(_WAYS)(rng, connection)
        connection.commit()


def _change_about(rng: Random, connection: sqlite3.Connection) -> None:
    (about,) = connection.execute("SELECT about FROM meta").fetchone()
    plain = json.loads(about)
    text = _write_json(rng, damage_value(rng, plain))
    connection.execute("UPDATE meta SET about = ?", (text if rng.random() < 0.9 else damage_bytes(rng, text.encode()),))


def _change_blob(rng: Random, connection: sqlite3.Connection) -> None:
    (data,) = connection.execute("SELECT data FROM blobs WHERE name = 'tally'").fetchone()
    new = repack(rng, data) if rng.random() < 0.7 else damage_bytes(rng, data)
    connection.execute("UPDATE blobs SET data = ?", (new,))


def _change_cell(rng: Random, connection: sqlite3.Connection) -> None:
    table, columns = rng.choice(
        (("items", ("id", "grp", "place", "entry")), ("events", ("kind", "item", "label", "at", "who", "note", "seq")))
    )
    column = rng.choice(columns)
    odd = [*ODD_TEXT, b"\xff\xfe", b"", *(n for n in ODD_NUMBERS if isinstance(n, float) or abs(n) < 2**63)]
    new = rng.choice(("told", "asked", "decided", "skipped", "withdrawn", None, 3, "b", "c", *odd))
    where = "" if rng.random() < 0.1 else f" WHERE seq = {rng.randint(1, 12)}"
    if table == "items":
        where = f" WHERE id = '{rng.randrange(24)}'" if rng.random() < 0.8 else ""
    connection.execute(f"UPDATE {table} SET {column} = ?{where}", (new,))


def _drop(rng: Random, connection: sqlite3.Connection) -> None:
    connection.execute(rng.choice((
        "DELETE FROM meta", "DELETE FROM blobs", "DELETE FROM items", "DELETE FROM events WHERE seq % 2", "DROP TABLE events",
        "DROP TABLE blobs", "INSERT INTO meta SELECT about FROM meta", "UPDATE blobs SET name = 'other'",
        "PRAGMA user_version = 1", "PRAGMA user_version = 9", "ALTER TABLE events DROP COLUMN note", "UPDATE meta SET about = 7",
        "DELETE FROM items WHERE grp = 0", "INSERT INTO events (kind, item, label, at) SELECT kind, item, label, at FROM events",
    )))  # fmt: skip


_WAYS: tuple[Callable[[Random, sqlite3.Connection], None], ...] = (
    _change_about, _change_about, _change_blob, _change_cell, _change_cell, _drop,
)  # fmt: skip
