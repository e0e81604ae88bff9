"""A surface in pictures, on a page and on the command line: the numbers are its own, and no shape of it breaks them."""

import json
import re
import warnings
from collections.abc import Callable
from functools import cache
from io import BytesIO, StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from makers import drop_provenance
from matplotlib.collections import LineCollection
from rich.console import Console

import fewlabels as fl
from fewlabels.analyses.surface.arm_names import find_common
from fewlabels.analyses.surface.attributes import parse_attributes
from fewlabels.analyses.surface.coverage import count_bands
from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Surface
from fewlabels.cli.surface_queries import SurfaceAnswers, parse_query
from fewlabels.cli.surface_tables import format_answer, print_surface
from fewlabels.data.groups import Bins, Predicted, Ranges
from fewlabels.reporting.html.surface import render_surface
from fewlabels.reporting.plots.figure import render_svg
from fewlabels.reporting.plots.surface import SURFACE_KINDS, plot_surface

Type = Callable[..., Typed]
KINDS = list(SURFACE_KINDS)


def make_pool(sizes: tuple[int, ...], n: int = 400, labelled: float = 0.5, seed: int = 0) -> dict[str, object]:
    """Attributes a, b, … with values a0, a1, …; the model is bad at a0, worse where b is b0."""
    rng = np.random.default_rng(seed)
    at = [rng.integers(0, size, n) for size in sizes]
    bad = (at[0] == 0) * (1.0 + (at[1] == 0 if len(at) > 1 else 0))
    right = rng.random(n) < 1 / (1 + np.exp(-2.0 + 1.6 * bad))
    label = np.where(right, "x", "y").astype(object)
    label[rng.random(n) >= labelled] = None
    columns = {name: [f"{name}{i}" for i in place] for name, place in zip("abcdefghijkl", at, strict=False)}
    return {"predicted": ["x"] * n, "label": label, **columns}


def make_surface(sizes: tuple[int, ...], **choices: object) -> Surface:
    return fl.surface(make_pool(sizes, **choices), attributes=tuple("abcdefghijkl"[: len(sizes)]))


def with_gaps() -> Surface:
    pool = make_pool((3, 3))
    pool["a"] = [None if i % 5 == 0 else value for i, value in enumerate(pool["a"])]
    pool["age"] = [None if i % 7 == 0 else float(i % 60) for i in range(400)]
    return fl.surface(pool, attributes=("a", "age"))


def with_odd_names() -> Surface:
    pool = make_pool((3, 2))
    odd = {"a0": "$x$ & $y_1$", "a1": "中文名称<b>", "a2": "long " * 20}
    pool["a"] = [odd[value] for value in pool["a"]]
    pool["[red]a, b=c"] = pool.pop("b")
    return fl.surface(pool, attributes=("a", "[red]a, b=c"))


SHAPES: dict[str, Callable[[], Surface]] = {
    "one attribute": lambda: make_surface((4,)),
    "two": lambda: make_surface((3, 4)),
    "six": lambda: make_surface((3, 2, 2, 2, 3, 2)),
    "an attribute of one value": lambda: make_surface((3, 1)),
    "a single arm": lambda: make_surface((1, 1)),
    "no labels": lambda: make_surface((3, 3), labelled=0.0),
    "missing values": with_gaps,
    "odd names": with_odd_names,
    "many values": lambda: make_surface((35, 20), n=900),
    "another model": lambda: fl.surface(make_pool((3, 3)), attributes=("a", "b"), model="beta-i"),
    "these very items": lambda: fl.surface(make_pool((3, 3)), attributes=("a", "b"), finite_pool=True),
}


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> Surface:
    return get(request.param)


@cache
def page(name: str) -> str:
    return render_surface(get(name))


@cache
def get(name: str) -> Surface:
    return SHAPES[name]()


def points(ax) -> list[tuple[float, float]]:
    return [
        (float(x), float(y))
        for line in ax.lines if line.get_marker() == "o"
        for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
    ]  # fmt: skip


def segments(ax) -> set[tuple[float, ...]]:
    return {
        tuple(np.round(segment, 9).ravel())
        for lines in ax.collections if isinstance(lines, LineCollection)
        for segment in lines.get_segments()
    }  # fmt: skip


def written(ax) -> list[str]:
    return [text.get_text() for text in ax.texts]


def print_out(answered: SurfaceAnswers) -> list[str]:
    out = StringIO()
    print_surface(Console(file=out, width=120), answered, answered.surface.worst_first)
    return out.getvalue().splitlines()


