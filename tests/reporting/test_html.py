"""The report is one file that says what it may."""

import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.metrics.metric import METRICS
from fewlabels.reporting.html.assessment_text import METRIC_DEFINITIONS, PRIOR_TEXTS
from fewlabels.reporting.html.pages import render_report

VOID = {"meta", "br", "img", "link", "hr", "input"}


def pool(n: int = 200, *, labelled: float = 0.4, classes: tuple[str, ...] = ("cat", "dog", "emu")) -> dict[str, object]:
    rng = np.random.default_rng(1)
    predicted = rng.choice(classes, n)
    right = rng.random(n) < np.where(predicted == classes[0], 0.3, 0.95)
    label = np.where(right, predicted, np.roll(predicted, 1)).astype(object)
    label[rng.random(n) > labelled] = None
    return {"id": np.arange(n), "predicted": predicted, "score": rng.uniform(0.4, 1, n), "label": label}


def text_of(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_it_is_one_file_that_loads_nothing() -> None:
    html = render_report(fl.assess(pool()))
    assert not re.findall(r"""(?:src|href)=["'](?!#)""", html)
    assert not re.findall(r"<(?:script|link|iframe|img)\b", html)
    assert "url(http" not in html
    assert "default-src 'none'" in html


def test_it_is_well_formed() -> None:
    class Checker(HTMLParser):
        open: list[str] = []  # noqa: RUF012

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag not in VOID:
                self.open.append(tag)

        def handle_endtag(self, tag: str) -> None:
            if tag not in VOID:
                assert self.open.pop() == tag

    checker = Checker()
    checker.feed(render_report(fl.assess(pool())))
    assert checker.open == []


def test_it_states_method_prior_level_and_counts() -> None:
    a = fl.assess(pool(), prior=fl.from_scores(), level=0.9)
    said = text_of(render_report(a))
    for words in (
        "200",
        f"{a.n_labels:,}",
        "90%",
        PRIOR_TEXTS["scores"],
        METRIC_DEFINITIONS["accuracy"],
        "population",
        "drawn at random",
    ):
        assert words.replace("'", "&#39;") in said or words in said


def test_it_says_which_group_is_worst_when_that_is_settled() -> None:
    said = text_of(render_report(fl.assess(pool(600))))
    assert "“cat” is the worst group with probability &gt;0.99" in said


def test_it_says_when_nothing_can_be_said() -> None:
    said = text_of(render_report(fl.assess(pool(60, labelled=0.08))))
    assert "too few labels for a conclusion" in said or "have no label" in said
    assert "not settled" in said


def test_without_labels_it_says_that_the_prior_speaks() -> None:
    assert "every number here comes from the prior alone" in text_of(render_report(fl.assess(pool(labelled=0))))


def test_names_are_text_never_markup() -> None:
    html = render_report(fl.assess(pool(classes=("<script>alert(1)</script>", 'a"b', "$x^2$ エミュー"))))
    assert "<script" not in html
    assert "&lt;script&gt;" in html


@pytest.mark.parametrize("name", METRICS)
def test_every_metric_has_a_page_and_a_meaning(name: str, tmp_path: Path) -> None:
    by = fl.everything if name == "mcc" else fl.predicted
    path = fl.assess(pool(60), metric=METRICS[name], by=by, n_draws=200).report(tmp_path / "r.html")
    assert METRIC_DEFINITIONS[name] in text_of(path.read_text()).replace("&#39;", "'")


def test_a_report_without_scores_or_classes_is_a_report_too(tmp_path: Path) -> None:
    a = fl.assess({"agreement": [0.5, 0.25, None, 1.0], "system": ["a", "a", "b", "b"]}, by=fl.column("system"))
    assert "Overall accuracy" in a.report(tmp_path / "r.html").read_text()


def test_a_report_replaces_an_old_one_whole(tmp_path: Path) -> None:
    path = tmp_path / "r.html"
    path.write_text("old")
    fl.assess(pool(40), n_draws=200).report(path)
    assert path.read_text().startswith("<!doctype html>")
    assert list(tmp_path.iterdir()) == [path]
