"""A few faults of every kind, as `python -m bench.faults` injects them by the hundred: nothing is lost, twice, half-kept or littered."""

from pathlib import Path

import pytest

import fewlabels
from bench.faults.__main__ import SCENARIOS, main, run_scenarios
from bench.faults.page import CLEAN
from bench.faults.processes import WRITING, Place, run_verb
from bench.faults.trials import Trial, add_up
from bench.harness.rows import read_rows, select

FEW = 2
REPEATS = {"kill: library that tells": 6, "full disk: reports": 1, "full disk: page server": 1}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_does_no_harm(name: str) -> None:
    [row] = run_scenarios([name], REPEATS.get(name, FEW), seed=1)
    assert row.total.is_clean, row.total.notes
    assert row.faults == REPEATS.get(name, FEW)
    assert row.total.acknowledged >= row.faults, "a scenario that acknowledges nothing shows nothing"


def test_what_was_wrong_is_on_the_page_in_the_rows_and_in_the_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = {"a": [Trial(acknowledged=2), Trial(acknowledged=3)], "b": [Trial(lost=1, notes=("row 7 is gone",) * 2)]}
    results = [add_up(name, found) for name, found in trials.items()]
    for shown, code in ((results[:1], 0), (results, 1)):
        monkeypatch.setattr("bench.faults.__main__.run_scenarios", lambda *_, shown=shown: iter(shown))
        with pytest.raises(SystemExit) as stop:
            main(["--repeats", "2", "--out", str(tmp_path / "faults.md")])
        assert stop.value.code == code
        page = (tmp_path / "faults.md").read_text()
        assert "| a | 2 | 0 | 0 | 5 | 0 | 0 | 0 | 0 | 0 | 0.00 |" in page
        assert (CLEAN in page) == (code == 0)
    assert "\n- b: row 7 is gone\n\n" in page
    assert [row["lost"] for row in select(read_rows(tmp_path / "faults.jsonl"), "faults")] == [0, 1]


def test_lines_are_counted_in_modules_that_exist() -> None:
    paths = {part for path in Path(fewlabels.__file__).parent.rglob("*.py") for part in path.with_suffix("").parts[-2:]}
    assert set(WRITING) <= paths


def test_marks_of_a_process_killed_while_it_noted_them_are_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed:
        exitcode = -9

        def join(self, _: float) -> None:
            """Be dead."""

        def is_alive(self) -> bool:
            return False

    place = Place.make(tmp_path)

    def start(*_: object, **__: object) -> Killed:
        place.marks.write_text("")
        return Killed()

    monkeypatch.setattr("bench.faults.processes.start", start)
    assert run_verb(place, ["tell"]).code is None
