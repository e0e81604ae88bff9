"""The labelling page in a real browser: keys, undo, two people, a server that dies, and what a screen reader is told."""

import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect, sync_playwright
from serving import serving
from test_web import PIXEL

import fewlabels as fl
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.sessions.session import Session
from fewlabels.sessions.shortcuts import assign_shortcuts
from fewlabels.web.browser import opened_browser
from fewlabels.web.credentials import Credentials, MemoryStore
from fewlabels.web.keys_file import KeysFile, change_keys
from fewlabels.web.media import MediaFolder
from fewlabels.web.one_time_codes import OneTimeCodes
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.service import LabellingRules, LabellingService

BROWSER = shutil.which("chromium")
pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="there is no chromium on this machine"),
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]
WAIT = 60_000  # milliseconds: machines may be busy
EVIL = "<script>document.title = 'owned'</script><img src=x onerror=\"document.title = 'owned'\">"


def make_pool(n=200, classes=("cat", "dog"), **more):
    rng = np.random.default_rng(0)
    predicted = rng.choice(classes, n)
    return pd.DataFrame(
        {"id": range(n), "predicted": predicted, "text": [f"beast {i} {EVIL}" for i in range(n)], **more}
    )


def make_service(pool=None, goal=None, rules=None, **more):
    session = Session.create(None, make_pool() if pool is None else pool, goal=goal or FindWorst(), prior=fl.flat())
    truth = {str(row.id): row.predicted for row in (make_pool() if pool is None else pool).itertuples()}
    return LabellingService(session, rules or LabellingRules(), predicted=lambda item: truth[str(item)], **more)


@pytest.fixture(scope="module")
def chromium():
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def open_page(chromium):
    """Open the page as somebody; what the browser complains of is an error."""
    contexts, complaints = [], []

    def enter(address: str, name: str = "ann", **size: int) -> Page:
        contexts.append(chromium.new_context(viewport={"width": 1100, "height": 800, **size}))
        contexts[-1].set_default_timeout(WAIT)
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("http://127.0.0.1:") else None)  # fmt: skip
        page.goto(address)
        page.fill("#name", name)
        page.keyboard.press("Enter")
        page.wait_for_selector("#classes button, #nothing:not([hidden])")
        return page

    yield enter
    for context in contexts:
        context.close()
    assert [text for text in complaints if "Failed to load resource" not in text] == []


def read_item(page: Page) -> int:
    return int(re.search(r"beast (\d+)", page.inner_text("#item"))[1])


def type_key(page: Page, key: str) -> None:
    """Press a key once the page listens: what is typed while it works is not meant for the item to come."""
    page.wait_for_function("() => !document.body.hasAttribute('aria-busy')", timeout=WAIT)
    page.keyboard.press(key)


def press(page: Page, key: str) -> None:
    """Press a key, and wait for the next item."""
    before = page.inner_text("#item")
    type_key(page, key)
    page.wait_for_function("text => document.getElementById('item').innerText !== text", arg=before, timeout=WAIT)


def count_labels(service: LabellingService) -> int:
    return service.session.status()["n_labels"]


def test_items_are_labelled_with_keys_and_taken_back(open_page):
    service = make_service(rules=LabellingRules(reveals=True))
    with serving(service) as address:
        page = open_page(address)
        assert "token" not in page.url
        first = read_item(page)
        press(page, "1")
        assert re.fullmatch(rf"{first}: cat \(predicted: (cat|dog)\)", page.inner_text("#said"))
        press(page, "s")
        status = service.session.status()
        assert (status["n_labels"], status["n_skipped"]) == (1, 1)
        second = read_item(page)
        press(page, "u")
        expect(page.locator("#said")).to_contain_text("Undone", timeout=WAIT)
        assert read_item(page) != second
        page.keyboard.press("n")
        page.keyboard.type("1 s u n")  # a note is text, not keys
        page.keyboard.press("Escape")
        press(page, "2")
        answers = service.session.answers()
        assert answers[-1]["note"] == "1 s u n"
        assert {row["who"] for row in answers} == {"ann"}
        expect(page.locator("#progress")).to_contain_text("2 labels", timeout=WAIT)


def show_keys(page: Page) -> dict[str, str]:
    """Return the key beside each class."""
    buttons = page.locator("#classes button")
    return {one.locator("bdi").inner_text(): one.locator("kbd").inner_text() for one in buttons.all()}


