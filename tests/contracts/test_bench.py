"""Benchmarks yield rows; pages and the one table are made from them, and kept pages are those of the kept rows."""

import argparse
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from bench import __main__ as everything
from bench import grades_page, grades_peers_page, models_page, peers_page, surface_page
from bench.findings import FINDERS
from bench.harness.main import ROWS, Benchmark, describe_settings, start, start_in_batches
from bench.harness.page import figure, join_paragraphs, points, show_table, text
from bench.harness.rows import Row, Rows, read_rows, select, write_rows
from bench.label_efficiency.__main__ import QUESTIONS
from bench.parts import HERE, PARTS, Part

RENDERERS: dict[str, Callable[[Rows], Iterator[str]]] = {
    **{name: import_module(f"bench.{name}").render for name in ("asking", "fairness", "honesty", "honesty_broken", "honesty_classes", "learning", "page", "replay", "scale", "settling", "speed", "surface_uncertain", "surfaces", "votes")},
    "coverage": import_module("bench.coverage.page").render,
    "faults": import_module("bench.faults.page").render,
    "versions": import_module("versions").render,
    "grades": grades_page.render,
    "grades_peers": grades_peers_page.render,
    "models": models_page.render,
    "peers": peers_page.render,
    "surface_pools": surface_page.render,
    **{f"label_efficiency/{name}": question.render for name, question in QUESTIONS.items()},
}  # fmt: skip


def test_every_kept_page_has_its_rows_and_a_check() -> None:
    assert {path.stem for path in HERE.glob(f"*{ROWS}")} <= set(RENDERERS)


@pytest.mark.parametrize("name", RENDERERS)
def test_every_kept_page_is_that_of_the_kept_rows(name: str) -> None:
    rows, page = read_rows(HERE / f"{name}{ROWS}"), (HERE / f"{name}.md").read_text(encoding="utf-8")
    assert join_paragraphs(RENDERERS[name](rows)) == page, f"run: python -m bench.{name} --render ... --out ..."


def test_the_kept_table_is_that_of_the_kept_rows(tmp_path: Path) -> None:
    everything.main(["--collect", "--out", str(tmp_path)])
    made, kept = ((folder / "README.md").read_text(encoding="utf-8") for folder in (tmp_path, HERE / "results"))
    assert [line.split("|")[2:] for line in made.splitlines()[8:] if line.startswith("|")] == [
        line.split("|")[2:] for line in kept.splitlines()[8:] if line.startswith("|")
    ]
    for part in PARTS:
        assert (tmp_path / made.split(f"[{part.name}](")[1].split(")")[0]).resolve() == part.kept
    assert {line.split("]")[0][3:] for line in made.splitlines() if line.startswith("| [")} == set(FINDERS)
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_a_part_without_rows_is_missed_loudly(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"no rows of speed: .*speed.jsonl does not exist"):
        everything.find("speed", tmp_path / "speed.md")
    assert everything.find("faults", tmp_path / "faults.md") == []


def test_every_part_is_run_by_a_command_that_writes_its_page(tmp_path: Path) -> None:
    for part in PARTS:
        for pace in ("full", "brief", "quick"):
            command = part.command(tmp_path, Path("pools"), pace)
            assert command[1:3] == ["-m", part.module]
            assert str(tmp_path) in command[-1]


def test_a_part_that_fails_is_missed_loudly_even_where_an_older_page_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.md").write_text("# Broken\n")
    monkeypatch.setattr(everything, "PARTS", (Part("broken", "bench.nowhere"),))
    with pytest.raises(SystemExit, match="no page of broken"):
        everything.main(["--quick", "--out", str(tmp_path)])
    assert "No page: broken." in (tmp_path / "README.md").read_text()


# -- the harness ------------------------------------------------------------------------------------------------------


def render(rows: Rows) -> Iterator[str]:
    yield f"# {rows[0]['n']} of `{rows[0]['command']}`"
    yield show_table(
        (("a", text("a", "`{}`")), ("b", figure("b", ",.1f")), ("c", points("b", ".0f"))), select(rows, "ab")
    )


BENCHMARK = Benchmark("example", "An example.", render)


def make_parser() -> argparse.ArgumentParser:
    parser = BENCHMARK.make_parser()
    parser.add_argument("--n", type=int, default=1)
    parser.add_argument("--runs", type=int, default=2)
    return parser


def measure(options: argparse.Namespace) -> Iterator[Row]:
    yield {"table": "ab", "a": "x", "b": 1000.25 * options.n}
    yield {"table": "ab", "a": None, "b": None}


PAGE = """# 3 of `python -m bench.example --n 3 --out bench/example.md`

| a | b | c |
| --- | --- | --- |
| `x` | 3,000.8 | 300075 |
|  |  |  |
"""


def test_a_benchmark_writes_its_page_and_its_rows_and_makes_the_page_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    start(BENCHMARK, make_parser(), measure, ["--n", "3", "--out", str(tmp_path / "e.md")])
    assert capsys.readouterr().out == PAGE == (tmp_path / "e.md").read_text()
    settings, *rows = read_rows(tmp_path / "e.jsonl")
    assert settings | {"load": 0, "cores": 0} == {
        "table": "settings", "command": "python -m bench.example --n 3 --out bench/example.md", "cores": 0, "load": 0, "n": 3, "runs": 2,
    }  # fmt: skip
    assert rows[0] == {"table": "ab", "a": "x", "b": 3000.75}
    start(
        BENCHMARK, make_parser(), measure, ["--render", str(tmp_path / "e.jsonl"), "--json", str(tmp_path / "f.jsonl")]
    )
    assert capsys.readouterr().out == PAGE
    assert (tmp_path / "f.jsonl").read_text() == (tmp_path / "e.jsonl").read_text()


def test_the_command_on_a_page_can_be_pasted_into_a_shell() -> None:
    parser = make_parser()
    parser.add_argument("--only", default="")
    settings = describe_settings(BENCHMARK, parser, parser.parse_args(["--only", "never err", "--runs", "2"]))
    assert settings["command"] == "python -m bench.example --only 'never err' --out bench/example.md"


def test_what_an_earlier_command_with_as_many_runs_left_is_not_measured_again(tmp_path: Path) -> None:
    seen: list[int] = []

    def extend(_: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
        seen.append(len(kept))
        yield [*kept, {"table": "ab", "a": "x", "b": 1.0}]

    for runs in ("2", "2", "3"):
        start_in_batches(BENCHMARK, make_parser(), extend, ["--runs", runs, "--out", str(tmp_path / "e.md")])
    assert seen == [0, 1, 0]


def test_rows_are_flat_and_hold_what_json_has(tmp_path: Path) -> None:
    write_rows(
        tmp_path / "r",
        [{"table": "t", "a": np.float64(1.5), "b": np.int64(2), "c": np.bool_(True), "d": np.nan, "e": "é"}],
    )
    assert read_rows(tmp_path / "r") == [{"table": "t", "a": 1.5, "b": 2, "c": True, "d": None, "e": "é"}]
    with pytest.raises(TypeError, match="rows are flat: a must be a number, text or None, got list"):
        write_rows(tmp_path / "r", [{"table": "t", "a": [1]}])


def test_rows_of_a_table_are_selected_by_their_values() -> None:
    rows = [{"table": "t", "a": 1}, {"table": "t", "a": 2}, {"table": "u", "a": 1}]
    assert select(rows, "t", a=1) == rows[:1]
    assert select(rows, "t") == rows[:2]