# Pictures -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_of_every_shape_is_drawn(shape: Surface, kind: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ax = plot_surface(shape, kind)
        ax.figure.savefig(BytesIO(), format="png", dpi=40)
        assert render_svg(ax).startswith("<svg")


def test_the_worst_arms_are_drawn_as_they_are() -> None:
    s = get("two")
    ax = s.plot()
    expected = [(arm.mean, y) for y, arm in enumerate(s.worst_first)]
    np.testing.assert_allclose(sorted(points(ax), key=lambda p: p[1]), expected)
    for y, arm in enumerate(s.worst_first):
        assert (round(arm.low, 9), y, round(arm.high, 9), y) in segments(ax)
    assert written(ax).count("a0") == 4


def test_of_many_arms_the_worst_are_drawn_and_the_rest_is_counted() -> None:
    ax = get("many values").plot("worst")
    assert len(points(ax)) == 25
    assert f"25 worst of {len(get('many values').arms):,} arms" in ax.get_xlabel()
    assert len(points(get("many values").plot("worst", most=3))) == 3


def test_what_the_worst_have_in_common_is_said_once() -> None:
    s = get("six")
    common = find_common(s.worst_first[:3])
    ax = s.plot("worst", most=3)
    assert common
    assert "a=a0" in ax.get_title(loc="right")
    assert "a" not in written(ax)


def test_a_heat_map_has_the_readings_of_its_crossing() -> None:
    s = get("two")
    ax = s.plot("heatmap", rows="b", columns="a")
    expected = {f"{100 * one.mean:.0f} ±{50 * (one.high - one.low):.0f}" for one in s.cross("b", "a")}
    assert set(written(ax)) == expected
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("b", "a")


def test_a_heat_map_takes_the_attributes_that_matter_most_and_may_hold_others() -> None:
    s = get("six")
    ax = s.plot("heatmap")
    assert {ax.get_xlabel(), ax.get_ylabel()} == set(rank_attributes(s)[:2])
    fixed = s.plot("heatmap", rows="a", columns="e", fixed={"b": "b1", "c": "c0"})
    assert "where b=b1, c=c0" in fixed.get_title(loc="left")
    expected = {f"{100 * r.mean:.0f}" for r in s.cross("a", "e", fixed={"b": "b1", "c": "c0"})}
    assert {text.split()[0] for text in written(fixed)} == expected


def test_a_heat_map_of_many_values_says_what_it_left_out() -> None:
    ax = get("many values").plot("heatmap")
    assert ax.get_ylabel() == "a (30 worst of 35)"
    assert ax.get_xlabel() == "b (16 worst of 20)"
    assert all(re.fullmatch(r"\d+", text) for text in written(ax))
    assert "hatched" in ax.get_title(loc="left")


def test_effects_are_what_is_found_and_what_is_left_of_it() -> None:
    s = get("six")
    ax = s.plot("effects", attributes=["a"])
    drawn = {round(x, 9) for x, _ in points(ax)}
    assert drawn == {round(one.mean, 9) for one in (*s.cross("a"), *s.adjust("a"))}
    assert "1 of 6 attributes" in ax.get_xlabel()


def test_a_model_that_knows_no_attributes_shows_what_it_found() -> None:
    s = get("another model")
    assert {round(x, 9) for x, _ in points(s.plot("effects", attributes=["b"]))} == {
        round(r.mean, 9) for r in s.cross("b")
    }


def test_coverage_counts_arms_and_items() -> None:
    s = get("six")
    bands = count_bands(s)
    assert sum(band.n_arms for band in bands) == len(s.arms)
    assert (sum(band.n_items for band in bands), sum(band.n_labels for band in bands)) == (s.n_items, s.n_labels)
    assert [band.name for band in bands] == ["none", "1 to 4", "5 to 19", "20 or more"]
    text = written(s.plot("coverage"))
    assert len(text) == 8
    assert any(t.endswith(f"· {bands[1].n_arms} arms") for t in text)


def test_pictures_are_drawn_where_one_asks() -> None:
    ax = get("two").plot("coverage")
    for kind in KINDS:
        ax.clear()
        assert get("two").plot(kind, ax=ax) is ax