@pytest.mark.parametrize(
    ("classes", "typed"),
    [
        (("0", "1"), [("1", "1"), ("0", "0")]),
        (tuple("0123456789"), [("8", "8"), ("0", "0")]),
        (("1", "10", "2"), [("2", "2"), ("a", "10")]),
        (("A", "a", "B"), [("A", "A"), ("a", "a"), ("b", "B")]),
        (("no", "yes"), [("n", "no"), ("Y", "yes")]),
        (("d", "l", "n", "s", "u"), [("s", "s"), ("u", "u"), ("n", "n"), ("d", "d"), ("l", "l"), ("?", None)]),
        (("constructor", "__proto__"), [("2", "constructor"), ("1", "__proto__")]),
    ],
)
def test_a_key_records_the_class_it_looks_like(open_page, classes, typed):
    service = make_service(make_pool(60, classes).assign(predicted=(list(classes) * 60)[:60]), Estimate())
    with serving(service, RateLimit(1e9, 1e9)) as address:
        page = open_page(address)
        for key, _ in typed:
            press(page, key)
        assert [row["label"] for row in service.session.answers()] == [label for _, label in typed]
        assert show_keys(page) == assign_shortcuts(service.session.classes).shown


def test_commands_give_way_to_classes_and_say_so(open_page):
    service = make_service(make_pool(60, ("s", "u", "n")), Estimate())
    with serving(service) as address:
        page = open_page(address)
        assert page.inner_text("#skip") == "Cannot tell ?"
        assert page.get_attribute("#undo", "aria-keyshortcuts") == "<"
        press(page, "s")
        press(page, "<")
        expect(page.locator("#said")).to_contain_text("Undone", timeout=WAIT)
        type_key(page, "'")
        page.keyboard.type("snu")
        page.keyboard.press("Escape")
        press(page, "u")
        assert [(row["label"], row["note"]) for row in service.session.answers()] == [("u", "snu")]


def test_many_classes_keep_their_keys_while_they_are_searched(open_page):
    names = [f"kind {letter}" for letter in "bcdefghijklmnop"]
    service = make_service(make_pool(60, names), Estimate())
    with serving(service) as address:
        page = open_page(address)
        page.keyboard.press("/")
        page.keyboard.type("d p")
        expect(page.locator("#classes button")).to_have_count(1)
        (key,) = show_keys(page).values()
        assert key == assign_shortcuts(service.session.classes).shown["kind p"]
        page.keyboard.press("Escape")
        press(page, key)
        assert [row["label"] for row in service.session.answers()] == ["kind p"]


def test_a_search_without_a_match_says_so(open_page):
    with serving(
        make_service(make_pool(60, [f"kind {letter}" for letter in "bcdefghijklmnop"]), Estimate())
    ) as address:
        page = open_page(address)
        page.keyboard.press("/")
        page.keyboard.type("zebra")
        expect(page.locator("#no-match")).to_contain_text("No class matches “zebra”")
        expect(page.locator("#classes button")).to_have_count(0)
        page.keyboard.press("Backspace")
        page.fill("#search", "kind")
        expect(page.locator("#no-match")).to_be_hidden()


@pytest.mark.parametrize("width", [1400, 390])
def test_long_names_are_shown_whole(open_page, width):
    names = [
        f"{'electronics and appliances / household / '}{name} with a name that goes on" for name in ("kettles", "irons")
    ]
    with serving(make_service(make_pool(60, names))) as address:
        page = open_page(address, viewport={"width": width, "height": 900})
        page.wait_for_selector("#picture circle", state="attached")
        for name in names:
            for place in ("#classes bdi", "#picture bdi"):
                shown = page.locator(place, has_text=name)
                expect(shown).to_have_text(name)
                assert shown.evaluate(
                    "one => one.scrollWidth <= one.clientWidth + 1 || getComputedStyle(one).display === 'inline'"
                )
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_the_question_mark_lists_the_shortcuts(open_page):
    with serving(make_service()) as address:
        page = open_page(address)
        page.keyboard.press("?")
        expect(page.locator("#help")).to_be_visible()
        listed = page.locator("#help-keys").inner_text()
        for words in ("cat", "dog", "cannot tell", "undo your last answer", "these shortcuts"):
            assert words in listed
        assert "disagreements" not in listed
        before = page.inner_text("#item")
        page.keyboard.press("1")  # answers nothing while the list is open
        page.keyboard.press("Escape")
        expect(page.locator("#help")).to_be_hidden()
        assert page.inner_text("#item") == before


def test_estimates_can_be_hidden_from_everybody(open_page):
    service = make_service(rules=LabellingRules(blind=True))
    with serving(service) as address:
        page = open_page(address)
        press(page, "1")
        expect(page.locator("#progress")).to_contain_text("1 label ·", timeout=WAIT)
        expect(page.locator("#results")).to_be_hidden()
        board = page.evaluate("async () => (await fetch('/api/board', {headers: {'x-fewlabels': 'owner%3A'}})).json()")
        assert (board["blind"], board["groups"], board["sentence"]) == (True, [], "")


