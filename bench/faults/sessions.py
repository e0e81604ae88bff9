"""Pools and sessions to be tested, and what a session holds afterwards."""

import json
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import fewlabels as fl
from bench.faults.trials import Trial
from fewlabels.sessions.exchange.label_studio_tasks import CONTROL, ID
from fewlabels.sessions.journal.sqlite import SqliteJournal

POOL, SESSION, CLASSES = "pool.parquet", "s.db", ("cat", "dog", "emu")
EARLIER = 30  # answers
GOAL = ("--goal", "find-worst", "--prior", "flat")
Answers = Mapping[tuple[str, str], str]  # (item, who) -> label


def make_pool(folder: Path, n: int) -> Path:
    """Write items of three classes into a file."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"id": range(n), "predicted": rng.choice(CLASSES, n), "score": rng.uniform(0.4, 1, n).round(3)}
    )
    frame["text"] = [f"animal {i}" for i in range(n)]
    frame.to_parquet(folder / POOL)
    return folder / POOL


def make_session(folder: Path, n: int, votes: int = 1, name: str = SESSION, answers: Answers | None = None) -> Path:
    """Create a session on such items, with answers."""
    pool = fl.Predictions.read(make_pool(folder, n))
    with fl.Session.create(folder / name, pool, goal=fl.FindWorst(), prior=fl.flat(), votes=votes) as session:
        tell_all(session, answers or {})
    return folder / name


def list_earlier(n: int) -> dict[tuple[str, str], str]:
    """Return answers to the last of n items, given before anything happens."""
    return {(str(item), "earlier"): find_label(item) for item in range(n - EARLIER, n)}


def tell_all(session: fl.Session, answers: Answers) -> None:
    """Tell the answers of each person at once."""
    for who in dict.fromkeys(who for _, who in answers):
        session.tell({item: label for (item, teller), label in answers.items() if teller == who}, who=who)


def find_label(item: object) -> str:
    """Return the answer to an item: always the same."""
    return CLASSES[int(str(item)) % len(CLASSES)]


def write_sheet(path: Path, answers: Answers) -> Path:
    """Write answers as a sheet, each with who gave it."""
    rows = [f"{item},{label},{who}\n" for (item, who), label in answers.items()]
    path.write_text("id,label,who\n" + "".join(rows), encoding="utf-8")
    return path


def write_export(path: Path, answers: Answers) -> Path:
    """Write answers as Label Studio exports them."""
    tasks = [
        {
            "id": number, "data": {ID: item, "text": "x"},
            "annotations": [{
                "id": number, "completed_by": {"email": who}, "was_cancelled": False, "created_at": "2026-03-01T10:00:00Z",
                "result": [{"id": "x", "from_name": CONTROL, "to_name": "text", "type": "choices", "value": {"choices": [label]}}],
            }],
        }
        for number, ((item, who), label) in enumerate(answers.items())
    ]  # fmt: skip
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


@dataclass(frozen=True)
class Kept:
    """What a session holds: how often each answer was recorded, what counts now, and how long it took to open."""

    times: Mapping[tuple[str, str], int]
    answers: Answers
    n_labels: int
    seconds: float

    def of(self, who: str) -> Answers:
        """What one person answered."""
        return {key: label for key, label in self.answers.items() if key[1] == who}


def read_session(path: Path) -> Kept:
    """Open a session as its next user would, and read every answer that it holds."""
    began = time.perf_counter()
    with fl.Session.open(path) as session:
        seconds = time.perf_counter() - began
        rows = session.votes() if session.wanted > 1 else session.answers()
        n_labels = session.status()["n_labels"]
        with closing(SqliteJournal.open(path, read_only=True)) as journal:
            times = Counter((event.item.id, event.who) for event in journal.read() if event.kind == "told")
    with closing(sqlite3.connect(path)) as connection:
        [(verdict,)] = connection.execute("PRAGMA integrity_check").fetchall()
    if verdict != "ok":
        raise fl.InputError(f"damaged: {verdict}")
    return Kept(times, {(str(row["id"]), row["who"]): row["label"] for row in rows}, n_labels, seconds)


def try_session(path: Path) -> tuple[Kept | None, Trial]:
    """Read a session; what it cannot be opened for is a trial that failed."""
    try:
        kept = read_session(path)
    except (fl.InputError, sqlite3.Error) as error:
        return None, Trial(broken=1, notes=(f"the session does not open: {error}",))
    return kept, Trial(recovery=kept.seconds)


def compare(kept: Kept, acknowledged: Answers, *batches: Answers) -> Trial:
    """Count what is lost, twice or there in part. A batch was told at once and perhaps not acknowledged."""
    lost = [key for key, label in acknowledged.items() if kept.answers.get(key) != label]
    twice = [key for key, n in kept.times.items() if n > 1]
    half = [batch for batch in batches if 0 < sum(key in kept.answers for key in batch) < len(batch)]
    notes: tuple[str, ...] = (
        *(f"lost: {key}" for key in lost[:3]),
        *(f"twice: {key}" for key in twice[:3]),
        *(f"{sum(key in kept.answers for key in batch)} of {len(batch)} answers kept" for batch in half[:3]),
    )
    return Trial(len(acknowledged), len(lost), len(twice), len(half), recovery=kept.seconds, notes=notes)


def with_litter(trial: Trial, litter: list[str]) -> Trial:
    """Add what was left lying about."""
    if not litter:
        return trial
    return replace(trial, litter=trial.litter + len(litter), notes=(*trial.notes, f"litter: {', '.join(litter)}"))


def make_old(path: Path, answers: Answers) -> None:
    """Turn a session that has no answers into a file of the first version, with these answers."""
    with closing(sqlite3.connect(path, isolation_level=None)) as new:
        rows: dict[str, list[Any]] = {
            "meta": new.execute("SELECT about FROM meta").fetchall(),
            "blobs": new.execute("SELECT name, data FROM blobs").fetchall(),
            "items": new.execute("SELECT id, grp, place, entry FROM items").fetchall(),
        }
    for name in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        name.unlink(missing_ok=True)
    rows["events"] = [
        (kind, item, label if kind == "told" else None, "2024-05-01T10:00:00.000+00:00")
        for (item, _), label in answers.items()
        for kind in ("asked", "told")
    ]
    with closing(sqlite3.connect(path)) as old:
        old.executescript(VERSION_1)
        for table, values in rows.items():
            columns = "(kind, item, label, at)" if table == "events" else ""
            old.executemany(f"INSERT INTO {table} {columns} VALUES ({', '.join('?' * len(values[0]))})", values)
        old.commit()


VERSION_1 = """
    PRAGMA journal_mode = WAL;
    PRAGMA application_id = 1717925740;
    PRAGMA user_version = 1;
    CREATE TABLE meta (about TEXT NOT NULL);
    CREATE TABLE blobs (name TEXT PRIMARY KEY, data BLOB NOT NULL);
    CREATE TABLE items (id TEXT PRIMARY KEY, grp INTEGER NOT NULL, place INTEGER NOT NULL, entry INTEGER NOT NULL) WITHOUT ROWID;
    CREATE UNIQUE INDEX items_in_line ON items (grp, place);
    CREATE TABLE events (seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, item TEXT NOT NULL, label TEXT, at TEXT NOT NULL);
    CREATE TRIGGER no_delete BEFORE DELETE ON events BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
    CREATE TRIGGER no_update BEFORE UPDATE ON events BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
    CREATE TRIGGER no_replace BEFORE INSERT ON events WHEN NEW.seq IN (SELECT seq FROM events)
        BEGIN SELECT RAISE(ABORT, 'the journal only grows'); END;
"""
