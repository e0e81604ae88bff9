"""Sessions and surfaces that earlier versions wrote open, with the same answers and the same figures.

The files were written by versions with session formats 2 and 3; each JSON beside them holds what that version said.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import fewlabels as fl

KEPT = Path(__file__).parent / "kept"
FORMATS = ("format-2", "format-3")
NEAR = 0.05  # figures move with the draws, and with the model of the prior, which has changed since


def read_expected(folder: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((KEPT / folder / f"{name}.json").read_text())
    return found


@pytest.mark.parametrize("name", ["plain", "votes"])
@pytest.mark.parametrize("folder", FORMATS)
def test_a_session_of_an_earlier_version_goes_on(folder: str, name: str, tmp_path: Path) -> None:
    shutil.copy(KEPT / folder / f"{name}.db", tmp_path / "s.db")
    expected = read_expected(folder, name)
    with fl.Session.open(tmp_path / "s.db") as session:
        status, found = session.status(), session.assess()
        assert {key: status[key] for key in ("n_labels", "n_skipped", "n_pending")} == {
            key: expected[key] for key in ("n_labels", "n_skipped", "n_pending")
        }
        assert [[str(row["id"]), row["label"], row["who"]] for row in session.answers()] == expected["answers"]
        assert sorted(map(str, session.pending)) == expected["pending"]
        assert {row.group: row.mean for row in found.groups} == pytest.approx(expected["means"], abs=NEAR)
        assert found.to_dict()["overall"] == pytest.approx(expected["overall"], abs=NEAR)
        (item,) = session.ask(1, who="kim")
        session.tell({item: "cat"}, who="kim")
        assert session.status()["n_labels"] >= status["n_labels"]


@pytest.mark.parametrize("folder", FORMATS)
def test_a_surface_of_an_earlier_version_is_read(folder: str) -> None:
    expected, surface = read_expected(folder, "surface"), fl.Surface.load(KEPT / folder / "surface.npz")
    assert surface.to_dict()["overall"] == pytest.approx(expected["overall"], abs=1e-9)
    reading = surface.ask(site="north")
    assert {"mean": reading.mean, "low": reading.low, "high": reading.high} == pytest.approx(
        expected["north"], abs=NEAR
    )
    assert len(surface.arms) == expected["arms"]