def test_the_end_says_what_was_learned_and_offers_the_files(open_page, tmp_path):
    service = make_service(make_pool(6), Estimate())
    with serving(service) as address:
        page = open_page(address)
        expect(page.locator("#finish")).to_be_hidden()
        for _ in range(5):
            press(page, "1")
        type_key(page, "1")
        expect(page.locator("#finish")).to_be_visible(timeout=WAIT)
        expect(page.locator("#settled")).to_have_text("Every item that could help has been asked.")
        for button, name in (("#get-report", "report.html"), ("#get-answers", "answers.csv")):
            page.wait_for_function("() => !document.body.hasAttribute('aria-busy')", timeout=WAIT)
            with page.expect_download(timeout=WAIT) as started:
                page.click(button)
            assert started.value.suggested_filename == name
            started.value.save_as(tmp_path / name)
        assert "Overall accuracy" in (tmp_path / "report.html").read_text()
        kept = pd.read_csv(tmp_path / "answers.csv")
        assert sorted(kept.id) == list(range(6))
        assert set(kept.who) == {"ann"}


def test_progress_says_about_how_many_labels_are_to_go(open_page):
    service = make_service(make_pool(200), Estimate(width=0.5))
    with serving(service) as address:
        page = open_page(address)
        press(page, "1")
        expect(page.locator("#progress")).to_contain_text("about", timeout=WAIT)


def test_a_grade_is_typed_as_in_the_terminal(open_page):
    """No key answers by itself: 1 is the beginning of a number."""
    pool = make_pool(20).assign(agreement=np.nan, score=0.5).drop(columns="predicted")
    pool = fl.Predictions.read(pool, agreement="agreement")
    service = LabellingService(Session.create(None, pool, goal=Estimate(), by=fl.everything, prior=fl.flat()))
    with serving(service) as address:
        page = open_page(address)
        assert page.locator("#classes kbd").count() == 0
        type_key(page, "1")
        expect(page.locator("#grade")).to_have_value("1")
        page.keyboard.press("Backspace")
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        assert service.session.answers() == []
        page.keyboard.press("Backspace")
        page.keyboard.type("0.7")
        press(page, "Enter")
        type_key(page, ".")
        page.keyboard.type("25")
        press(page, "Enter")
        type_key(page, "1")
        press(page, "Enter")
        page.locator("#classes button").first.click()
        expect(page.locator("#said")).to_contain_text(": 0", timeout=WAIT)
        assert [row["label"] for row in service.session.answers()] == ["0.7", "0.25", "1.0", "0.0"]


def test_what_items_hold_stays_text(open_page):
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        assert page.title() == "fewlabels: label items"
        assert EVIL in page.inner_text("#item")
        assert page.locator("#item script, #item img").count() == 0


@pytest.mark.parametrize(("goal", "place"), [(FindWorst(), "worst"), (FindBest(), "best"), (Estimate(), None)])
def test_the_number_beside_a_bar_says_what_it_is(open_page, goal, place):
    with serving(make_service(goal=goal)) as address:
        page = open_page(address)
        page.wait_for_selector("#picture circle", state="attached")
        beside = page.locator("#picture .row span").all_inner_texts()
        assert all(re.fullmatch(rf"P\({place}\) >?0\.\d\d" if place else "", text) for text in beside)
        caption = page.inner_text("#caption")
        assert caption.startswith("accuracy with its interval")
        assert ("probability of being" in caption) == (place is not None)
        assert place is None or f"the probability of being the {place}" in caption


def test_the_caption_names_the_metric_of_the_bars(open_page):
    """The bars of the goal fairness are accuracies of ranges of scores, from which the rate follows."""
    rng = np.random.default_rng(0)
    pool = {"id": range(400), "score_yes": rng.random(400), "sex": rng.choice(["f", "m"], 400), "text": ["t"] * 400}
    made = fl.Predictions.read(pool, positive_score="score_yes")
    session = Session.create(None, made, goal=fl.FairnessGap(rate="tpr"), by="sex")
    with serving(LabellingService(session)) as address:
        page = open_page(address)
        page.wait_for_selector("#picture circle", state="attached")
        expect(page.locator("#progress")).to_contain_text("fairness, tpr")
        caption = page.inner_text("#caption")
        assert caption.startswith(
            "accuracy with its interval, in the groups that items are chosen from; tpr follows from it"
        )
        assert "probability of being" not in caption
        assert page.text_content("#metric") == "accuracy"


