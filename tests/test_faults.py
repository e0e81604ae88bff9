"""A few faults of every kind, as `python -m bench.faults` injects them by the hundred: nothing is lost, twice, half-kept or littered."""

import pytest

from bench.faults.__main__ import SCENARIOS, run_scenarios

FEW = {
    "kill: library that tells": 6,
    "kill: reports": 2,
    "full disk: reports": 1,
    "full disk: page server": 1,
    "clock: leases": 2,
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_fault_does_no_harm(name: str) -> None:
    [row] = run_scenarios([name], FEW.get(name, 3), seed=1)
    assert row.total.is_clean, row.total.notes
    assert row.faults == FEW.get(name, 3)
    assert row.total.acknowledged >= row.faults, "a scenario that acknowledges nothing shows nothing"
