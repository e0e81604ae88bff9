"""The report is one file that says what it may."""

import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.metrics.metric import METRICS
from fewlabels.reporting.html.assessment import render_report
from fewlabels.reporting.html.assessment_text import METRIC_DEFINITIONS, PRIOR_TEXTS
from fewlabels.reporting.html.next_steps import propose_next_steps
from fewlabels.reporting.html.template import mark_commands

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
    assert not re.findall(r"<(?:link|iframe|img)\b", html)
    assert "url(http" not in html
    assert "default-src 'none'" in html


def test_it_runs_no_script_but_its_own() -> None:
    html = render_report(fl.assess(pool()))
    [script] = re.findall(r"<script>(.*?)</script>", html, flags=re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in html
    assert not re.findall(r"""<[^>]*\son\w+=""", html)


def test_it_says_where_it_comes_from_and_what_to_do_next() -> None:
    a = fl.assess(pool(), seed=7)
    said = text_of(render_report(replace(a, provenance=replace(a.provenance, command="fewlabels assess <x>.csv"))))
    for words in (a.provenance.date[:10], a.provenance.fingerprint[:16], a.provenance.labels, "fewlabels assess &lt;x&gt;.csv", "seed 7", f"fewlabels {a.provenance.version}"):  # fmt: skip
        assert words in said
    assert "What to do next" in said
    assert "To halve the overall interval" in said


def test_the_steps_it_proposes_fit_the_labels() -> None:
    unlabelled, settled = fl.assess(pool(labelled=0)), fl.assess(pool(600))
    assert "until then" in propose_next_steps(unlabelled)[0]
    assert not any("which group is the worst" in step for step in propose_next_steps(settled))
    few = fl.assess(pool(600, labelled=0.1))
    [step] = [step for step in propose_next_steps(few) if "To halve" in step]
    wanted = int(re.search(r"about ([\d,]+) more", step)[1].replace(",", ""))
    again = fl.assess(pool(600 * 4, labelled=0.1))
    assert wanted == pytest.approx(3 * few.n_labels, rel=0.05)
    assert again.n_labels == pytest.approx(few.n_labels + wanted, rel=0.25)
    assert (again.overall.high - again.overall.low) == pytest.approx((few.overall.high - few.overall.low) / 2, rel=0.35)


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
    assert html.count("<script") == 1
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


def test_commands_between_backticks_are_code_and_text_is_escaped() -> None:
    assert str(mark_commands("a `b <c>` & d")) == "a <code>b &lt;c&gt;</code> &amp; d"


def made_by(command: str, *inputs: str) -> Provenance:
    return replace(record(inputs=inputs), command=command)


def test_proposed_commands_name_the_files_and_columns_of_the_one_that_ran() -> None:
    a = fl.assess(pool(300, labelled=0.2, classes=("cat", "dog")))
    ran = made_by("fewlabels assess 'my preds.csv' --score=conf --labels more.csv --positive cat --json -", "my preds.csv", "more.csv")  # fmt: skip
    steps = propose_next_steps(replace(a, provenance=ran))
    assert all("'my preds.csv' --score=conf --labels more.csv --positive cat" in step for step in steps if "`" in step)
    assert any("FILE" in step for step in propose_next_steps(a))


def test_every_kind_of_report_says_what_to_do_next() -> None:
    rng = np.random.default_rng(5)
    table = pool(300, labelled=0.2, classes=("0", "1")) | {"sex": rng.choice(["f", "m"], 300)}
    graded = {"human": [*[1.0, 0.0, 1.0] * 8, *[None] * 200], "judge": rng.uniform(0, 1, 224), "id": range(224)}
    results = [
        fl.compare(table, groups=("0", "1"), rope=0.3),
        fl.fairness(table, by="sex", metrics="accuracy"),
        fl.surface(table, attributes=("sex", "predicted")),
        fl.compare_models({"old": table, "new": table | {"predicted": np.where(rng.random(300) < 0.1, "1", table["predicted"])}}),
        fl.rate(graded, grade="human", judge="judge"),
    ]  # fmt: skip
    for result in results:
        assert "What to do next" in result.to_html(), type(result).__name__