def test_the_top_counts_my_answers_at_once(open_page, monkeypatch):
    """Estimates may take seconds, with votes above all: what is counted does not wait for them."""
    service = make_service()
    monkeypatch.setattr(service._background, "_refresh", lambda: None)  # the board stays as it was
    with serving(service) as address:
        page = open_page(address)
        press(page, "1")
        press(page, "1")
        expect(page.locator("#progress")).to_contain_text("0 labels · 2 answers by you ·", timeout=WAIT)
        type_key(page, "u")
        expect(page.locator("#progress")).to_contain_text("1 answer by you", timeout=WAIT)


def test_two_people_get_items_of_their_own_and_see_each_other_move_the_answer(open_page):
    service = make_service()
    with serving(service) as address:
        ann, bob = open_page(address, "ann"), open_page(address, "bob")
        assert read_item(ann) != read_item(bob)
        for page in (ann, bob):
            press(page, "1")
        expect(ann.locator("#progress")).to_contain_text("2 labels", timeout=WAIT)
        assert Counter(row["who"] for row in service.session.answers()) == {"ann": 1, "bob": 1}


def test_a_reload_a_double_click_and_two_tabs_burn_no_item(open_page):
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        item = read_item(page)
        page.reload()
        page.wait_for_selector("#classes button")
        assert read_item(page) == item
        other = page.context.new_page()
        other.goto(page.url)
        other.wait_for_selector("#classes button")
        assert read_item(other) == item
        page.locator("#classes button").first.dblclick()
        expect(page.locator("#said")).to_contain_text(f"{item}: cat", timeout=WAIT)
        other.locator("#classes button").nth(1).click()
        expect(other.locator("#said")).to_contain_text(f"{item}: dog", timeout=WAIT)
        page.go_back()
        page.go_forward()
        assert count_labels(service) == 1
        assert len(service.session.pending) == 1


def test_two_people_disagree_and_a_third_decides(open_page):
    session = Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat(), votes=2)
    with serving(LabellingService(session)) as address:
        ann, bob = open_page(address, "ann"), open_page(address, "bob")
        item = read_item(ann)
        press(ann, "1")
        ann.reload()  # what is in the journal is what counts
        press(bob, "1")  # something of bob's own, then ann's
        while read_item(bob) != item:
            press(bob, "1")
        bob.keyboard.press("n")
        bob.keyboard.type("see the ears")
        bob.keyboard.press("Escape")
        press(bob, "2")
        kim = open_page(address, "kim")
        expect(kim.locator("#n-disputed")).to_have_text("1", timeout=WAIT)
        type_key(kim, "d")
        expect(kim.locator("#votes li")).to_have_text(["ann says cat", "bob says dog: see the ears"], timeout=WAIT)
        assert read_item(kim) == item
        assert kim.locator("#classes .voted").count() == 2
        assert all(name for *_, name in kim.evaluate(NAMES))
        assert [row for row in kim.evaluate(CONTRAST) if row[2] < 4.5] == []
        kim.set_viewport_size({"width": 360, "height": 640})
        assert kim.evaluate("() => document.documentElement.scrollWidth") <= 360
        type_key(kim, "l")
        expect(kim.locator("#nothing")).to_contain_text("No disagreement is left", timeout=WAIT)
        kim.locator("#to-settle").click()
        expect(kim.locator("#votes li")).to_have_count(2, timeout=WAIT)
        type_key(kim, "1")
        expect(kim.locator("#said")).to_have_text(f"Decided: {item}: cat", timeout=WAIT)
        type_key(kim, "u")
        expect(kim.locator("#said")).to_contain_text("Undone", timeout=WAIT)
        expect(kim.locator("#votes li")).to_have_count(2, timeout=WAIT)
        type_key(kim, "2")
        expect(kim.locator("#n-disputed")).to_have_text("0", timeout=WAIT)
        more = session.ask(3, who="ann")
        for who in ("ann", "bob"):
            session.tell(dict.fromkeys(more, "cat"), who=who)  # of a single item there is no kappa
        expect(kim.locator("#agreement")).to_contain_text("Cohen's kappa", timeout=WAIT)
        assert kim.locator("#people tbody tr").count() == 2
        last = next(row for row in session.answers() if row["id"] == item)
        assert (last["label"], last["who"]) == ("dog", "kim")


