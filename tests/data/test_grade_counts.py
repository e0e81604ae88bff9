"""Grades of people and judges: scales recognised and stated, columns as numbers, and one query of counts."""

from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pytest

from fewlabels.data.grades.columns import find_grades, recognize_columns
from fewlabels.data.grades.counting import choose_bar, count_grades
from fewlabels.data.grades.reading import open_graded
from fewlabels.data.grades.scale import Scale, parse_scale, recognize_scale
from fewlabels.data.groups import column, everything
from fewlabels.errors import InputError

FIVE = parse_scale("1-5")


@pytest.mark.parametrize(
    ("values", "others", "words"),
    [
        ([0, 1], [], "0 or 1"),
        ([1], [], "0 or 1"),
        ([1, 3, 5], [], "1, 2, 3, 4 or 5"),
        ([2, 4], [1, 2, 3, 4, 5], "1, 2, 3, 4 or 5"),
        ([3], [], "1, 2, 3, 4 or 5"),
        ([1, 2.5, 4], [], "1, 1.5, 2, 2.5, 3, 3.5 or 4"),
        ([0, 0.5, 1], [], "0, 0.5 or 1"),
        ([0.13, 0.5, 0.77], [], "any number from 0 to 1"),
        ([2.37, 4.1], [], "any number from 1 to 5"),
        ([13, 55, 90], [], "any number from 0 to 100"),
        ([-0.3, 0.8], [], "any number from -0.3 to 0.8"),
        ([0, 1], [1, 2, 3, 4, 5], "0 or 1"),
        ([0, 1], [*range(11)], "0 or 1"),
        ([1, 2, 3, 4, 5], [*range(11)], "1, 2, 3, 4 or 5"),
        ([2, 4], [*range(11)], "2, 3 or 4"),
        ([2, 7], [*range(11)], "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 or 10"),
    ],
)
def test_scales_are_recognised(values: list[float], others: list[float], words: str) -> None:
    assert recognize_scale("human", [*map(float, values)], [[*map(float, others)]]).words == words


def test_a_judge_on_another_scale_does_not_change_that_of_people() -> None:
    human = [1, 2, 3, 4, 5, None] * 5
    table = {"human": human, "same": [1, 2, 3, 4, 5, 5] * 5, "ten": [1, 4, 6, 8, 10, 0] * 5}
    for judges in (["ten"], ["same", "ten"]):
        found = find_grades(open_graded(table), "human", judges)
        assert found.human is not None
        assert found.human.scale == FIVE
        assert found.judges[-1].scale.high == 10
        assert not found.notes


@pytest.mark.parametrize(
    ("human", "judge", "said"),
    [
        ([2, 3, 4], [1, 3, 5], "go from 2 to 4; their scale is taken to be 1, 2, 3, 4 or 5"),
        ([2, 3, 4], [0, 5, 10], "2, 3 or 4, as their grades are, though judge grades from 0 to 10"),
    ],
)
def test_a_scale_that_is_a_guess_is_said(human: list[int], judge: list[int], said: str) -> None:
    table = open_graded({"human": human * 9, "judge": judge * 9})
    assert [said in note for note in find_grades(table, "human", ["judge"]).notes] == [True]
    assert not find_grades(table, "human", ["judge"], scale="1-5").notes


def test_a_judge_with_the_words_of_people_is_on_their_scale() -> None:
    table = {"human": ["poor", "good", None] * 5, "judge": ["fair", "good", "poor"] * 5, "own": ["no", "yes", "no"] * 5}
    found = find_grades(open_graded(table), "human", ["judge", "own"], scale="poor,fair,good")
    assert found.judges[0].scale == parse_scale("poor,fair,good")
    assert found.judges[1].scale.names == ("no", "yes")


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("1-5", (1, 2, 3, 4, 5)),
        ("0..10", tuple(range(11))),
        ("0-100", ()),
        ("0-0.5", ()),
        ("bad,fair,good", (0, 1, 2)),
        ("1,3,9", (1, 3, 9)),
        ([1, 2, 4], (1, 2, 4)),
    ],
)
def test_scales_can_be_stated(text: str, levels: tuple[float, ...]) -> None:
    assert parse_scale(text).levels == levels


