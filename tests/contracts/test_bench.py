"""Measurements that are kept can be gathered: every page still has the columns that the one table is made of."""

from pathlib import Path

import pytest

from bench import __main__ as everything
from bench.gathering import GATHERERS, find_table

PAGE = "# Speed\n\n| program | seconds |\n|---|---|\n| `a` | **1.5** |\n"


def test_every_kept_page_has_its_say_in_one_table(tmp_path: Path) -> None:
    everything.main(["--collect", "--out", str(tmp_path)])
    text = (tmp_path / "README.md").read_text()
    kept = [part for part in everything.PARTS if part.kept.exists()]
    assert len(kept) >= 10
    for part in kept:
        assert (tmp_path / text.split(f"[{part.name}](")[1].split(")")[0]).resolve() == part.kept
    assert {row["part"].split("]")[0].strip("[") for row in find_table(text, "part", "ours", "ratio")} == {
        part.name for part in kept if part.name in GATHERERS
    }
    assert (tmp_path / "ratios.png").read_bytes().startswith(b"\x89PNG")


def test_a_page_without_its_columns_is_missed_loudly() -> None:
    assert find_table(PAGE, "program", "seconds") == [{"program": "a", "seconds": "1.5"}]
    with pytest.raises(SystemExit, match="no table with the columns program, minutes"):
        find_table(PAGE, "program", "minutes")


def test_every_part_is_run_by_a_command_that_writes_its_page(tmp_path: Path) -> None:
    for part in everything.PARTS:
        for pace in ("full", "brief", "quick"):
            command = part.command(tmp_path, Path("pools"), pace)
            assert command[1:3] == ["-m", part.module]
            assert str(tmp_path) in command[-1]


def test_a_part_that_fails_is_missed_loudly_even_where_an_older_page_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "broken.md").write_text(PAGE)
    monkeypatch.setattr(everything, "PARTS", (everything.Part("broken", "bench.nowhere"),))
    with pytest.raises(SystemExit, match="no page of broken"):
        everything.main(["--quick", "--out", str(tmp_path)])
    assert "No page: broken." in (tmp_path / "README.md").read_text()