def test_a_team_is_asked_for_names(open_page, chromium):
    session = Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat(), votes=2)
    with serving(LabellingService(session)) as address:
        page = chromium.new_page()
        page.goto(address)
        page.wait_for_selector("#who[open]")
        page.keyboard.press("Enter")
        assert page.locator("#who[open]").count() == 1
        page.keyboard.press("Escape")
        page.wait_for_selector("#who[open]")
        assert "2 people" in page.inner_text("#who-why")
        page.fill("#name", "ann")
        page.keyboard.press("Enter")
        page.wait_for_selector("#classes button")
        page.close()


def test_an_annotators_page_shows_what_an_annotator_may_do(chromium, tmp_path):
    keys = tmp_path / "s.db.keys"
    known = change_keys(keys, lambda found: found.invite(["ann <b>", "bob"]))
    session = Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat(), votes=2)
    with serving(LabellingService(session), store=KeysFile(keys)) as owner:
        page = chromium.new_context(viewport={"width": 360, "height": 640}).new_page()
        page.goto(known.annotators[0].link(owner.partition("/?")[0]))
        page.wait_for_selector("#classes button", timeout=WAIT)  # without being asked for a name
        assert page.inner_text("#person") == "ann <b>"
        assert page.locator("#person").is_disabled()
        for hidden in ("#who", "#views", "#results", "#team"):
            assert not page.locator(hidden).is_visible()
        press(page, "1")
        type_key(page, "d")  # no disagreements for annotators
        assert page.inner_text("#asked") == "Which class is this?"
        assert [row["who"] for row in session.votes()] == ["ann <b>"]
        assert [row for row in page.evaluate(CONTRAST) if row[2] < 4.5] == []
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        change_keys(keys, lambda found: found.revoke(["ann <b>"]))
        type_key(page, "1")
        expect(page.locator("#trouble")).to_contain_text("no longer valid", timeout=WAIT)
        assert len(session.votes()) == 1
        page.context.close()


def test_an_item_that_somebody_else_answered_meanwhile_is_dropped(chromium):
    known = Credentials.create().invite(["ann"])
    service = make_service()
    with serving(service, store=MemoryStore(known)) as owner:
        page = chromium.new_context().new_page()
        page.goto(known.annotators[0].link(owner.partition("/?")[0]))
        page.wait_for_selector("#classes button", timeout=WAIT)
        item = read_item(page)
        service.session.tell({item: "dog"}, who="bob")
        press(page, "1")
        expect(page.locator("#trouble")).to_contain_text(f"another annotator has answered {item}", timeout=WAIT)
        assert read_item(page) != item
        assert [row["who"] for row in service.session.answers()] == ["bob"]
        page.context.close()


def test_an_owners_tab_does_not_answer_under_the_name_of_a_link_opened_later(open_page):
    known = Credentials.create().invite(["ann"])
    service = make_service()
    with serving(service, store=MemoryStore(known)) as owner:
        page = open_page(owner, "kim")
        other = page.context.new_page()
        other.goto(known.annotators[0].link(owner.partition("/?")[0]))
        other.wait_for_selector("#classes button", timeout=WAIT)
        page.bring_to_front()
        type_key(page, "1")
        expect(page.locator("#trouble")).to_contain_text("Reload this page", timeout=WAIT)
        assert service.session.answers() == []


def test_the_owner_cannot_take_an_annotators_name(open_page):
    known = Credentials.create().invite(["bob"])
    service = make_service()
    with serving(service, store=MemoryStore(known)) as owner:
        page = open_page(owner, "ann")
        page.locator("#person").click()
        page.fill("#name", "Bob")
        page.keyboard.press("Enter")
        expect(page.locator("#trouble")).to_contain_text("Bob is an annotator with a link of their own", timeout=WAIT)
        page.locator("#person").click()
        page.fill("#name", "ann")
        page.keyboard.press("Enter")
        expect(page.locator("#trouble")).to_be_hidden(timeout=WAIT)  # and the item is there
        press(page, "1")
        assert {row["who"] for row in service.session.answers()} == {"ann"}