@pytest.mark.parametrize(
    ("kind", "choices", "message"),
    [
        ("heatmpa", {}, "did you mean 'heatmap'"),
        ("worst", {"rows": "a"}, "has no option 'rows'; its options: most"),
        ("coverage", {"rows": "a"}, "it takes no options"),
        ("heatmap", {"rows": "nothing"}, "not over 'nothing'"),
        ("heatmap", {"rows": "a", "columns": "a"}, "two different attributes"),
        ("heatmap", {"fixed": {"a": "a0", "b": "b0"}}, "two different attributes"),
        ("heatmap", {"fixed": {"b": "b9"}}, "no item has the value 'b9'"),
        ("effects", {"attributes": ["c"]}, "not over 'c'"),
    ],
)
def test_what_cannot_be_drawn_is_explained(kind: str, choices: dict[str, object], message: str) -> None:
    with pytest.raises(fl.InputError, match=re.escape(message)):
        get("two").plot(kind, **choices)


# The page -------------------------------------------------------------------------------------------------------------


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("&#39;", "'")


def read_table(html: str, title: str) -> list[tuple[float, ...]]:
    """The numbers of the rows of a table, by its title."""
    part = html[html.index(f"<h2>{title}") :]
    part = part[: part.index("</section>")].split("<h2>")[1]
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", part, flags=re.DOTALL)
    found = [tuple(map(float, re.findall(r'<data value="([^"]+)"', row))) for row in rows]
    return [row for row in found if row]


@pytest.mark.parametrize("name", SHAPES)
def test_every_shape_has_a_page_that_loads_nothing(name: str) -> None:
    html = page(name)
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", html)
    assert not re.findall(r"<(?:link|iframe|img)\b", html)
    assert html.count("<figure>") == len(KINDS)
    assert "<b>" not in html


def test_the_table_has_the_numbers_of_the_surface() -> None:
    s = get("six")
    found = read_table(page("six"), "Every arm")
    whole = s.overall
    assert found == [(whole.mean, whole.low, whole.high), *((a.mean, a.low, a.high) for a in s.worst_first)]
    assert 'data-shown="51"' in page("six")


def test_of_very_many_arms_the_page_says_where_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fewlabels.reporting.html.surface.KEPT", 100)
    html = render_surface(get("many values"))
    assert len(read_table(html, "The worst of")) == 101
    assert "to_json gives them all" in html


def test_the_page_says_where_it_is_worst_and_what_matters() -> None:
    said = text_of(page("two"))
    assert "where a=a0, b=b0 it is" in said
    assert "The largest effects: a" in said
    assert "Every arm has a label" in said
    assert "logit of being right" in said


def test_of_many_attributes_the_headline_names_two() -> None:
    html = page("six")
    headline = re.search(r'<p class="headline">(.*?)</p>', html, flags=re.DOTALL)[1]
    assert headline.count("=") == 2
    assert "a=a0" in headline


def test_the_page_says_what_is_not_known() -> None:
    assert "no item is labelled" in text_of(page("no labels"))
    said = text_of(page("many values"))
    assert "Arms without labels: " in said
    assert "departs from what its attributes predict" in said
    assert "exactly these items" in text_of(page("these very items"))
    assert "every arm by itself" in text_of(page("another model"))


def test_what_was_asked_is_on_the_page() -> None:
    s = get("two")
    reading = s.ask(a="a0")
    assert read_table(render_surface(s, [("a=a0", reading)]), "Questions and answers") == [
        (reading.mean, reading.low, reading.high)
    ]


# The command line -----------------------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    pool = make_pool((3, 2))
    frame = pd.DataFrame({"id": range(400), **pool, "age": np.arange(400) % 50})
    frame.to_csv(tmp_path / "preds.csv", index=False)
    return tmp_path / "preds.csv"


def test_json_is_the_librarys_and_has_the_contracts_shape(type_in: Type, file: Path) -> None:
    found = json.loads(type_in("surface", file, "--attributes", "a,b", "--json", "-").out)
    assert {"attributes", "model", "arms", "health"} <= set(found)
    assert all({"arm", "n_items", "n_labels", "mean", "low", "high"} <= set(arm) for arm in found["arms"])
    same = json.loads(fl.surface(fl.Predictions.read(file), attributes=("a", "b")).to_json())
    assert drop_provenance(found) == drop_provenance(same)


def test_it_prints_the_whole_the_worst_and_what_matters(type_in: Type, file: Path) -> None:
    typed = type_in("surface", file, "--attributes", "a,b")
    assert typed.code == 0
    lines = typed.out.splitlines()
    assert "6 arms with 400 items" in typed.out
    assert next(line for line in lines if line.startswith("a0")).split()[1] == "b0"
    assert "effect on accuracy" in typed.out
    assert "a combination, beyond its attributes" in typed.out


