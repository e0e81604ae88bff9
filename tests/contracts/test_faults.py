"""A few faults of every kind, as `python -m bench.faults` injects them by the hundred: nothing is lost, twice, half-kept or littered."""

import pytest

from bench.faults.__main__ import SCENARIOS, run_scenarios

FEW = 2
REPEATS = {"kill: library that tells": 6, "full disk: reports": 1, "full disk: page server": 1}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_does_no_harm(name: str) -> None:
    [row] = run_scenarios([name], REPEATS.get(name, FEW), seed=1)
    assert row.total.is_clean, row.total.notes
    assert row.faults == REPEATS.get(name, FEW)
    assert row.total.acknowledged >= row.faults, "a scenario that acknowledges nothing shows nothing"