def test_the_file_that_opens_the_browser_leads_to_the_page(chromium, tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    codes = OneTimeCodes()
    with (
        serving(make_service(), codes=codes) as link,
        opened_browser(link.partition("/?")[0], codes, tmp_path / "s.db.keys"),
    ):
        while not opened:
            time.sleep(0.01)
        page = chromium.new_page()
        page.goto(opened[0])
        page.wait_for_selector("#who[open]", timeout=WAIT)
        assert page.url == link.partition("?")[0]
        assert list(tmp_path.iterdir()) == []
        page.close()


NASTY = [
    "<img src=x onerror=\"document.title='owned'\">",
    "\u202egnorw",
    "a\x07b",
    "العربية",
    "x" * 300,
    "' onclick='",
    "</script>",
]


def test_whatever_people_and_classes_are_called_stays_text(open_page):
    """Names, notes and classes come from people too; and a script that got in would not run."""
    pool = make_pool(70, NASTY).assign(predicted=NASTY * 10)
    session = Session.create(None, pool, goal=FindWorst(), prior=fl.flat(), votes=2)
    with serving(LabellingService(session)) as address:
        for who, label in ((NASTY[0], 0), ("\u202ebob", 3)):
            item = session.ask(1, who=who, lease=600.0)[0]
            session.tell({item: NASTY[label]}, who=who, note=NASTY[0])
        page = open_page(address, "<b>kim</b>")
        type_key(page, "d")
        expect(page.locator("#votes li")).to_have_count(2, timeout=WAIT)
        assert page.inner_text("#votes li:first-child bdi:first-child") == NASTY[0]
        assert page.locator("#votes img, #classes img, #people img, #person b, #table img").count() == 0
        assert page.inner_text("#person") == "<b>kim</b>"
        page.locator("#classes button").nth(3).click()
        expect(page.locator("#said")).to_contain_text("Decided", timeout=WAIT)
        victim = page.context.new_page()
        victim.goto(page.url)
        victim.evaluate(
            "() => document.body.append(Object.assign(document.createElement('script'), {textContent: \"document.title = 'owned'\"}))"
        )
        victim.evaluate(
            "() => document.body.insertAdjacentHTML('beforeend', '<img src=/favicon.ico onerror=\"document.title = 1\">')"
        )
        victim.wait_for_timeout(200)
        assert victim.title() == page.title() == "fewlabels: label items"
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 1100


def test_an_answer_given_without_a_network_is_kept_until_there_is_one(open_page):
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        item = read_item(page)
        page.context.set_offline(True)
        type_key(page, "2")
        expect(page.locator("#trouble")).to_contain_text("Your answer is kept here", timeout=WAIT)
        page.keyboard.press("1")  # impatience answers nothing
        assert read_item(page) == item
        assert count_labels(service) == 0
        page.context.set_offline(False)
        expect(page.locator("#said")).to_contain_text(f"{item}: dog", timeout=WAIT)
        expect(page.locator("#trouble")).to_be_hidden(timeout=WAIT)
        assert [(row["id"], row["label"]) for row in service.session.answers()] == [(item, "dog")]
        assert len(service.session.pending) == 1


def test_an_answer_that_cannot_be_saved_just_now_is_sent_again(open_page, tmp_path):
    session = Session.create(tmp_path / "s.db", make_pool(), goal=FindWorst(), prior=fl.flat())
    service = LabellingService(session)
    with serving(service) as address, closing(sqlite3.connect(tmp_path / "s.db", isolation_level=None)) as other:
        page = open_page(address)
        item = read_item(page)
        other.execute("BEGIN IMMEDIATE")  # another program writes, and takes its time
        type_key(page, "2")
        expect(page.locator("#trouble")).to_contain_text("another process has locked it", timeout=WAIT)
        assert read_item(page) == item
        other.execute("ROLLBACK")
        expect(page.locator("#said")).to_contain_text(f"{item}: dog", timeout=WAIT)
        expect(page.locator("#trouble")).to_be_hidden(timeout=WAIT)
        assert [(row["id"], row["label"]) for row in session.answers()] == [(item, "dog")]


def test_a_board_that_cannot_be_computed_says_so_until_it_can(open_page, monkeypatch):
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        with monkeypatch.context() as patch:
            patch.setattr("fewlabels.web.service.compute_board", lambda *_: 1 / 0)
            press(page, "1")
            expect(page.locator("#stale")).to_be_visible(timeout=WAIT)
        press(page, "1")
        expect(page.locator("#progress")).to_contain_text("2 labels", timeout=WAIT)
        expect(page.locator("#stale")).to_be_hidden(timeout=WAIT)


def test_the_page_shows_answers_that_another_process_wrote(open_page, tmp_path):
    session = Session.create(tmp_path / "s.db", make_pool(), goal=FindWorst(), prior=fl.flat())
    with serving(LabellingService(session)) as address, Session.open(tmp_path / "s.db") as other:
        page = open_page(address)
        other.tell(dict.fromkeys(other.ask(5, who="bob"), "cat"), who="bob")
        expect(page.locator("#progress")).to_contain_text("5 labels", timeout=WAIT)


def test_an_answer_whose_receipt_is_lost_counts_once(open_page):
    """The server keeps it, the network swallows the reply, and the page sends it again."""
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        item, lost = read_item(page), []

        def swallow(route):
            if lost:
                route.continue_()
                return
            route.fetch()
            lost.append(1)
            route.abort()

        page.route("**/api/tell", swallow)
        press(page, "1")
        assert lost == [1]
        assert [(row["id"], row["label"]) for row in service.session.answers()] == [(item, "cat")]
        assert count_labels(service) == 1


def test_an_undo_whose_receipt_is_lost_takes_back_one_answer(open_page):
    service = make_service()
    with serving(service) as address:
        page, lost = open_page(address), []
        items = [read_item(page)]
        press(page, "1")
        items.append(read_item(page))
        press(page, "1")

        def swallow(route):
            lost.append(1)
            if len(lost) > 1:
                route.continue_()
                return
            route.fetch()
            route.abort()

        page.route("**/api/undo", swallow)
        type_key(page, "u")
        expect(page.locator("#said")).to_contain_text(f"Undone: {items[1]}", timeout=WAIT)
        assert len(lost) == 2
        assert [row["id"] for row in service.session.answers()] == items[:1]


def test_fields_of_every_kind_can_be_read(open_page, tmp_path):
    """Long text scrolls by keys alone, right-to-left text runs its own way, and sound has controls."""
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    columns = {
        "story": ["word " * 5000] * 200,
        "عنوان": ["שלום עולם"] * 200,
        "sound": ["a.wav"] * 200,
        "bell": ["ring\x07"] * 200,
        "length": range(200),
    }
    service = make_service(make_pool(**columns), folder=MediaFolder(tmp_path))
    with serving(service) as address:
        page = open_page(address)
        assert page.locator("#item dt").all_inner_texts()[1:] == ["story", "عنوان", "sound", "bell", "length"]
        turned = page.locator("#item dd").nth(2)
        assert turned.evaluate("one => getComputedStyle(one).direction") == "rtl"
        assert "ring␇" in page.inner_text("#item")
        assert "5,000 more characters" in page.inner_text("#item")
        assert page.locator("#item audio[controls]").count() == 1
        assert (
            page.evaluate("() => document.getElementById('item').tabIndex") == 0
        )  # or it could not be scrolled by keys
        page.focus("#item")
        page.keyboard.press("End")
        page.wait_for_function("() => document.getElementById('item').scrollTop > 0")


def test_many_classes_are_searched(open_page):
    names = [f"kind {i:03d}" for i in range(120)]
    service = make_service(make_pool(120, names).assign(predicted=names), Estimate())
    with serving(service) as address:
        page = open_page(address)
        item = read_item(page)
        page.keyboard.press("/")
        page.keyboard.type("D 07")
        expect(page.locator("#classes button")).to_have_count(10)
        page.keyboard.type("3")
        page.keyboard.press("Enter")
        expect(page.locator("#said")).to_contain_text(f"{item}: kind 073", timeout=WAIT)


def test_pictures_and_sounds_are_shown(open_page, tmp_path):
    (tmp_path / "a.png").write_bytes(PIXEL)
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    service = make_service(make_pool(picture=["a.png"] * 200, sound=["a.wav"] * 200), folder=MediaFolder(tmp_path))
    with serving(service) as address:
        page = open_page(address)
        page.wait_for_function("() => document.querySelector('#item img').naturalWidth === 1")
        assert page.locator("#item audio").count() == 1


def test_settled_is_said(open_page):
    pool = make_pool(60)
    service = make_service(pool, FindWorst(rope=0.3, confidence=0.6))
    with serving(service, RateLimit(1e9, 1e9)) as address:
        page = open_page(address)
        assert page.locator("#settled").is_hidden()
        for _ in range(40):
            press(page, "1")
            if page.locator("#settled").is_visible():
                break
        expect(page.locator("#settled")).to_be_visible(timeout=WAIT)


def test_when_nothing_is_left_the_page_says_so(open_page):
    service = make_service(make_pool(3).assign(predicted=["cat", "dog", "cat"]), Estimate())
    with serving(service) as address:
        page = open_page(address)
        for key in "12":
            press(page, key)
        page.keyboard.press("1")
        expect(page.locator("#nothing")).to_contain_text("Nothing is left to ask", timeout=WAIT)


def start(folder: Path, port: int) -> tuple[subprocess.Popen[str], str]:
    words = ["label", "pool.csv", "--session", "s.db", "--goal", "find-worst", "--prior", "flat", "--no-browser", "--port", str(port)]  # fmt: skip
    words = [word for word in words if not ((folder / "s.db").exists() and word in ("--goal", "find-worst", "--prior", "flat"))]  # fmt: skip
    run = subprocess.Popen([sys.executable, "-c", "from fewlabels.cli.app import main; main()", *words], cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})  # fmt: skip
    for line in run.stdout:
        if "http" in line:
            return run, line.split()[-1]
    raise AssertionError("no address")