@pytest.mark.parametrize(("text", "said"), [("5-1", "lowest grade first"), ("good", "no scale"), ("a,a", "no scale"), ("3,2,1", "lowest to highest"), (",".join(map(str, range(30))), "too many")])  # fmt: skip
def test_a_scale_that_makes_no_sense_is_refused(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_scale(text)


@pytest.mark.parametrize(
    ("values", "words", "numbers"),
    [
        ([True, False, None], "False or True", (1, 0, None)),
        (["pass", "FAIL", ""], "FAIL or pass", (1, 0, None)),
        (["yes", "yes", None], "no or yes", (1, 1, None)),
        (["A", "B", "tie"], "second, tie or first", (1, 0, 0.5)),
        (["tie", None], "second, tie or first", (0.5, None)),
        (["right", "wrong"], "wrong or right", (1, 0)),
        (["4", "2,5", None], "2.5, 3, 3.5 or 4", (4, 2.5, None)),
        (["80%", "15%", None], "any number from 0 to 1", (0.8, 0.15, None)),
    ],
)
def test_columns_of_any_type_become_numbers(values: list[object], words: str, numbers: tuple[object, ...]) -> None:
    found = find_grades(open_graded({"human": values}), "human", ())
    assert found.human is not None
    assert found.human.scale.words == words
    got = found.fetch_columns({"g": found.grade})["g"]
    assert got == pytest.approx(numbers) if None not in numbers else [g is None for g in got] == [n is None for n in numbers]  # fmt: skip
    assert [g for g in got if g is not None] == pytest.approx([n for n in numbers if n is not None])


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        (["poor", "good", "fair"], {}, "order is unknown"),
        (["poor", "good", "odd"], {"scale": "poor,good"}, "row 3 has the grade 'odd'"),
        (["4", "great", "2"], {}, "row 2 has 'great'"),
        (["4", "٣1", "2"], {}, "row 2 has '٣1'"),  # a number to Python, not to engines
        ([1, 2, 7], {"scale": "1-5"}, "row 3 has the grade 7"),
        ([0.2, 0.85, 4, 5, 3], {}, "mixes two scales"),
        ([1.0, float("inf")], {}, "infinite grade in row 2"),
        ([f"answer {i}" for i in range(60)], {}, "holds text"),
        ([[1], [2]], {}, "not grades"),
    ],
)
def test_grades_that_make_no_sense_are_refused(values: list[object], options: dict[str, str], said: str) -> None:
    with pytest.raises(InputError, match=said):
        find_grades(open_graded({"human": values}), "human", (), **options)


@pytest.mark.parametrize(
    ("grade", "judges", "cluster", "said"),
    [
        ("humn", ("judge",), None, "did you mean 'human'"),
        ("human", ("juge",), None, "did you mean 'judge'"),
        ("human", ("human",), None, "named twice"),
        ("human", ("empty",), None, "is empty"),
        ("human", (), "promt", "did you mean 'prompt'"),
    ],
)
def test_columns_that_are_missing_are_named(
    grade: str, judges: tuple[str, ...], cluster: str | None, said: str
) -> None:
    pool = {"human": [1, 2], "judge": [1, 5], "empty": [None, None], "prompt": ["a", "b"]}
    with pytest.raises(InputError, match=said):
        find_grades(open_graded(pool), grade, judges, cluster)


def test_items_without_a_cluster_are_refused() -> None:
    with pytest.raises(InputError, match="empty in row 2"):
        find_grades(open_graded({"human": [1, 0], "prompt": ["a", None]}), "human", (), "prompt")


def test_names_are_recognised() -> None:
    assert recognize_columns(["id", "human", "judge_score", "judge_b"]) == ("human", ("judge_score", "judge_b"))
    assert recognize_columns(["rating", "llm_judge"]) == ("rating", ("llm_judge",))
    assert recognize_columns(["human_grade", "expert_grade"])[0] is None
    assert recognize_columns(["humanity", "judgement_day"]) == (None, ())


