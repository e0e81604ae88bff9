"""Ratings: figures, judges, clusters, and what is said where grades say little."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from conftest import Typed

import fewlabels as fl

Type = Callable[..., Typed]
SLICES = ("a", "b", "c", "d")


def make(seed: int = 0, n: int = 1200, graded: float = 0.08, noise: float = 0.7, bias: float = 0.0) -> pd.DataFrame:
    """Outputs with a quality of their own and of their slice, graded 1 to 5 by a judge, and some by people."""
    rng = np.random.default_rng(seed)
    part = rng.integers(0, len(SLICES), n)
    quality = 3 + rng.normal(size=n) + np.array([-0.8, 0.0, 0.3, 0.6])[part]
    truth = np.clip(quality.round(), 1, 5)
    judge = np.clip((quality + bias + noise * rng.normal(size=n)).round(), 1, 5)
    human = np.where(rng.random(n) < graded, truth, np.nan)
    return pd.DataFrame({"slice": np.array(SLICES)[part], "truth": truth, "judge": judge, "human": human})


def rate(frame: Any, **choices: Any) -> fl.Rating:
    return fl.rate(frame, **{"grade": "human", "judge": "judge", "by": "slice", "n_draws": 1000, **choices})


def test_groups_and_overall_cover_the_truth() -> None:
    frame = make()
    found = rate(frame)
    truth = frame.groupby("slice")["truth"].mean()
    assert found.figure == "mean"
    assert found.overall.low < frame["truth"].mean() < found.overall.high
    assert all(row.low < truth[row.group] < row.high for row in found.groups)
    assert found.worst_first[0].group == "a"
    assert found.row("a").p_worst == max(row.p_worst or 0 for row in found.groups)


def test_shares_of_grades_add_up_to_the_figures() -> None:
    found = rate(make(), bar=4)
    shares = {one.grade: one.mean for one in found.distribution if one.group == "b"}
    assert sum(shares.values()) == pytest.approx(1)
    assert found.row("b").mean == pytest.approx(shares["4"] + shares["5"])
    mean = next(one for one in found.figures if one.figure == "mean" and one.group == "b")
    assert mean.mean == pytest.approx(sum(float(grade) * share for grade, share in shares.items()))
    whole = sum(row.share * row.mean for row in found.groups)
    assert found.overall.mean == pytest.approx(whole, abs=0.005)


def test_with_every_item_graded_the_finite_pool_is_known() -> None:
    frame = make(n=300, graded=2.0)
    found = rate(frame, finite_pool=True, bar=3)
    assert found.overall.low == pytest.approx(found.overall.high)
    assert found.overall.mean == pytest.approx((frame["truth"] >= 3).mean())
    judged = pd.crosstab(frame["judge"] >= 3, frame["truth"] >= 3).to_numpy()
    overall = found.judges[0].overall
    assert overall.tpr.mean == pytest.approx(judged[1, 1] / judged[:, 1].sum())
    assert overall.tnr.mean == pytest.approx(judged[0, 0] / judged[:, 0].sum())
    observed, chance = np.trace(judged) / 300, (judged.sum(axis=0) * judged.sum(axis=1)).sum() / 300**2
    assert overall.kappa.mean == pytest.approx((observed - chance) / (1 - chance))
    assert overall.bias.mean == pytest.approx((frame["judge"] >= 3).mean() - (frame["truth"] >= 3).mean())


def test_a_good_judge_narrows_the_intervals() -> None:
    frame = make(noise=0.3)
    alone, judged = rate(frame, judge=()), rate(frame)
    assert judged.overall.high - judged.overall.low < 0.75 * (alone.overall.high - alone.overall.low)
    assert alone.to_dict()["judge"] is None


def test_a_biased_judge_is_found_out() -> None:
    frame = make(bias=0.8)
    found = rate(frame)
    true_bias = (frame["judge"] - frame["truth"]).mean()
    assert 0 < found.judges[0].overall.bias.low < true_bias < found.judges[0].overall.bias.high
    assert found.overall.low < frame["truth"].mean() < found.overall.high
    assert frame["judge"].mean() > found.overall.high


def test_several_judges_on_other_scales() -> None:
    frame = make().assign(second=lambda f: (f["truth"] * 20 + 3 * np.sin(np.arange(len(f)))).round(1))
    frame.loc[:99, "second"] = np.nan
    found = rate(frame, judge=("judge", "second"))
    assert [judge.name for judge in found.judges] == ["judge", "second"]
    assert found.judges[1].bias_of == "pass-rate"
    one = rate(frame).overall
    assert found.overall.high - found.overall.low < 0.7 * (one.high - one.low)
    assert any("second graded all but 100 items" in warning for warning in found.warnings)


def test_clusters_widen_the_interval_until_it_covers() -> None:
    """Five outputs of each of 20 prompts are graded; 20 simulations, of which intervals of 95 % miss at most 3."""
    covered, widths = [], []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        prompt = np.repeat(np.arange(600), 5)
        passes = (1.5 * rng.normal(size=600)[prompt] + rng.normal(size=3000) + 0.5 > 0).astype(float)
        frame = {"prompt": prompt, "human": np.where(prompt < 20, passes, np.nan)}
        alone, together = (fl.rate(frame, grade="human", cluster=c, n_draws=500).overall for c in (None, "prompt"))
        covered.append(together.low < passes.mean() < together.high)
        widths.append((together.high - together.low) / (alone.high - alone.low))
    assert sum(covered) >= 17
    assert 1.3 < np.mean(widths) < 2.2


def test_clusters_that_do_not_matter_widen_little() -> None:
    frame = make(graded=0.2).assign(prompt=np.arange(1200) // 3)
    alone, together = rate(frame), rate(frame, cluster="prompt")
    assert together.overall.high - together.overall.low < 1.35 * (alone.overall.high - alone.overall.low)


def test_large_slices_do_not_follow_small_ones() -> None:
    """As many grades from small slices, of which half pass, as from large ones, of which a fifth pass; 24 simulations."""
    covered, away = [], []
    part = np.repeat(np.arange(6), [900, 700, 500, 60, 50, 40])
    for seed in range(24):
        rng = np.random.default_rng(seed)
        passes = (rng.random(len(part)) < np.array([0.18, 0.2, 0.2, 0.5, 0.55, 0.6])[part]).astype(float)
        shown = np.concatenate([rng.choice(np.flatnonzero(part == g), 20, replace=False) for g in range(6)])
        human = np.full(len(part), np.nan)
        human[shown] = passes[shown]
        found = fl.rate(
            {"human": human, "slice": part}, grade="human", by="slice", finite_pool=True, n_draws=500
        ).overall
        covered.append(found.low <= passes.mean() <= found.high)
        away.append(found.mean - passes.mean())
    assert abs(np.mean(away)) < 0.02
    assert sum(covered) >= 21


CONSTANT = {"human": [4, 2, 5, None] * 30, "judge": [3] * 120}
AGREEING = {"human": [5, 1, 3, None] * 30, "judge": [5, 1, 3, 2] * 30}
NEVER = {"human": [1, 0, None, None] * 30, "judge": [0, 1, 0, 1] * 30}
SAME = {"human": [1, None, 1, None] * 20, "judge": [0, 1, 0, 1] * 20}
UNGRADED = {"human": [None] * 40, "judge": [1, 2, 4, 5] * 10}
HALF = {
    "human": [1, 0, None, None] * 20,
    "judge": [1, 0, 1, 1] * 20,
    "slice": ["graded", "graded", "blank", "blank"] * 20,
}


@pytest.mark.parametrize(
    ("pool", "choices", "said"),
    [
        (CONSTANT, {}, "gives every item the same grade"),
        (AGREEING, {}, "agrees with people on all 90 items"),
        (NEVER, {}, "hardly agrees with people"),
        (SAME, {}, "same grade, 1"),
        (UNGRADED, {}, "no item is graded by people"),
        (UNGRADED, {"grade": None}, "only judges graded"),
        (HALF, {"by": "slice"}, "people graded nothing in 1 of 2 groups"),
    ],
)
def test_what_grades_cannot_say_is_said(pool: dict, choices: dict, said: str) -> None:
    found = rate(pool, **{"by": "all", **choices})
    assert any(said in warning for warning in found.warnings), found.warnings
    assert 0 <= (found.overall.low - found.scale.low) <= (found.overall.high - found.scale.low)


def test_without_people_the_interval_is_nearly_everything() -> None:
    found = rate(UNGRADED, by="all", bar=4)
    assert found.overall.high - found.overall.low > 0.7


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"bar": 9}, "none, would pass"),
        ({"level": 2.0}, "level is 2"),
        ({"seed": -1}, "seed is -1"),
        ({"n_draws": 3}, "too few"),
        ({"by": "slize"}, "did you mean 'slice'"),
        ({"judge": ("judge",) * 2}, "named twice"),
        ({"judge_bar": 70}, "not on the judge's scale"),
    ],
)
def test_choices_that_make_no_sense_are_refused(choices: dict, said: str) -> None:
    with pytest.raises(fl.InputError, match=said):
        rate(make(n=60), **choices)


def test_no_grades_at_all_are_refused() -> None:
    with pytest.raises(fl.InputError, match="no grades found"):
        fl.rate({"x": [1, 2]})


def test_the_same_seed_gives_the_same_digits() -> None:
    frame = make(n=200, graded=0.3)
    one, other = (rate(frame, seed=3).to_dict() for _ in range(2))
    for found in (one, other):
        found["provenance"].pop("date")
    assert one == other
    assert one["provenance"]["seed"] == 3


def test_the_result_is_shown_in_every_way(tmp_path: Path) -> None:
    found = rate(make(), bar=4)
    assert len(found.to_frame()) == 4
    assert "pass rate" in found.to_markdown()
    assert "by people&#39;s standard" in found._repr_html_() or "by people's standard" in found._repr_html_()
    for kind in ("groups", "distribution", "judges"):
        assert found.plot(kind).figure is not None
    with pytest.raises(fl.InputError, match="no kind 'pie'"):
        found.plot("pie")
    page = found.report(tmp_path / "r.html").read_text()
    assert "Judges against people" in page
    assert page.count("<svg") == 3


def test_the_bar_of_judges_and_groups_without_their_figures_are_named(type_in: Type, tmp_path: Path) -> None:
    frame = make(n=300, graded=0.3)
    frame.loc[frame["slice"].isin(["a", "d"]), "human"] = np.nan
    found = rate(frame)
    said = "an output passes from people's grade 4 on (judges' bars: judge 4); judges are measured in groups with 10 grades of people or more: not in a, d"
    assert said in found.to_markdown().replace("&#39;", "'").replace("\\", "")
    frame.to_csv(tmp_path / "g.csv", index=False)
    assert said in type_in("rate", tmp_path / "g.csv", "--grade", "human", "--judge", "judge", "--by", "slice").out


def test_the_report_has_the_plan_and_the_answers_to_grade(tmp_path: Path) -> None:
    found = rate(make().assign(id=lambda f: "answer" + f.index.astype(str)), target_width=0.1, next=3)
    page = found.report(tmp_path / "r.html").read_text()
    assert found.plan is not None
    assert found.plan.sentence[1:] in page
    assert "To halve the interval" not in page
    assert "Have people grade the 3 answers listed under “To grade next”" in page
    assert all(f"{one.id}<" in page for one in found.next)


def test_the_command_line_says_what_python_says(type_in: Type, tmp_path: Path) -> None:
    file = tmp_path / "graded.csv"
    make().to_csv(file, index=False)
    typed = type_in(
        "rate",
        file,
        "--grade",
        "human",
        "--judge",
        "judge",
        "--by",
        "slice",
        "--bar",
        "4",
        "--draws",
        "1000",
        "--json",
        "-",
    )
    plain = json.loads(typed.out)
    assert plain["overall"]["mean"] == pytest.approx(rate(file, bar=4).overall.mean)
    assert plain["figure"] == "pass-rate"
    assert set(plain["judge"]) >= {"tpr", "tnr", "kappa", "bias"}
    failed = type_in("rate", file, "--grade", "human", "--draws", "500", "--fail-if", "overall.low < 4")
    assert failed.code == 2
    assert "mean grade by people's standard; scale 1, 2, 3, 4 or 5" in failed.out
    assert type_in("rate", file, "--grade", "humn").err.count("\n") == 1


def test_grades_in_a_file_of_their_own(tmp_path: Path) -> None:
    frame = make(n=200, graded=0.4).assign(id=range(200))
    frame.drop(columns="human").to_csv(tmp_path / "judged.csv", index=False)
    frame[["id", "human"]].dropna().to_csv(tmp_path / "people.csv", index=False)
    found = rate(tmp_path / "judged.csv", labels=tmp_path / "people.csv")
    assert found.n_grades == frame["human"].count()
    assert found.overall == rate(frame).overall


def test_continuous_grades_keep_their_mean() -> None:
    rng = np.random.default_rng(2)
    truth = np.clip(rng.beta(4, 2, 2000) + (rng.random(2000) < 0.2), 0, 1)
    human = np.where(np.arange(2000) < 150, truth, np.nan)
    found = fl.rate({"human": human}, grade="human", n_draws=1000)
    bootstrap = truth[rng.integers(0, 150, (2000, 150))].mean(axis=1)
    low, high = np.quantile(bootstrap, [0.025, 0.975])
    assert found.overall.low < truth.mean() < found.overall.high
    assert found.overall.high - found.overall.low < 1.15 * (high - low)


def test_doctor_recognises_grades_and_says_what_to_type(
    type_in: Type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # where its proposals write their reports
    file = tmp_path / "graded.csv"
    make(n=100, graded=0.5).drop(columns="truth").to_csv(file, index=False)
    found = fl.diagnose(file)
    assert found.is_sound
    assert found.roles == {"grade": "human", "judge": "judge"}
    assert "1, 2, 3, 4 or 5" in found.can[0]
    assert found.next[0] == f"fewlabels rate {file} --grade human --judge judge --by slice --html report.html"
    for line in found.next:
        assert type_in(*line.split()[1:], "--quiet").code == 0
    typed = type_in("doctor", file)
    assert "percent" not in typed.out
    assert "graded outputs" in typed.out


def test_doctor_proposes_the_win_rate_of_preferences() -> None:
    table = {"human": ["A", "B", "tie", None] * 20, "judge": ["A", "B", "B", "tie"] * 20}
    found = fl.diagnose(table)
    assert found.next == ("fewlabels rate FILE --grade human --judge judge --html report.html",)
    assert found.can[0].startswith("win rate of the first output")


@pytest.mark.parametrize("human", [["A", "B", "tie", None] * 20, ["x", "z", "tie", None] * 20])
def test_doctor_proposes_to_rank_systems(human: list[str | None]) -> None:
    table = {"one": ["x", "y", "z", "x"] * 20, "two": ["y", "z", "x", "z"] * 20, "human": human, "judge": ["A"] * 80}
    found = fl.diagnose(table)
    assert found.is_sound
    assert found.next[0] == "fewlabels rate FILE --grade human --judge judge --systems one,two --html report.html"
    assert "--by one" not in found.next[1]
    assert fl.rate(table, systems=["one", "two"], n_draws=200).ranking is not None


def test_doctor_proposes_to_compare_sets_and_rate_says_how() -> None:
    table = {
        "people": ["bug|docs", "[]", None, "bug"] * 10,
        "text": ["a"] * 40,
        "tags": ["bug", "[]", "docs|ui", "bug"] * 10,
    }
    found = fl.diagnose(table)
    assert found.next == ("fewlabels rate FILE --sets --grade people --judge tags --html report.html",)
    assert (found.is_sound, found.n_items, found.n_labels) == (True, 40, 30)
    with pytest.raises(fl.InputError, match="holds sets of labels, such as .* with sets="):
        fl.rate(table, grade="people")


def test_doctor_reports_grades_that_make_no_sense() -> None:
    found = fl.diagnose({"human": ["poor", "fair", None], "judge": [1, 2, 3]})
    assert not found.is_sound
    assert "order is unknown" in found.findings[0].message
    ungraded = fl.diagnose({"judge": [1, 2, 3]})
    assert "no item is graded by people" in ungraded.findings[0].message


def test_two_columns_of_peoples_grades_are_not_dropped_in_silence() -> None:
    table = {"human": [1, 2, 3] * 10, "expert": [2, 2, 3] * 10, "judge": [1, 2, 3] * 10}
    with pytest.raises(fl.InputError, match=r"columns 'human', 'expert' could all hold people's grades"):
        fl.rate(table)
    assert fl.rate(table, grade="expert", judge="judge").n_grades == 30


def test_a_grade_does_not_count_for_several_outputs_of_one_id() -> None:
    table = {"id": [i // 2 for i in range(40)], "judge": [1, 2] * 20}
    with pytest.raises(fl.InputError, match="2 outputs have the id '3', and a grade"):
        fl.rate(table, labels={"id": [3, 4], "grade": [1, 2]})
    assert fl.rate(table | {"id": range(40)}, labels={"id": [3, 4], "grade": [1, 2]}).n_grades == 2


@pytest.mark.parametrize("column", ["human", "judge"])
def test_grades_whose_squares_overflow_are_refused(column: str) -> None:
    table = {"human": [1.0, 2.0, 3.0] * 10, "judge": [1.0, 2.0, 3.0] * 10}
    table[column][4] = 1e300
    with pytest.raises(fl.InputError, match=rf"column '{column}' holds the grade 1e\+300 in row 5"):
        fl.rate(table)


def test_nan_as_text_is_a_missing_grade() -> None:
    found = fl.rate({"human": ["nan", "30%", "50%"] * 10, "judge": [0.1, 0.3, 0.5] * 10})
    assert found.n_grades == 20


@pytest.mark.parametrize("column", ["human", "judge", "slice"])
def test_a_parquet_file_whose_pages_are_damaged_is_refused(tmp_path: Path, column: str) -> None:
    path = tmp_path / "judged.parquet"
    make().to_parquet(path)
    chunk = pq.read_metadata(path).row_group(0).column(make().columns.get_loc(column))
    start = chunk.dictionary_page_offset
    raw = bytearray(path.read_bytes())
    raw[start + 20 : start + chunk.total_compressed_size] = bytes(chunk.total_compressed_size - 20)
    path.write_bytes(raw)
    with pytest.raises(fl.InputError, match=r"judged.parquet: the engine could not read it"):
        fl.rate(path, grade="human", judge="judge", by="slice")