def test_a_server_that_is_killed_and_started_again_loses_nothing(open_page, tmp_path):
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    run, address = start(tmp_path, 0)
    page = open_page(address)
    for _ in range(3):
        press(page, "1")
    item = read_item(page)
    run.send_signal(signal.SIGKILL)
    run.communicate(timeout=30)  # closes its pipe as well
    page.keyboard.press("2")
    expect(page.locator("#trouble")).to_contain_text("does not answer", timeout=WAIT)
    run, again = start(tmp_path, 0)
    assert again == address  # the same port, and the same token
    expect(page.locator("#said")).to_contain_text(f"{item}: dog", timeout=WAIT)
    expect(page.locator("#trouble")).to_be_hidden(timeout=WAIT)
    press(page, "1")
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=30)
    assert run.returncode == 0
    with Session.open(tmp_path / "s.db") as session:
        assert [row["label"] for row in session.answers()] == ["cat", "cat", "cat", "dog", "cat"]


# -- for everyone ---------------------------------------------------------------------------------------------

NAMES = """() => [...document.querySelectorAll("button, input, img, audio, svg[role=img], summary, dialog")]
    .filter(one => one.checkVisibility()).map(one => [one.tagName, one.id, (one.getAttribute("aria-label") || one.textContent ||
        one.alt || [...(one.labels || [])].map(label => label.textContent).join(" ")).trim()])"""