def test_tables_fit_in_eighty_columns(shape: Surface) -> None:
    lines = print_out(SurfaceAnswers(shape))
    table = lines[3:]
    assert all(len(line.rstrip()) <= 80 for line in table if "all with" not in line), lines


def test_common_values_are_said_once_where_there_is_no_room() -> None:
    lines = print_out(SurfaceAnswers(make_surface((2,) * 12, n=600)))
    said = next(line for line in lines if line.startswith("the worst arms"))
    assert "all with a=a0" in said
    assert not any(line.startswith("a=a0") for line in lines)


def test_it_answers_questions(type_in: Type, file: Path, tmp_path: Path) -> None:
    pd.DataFrame({"a": ["a0", "a1"], "b": ["b0", "b1"], "often": [3, 1]}).to_csv(tmp_path / "mix.csv", index=False)
    words = ("--ask", "a=a0", "--ask", "a=a1, b=b1", "--mix", tmp_path / "mix.csv", "--weight", "often")
    s = fl.surface(fl.Predictions.read(file), attributes=("a", "b"))
    typed = type_in("surface", file, "--attributes", "a,b", *words)
    assert format_answer("a=a0", s.ask(a="a0")) in typed.out
    assert format_answer("a=a1, b=b1", s.ask(a="a1", b="b1")) in typed.out
    assert f"mix.csv: {s.mix(tmp_path / 'mix.csv', 'often').mean:.2f} (" in typed.out
    found = json.loads(type_in("surface", file, "--attributes", "a,b", *words, "--json", "-").out)
    assert [row["question"] for row in found["answers"]][:2] == ["a=a0", "a=a1, b=b1"]
    assert found["answers"][0]["mean"] == s.ask(a="a0").mean


def test_uncertain_attributes_have_a_word(type_in: Type, tmp_path: Path) -> None:
    pool = make_pool((2, 2))
    told = np.where(np.array(pool["b"]) == "b0", 0.9, 0.2)
    pd.DataFrame({**pool, "b_b0": told, "b_b1": 1 - told}).to_csv(tmp_path / "told.csv", index=False)
    typed = type_in(
        "surface", tmp_path / "told.csv", "--attributes", "a,uncertain:b", "--attribution", "raw", "--ask", "b=b0"
    )
    assert typed.code == 0, typed.err
    assert "over a, b" in typed.out
    assert "b=b0: " in typed.out
    wrong = type_in("surface", tmp_path / "told.csv", "--attributes", "a,uncertain:")
    assert wrong.code == 1
    assert "uncertain: needs a name" in wrong.err


def test_answers_are_about_the_population_and_say_so(type_in: Type, file: Path) -> None:
    typed = type_in("surface", file, "--attributes", "a,b", "--finite-pool", "--ask", "a=a0")
    assert "answers are about the population these items came from:" in typed.out


def test_a_combination_that_the_pool_lacks_is_said_to_be_so() -> None:
    pool = make_pool((2, 2))
    seen = [i for i, (a, b) in enumerate(zip(pool["a"], pool["b"], strict=True)) if (a, b) != ("a1", "b1")]
    s = fl.surface({name: [column[i] for i in seen] for name, column in pool.items()}, attributes=("a", "b"))
    assert "no such item in the pool" in format_answer("a=a1, b=b1", s.ask(a="a1", b="b1"))


def test_numbers_are_put_in_ranges_and_asked_by_number_or_range(type_in: Type, file: Path) -> None:
    found = json.loads(type_in("surface", file, "--attributes", "age,a", "--json", "-").out)
    ages = {arm["arm"]["age"] for arm in found["arms"]}
    assert len(ages) == 8
    assert all(age.startswith("[") for age in ages)
    one = sorted(ages)[0]
    typed = type_in("surface", file, "--attributes", "age,a", "--ask", f"age={one},a=a0", "--ask", "age=3")
    assert typed.code == 0, typed.err
    assert f"age={one}, a=a0: " in typed.out
    five = json.loads(type_in("surface", file, "--attributes", "ranges:age:5,a", "--json", "-").out)
    assert len({arm["arm"]["age"] for arm in five["arms"]}) == 5


