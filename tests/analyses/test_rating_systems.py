"""Several systems ranked by preferences: Bradley-Terry with ties, positions, and what cannot be ranked."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from scipy.special import expit

import fewlabels as fl
from fewlabels.models.grades.bradley_terry import fit_strengths

Type = Callable[..., Typed]
NAMES = np.array(["gpt", "llama", "mistral", "qwen"])
STRENGTH = np.array([0.9, 0.3, -0.3, -0.9])


def make(
    n_graded: int = 200, *, position: float = 0.3, favours: float = 0.6, seed: int = 0, n: int = 1500
) -> pd.DataFrame:
    """Comparisons of four systems: verdicts of people for some, and of a judge that favours the first for all."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, n)
    second = (first + rng.integers(1, 4, n)) % 4
    luck = rng.random(n)

    def prefer(advantage: float, luck: np.ndarray) -> np.ndarray:
        gap = STRENGTH[first] - STRENGTH[second] + advantage
        win, loss, tie = np.exp(gap / 2), np.exp(-gap / 2), 0.5
        at = luck * (win + loss + tie)
        return np.where(at < win, "A", np.where(at < win + tie, "tie", "B"))

    judge = prefer(favours, np.where(rng.random(n) < 0.6, luck, rng.random(n)))
    human = np.where(np.arange(n) < n_graded, prefer(position, luck), None)
    return pd.DataFrame({"one": NAMES[first], "two": NAMES[second], "human": human, "judge": judge})


def rank(frame: Any, **choices: Any) -> fl.Rating:
    wanted = {"grade": "human", "judge": "judge", "systems": ("one", "two"), "n_draws": 1000, **choices}
    return fl.rate(frame, **wanted)


def test_strengths_of_exact_win_rates_are_found() -> None:
    pairs = np.array([(a, b) for a in range(4) for b in range(4) if a != b])
    gaps = STRENGTH[pairs[:, 0]] - STRENGTH[pairs[:, 1]]
    found = fit_strengths(expit(gaps + 0.4)[None], pairs, np.ones(len(pairs)), 4)
    assert np.allclose(found.system, STRENGTH, atol=0.001)
    assert found.position == pytest.approx(0.4, abs=0.001)
    among_all = expit(STRENGTH[:, None] - STRENGTH).sum(axis=1) - 0.5
    assert np.allclose(found.win_rate, among_all / 3, atol=0.001)


def test_systems_are_ranked_and_the_preference_for_a_position_is_told_apart() -> None:
    found = rank(make())
    assert found.ranking is not None
    rows = {row.system: row for row in found.ranking.systems}
    assert next(row.system for row in found.ranking.systems) == "gpt"
    assert rows["gpt"].p_best > 0.9
    assert rows["qwen"].rank_high == 4
    assert sum(row.p_best for row in rows.values()) == pytest.approx(1)
    assert np.mean([row.mean for row in rows.values()]) == pytest.approx(0.5)
    truth = dict(zip(NAMES, (expit(STRENGTH[:, None] - STRENGTH).sum(axis=1) - 0.5) / 3, strict=True))
    assert sum(row.low - 0.03 < truth[name] < row.high + 0.03 for name, row in rows.items()) == 4
    assert found.ranking.position.mean > 0.5
    assert sum(row.n_items for row in rows.values()) == 2 * found.n_items


def test_a_judge_that_agrees_narrows_what_a_few_people_say() -> None:
    frame = make(60)
    alone, judged = rank(frame, judge=()), rank(frame)
    assert alone.ranking is not None
    assert judged.ranking is not None
    widths = [np.mean([row.high - row.low for row in one.ranking.systems]) for one in (alone, judged)]  # type: ignore[union-attr]
    assert widths[1] < 0.9 * widths[0]


def test_verdicts_may_name_the_better_system() -> None:
    frame = make()
    named = frame.assign(human=[{"A": a, "B": b, "tie": "Tie"}.get(v) for v, a, b in zip(frame["human"], frame["one"], frame["two"], strict=True)])  # fmt: skip
    assert rank(named).ranking == rank(frame).ranking


def test_the_command_line_and_every_view_show_the_ranking(type_in: Type, tmp_path: Path) -> None:
    path = tmp_path / "arena.csv"
    make().to_csv(path, index=False)
    said = type_in("rate", str(path), "--systems", "one,two", "--grade", "human", "--judge", "judge")
    assert "wins against all others" in said.out
    assert "of two equal systems, people prefer what stands first in" in said.out
    typed = type_in("rate", str(path), "--systems", "one,two", "--grade", "human", "--judge", "judge", "--json", "-", "--quiet")  # fmt: skip
    assert json.loads(typed.out)["ranking"]["systems"][0]["system"] == "gpt"
    found = rank(make())
    assert "P(best)" in found.to_markdown()
    assert "Systems" in found.to_html()


ROW = {"one": "x", "two": "y", "human": "A", "judge": "B"}


@pytest.mark.parametrize(
    ("rows", "choices", "said"),
    [
        ([ROW, ROW | {"human": "zeta"}], {}, "column 'human': row 2 prefers 'zeta', which is neither of its systems, 'x' and 'y', nor a tie"),
        ([ROW, ROW | {"two": "x"}], {}, "row 2 compares 'x' with itself"),
        ([ROW, ROW | {"two": None}], {}, "row 2 lacks a system"),
        ([ROW | {"human": 3, "judge": 4}, ROW | {"human": 5, "judge": 5}], {}, "holds grades, not preferences"),
        ([ROW] * 3, {"systems": ("one",)}, "name two columns"),
        ([ROW] * 3, {"systems": ("one", "tow")}, "there is no column 'tow'"),
        ([ROW] * 3, {"by": "judge"}, "ranks systems over all comparisons"),
    ],
)  # fmt: skip
def test_comparisons_that_make_no_sense_are_refused(rows: list[dict], choices: dict, said: str) -> None:
    with pytest.raises(fl.InputError, match=said):
        rank(pd.DataFrame(rows), **choices)


def test_what_cannot_be_known_is_said() -> None:
    ties = rank(make(40).assign(human=lambda f: f["human"].where(f["human"].isnull(), "tie")))
    assert any("same grade, tie" in warning for warning in ties.warnings)
    apart = pd.DataFrame([ROW, {"one": "p", "two": "q", "human": "B", "judge": "B"}] * 20)
    assert any("no comparison connects x, y with p" in warning for warning in rank(apart).warnings)
    blank = make().assign(human=lambda f: f["human"].where((f["one"] != "gpt") & (f["two"] != "gpt"), None))
    assert any("people compared none of gpt" in warning for warning in rank(blank).warnings)


def test_the_report_is_about_the_ranking(tmp_path: Path) -> None:
    page = rank(make()).report(tmp_path / "r.html").read_text()
    assert "“gpt” ranks first of 4 systems, and is the best with probability" in page
    assert "To halve the interval of “gpt”" in page
    assert "The win rate of outputs like these" not in page