MISNAMED = """() => [...document.querySelectorAll("[aria-label]")].filter(one => one.matches("button, a, summary") &&
    !one.getAttribute("aria-label").includes(one.textContent.trim())).map(one => one.id)"""  # said otherwise than shown
CONTRAST = """() => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const behind = one => { for (let at = one; at; at = at.parentElement) {
        const colour = parts(getComputedStyle(at).backgroundColor); if (colour.length < 4 || colour[3] > 0) return colour; } return [255, 255, 255]; };
    return [...document.querySelectorAll("body *")].filter(one => one.checkVisibility() && !one.closest("svg") &&
        [...one.childNodes].some(node => node.nodeType === 3 && node.textContent.trim())).map(one => {
        const [a, b] = [light(parts(getComputedStyle(one).color)), light(behind(one))].sort((x, y) => y - x);
        return [one.tagName, one.id, (a + .05) / (b + .05)]; });
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_has_a_name_and_can_be_read(open_page, scheme):
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        page.emulate_media(color_scheme=scheme)
        assert all(name for *_, name in page.evaluate(NAMES))
        faint = [row for row in page.evaluate(CONTRAST) if row[2] < 4.5]
        assert faint == []
        assert page.evaluate(MISNAMED) == []
        assert page.get_attribute("html", "lang") == "en"
        assert page.locator("main").count() == page.locator("h1").count() == 1


def test_focus_goes_from_the_item_to_classes_to_the_rest(open_page):
    service = make_service()
    with serving(service) as address:
        page = open_page(address)
        press(page, "1")
        seen = []
        for _ in range(5):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("() => document.activeElement.id || document.activeElement.textContent"))
        assert seen[:5] == ["cat1", "dog2", "skip", "undo", "note"]


def test_it_fits_a_phone(open_page):
    service = make_service()
    with serving(service) as address:
        page = open_page(address, width=360, height=640)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
        heights = page.evaluate("() => [...document.querySelectorAll('#classes button')].map(one => one.offsetHeight)")
        assert min(heights) >= 44


@pytest.mark.parametrize("width", [390, 1100])
def test_the_overview_fits_the_screen_without_scrolling_sideways(open_page, width):
    service = make_service()
    for item in service.session.ask(4, who="an annotator with a long name"):
        service.session.tell({item: "cat"}, who="an annotator with a long name", note="a remark of some length " * 3)
    with serving(service) as address:
        page = open_page(address, width=width)
        page.click("#overview-link")
        page.wait_for_selector("#latest tbody tr")
        for table in ("#people", "#latest"):
            within, whole = page.eval_on_selector(
                table, "t => [t.parentElement.clientWidth, t.parentElement.scrollWidth]"
            )
            assert whole <= within
        told = page.locator("#latest tbody tr").first.locator("td")
        assert told.evaluate_all("cells => cells.map((cell) => cell.dataset.heading)") == [
            "item",
            "label",
            "by",
            "when",
            "note",
        ]
