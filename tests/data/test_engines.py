"""The same calls on every engine: the same numbers to rounding, all counting done there, and only a few rows fetched."""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.operations as ops
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from engines import start_postgres, start_spark
from makers import make_pool

import fewlabels as fl
from fewlabels.data import fingerprint as fingerprints
from fewlabels.data import sampling as samples
from fewlabels.sessions import pool_fingerprint, queue

N, MOST, FEW = 1500, 40, 200
CLOSE = 1e-9


@cache
def table() -> pa.Table:
    """Predictions with whatever a column may hold: words, flags, numbers, gaps."""
    rng = np.random.default_rng(5)
    columns: dict[str, Any] = make_pool(3, n=N, labelled=0.5)
    columns["name"] = [f"item {i}" for i in range(N)]
    columns["site"] = [None if i % 7 == 0 else "rare" if i < 20 else f"site {i % 3}" for i in range(N)]
    columns["flag"] = (rng.random(N) < 0.5).tolist()
    columns |= {f"q_{c}": p.tolist() for c, p in zip("abc", rng.dirichlet([2, 2, 2], N).T, strict=True)}
    columns["chance"] = rng.uniform(0.01, 0.99, N).tolist()
    columns["y"] = [int(rng.random() < c) if rng.random() < 0.3 else None for c in columns["chance"]]
    columns["passed"] = [bool(g < 0.7) if g < 0.5 or g > 0.8 else None for g in rng.random(N)]
    columns["grade"] = [float(g) if g < 0.5 else None for g in rng.random(N)]
    return pa.table(columns)


BASE = ("id", "predicted", "score", "sex", "age", "site", "label")


def some(source: Any, *columns: str, **roles: Any) -> fl.Predictions:
    """Open some columns."""
    names = list(columns or BASE)
    return fl.Predictions.read(source.select(names) if isinstance(source, pl.DataFrame) else source[names], **roles)


def label(source: Any) -> Any:
    """Ask, tell, and say what is known then; with what a person sees of the items asked about."""
    pool = some(source)
    session = fl.Session.create(None, pool, goal=fl.FindWorst(fl.accuracy), seed=1)
    asked = []
    for _ in range(3):
        ids = session.ask(3)
        asked.append(ids)
        session.tell({i: "abc"[int(i) % 3] for i in ids})
    answer = session.assess().to_dict()
    seen = pool.show([str(i) for ids in asked for i in ids])
    return asked, answer, dict(sorted(seen.items())), pool_fingerprint.compute_fingerprint(pool, fl.predicted)