def make(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    judge, slices = rng.integers(1, 6, n).astype(float), rng.choice(["a", "b", "c"], n)
    human = np.clip(judge + rng.integers(-1, 2, n), 1, 5)
    human[rng.random(n) < 0.7] = np.nan
    judge[:20] = np.nan
    return pd.DataFrame({"human": human, "judge": judge, "slice": slices, "prompt": rng.integers(0, 50, n)})


def test_counts_are_those_of_pandas() -> None:
    frame = make()
    counts = count_grades(find_grades(open_graded(frame), "human", ("judge",)), column("slice"))
    assert counts.groups == ("a", "b", "c")
    assert counts.sum_by_group(counts.n_items).tolist() == frame.groupby("slice").size().tolist()
    assert counts.sum_by_group(counts.n_grades).tolist() == frame.groupby("slice")["human"].count().tolist()
    expected = frame.groupby(["slice", frame["judge"].fillna(-1), "human"]).size()
    for (name, judged, human), n in expected.items():
        cell = (counts.group == counts.groups.index(name)) & (
            counts.judges[0].bin == (int(judged) - 1 if judged > 0 else -1)
        )
        assert counts.grades[cell, int(human) - 1].sum() == n
    assert counts.judges[0].n.sum() == frame["judge"].count()
    assert counts.judges[0].total.sum() == frame["judge"].sum()


def test_clusters_are_counted() -> None:
    frame = make()
    counts = count_grades(find_grades(open_graded(frame), "human", ("judge",), "prompt"), everything)
    graded = frame[frame["human"].notna()]
    assert counts.entry_grades is not None
    assert counts.entry_cluster is not None
    assert counts.entry_grades.sum() == len(graded)
    assert counts.entry_cluster.max() + 1 == graded["prompt"].nunique()
    sizes = frame.groupby("prompt").size()
    assert counts.cluster_size == pytest.approx((sizes**2).sum() / sizes.sum())


def test_continuous_grades_are_binned_at_the_bar_and_the_limits() -> None:
    rng = np.random.default_rng(1)
    grade = np.where(rng.random(400) < 0.2, 1.0, rng.random(400).round(4))
    counts = count_grades(find_grades(open_graded({"human": grade}), "human", ()), everything, bar=0.6)
    outcomes = counts.outcomes
    assert outcomes.names[-1] == "1"
    assert counts.grades[0, outcomes.passes].sum() == (grade >= 0.6).sum()
    assert counts.grades[0] @ outcomes.value / 400 == pytest.approx(grade.mean(), abs=0.005)
    assert (np.diff(outcomes.value) > 0).all()


@pytest.mark.parametrize(("scale", "bar"), [(FIVE, 4), (parse_scale("0,1"), 1), (Scale(0.0, 1.0), 0.5)])
def test_without_a_bar_the_upper_half_passes(scale: Scale, bar: float) -> None:
    assert choose_bar(scale, None) == bar


def test_a_bar_off_the_scale_is_refused() -> None:
    with pytest.raises(InputError, match="none, would pass"):
        choose_bar(FIVE, 6.0)


def test_a_judge_on_another_scale_has_its_bar_at_the_same_place() -> None:
    pool = {"human": [1, 2, 3, 4, 5] * 4, "judge": [10, 20, 35, 80, 95] * 4, "flag": [0, 0, 0, 1, 1] * 4}
    counts = count_grades(find_grades(open_graded(pool), "human", ("judge", "flag")), everything, bar=4.0)
    assert [judge.bar for judge in counts.judges] == [75, 1]
    assert counts.judges[0].n[counts.judges[0].passes].sum() == 8


@pytest.mark.parametrize("top", [100, 10])
@pytest.mark.parametrize("judge", [[0.1, 0.3, 0.6, 0.9], [0, 0, 1, 1]], ids=["fractions", "flags"])
def test_a_judge_from_0_to_1_is_not_on_a_wider_scale_of_people(top: int, judge: list[float]) -> None:
    pool = {"human": [0.0, 0.31 * top, 0.7 * top, top] * 5, "judge": judge * 5}
    found = find_grades(open_graded(pool), "human", ("judge",))
    assert (found.human.scale.high, found.judges[0].scale.high) == (top, 1)
    assert "two scales" not in "\n".join(found.notes)


def test_grades_that_look_like_two_scales_are_named() -> None:
    pool = {"human": [1, 2, 5, 80, 90] * 4, "judge": [1, 2, 5, 8, 9] * 4}
    assert "from 1 to 5 and from 80 to 90" in "\n".join(find_grades(open_graded(pool), "human", ("judge",)).notes)


def test_grades_of_people_may_be_in_a_file_of_their_own() -> None:
    pool = {"id": ["a", "b", "c"], "judge": [1, 2, 3]}
    table = open_graded(pool, labels={"id": ["b", "z"], "human": [4, 5]})
    found = find_grades(table, "human", ("judge",))
    assert found.human is not None
    assert found.human.n == 1
    assert "1 grade of human left out" in found.notes[0]


@pytest.mark.parametrize(
    ("pool", "labels", "said"),
    [
        ({"judge": [1]}, {"id": ["b"], "human": [4]}, "outputs have no id"),
        ({"id": [1], "judge": [1]}, {"human": [4]}, "labels have no id"),
        ({"id": [1], "judge": [1]}, {"id": [1], "x": [4]}, "no column of grades"),
        ({"id": [1], "judge": [1]}, {"id": [1, 1], "human": [4, 5]}, "grade id '1' 2 times"),
    ],
)
def test_grades_that_cannot_be_joined_are_refused(pool: dict, labels: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        open_graded(pool, labels=labels)


def test_grades_cannot_be_groups() -> None:
    with pytest.raises(InputError, match="holds people's grades"):
        count_grades(find_grades(open_graded(make()), "human", ("judge",)), column("human"))


def test_other_engines_count_the_same(tmp_path: Path) -> None:
    frame = make()
    frame.to_parquet(tmp_path / "graded.parquet")
    table = ibis.duckdb.connect().read_parquet(tmp_path / "graded.parquet")
    ours, theirs = (count_grades(find_grades(open_graded(one), "human", ("judge",)), column("slice")) for one in (frame, table))  # fmt: skip
    assert np.array_equal(ours.grades, theirs.grades)
    assert np.array_equal(ours.n_items, theirs.n_items)
