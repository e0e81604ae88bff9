"""The owner's overview: who labelled what, at which pace, with which settings."""

import pytest

import fewlabels as fl
from fewlabels.web.overview import LATEST, find_pace, make_overview
from fewlabels.web.service import LabellingRules, LabellingService


@pytest.fixture
def service():
    pool = {"id": range(300), "predicted": ["cat", "dog"] * 150, "text": [f"beast {i}" for i in range(300)]}
    made = LabellingService(fl.Session.create(None, pool, goal=fl.Estimate(), prior=fl.flat(), votes=2))
    yield made
    made.close()


def test_it_says_who_labelled_what(service) -> None:
    for who, n, label in (("ann", 3, "cat"), ("bob<b>", 2, None)):
        for _ in range(n):
            [view] = service.ask(who)
            service.tell(who, [(view.id, label, "a note" if label else "")])
    found = service.make_overview()
    assert {one.who: (one.n_answers, one.n_skipped) for one in found.annotators} == {"ann": (3, 0), "bob<b>": (2, 2)}
    assert [(one.who, one.label, one.note) for one in found.latest] == [("bob<b>", None, "")] * 2 + [("ann", "cat", "a note")] * 3  # fmt: skip
    assert found.latest[0].at >= found.latest[-1].at
    assert found.settings["goal"] == "estimate"
    assert found.settings["answers per item"] == "2"


def test_it_lists_the_latest_answers_only(service) -> None:
    for _ in range(3):
        views = service.ask("ann", 50)
        service.tell("ann", [(view.id, "cat", "") for view in views])
    found = service.make_overview()
    assert len(found.latest) == LATEST
    assert found.annotators[0].n_answers == 150


def test_without_answers_nobody_is_listed(service) -> None:
    found = service.make_overview()
    assert (found.annotators, found.latest, found.n_labels) == ([], [], 0)


def test_settings_say_whether_estimates_are_hidden() -> None:
    pool = {"id": range(4), "predicted": ["cat", "dog"] * 2}
    session = fl.Session.create(None, pool, goal=fl.Estimate(), prior=fl.flat())
    hidden = LabellingService(session, LabellingRules(blind=True))
    assert hidden.make_overview().settings["estimates"] == "hidden from all"
    assert make_overview(hidden.session.votes(), hidden.board, {"a": None, "b": 1}).settings == {"b": "1"}
    hidden.close()


def test_pauses_are_no_work() -> None:
    assert find_pace([]) is None
    assert find_pace(["2026-01-01T10:00:00"]) is None
    assert find_pace(["2026-01-01T10:00:00", "2026-01-01T12:00:00"]) is None
    assert find_pace(["2026-01-01T10:00:00", "2026-01-01T10:00:00", "2026-01-01T10:00:08"]) == 8