def label_of_many(source: Any) -> Any:
    """The same, of a pool that is too large to list: candidates are drawn in the engine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queue, "MAX_ITEMS", MOST)
        patch.setattr(samples, "MIN_SAMPLED_POOL", N // 2)
        patch.setattr(samples, "SAMPLE_SIZE", N // 7)
        patch.setattr(fingerprints, "SUBSET_SIZE", MOST)
        by = fl.column("site")
        session = fl.Session.create(None, some(source), goal=fl.Estimate(fl.accuracy), by=by, prior=fl.flat())
        made = session._spec.fingerprint
        return session.ask(5), session.status(), made, pool_fingerprint.compute_fingerprint(some(source), by)


def join(source: Any) -> Any:
    """Labels that somebody brings along."""
    brought = pd.DataFrame({"id": range(100), "label": ["abc"[i % 3] for i in range(100)]})
    return fl.assess(some(source, "id", "predicted", "score", labels=brought), prior=fl.flat()).to_dict()


CALLS: dict[str, Callable[[Any], Any]] = {
    "doctor": lambda s: fl.diagnose(some(s, "name", "predicted", "label", "flag", "site", id="name")).to_dict(),
    "accuracy, calibrated": lambda s: fl.assess(some(s)).to_dict(),
    "recall, flat": lambda s: fl.assess(some(s), by=fl.column("site"), prior=fl.flat(), metric=fl.recall).to_dict(),
    "confusion, from scores": lambda s: fl.assess(
        some(s, "id", "label", "q_a", "q_b", "q_c", scores="q_"), prior=fl.from_scores(), metric=fl.confusion
    ).to_dict(),
    "ece, of equal mass": lambda s: fl.assess(some(s), by=fl.bins(5, equal_mass=True), metric=fl.ece).to_dict(),
    "agreement, in ranges": lambda s: fl.assess(
        some(s, "id", "chance", "flag", "grade", agreement="grade"), by=fl.cross(fl.ranges("chance", 3), fl.column("flag"))
    ).to_dict(),
    "compare": lambda s: fl.compare(some(s), ("9", "30"), by=fl.column("age")).to_dict(),
    "fairness": lambda s: fl.fairness(
        some(s, "id", "chance", "y", "sex", positive_score="chance", label="y"), by=fl.column("sex")
    ).to_dict(),
    "fairness, of being right": lambda s: fl.fairness(
        some(s), by=fl.column("sex"), metrics=("accuracy",), method="frequency"
    ).to_dict(),
    "surface": lambda s: fl.surface(some(s), attributes=("sex", "age")).to_dict(),
    "rate": lambda s: fl.rate(
        some(s, "id", "chance", "sex", "grade", agreement="grade"), grade="grade", judge="chance", by="sex", n_draws=200
    ).to_dict(),
    "rate, passed or failed": lambda s: fl.rate(
        s.select(["id", "chance", "sex", "passed"]), grade="passed", judge="chance", by="sex", n_draws=200
    ).to_dict(),
    "labels brought along": join,
    "label": label,
    "label of many": label_of_many,
}  # fmt: skip


@contextmanager
def in_duckdb(path: Path) -> Iterator[Any]:
    yield ibis.duckdb.connect().read_parquet(path)


@contextmanager
def in_spark(path: Path) -> Iterator[Any]:
    with start_spark() as engine:
        yield engine.read_parquet(path)


@contextmanager
def in_postgres(path: Path) -> Iterator[Any]:
    with start_postgres() as engine:
        yield engine.create_table("pool", pq.read_table(path))


@contextmanager
def in_polars(path: Path) -> Iterator[Any]:
    yield pl.read_parquet(path)


@contextmanager
def in_polars_by_ibis(path: Path) -> Iterator[Any]:
    yield ibis.polars.connect().read_parquet(path)


@contextmanager
def in_pandas(path: Path) -> Iterator[Any]:
    yield pd.read_parquet(path)


ENGINES = {
    "DuckDB": in_duckdb, "Polars": in_polars, "Polars, by Ibis": in_polars_by_ibis, "pandas": in_pandas,
    "Spark": in_spark, "PostgreSQL": in_postgres,
}  # fmt: skip


@cache
def expect() -> dict[str, Any]:
    """What comes of the plain table, read by the default engine."""
    return {name: call(pl.from_arrow(table())) for name, call in CALLS.items()}


def differ(one: Any, other: Any, where: str = "") -> list[str]:
    """Say where two answers differ by more than rounding."""
    if isinstance(one, Mapping):
        keys = [f"{where}: {one.keys() ^ other.keys()}"] if one.keys() != other.keys() else []
        return keys or [line for key in one for line in differ(one[key], other[key], f"{where}.{key}")]
    if isinstance(one, Sequence) and not isinstance(one, str):
        if len(one) != len(other):
            return [f"{where}: {len(one)} and {len(other)} entries"]
        return [line for i, pair in enumerate(zip(one, other, strict=True)) for line in differ(*pair, f"{where}[{i}]")]
    if isinstance(one, float):
        alike = isinstance(other, float) and math.isclose(one, other, rel_tol=CLOSE, abs_tol=CLOSE)
        return [] if alike or (one != one and other != other) else [f"{where}: {one} and {other}"]
    return [] if one == other else [f"{where}: {one!r} and {other!r}"]


@contextmanager
def overhear(engine: Any) -> Iterator[list[tuple[Any, int]]]:
    """Note every expression that is put to an engine, and how many rows came back."""
    heard: list[tuple[Any, int]] = []
    to_pyarrow = engine.to_pyarrow

    def note(expression: Any, **options: Any) -> Any:
        found = to_pyarrow(expression, **options)
        heard.append((expression, found.num_rows if isinstance(found, pa.Table) else 1))
        return found

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engine, "to_pyarrow", note)
        yield heard


@pytest.mark.filterwarnings(
    "ignore:The copy keyword is deprecated:DeprecationWarning",  # what Spark and Ibis ask of pandas
    "ignore:The 'future.infer_string' option is deprecated:DeprecationWarning",
    "ignore:unclosed:ResourceWarning",  # the wire to Spark
)
@pytest.mark.parametrize("start", ENGINES.values(), ids=ENGINES.keys())
def test_the_same_numbers_come_from_every_engine(start: Callable, tmp_path: Path) -> None:
    pq.write_table(table(), tmp_path / "pool.parquet")
    expected = expect()
    with start(tmp_path / "pool.parquet") as source:
        asked = isinstance(source, ibis.Table) and start is not in_polars_by_ibis  # others are carried to DuckDB
        engine = source.get_backend() if asked else ibis.duckdb.connect()
        for name, call in CALLS.items():
            with overhear(engine) as heard:
                assert differ(expected[name], call(source), name) == []
            if name != "label":  # there, a line of all items is what is asked for
                check_that_little_is_fetched(engine, heard)
        if engine.name == "pyspark":
            check_that_spark_neither_sorts_nor_windows(engine, heard)


def check_that_little_is_fetched(engine: Any, heard: list[tuple[Any, int]]) -> None:
    """No query fetches or sorts the table: each counts in the engine, or asks for a few rows."""
    for expression, n_rows in heard:
        plan, query = expression.op(), engine.compile(expression)
        assert plan.find(ops.Aggregate) or n_rows <= FEW, query
        assert not plan.find((ops.Sort, ops.WindowFunction)), query
        assert n_rows == 1 or "GROUP BY" in query or " WHERE " in query or "LIMIT" in query, query


def check_that_spark_neither_sorts_nor_windows(engine: Any, heard: list[tuple[Any, int]]) -> None:
    """What Spark itself makes of drawing candidates: filters and a join with the limits of groups, in one pass."""
    plans = [engine.raw_sql(engine.compile(e))._jdf.queryExecution().optimizedPlan().toString() for e, _ in heard]
    assert any("Aggregate" in plan for plan in plans)
    assert any("Join Inner" in plan and "Filter" in plan for plan in plans)
    assert not any("Sort [" in plan or "Window [" in plan for plan in plans)