def test_words_are_read_as_they_are_meant() -> None:
    age, ranges, predicted, bins = parse_attributes("age,ranges:age:5,predicted,bins:4")
    assert age == "age"
    assert (ranges, predicted, bins) == (Ranges("age", 5), Predicted(), Bins(4))
    assert parse_query("city=Paris, Texas,light=night") == {"city": "Paris, Texas", "light": "night"}


def test_a_surface_is_saved_and_asked_again(type_in: Type, file: Path, tmp_path: Path) -> None:
    saved = tmp_path / "s.surface"
    first = type_in("surface", file, "--attributes", "a,b", "--save", saved, "--json", "-", "--ask", "b=b0")
    assert (first.code, "written:" in first.err) == (0, True)
    again = type_in("surface", saved, "--json", "-", "--ask", "b=b0")
    assert drop_provenance(json.loads(again.out)) == drop_provenance(json.loads(first.out))
    assert type_in("surface", saved, "--html", tmp_path / "s.html", "--quiet").code == 0
    assert "The largest effects" in (tmp_path / "s.html").read_text()


@pytest.mark.parametrize(
    ("condition", "code"),
    [
        ("overall.low < 0.1", 0), ("arms.low < 0.6", 2), ("groups.low < 0.6", 2), ("low < 0.6", 2), ("p_worst >= 1", 0),
        ("answers.mean < 0.7", 2), ("answers.mean > 0.99", 0),
    ],
)  # fmt: skip
def test_it_fails_if_asked(type_in: Type, file: Path, condition: str, code: int) -> None:
    typed = type_in("surface", file, "--attributes", "a,b", "--ask", "a=a0", "--fail-if", condition, "--quiet")
    assert (typed.code, typed.out) == (code, "")
    assert ("failed: " in typed.err) == (code == 2)


def test_of_many_failures_some_are_told_and_the_rest_is_counted(type_in: Type, tmp_path: Path) -> None:
    pd.DataFrame(make_pool((12, 8))).to_csv(tmp_path / "many.csv", index=False)
    typed = type_in("surface", tmp_path / "many.csv", "--attributes", "a,b", "--fail-if", "low < 2", "--quiet")
    assert typed.code == 2
    assert typed.err.count("failed: ") == 26
    assert re.search(r"failed: and \d+ more times", typed.err)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--attributes", "a,sise"], "no column 'sise'"),
        ([], "name the attributes"),
        (["--attributes", ""], "name the attributes"),
        (["--attributes", "all"], "name columns"),
        (["--attributes", "a,a"], "there twice"),
        (["--attributes", "a,b", "--model", "smoth"], "did you mean 'smooth'"),
        (["--attributes", "a,b", "--ask", "a"], "cannot parse 'a'"),
        (["--attributes", "a,b", "--ask", "a=a0,a=a1"], "occurs twice"),
        (["--attributes", "a,b", "--ask", "c=1"], "not over 'c'"),
        (["--attributes", "a,b", "--ask", "a=a7"], "no item has the value 'a7'"),
        (["--attributes", "a,b", "--mix", "{folder}/mix.csv"], "mix.csv: there is no column 'b'"),
        (["--attributes", "a,b", "--mix", "{folder}/nothing.csv"], "nothing.csv: no such file"),
        (["--attributes", "a", "--mix", "{folder}/mix.csv", "--weight", "w"], "there is no column 'w'"),
        (["--attributes", "a,b", "--weight", "w"], "add --mix FILE"),
        (["--attributes", "a,b", "--save", "{folder}/s.bin"], "must end in .surface"),
        (["--attributes", "a,b", "--level", "2"], "level is 2"),
        (["--attributes", "a,b", "--fail-if", "lw < 1"], "no field 'lw'"),
    ],
)
def test_wrong_words_give_one_clear_message(
    type_in: Type, file: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    pd.DataFrame({"a": ["a0"]}).to_csv(tmp_path / "mix.csv", index=False)
    typed = type_in("surface", file, *(word.format(folder=tmp_path) for word in words))
    assert (typed.code, typed.out) == (1, "")
    assert message in typed.err
    assert len(typed.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [(["--attributes", "a"], "--attributes would have no effect"), (["--seed", "1", "--id", "n"], "--seed, --id")],
)
def test_of_a_saved_surface_nothing_can_be_chosen(
    type_in: Type, file: Path, tmp_path: Path, words: list[str], message: str
) -> None:
    get("two").save(tmp_path / "s.surface")
    typed = type_in("surface", tmp_path / "s.surface", *words)
    assert typed.code == 1
    assert message in typed.err
    assert "no such file" in type_in("surface", tmp_path / "t.surface").err
