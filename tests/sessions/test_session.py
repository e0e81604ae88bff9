"""The loop of ask and tell: what it promises to whoever labels, through crashes, slips, helpers and odd pools.

What forks, kills, or needs a process without shape checks runs as `python tests/sessions/test_session.py FOLDER`, once for all.
"""

import json
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import traceback
from collections import Counter
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from makers import make_pool, outcome_pool, take

import fewlabels as fl
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.policies import POLICIES
from fewlabels.active.study_design import StudyDesign
from fewlabels.distributions.draws import Draws
from fewlabels.errors import InputError
from fewlabels.metrics.metric import METRICS, Metric
from fewlabels.sessions import answers, journal, posterior_cache, session
from fewlabels.sessions import state as session_state
from fewlabels.sessions.creation import create_spec
from fewlabels.sessions.journal.memory import MemoryJournal
from fewlabels.sessions.journal.sqlite import SqliteJournal
from fewlabels.sessions.session import Session
from fewlabels.sessions.spec_file import write_spec

FULL = make_pool(3, n=90)
TRUTH = dict(zip(FULL["id"], FULL["label"], strict=True))
CHANCES = np.random.default_rng(4).dirichlet(np.ones(3), 40)
PRICE = fl.cost({true: {said: float(3 * (true != said)) for said in "abc"} for true in "abc"})


def without(table, *columns):
    return {name: values for name, values in table.items() if name not in columns}


def hide(table, labelled):
    """The table with labels of some ids only."""
    return table | {"label": [TRUTH[i] if i in labelled else None for i in table["id"]]}


TABLES = {
    "blank": without(FULL, "label"),
    "begun": hide(FULL, range(0, 90, 4)),
    "small": take(without(FULL, "label"), range(30)),
    "chances": {"id": list(range(40)), **{f"p_{c}": CHANCES[:, i] for i, c in enumerate("abc")}},
    "grades": {
        "id": list(range(30)),
        "system": list("xyz") * 10,
        "agreement": [0.5 if i < 6 else None for i in range(30)],
    },
    "no ids": {"predicted": list("abbca" * 4), "label": [None, "a", None, None] * 5, "text": [f"t{i}" for i in range(20)]},
    "twelve": outcome_pool(**{f"g{k:02}": (0, 0, 60) for k in range(12)}),
    "large": make_pool(5, n=3000, labelled=0.0),
}  # fmt: skip


@cache
def read_table(name):
    return fl.Predictions.read(TABLES[name])


@cache
def lay(name, by, seed):
    return create_spec(read_table(name), StudyDesign(FindWorst(), by, fl.thompson, fl.flat(), seed=seed))


def begin(path=None, table="blank", by=fl.predicted, seed=0, **choices):
    """What Session.create does, with the pool counted only once for all tests."""
    spec, items = lay(table, by, seed)
    spec = replace(spec, design=replace(spec.design, **choices))
    about, blobs = write_spec(spec)
    kept = MemoryJournal(about, items, blobs) if path is None else SqliteJournal.create(path, about, items, blobs)
    return Session(spec, kept, read_table(table))


@pytest.fixture(scope="module", autouse=True)
def tidy_up():
    """Let go of the engines behind the tables."""
    yield
    for cached in (read_table, filled):
        cached.cache_clear()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "s.db"


def tell_truth(s, ids):
    s.tell({i: TRUTH[i] for i in ids})


def label(s, n, batch=1):
    """Ask and answer truly until so many are labelled; give the items in the order they were asked about."""
    order = []
    while len(order) < n:
        ids = s.ask(min(batch, n - len(order)))
        tell_truth(s, ids)
        order += ids
    return order


def answers_of(s):
    return {row["id"]: row["label"] for row in s.answers()}


def state(s):
    """All there is to know, but the time of day."""
    rows = [{k: v for k, v in row.items() if k != "at"} for row in s.answers()]
    return {"pending": s.pending, "status": s.status(), "answers": rows, "assess": s.assess().to_dict()}


def figures(s):
    """What the labels amount to."""
    found = s.assess().to_dict()
    return {name: found[name] for name in ("n_labels", "overall", "groups")}


@pytest.fixture(scope="module")
def elsewhere(tmp_path_factory):
    """A folder of sessions that other processes worked on, and what each job found."""
    folder = tmp_path_factory.mktemp("elsewhere")
    for name in ("asked.db", "told.db", "lines.db"):
        begin(folder / name, "large").close()
    begin(folder / "killed.db", "large", goal=Estimate()).close()
    command = [sys.executable, "-W", "error", "-W", "ignore:fetch_arrow:DeprecationWarning", __file__, str(folder)]
    more = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False, env=os.environ | more)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder, json.loads(done.stdout)


def found_by(job, elsewhere):
    """What a job found, unless it failed."""
    result = elsewhere[1][job.__name__]
    assert not isinstance(result, str), result
    return result


# -- the contract ---------------------------------------------------------------------------------------------


def test_the_loop_of_the_contract(path, tmp_path):
    pd.DataFrame(TABLES["blank"]).to_parquet(tmp_path / "preds.parquet")
    pool = fl.Predictions.read(tmp_path / "preds.parquet")
    s = fl.Session.create(
        path, pool, goal=fl.FindWorst(fl.accuracy, m=1), by=fl.predicted, policy=fl.thompson, prior=fl.from_scores(), seed=0
    )  # fmt: skip
    ids = s.ask(10)
    s.tell({i: TRUTH[i] for i in ids})
    assert len(ids) == len(set(ids)) == s.assess().n_labels == 10
    assert s.is_settled is False
    pending = s.ask(2)
    known = state(s)
    s.close()
    with fl.Session.open(path) as s:
        assert s.ask(2) == s.pending == pending
        assert state(s) == known


def test_status_is_the_contract_s_json():
    s = begin()
    label(s, 4)
    s.ask(3)
    status = s.status()
    assert {"n_items", "n_labels", "n_pending", "goal", "by", "policy", "prior", "settled", "answer"} <= status.keys()
    assert [status[k] for k in ("n_items", "n_labels", "n_pending", "n_left")] == [90, 4, 3, 83]
    assert [status[k] for k in ("goal", "metric", "by", "policy", "prior")] == ["find-worst", "accuracy", "predicted", "thompson", "flat"]  # fmt: skip
    assert json.loads(json.dumps(status)) == status
    assert status["answer"]["sentence"] == s.standing().sentence
    assert status["settled"] == s.standing().settled == s.is_settled


def test_creating_makes_choices_for_whoever_has_none():
    s = Session.create(None, TABLES["small"], goal=FindWorst(m=2))
    assert [s.status()[k] for k in ("by", "policy", "prior")] == ["predicted", "multi-play", "calibrated"]
    assert s.goal == FindWorst(m=2)
    assert s.classes == ("a", "b", "c")
    same = Session.create(None, TABLES["small"], goal=FindWorst(m=2), policy=fl.multi_play, prior=fl.calibrated())
    assert s.ask(4) == same.ask(4)


def test_what_makes_no_sense_is_refused_before_anything_is_made(path):
    table = TABLES["small"]
    for choices, says in [
        ({"level": 1.5}, "level is 1.5"),
        ({"seed": -1}, "seed is -1"),
        ({"goal": FindWorst(fl.ece), "pool": without(table, "score")}, "metric ece needs a score column"),
        ({"prior": fl.from_scores(), "pool": without(table, "score")}, "prior scores needs a score column"),
        ({"goal": FindWorst(fl.recall), "pool": TABLES["grades"]}, "metric recall needs"),
        ({"by": fl.column("size")}, "by: there is no column 'size'"),
        ({"pool": hide(take(FULL, range(9)), range(9))}, "every item of the table is labelled"),
    ]:
        with pytest.raises(InputError, match=says):
            Session.create(path, **{"pool": table, "goal": FindWorst()} | choices)
    assert not path.exists()


@pytest.mark.parametrize(
    ("choices", "says"),
    [
        ({"goal": FindWorst(fl.tpr), "by": fl.column("sex")}, "which class is the positive one"),
        ({"goal": FindWorst(fl.mcc)}, "mcc is not defined for a single predicted class"),
        ({"goal": Compare("a", "zz")}, "there is no group 'zz'"),
    ],
    ids=["positive", "mcc", "group"],
)
def test_a_question_that_cannot_be_answered_is_refused_before_anything_is_made(path, choices, says):
    with pytest.raises(InputError, match=says):
        Session.create(path, read_table("small"), **choices).close()
    assert not path.exists()


def test_a_session_is_never_made_over_another(path):
    with begin(path) as s:
        label(s, 3)
    with pytest.raises(InputError, match="already exists"):
        Session.create(path, read_table("blank"), goal=FindWorst())
    with Session.open(path) as s:
        assert s.status()["n_labels"] == 3


# -- asking ---------------------------------------------------------------------------------------------------


def test_the_same_items_are_asked_about_until_they_are_told():
    s = begin()
    first = s.ask(3)
    assert s.ask(3) == s.ask(3) == s.pending == first
    assert s.ask(2) == first[:2]
    tell_truth(s, [first[1]])
    assert s.ask(2) == [first[0], first[2]]


def test_asking_for_more_adds_to_what_is_pending():
    s = begin()
    first = s.ask(3)
    more = s.ask(5)
    assert more[:3] == first
    assert len(set(more)) == 5
    assert s.status()["n_pending"] == 5


@pytest.mark.parametrize("n", [0, -2])
def test_asking_for_nothing_is_refused(n):
    with pytest.raises(InputError, match=f"ask: n must be at least 1, got {n}"):
        begin().ask(n)


@pytest.mark.parametrize(
    "ids",
    [
        [7, 20, -3],
        [2**60, 1, 0],
        ["007", "7", "07"],
        ["päron", "🍐", "e\u0301"],
        ["a b", "", "'); DROP TABLE items; --"],
    ],
    ids=["whole", "large", "zeros", "unicode", "odd"],
)
def test_ids_come_back_as_they_are_in_the_table(path, ids):
    with Session.create(path, {"id": ids, "predicted": ["a", "b", "a"]}, goal=FindWorst()) as s:
        asked = s.ask(3)
        assert Counter(asked) == Counter(ids)
        assert {type(i) for i in asked} == {type(ids[0])}
        s.tell(dict.fromkeys(ids, "a"))
        assert answers_of(s) == dict.fromkeys(ids, "a")


PARTITIONS = {
    "predicted": ("small", fl.predicted),
    "column": ("small", fl.column("age")),
    "bins": ("small", fl.bins(4)),
    "equal mass": ("small", fl.bins(3, equal_mass=True)),
    "cross": ("small", fl.cross(fl.column("sex"), fl.predicted)),
    "all": ("small", fl.everything),
    "no ids": ("no ids", fl.predicted),
    "grades": ("grades", fl.column("system")),
    "labels at the start": ("begun", fl.column("sex")),
}


@pytest.mark.parametrize(("table", "by"), PARTITIONS.values(), ids=PARTITIONS)
def test_every_item_is_asked_about_once_until_none_is_left(table, by):
    s = begin(table=table, by=by)
    askable, seen, closed = s.status()["n_left"], [], 0
    while ids := s.ask(9):
        assert s.status()["n_left"] == askable - len(seen) - len(ids)
        s.tell(dict.fromkeys(ids, 0.5 if table == "grades" else "a"))
        seen += ids
        now_closed = int((s.knowledge().left == 0).sum())
        assert now_closed >= closed  # a group that is emptied stays so
        closed = now_closed
    data = TABLES[table]
    known = data.get("label") or data.get("agreement") or [None] * len(data["id"])
    names = data.get("id", range(1, len(known) + 1))
    assert sorted(seen) == [i for i, y in zip(names, known, strict=True) if y is None]
    assert s.ask(1) == s.ask(9) == []
    status = s.status()
    assert [status[k] for k in ("n_left", "n_pending")] == [0, 0]
    assert status["n_labels"] == status["n_items"] == len(known)


def test_the_last_items_are_fewer_than_asked_for():
    s = begin(table="small", by=fl.everything)
    assert len(s.ask(100)) == 30
    assert s.status()["n_left"] == 0


def test_a_comparison_asks_about_its_two_groups_only():
    s = begin(table="small", goal=Compare("a", "c"))
    ids = s.ask(99)
    said = [TABLES["small"]["predicted"][i] for i in ids]
    assert Counter(said) == {k: n for k, n in Counter(TABLES["small"]["predicted"]).items() if k != "b"}
    tell_truth(s, ids)
    assert s.ask(1) == []
    assert s.status()["n_left"] == Counter(TABLES["small"]["predicted"])["b"]


GREEDY = fl.EpsilonGreedy(0.0)


@pytest.mark.parametrize("metric", [fl.accuracy, fl.confusion, fl.ece], ids=lambda m: m.name)
def test_a_batch_spreads_because_it_reckons_with_the_answers_to_come(metric):
    """Twelve groups alike: whoever is greedy but forgets what is pending asks about one of them twelve times."""
    table = {"id": list(range(60)), "predicted": [f"c{k % 12:02}" for k in range(60)], "score": [0.7] * 60}
    s = Session.create(None, table, goal=Estimate(metric), policy=GREEDY, random_share=0.0)
    said = [table["predicted"][i] for i in s.ask(24)]
    assert len(Counter(said)) == 12
    assert set(Counter(said).values()) <= {1, 2, 3}  # two each, but for what groups alike differ in a few hundred draws


def test_a_batch_goes_where_it_is_worth_most():
    """What is known of the first group makes labels in the other one worth more, even with six pending there."""
    s = begin(table="begun", goal=Estimate(), policy=GREEDY, by=fl.column("sex"))
    n = s.knowledge().n_labels
    more = s.ask(6)
    assert s.knowledge().n_labels.sum() == n.sum() + 6
    assert s.knowledge().pending.sum() == 6
    sexes = Counter(FULL["sex"][i] for i in more)
    assert s.knowledge().pending.tolist() == [sexes["f"], sexes["m"]]


@pytest.mark.parametrize("metric", [fl.ece, fl.recall], ids=lambda m: m.name)
def test_what_is_pending_is_foreseen_in_its_own_cell(metric):
    s = begin(goal=Estimate(metric), by=fl.column("sex"))
    ids = s.ask(7)
    cells = s.knowledge().evaluation.cells
    keys = zip(cells.group, cells.predicted, cells.bin, s.knowledge().pending, strict=True)
    found = Counter({(g, p, b): n for g, p, b, n in keys if n})

    def key(i):
        said = "abc".index(FULL["predicted"][i]) if "predicted" in metric.splits else -1
        return (
            "fm".index(FULL["sex"][i]),
            said,
            min(int(FULL["score"][i] * 10 + 1e-9), 9) if "bin" in metric.splits else -1,
        )

    assert found == Counter(key(i) for i in ids)


def test_everyone_gets_items_of_their_own():
    s = begin()
    ann, bob = s.ask(3, who="ann"), s.ask(3, who="bob")
    assert not set(ann) & set(bob)
    assert s.pending == ann + bob
    assert s.ask(3, who="ann") == ann
    tell_truth(s, ann)
    assert s.ask(3, who="bob") == bob
    assert not set(s.ask(3, who="ann")) & {*ann, *bob}


def test_an_item_is_one_persons_until_the_lease_is_over(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr("fewlabels.sessions.leases.monotonic", lambda: clock[0])
    s = begin()
    (ann,) = s.ask(1, who="ann", lease=60.0)
    clock[0] = 50.0
    (bob,) = s.ask(1, who="bob", lease=60.0)
    assert bob != ann
    assert s.ask(1, who="ann", lease=60.0) == [ann]  # she is still there, and keeps it for another minute
    clock[0] = 100.0
    assert s.ask(2, who="cleo", lease=60.0)[0] not in (ann, bob)
    clock[0] = 115.0  # both have gone
    assert set(s.ask(4, who="cleo", lease=60.0)) >= {ann, bob}
    assert s.ask(1, who="ann", lease=60.0) != [ann]


def test_with_a_lease_nobody_gets_what_another_is_at():
    s = begin()
    everything = s.ask(len(TRUTH), who="ann", lease=60.0)
    assert s.ask(1, who="bob", lease=60.0) == []
    assert s.ask(1, who="bob") == everything[:1]  # without, the last ones are for whoever comes


SETUPS = {
    "worst, Thompson": {},
    "worst two, multi-play": {"goal": FindWorst(m=2), "policy": fl.multi_play},
    "best, top-two": {"goal": FindBest(rope=0.02), "policy": fl.top_two, "prior": fl.from_scores()},
    "compare": {"goal": Compare("a", "b"), "level": 0.9},
    "confusion": {"goal": Estimate(fl.confusion), "seed": 11},
    "recall, random, these items": {"goal": FindWorst(fl.recall), "policy": fl.random, "finite_pool": True},
    "labels at the start": {"table": "begun", "by": fl.cross(fl.column("sex"), fl.bins(2)), "policy": fl.stratified},
    "cost": {"goal": FindWorst(PRICE)},
}  # fmt: skip
setups = pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)


def play(at):
    """A day of labelling, with everything that happens on one; `at` gives the session each time anew."""
    yield (ids := at().ask(2))
    at().tell({ids[0]: TRUTH[ids[0]]}, who="ann", note="sure")
    yield (ids := at().ask(5))
    tell_truth(at(), ids[:3])
    yield at().ask(3, who="bob")
    at().tell({ids[3]: None})
    yield at().undo()
    yield (ids := at().ask(3))
    tell_truth(at(), ids)
    yield at().pending
    other = next(i for i in TRUTH if i not in {*answers_of(at()), *at().pending} and FULL_OPEN(at(), i))
    at().tell({other: TRUTH[other]})
    yield (ids := at().ask(6))
    tell_truth(at(), ids)
    at().tell({ids[0]: "b"})
    yield at().status()
    yield at().ask(2)
    yield state(at())


def FULL_OPEN(s, i):
    """Was this item without a label at the start?"""
    return bool(s._store.journal.find([str(i)]))


@setups
def test_reopening_changes_nothing(path, setup):
    """Whatever was interrupted at every step is where an uninterrupted session is, down to the next question."""
    straight = begin(**setup)
    expected = list(play(lambda: straight))
    opened = [begin(path, **setup)]

    def reopen():
        opened.pop().close()
        opened.append(Session.open(path))
        return opened[0]

    assert list(play(reopen)) == expected
    opened[0].close()


def test_two_sessions_on_one_file_are_one(path):
    straight = begin()
    expected = list(play(lambda: straight))
    with begin(path) as one, Session.open(path) as other:
        turns = iter([one, other] * 100)
        assert list(play(lambda: next(turns))) == expected
        assert state(one) == state(other)


def test_randomness_follows_from_the_seed():
    orders = [label(begin(seed=seed), 30) for seed in (0, 0, 1)]
    assert orders[0] == orders[1] != orders[2]


def test_every_question_has_randomness_of_its_own(path):
    """It follows from seed and step: the same after reopening, another for the next question and for another seed."""
    drawn = []

    def note(rng, prospect):
        drawn.append(rng.random())
        return [0]

    label(begin(policy=note), 4)
    label(begin(policy=note, seed=1), 4)
    with begin(path, policy=note) as s:
        label(s, 2)
    with Session.open(path, policy=note) as s:
        s.ask(2)
    assert len(set(drawn)) == 8
    assert drawn[8:] == drawn[:4]


def test_asking_one_by_one_or_in_batches_leads_to_as_many_labels():
    assert len(set(label(begin(), 24, batch=5))) == 24


GOALS = {
    "estimate": Estimate(),
    "worst": FindWorst(m=2),
    "compare": Compare("a", "b"),
    "confusion": Estimate(fl.confusion),
}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
@pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
def test_every_goal_works_with_every_policy(goal, policy):
    s = begin(goal=goal, policy=policy, prior=fl.from_scores())
    order = label(s, 4, batch=3)
    assert len(set(order)) == s.knowledge().n_labels.sum() == 4
    assert isinstance(s.is_settled, bool)


# -- telling --------------------------------------------------------------------------------------------------


def test_the_last_answer_wins_and_counts_once():
    s = begin()
    (i, *_) = s.ask(2)
    s.tell({i: "a"})
    s.tell({i: "b"})
    assert (s.status()["n_labels"], answers_of(s)) == (1, {i: "b"})
    twin = begin()
    twin.ask(2)
    twin.tell({i: "b"})
    assert figures(s) == figures(twin)


def test_telling_the_same_again_changes_nothing():
    s = begin()
    ids = s.ask(3)
    tell_truth(s, ids)
    before = state(s)
    tell_truth(s, ids)
    assert state(s) == before


@pytest.mark.parametrize("nothing", [None, float("nan"), np.nan, np.float32("nan"), pd.NaT])
def test_an_item_nobody_can_tell_is_skipped(nothing):
    s = begin()
    one, two = s.ask(2)
    s.tell({one: nothing, two: TRUTH[two]})
    status = s.status()
    assert [status[k] for k in ("n_labels", "n_skipped", "n_pending", "n_left")] == [1, 1, 0, 88]
    assert answers_of(s)[one] is None
    assert one not in s.ask(5)
    assert any("items answered with cannot tell: 1;" in note for note in status["warnings"])
    assert any("items answered with cannot tell: 1;" in note for note in s.assess().warnings)


def test_what_pandas_calls_missing_is_skipped_too():
    s = begin()
    s.tell({s.ask(1)[0]: pd.NA})
    assert s.status()["n_skipped"] == 1


def test_a_skip_may_be_told_later_and_a_label_skipped():
    s = begin()
    one, two = s.ask(2)
    s.tell({one: None, two: "a"})
    s.tell({one: "b", two: None})
    assert (s.status()["n_labels"], s.status()["n_skipped"], answers_of(s)) == (1, 1, {one: "b", two: None})


def test_nothing_may_be_told():
    s = begin()
    s.tell({})
    assert s.answers() == []


def test_who_said_what_when_and_why_is_kept():
    s = begin()
    asked = s.ask(1)[0]
    other = next(i for i in TRUTH if i != asked)
    s.tell({asked: "a"}, who="ann", note="blurred")
    s.tell({other: "c"}, who="bob")
    one, two = s.answers()
    assert one.pop("at") <= two.pop("at")
    assert one == {"id": asked, "label": "a", "asked": True, "who": "ann", "note": "blurred"}
    assert two == {"id": other, "label": "c", "asked": False, "who": "bob", "note": ""}


@pytest.mark.parametrize("disguise", [np.int64, np.int16, float, np.float64, str, np.str_])
def test_an_id_may_come_in_any_guise(disguise):
    s = begin()
    ids = s.ask(3)
    s.tell({disguise(i): TRUTH[i] for i in ids})
    assert answers_of(s) == {i: TRUTH[i] for i in ids}


def test_one_item_in_two_guises_is_refused():
    s = begin()
    (i,) = s.ask(1)
    with pytest.raises(InputError, match="two ids name the same item"):
        s.tell({i: "a", str(i): "b"})
    assert s.answers() == []


@pytest.mark.parametrize("said", [1, 1.0, "1", True, np.int8(1), np.float32(1), np.bool_(True), np.str_("1")])
def test_a_class_may_come_in_any_guise(said):
    s = Session.create(None, {"id": [1, 2], "predicted": [0, 1]}, goal=FindWorst(), by=fl.everything)
    s.tell({1: said})
    assert answers_of(s) == {1: "1"}


@pytest.mark.parametrize("said", [True, np.bool_(True), "True", 1, "1", np.int8(1)])
def test_flags_may_be_classes(said):
    s = Session.create(None, {"id": [1, 2], "predicted": [True, False]}, goal=FindWorst(), by=fl.everything)
    assert s.classes == ("False", "True")
    s.tell({1: said})
    assert answers_of(s) == {1: "True"}


@pytest.mark.parametrize("kind", ["memory", "file"])
@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({777: "a"}, "no item that could be asked about is called '777'"),
        ({"x": "a", "y": "a"}, "is called 'x', 'y' "),
        ({True: "a"}, "is called 'True'"),
        ({0: "a"}, r"is called '0' \(unknown, or labelled from the start\); nothing was kept"),
        ({9: "A"}, "'A' .item '9'. is no class of this session"),
        ({9: "d"}, "no class of this session; there is: a, b, c"),
        ({9: " "}, "the label of item '9' is empty"),
        ({9: ""}, "the label of item '9' is empty"),
        ({9: 1.5}, "'1.5' .item '9'. is no class"),
    ],
)
def test_one_wrong_answer_refuses_all(tmp_path, kind, wrong, says):
    with begin(tmp_path / "s.db" if kind == "file" else None, "begun") as s:
        fine = s.ask(2)
        tell_truth(s, fine[:1])
        before = state(s)
        with pytest.raises(InputError, match=says):
            s.tell({fine[1]: "a", **wrong})
        assert state(s) == before
        assert s.ask(2)[0] == fine[1]


def test_a_class_that_is_not_known_is_refused_with_a_suggestion():
    s = Session.create(None, {"id": [1, 2], "predicted": ["cat", "dog"]}, goal=FindWorst())
    with pytest.raises(InputError, match=r"'catt' .item '1'. is no class .*; did you mean 'cat'\?.*new_classes=True"):
        s.tell({1: "catt"})


def test_a_new_class_may_be_told_when_one_says_so():
    s = begin(goal=Estimate(fl.confusion))
    one, two = s.ask(2)
    s.tell({one: "zebra"}, new_classes=True)
    assert s.classes == ("a", "b", "c", "zebra")
    s.tell({two: "zebra"})  # it is known now
    assert s.status()["n_labels"] == 2
    assert {entry.label for entry in s.assess().matrix} == {"a", "b", "c", "zebra"}
    assert len(s.ask(3)) == 3


def test_new_classes_are_known_to_others_and_after_reopening(path):
    with begin(path) as s, Session.open(path) as other:
        s.tell({s.ask(1)[0]: "zebra"}, new_classes=True)
        other.tell({other.ask(2)[1]: "zebra"})
    with Session.open(path) as s:
        assert s.classes == ("a", "b", "c", "zebra")


def test_classes_nobody_predicts_may_be_named_at_the_start(path):
    with Session.create(path, read_table("small"), goal=FindWorst(fl.confusion), classes=["zebra"]) as s:
        assert s.classes == ("a", "b", "c", "zebra")
        s.tell({s.ask(1)[0]: "zebra"})
        assert s.status()["n_labels"] == 1


def test_classes_are_up_to_date_whatever_happened_before(path):
    with begin(path) as s, Session.open(path) as other:
        s.tell({0: "zebra"}, new_classes=True)
        assert other.classes == ("a", "b", "c", "zebra")
        with pytest.raises(InputError):
            s.tell({0: "unknown"})
        assert s.classes == ("a", "b", "c", "zebra")


@pytest.mark.parametrize("mend", [lambda s: s.undo(), lambda s: s.tell({s.answers()[0]["id"]: "a"})], ids=["undo", "correct"])  # fmt: skip
def test_a_class_that_was_a_slip_is_gone_when_it_is_mended(mend):
    s = begin()
    s.tell({s.ask(1)[0]: "dgo"}, new_classes=True)
    mend(s)
    s.pending  # noqa: B018
    assert s.classes == ("a", "b", "c")


def test_a_new_class_without_a_cost_is_refused():
    s = begin(goal=FindWorst(PRICE))
    ids = s.ask(2)
    with pytest.raises(InputError, match="cost: no row for true class zebra"):
        s.tell({ids[0]: "zebra"}, new_classes=True)
    tell_truth(s, ids)
    assert s.status()["n_labels"] == 2


# -- labels nobody asked for ----------------------------------------------------------------------------------


def test_labels_nobody_asked_for_are_kept_and_left_out():
    s = begin()
    label(s, 6)
    before = figures(s), s.knowledge().counts.tolist(), s.status()["n_labels"]
    others = [i for i in TRUTH if i not in answers_of(s)][:20]
    tell_truth(s, others)
    assert (figures(s), s.knowledge().counts.tolist(), s.status()["n_labels"]) == before
    status = s.status()
    assert status["n_not_asked"] == 20
    assert any("labels that were not asked for: 20; they are kept, but left out" in n for n in status["warnings"])
    assert any("labels that were not asked for: 20;" in note for note in s.assess().warnings)
    assert len(s.answers()) == 26


def test_they_count_when_their_turn_comes_without_being_asked_again():
    """Two sessions with the same seed draw the same items; one was told half of them beforehand."""
    plain, eager = begin(), begin()
    tell_truth(eager, range(0, 90, 2))
    for _ in range(12):
        tell_truth(eager, eager.ask(1))
    asked = [row["id"] for row in eager.answers() if row["id"] % 2]
    drawn = label(plain, eager.status()["n_labels"])
    assert len(asked) == 12 < len(drawn)
    assert asked == [i for i in drawn if i % 2]
    assert figures(eager) == figures(plain)
    assert eager.status()["n_not_asked"] == 45 - sum(i % 2 == 0 for i in drawn)


def test_when_everything_was_told_beforehand_nothing_is_left_to_ask():
    s = begin(table="small")
    tell_truth(s, range(30))
    assert s.status()["n_labels"] == 0
    assert s.ask(1) == []
    status = s.status()
    assert [status[k] for k in ("n_labels", "n_not_asked", "n_left", "n_pending")] == [30, 0, 0, 0]
    assert status["warnings"] == []


def test_an_item_skipped_beforehand_is_not_asked_about():
    s = begin(table="small")
    s.tell(dict.fromkeys(range(0, 30, 2)))
    assert sorted(s.ask(99)) == list(range(1, 30, 2))
    assert s.status()["n_left"] == 0


def test_a_label_that_was_corrected_before_its_turn_counts_as_corrected():
    s = begin(table="small")
    s.tell(dict.fromkeys(range(30), "b"))
    tell_truth(s, range(30))
    s.ask(1)
    twin = begin(table="small")
    label(twin, 30)
    assert figures(s) == figures(twin)


def quota(rng, prospect):
    """Twelve items of every group, whatever is in them."""
    return [int(g) for g in np.nonzero(prospect.is_open & (prospect.n_labels < 12))[0]]


def test_volunteering_every_mistake_does_not_skew_the_sample():
    """Twelve groups of 60 items, 12 drawn of each, four seeds: right answers among the drawn are hypergeometric.

    Their sum strays 4 standard deviations once in 16,000. Were volunteered labels counted, it would by more than 20.
    """
    n_right = np.array([60 - 3 * k for k in range(2, 14)])
    truth = {i: "yes" if i % 60 < n_right[i // 60] else "no" for i in range(720)}
    wrong = {i: y for i, y in truth.items() if y == "no"}
    means, n = [], 0
    for seed in range(4):
        s = begin(table="twelve", by=fl.column("group"), seed=seed, policy=quota)
        s.tell(wrong, new_classes=True)
        ids = s.ask(1000)
        assert not set(ids) & wrong.keys()
        s.tell({i: truth[i] for i in ids})
        assert s.status()["n_labels"] == 144
        means.append(s.knowledge().mean())
        n += len(ids)
    p = n_right / 60
    error = np.sqrt(4 * np.sum(12 * p * (1 - p) * (60 - 12) / (60 - 1))) / 14
    stray = np.sum(np.array(means) - (12 * p + 1) / 14)
    assert abs(stray) < 4 * error
    naive = (n / 48 + 1) / (n / 48 + len(wrong) / 12 + 2)
    assert abs(naive - p.mean()) * 48 > 20 * error


# -- taking back ----------------------------------------------------------------------------------------------


def test_an_answer_taken_back_is_pending_again_and_no_longer_counts():
    s = begin()
    label(s, 5)
    before = figures(s)
    ids = s.ask(2)
    tell_truth(s, ids[:1])
    assert s.undo() == ids[0]
    assert figures(s) == before
    assert s.ask(2) == ids
    assert s.status()["n_pending"] == 2


def test_what_is_taken_back_is_asked_about_first():
    s = begin()
    ids = s.ask(3)
    tell_truth(s, [ids[2]])
    assert s.undo() == ids[2]
    assert s.ask(1) == [ids[2]]
    assert s.ask(3) == [ids[2], *ids[:2]]


def test_one_answer_after_the_other_can_be_taken_back():
    s = begin()
    fresh = figures(s)
    ids = label(s, 3)
    assert [s.undo(), s.undo(), s.undo(), s.undo()] == [*reversed(ids), None]
    assert figures(s) == fresh
    assert s.ask(3) == ids
    assert s.answers() == []


def test_without_an_answer_there_is_nothing_to_take_back():
    s = begin()
    assert s.undo() is None
    s.ask(2)
    assert s.undo() is None
    assert s.status()["n_pending"] == 2


def test_a_skip_and_a_correction_can_be_taken_back():
    s = begin()
    one, two = s.ask(2)
    s.tell({one: "a", two: None})
    assert s.undo() == two
    assert s.status()["n_skipped"] == 0
    s.tell({one: "b"})
    assert s.undo() == one
    assert s.answers() == []


def test_a_label_nobody_asked_for_can_be_taken_back_and_is_not_pending():
    s = begin()
    ids = s.ask(1)
    other = next(i for i in TRUTH if i not in ids)
    tell_truth(s, [other])
    assert s.undo() == other
    assert s.pending == ids
    assert (s.status()["n_not_asked"], s.answers()) == (0, [])


def test_a_label_nobody_asked_for_is_pending_if_it_is_taken_back_after_its_turn():
    s = begin(table="small")
    tell_truth(s, range(30))
    s.ask(1)
    last = s.undo()
    assert s.pending == [last]
    assert s.status()["n_labels"] == 29


def test_an_answer_taken_back_and_given_again_is_as_if_nothing_had_happened():
    s, twin = begin(), begin()
    label(s, 4), label(twin, 4)
    last = s.undo()
    tell_truth(s, [last])
    assert label(s, 6) == label(twin, 6)
    assert state(s) == state(twin)


def test_everyone_takes_back_their_own_answers():
    s = begin()
    (mine,), (theirs,) = s.ask(1, who="ann"), s.ask(1, who="bob")
    s.tell({mine: "a"}, who="ann")
    s.tell({theirs: "a"}, who="bob")
    assert s.undo() is None  # nobody without a name said anything
    assert s.undo(who="ann") == mine
    assert answers_of(s) == {theirs: "a"}
    assert s.undo(who="ann") is None
    assert s.ask(1, who="ann") == [mine]
    assert s.undo(who="bob") == theirs
    assert s.ask(1, who="bob") == [theirs]


def test_an_answer_is_taken_back_by_whoever_gave_it_last():
    s = begin()
    (i,) = s.ask(1, who="ann")
    s.tell({i: "a"}, who="ann")
    s.tell({i: "b"}, who="bob")
    assert s.undo(who="ann") is None
    assert s.undo(who="bob") == i
    assert s.pending == s.ask(1, who="bob") == [i]


# -- pools with labels, grades, no ids ------------------------------------------------------------------------


def test_labels_at_the_start_count():
    s = begin(table="begun")
    assert s.status()["n_labels"] == len(range(0, 90, 4))
    assert figures(s) == {
        k: fl.assess(read_table("begun"), prior=fl.flat()).to_dict()[k] for k in ("n_labels", "overall", "groups")
    }
    assert not set(s.ask(30)) & set(range(0, 90, 4))


def test_hidden_labels_let_one_play():
    pool = fl.Predictions.read(FULL)
    s = Session.create(None, pool.hide_labels(), goal=FindWorst(), prior=fl.flat(), random_share=0.0)
    assert [s.status()[k] for k in ("n_labels", "n_left")] == [0, 90]
    assert label(s, 12) == label(begin(), 12)
    assert s.show([0]) == {0: {"sex": FULL["sex"][0], "age": FULL["age"][0]}}  # and give nothing away


def test_grades_are_told_as_numbers():
    s = begin(table="grades", by=fl.column("system"))
    assert (s.classes, s.status()["n_labels"]) == ((), 6)
    ids = s.ask(6)
    told = dict(zip(ids, [0.25, 1, True, np.float32(0.5), "0.75", 0.0], strict=True))
    s.tell(told)
    table = TABLES["grades"]
    grades = [float(told[i]) if i in told else y for i, y in enumerate(table["agreement"])]
    expected = fl.assess(table | {"agreement": grades}, by=fl.column("system"), prior=fl.flat())
    assert [(row.n_labels, row.mean) for row in s.assess().groups] == [
        (row.n_labels, pytest.approx(row.mean, abs=1e-12)) for row in expected.groups
    ]
    assert s.status()["n_labels"] == 12


def test_grades_can_be_skipped_corrected_and_taken_back():
    s = begin(table="grades", by=fl.column("system"))
    before = figures(s)
    one, two, three = s.ask(3)
    s.tell({one: 0.1, two: None, three: 0.3})
    s.tell({one: 0.7})
    assert (s.status()["n_labels"], s.status()["n_skipped"]) == (8, 1)
    right = sum(row.mean * (row.n_labels + 2) - 1 for row in s.assess().groups)
    assert right == pytest.approx(6 * 0.5 + 0.7 + 0.3)
    assert [s.undo(), s.undo(), s.undo()] == [one, three, two]
    assert figures(s) == before


@pytest.mark.parametrize("grade", [1.01, -0.1, "good", "", float("inf"), [0.5]])
def test_what_is_no_grade_is_refused(grade):
    s = begin(table="grades", by=fl.column("system"))
    one, two = s.ask(2)
    with pytest.raises(InputError, match="is no grade between 0 and 1; nothing was kept"):
        s.tell({one: 0.5, two: grade})
    assert s.answers() == []


def test_rows_serve_as_ids_where_there_are_none(path):
    with begin(path, "no ids", by=fl.everything) as s:
        ids = s.ask(99)
        assert sorted(ids) == [i for i in range(1, 21) if i % 4 != 2]
        assert s.show([1, 20]) == {1: {"text": "t0"}, 20: {"text": "t19"}}
        s.tell({ids[0]: "b"})
        assert any("row numbers serve as ids" in note for note in s.status()["warnings"])


def test_items_are_shown_as_they_are_in_the_table():
    s = begin()
    assert s.show([3, 40]) == {i: {"sex": FULL["sex"][i], "age": FULL["age"][i]} for i in (3, 40)}


def test_the_group_of_an_item_is_told():
    s = begin(table="begun", by=fl.column("sex"))
    assert [s.group(i) for i in (1, 2, 3)] == [FULL["sex"][i] for i in (1, 2, 3)]
    with pytest.raises(InputError, match="there is no item 0 in this session"):
        s.group(0)  # it was labelled from the start


def test_without_the_predictions_at_hand_there_is_nothing_to_show(path):
    begin(path).close()
    with Session.open(path) as s:
        assert s.show([3]) == {3: {}}
    with Session.open(path, TABLES["blank"]) as s:
        assert s.show([3])[3]["sex"] == FULL["sex"][3]


# -- what the labels say --------------------------------------------------------------------------------------


@cache
def filled(table, ids):
    """The table with labels of these ids."""
    return fl.Predictions.read(hide(TABLES[table], ids))


def assert_same(found, expected):
    """Numbers agree to rounding, and nothing else may differ but what is noted about labels and where they came from."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected.keys() - {"warnings", "provenance"}:
            assert_same(found[key], expected[key])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other)
    else:
        assert found == (pytest.approx(expected, abs=1e-9) if isinstance(expected, float) else expected)


ASSESSED = ["accuracy", "ece", "confusion", "recall", "f1"]


CROSSED = fl.cross(fl.column("sex"), fl.column("age"))


@pytest.mark.parametrize(
    ("table", "by", "prior", "finite"),
    [
        ("blank", fl.predicted, fl.flat(), False),
        ("blank", fl.predicted, fl.from_scores(4.0), True),
        ("begun", CROSSED, fl.flat(), True),
        ("begun", CROSSED, fl.from_scores(4.0), False),
    ],
    ids=["flat", "scores, these items", "begun, flat, these items", "begun, scores"],
)
def test_a_session_assesses_like_a_table_with_the_same_labels(table, by, prior, finite):
    s = begin(
        table=table, by=by, prior=prior, finite_pool=finite, policy=fl.stratified, seed=0
    )  # no check by random items
    told = label(s, 25, batch=5)
    started = [i for i, y in zip(FULL["id"], TABLES[table].get("label", [None] * 90), strict=True) if y]
    pool = filled("blank", frozenset(told + started))
    for name in ASSESSED:
        expected = fl.assess(pool, by=by, metric=METRICS[name], prior=prior, finite_pool=finite, seed=0)
        assert_same(s.assess(METRICS[name]).to_dict(), expected.to_dict())


@pytest.mark.parametrize("metric", [fl.confusion, PRICE], ids=lambda m: m.name)
def test_probabilities_of_classes_are_a_prior_as_they_are_for_a_table(metric):
    truth = np.random.default_rng(0).choice(list("abc"), 40).tolist()
    s = Session.create(None, read_table("chances"), goal=FindWorst(metric), prior=fl.from_scores(5.0), policy=fl.random)
    ids = s.ask(12)
    s.tell({i: truth[i] for i in ids})
    table = TABLES["chances"] | {"label": [truth[i] if i in ids else None for i in range(40)]}
    assert_same(s.assess().to_dict(), fl.assess(table, metric=metric, prior=fl.from_scores(5.0)).to_dict())


def test_another_metric_starts_from_the_probabilities_too():
    s = Session.create(None, read_table("chances"), goal=FindWorst(), prior=fl.from_scores(5.0))
    expected = fl.assess(TABLES["chances"], metric=fl.confusion, prior=fl.from_scores(5.0))
    assert_same(s.assess(fl.confusion).to_dict(), expected.to_dict())


@pytest.mark.parametrize(
    ("table", "by", "metric", "says"),
    [
        ("no ids", fl.predicted, fl.ece, "metric ece needs a score column"),
        ("grades", fl.everything, fl.recall, "metric recall needs"),
    ],
    ids=["scores", "classes"],
)
def test_a_metric_the_pool_has_no_columns_for_is_refused(table, by, metric, says):
    with pytest.raises(InputError, match=says):
        begin(table=table, by=by).assess(metric)


def test_skipped_and_volunteered_items_are_left_out_of_what_is_assessed():
    s = begin()
    ids = label(s, 10)
    s.tell({s.ask(1)[0]: None})
    left = [i for i in TRUTH if i not in answers_of(s)]
    tell_truth(s, left[:30])
    expected = fl.assess(filled("blank", frozenset(ids)), prior=fl.flat())
    assert_same(figures(s), {k: expected.to_dict()[k] for k in ("n_labels", "overall", "groups")})


def test_the_level_and_the_number_of_groups_sought_are_those_of_the_session():
    s = begin(goal=FindWorst(m=2), level=0.5)
    label(s, 10)
    expected = fl.assess(filled("blank", frozenset(answers_of(s))), level=0.5, m=2, prior=fl.flat())
    assert_same(s.assess().to_dict(), expected.to_dict())


def test_the_frame_that_went_in_comes_out():
    s = Session.create(None, pl.DataFrame(TABLES["small"]), goal=FindWorst())
    assert isinstance(s.assess().to_frame(), pl.DataFrame)


def test_a_goal_is_settled_when_the_labels_say_so():
    """One group is always wrong, the others always right."""
    table = {"id": list(range(60)), "predicted": list("abc") * 20}
    s = Session.create(None, table, goal=FindWorst(confidence=0.95))
    for _ in range(60):
        if s.is_settled:
            break
        s.tell({i: "b" if table["predicted"][i] == "b" else "a" for i in s.ask(1)})
    assert s.is_settled
    assert s.status()["answer"]["groups"] in (["c"], ["a"])  # c is always wrong; a is right
    assert s.status()["answer"]["groups"] == ["c"]
    assert s.status()["obstacle"] is None


def test_about_how_many_labels_are_left_is_said_until_the_goal_is_settled():
    """The same figure as that of a plan from the same labels; once it is settled there is none."""
    table = {"predicted": ["a"] * 400, "id": list(range(400))}
    s = Session.create(None, table, goal=Estimate(width=0.2), by="all", prior="flat")
    found = s.status()["labels_left"]
    plan = fl.plan(table, goal=Estimate(width=0.2), by="all", prior="flat", runs=found["runs"], n_jobs=1)
    assert (found["n_more"], found["low"], found["high"]) == (plan.n_more, plan.low, plan.high)
    assert found["sentence"] == plan.sentence
    s.tell(dict.fromkeys(s.ask(200), "a"))
    assert s.is_settled
    assert s.status()["labels_left"] is None


def test_where_no_future_settles_a_goal_no_number_of_labels_is_said():
    found = begin(table="small", goal=Estimate(width=0.05)).status()
    assert found["obstacle"] is None
    assert found["labels_left"]["n_more"] is None
    assert found["labels_left"]["sentence"].startswith("how many more labels the goal takes cannot be predicted yet")


# -- the predictions it was made from -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A session made from a file, and that file."""
    folder = tmp_path_factory.mktemp("made")
    pd.DataFrame(TABLES["small"]).to_parquet(folder / "preds.parquet")
    with Session.create(folder / "s.db", folder / "preds.parquet", goal=FindWorst()) as s:
        label(s, 3)
    return folder


@pytest.fixture
def made(originals, tmp_path):
    for name in ("s.db", "preds.parquet"):
        shutil.copy(originals / name, tmp_path)
    return tmp_path / "s.db", tmp_path / "preds.parquet"


def test_the_same_predictions_are_accepted_in_any_order_form_and_with_more_labels(made):
    path, preds = made
    small = TABLES["small"]
    shuffled = take(small, np.random.default_rng(1).permutation(30).tolist())
    for same in (preds, str(preds), small, pl.DataFrame(shuffled), hide(small, range(9)), fl.Predictions.read(preds)):
        with Session.open(path, same) as s:
            assert s.status()["n_labels"] == 3
            assert s.show(s.ask(1))


OTHERS = {
    "items": (lambda t: take(t, range(29)), "items: 30 then, 29 now"),
    "ids": (lambda t: t | {"id": [*range(29), 99]}, "last id: 9 then, 99 now"),
    "scores": (lambda t: t | {"score": [0.5] * 30}, "sum of scores: .* then, 15 now"),
    "no scores": (lambda t: without(t, "score"), "sum of scores: .* then, None now"),
    "classes": (lambda t: t | {"predicted": ["a"] * 30}, "how often a, b, c is predicted"),
}


@pytest.mark.parametrize(("change", "says"), OTHERS.values(), ids=OTHERS)
def test_other_predictions_are_refused_with_what_differs(made, change, says):
    path, _ = made
    with pytest.raises(
        InputError, match=f"s.db was made from other predictions .*preds.parquet. than the table: {says}; start a new"
    ):
        Session.open(path, change(TABLES["small"]))


def test_a_session_goes_on_without_its_predictions(made):
    path, preds = made
    preds.unlink()
    with Session.open(path) as s:
        label(s, 10)
        assert s.assess().n_labels == 13
        assert s.assess().source.endswith("preds.parquet")


# -- goals and policies of one's own --------------------------------------------------------------------------


@dataclass(frozen=True)
class Near:
    """Find the group nearest to 60 %."""

    name: str = "near"
    metric: Metric = fl.accuracy
    target: float = 0.6

    def gain(self, belief, truth):
        return -np.abs(belief.values(truth) - self.target)

    def answer(self, belief, rng):
        return Draws(belief.groups, np.abs(belief.draw(rng, 2000) - self.target))

    def settled(self, belief, rng):
        return bool(belief.width().max() < 0.4)


def round_robin(rng, prospect):
    """Every open group in turn, the one with the fewest labels first."""
    return [int(np.argmin(np.where(prospect.is_open, prospect.n_labels, np.inf)))]


def test_a_goal_of_ones_own_works():
    s = begin(goal=Near())
    label(s, 30)
    assert s.status()["goal"] == "near"
    assert [row["group"] for row in s.status()["answer"]["groups"]] == ["a", "b", "c"]
    assert s.is_settled == (s.knowledge().width().max() < 0.4)


def test_a_goal_of_ones_own_must_be_given_again(path):
    straight = begin(goal=Near())
    with begin(path, goal=Near()) as s:
        assert label(s, 5) == label(straight, 5)
    for given in (None, FindWorst()):
        with pytest.raises(InputError, match=r"a custom one, called 'near': open it with goal=\.\.\."):
            Session.open(path, goal=given)
    with Session.open(path, goal=Near()) as s:
        assert label(s, 5) == label(straight, 5)
        assert state(s) == state(straight)


def test_a_plain_function_is_a_policy():
    s = begin(policy=round_robin)
    order = label(s, 9)
    assert Counter(FULL["predicted"][i] for i in order) == {"a": 3, "b": 3, "c": 3}
    assert s.status()["policy"] == "round_robin"


def test_a_policy_of_ones_own_must_be_given_again(path):
    straight = begin(policy=round_robin)
    with begin(path, policy=round_robin) as s:
        assert label(s, 5) == label(straight, 5)
    for given in (None, fl.thompson):
        with pytest.raises(InputError, match="a custom one, called 'round_robin'"):
            Session.open(path, policy=given)
    with Session.open(path, policy=round_robin) as s:
        assert label(s, 5) == label(straight, 5)
        assert state(s) == state(straight)


def test_a_policy_may_name_several_groups_at_once():
    s = begin(policy=lambda rng, prospect: [2, 0, 1])
    assert [FULL["predicted"][i] for i in s.ask(5)] == ["c", "a", "b", "c", "a"]


def test_a_policy_that_names_nothing_more_ends_the_asking():
    s = begin(policy=lambda rng, prospect: [0] if prospect.n_labels.sum() < 4 else [])
    assert len(s.ask(9)) == 4
    assert s.status()["n_left"] == 86


@pytest.mark.parametrize("n", [2, 5])
def test_a_group_that_is_named_twice_is_asked_about_without_repetition(n):
    s = begin(policy=lambda rng, prospect: [1, 1])
    ids = s.ask(n)
    assert len(set(ids)) == n
    assert {FULL["predicted"][i] for i in ids} == {"b"}


def test_a_group_that_is_named_twice_does_not_count_twice():
    s = begin(policy=lambda rng, prospect: [1, 1])
    tell_truth(s, TRUTH)
    s.ask(2)
    assert s.status()["n_labels"] == Counter(FULL["predicted"])["b"]


def test_a_rate_that_no_label_will_define_takes_no_labels():
    """Group z has no predicted positives, so no precision: it must not pass for the worst."""
    table = {"id": range(60), "predicted": ["yes", "no"] * 20 + ["no"] * 20, "site": ["x", "y"] * 10 + ["y", "x"] * 10 + ["z"] * 20}  # fmt: skip
    for policy in (fl.thompson, fl.upper_bound, fl.epsilon_greedy):
        pool = fl.Predictions.read(table, positive="yes")
        s = Session.create(None, pool, goal=FindWorst(fl.ppv), by=fl.column("site"), policy=policy, random_share=0.0)
        assert {s.group(i) for i in s.ask(20)} <= {"x", "y"}


def test_more_groups_than_there_are_cannot_be_sought():
    with pytest.raises(InputError, match="m is 5, but there are only 3 groups"):
        Session.create(None, read_table("small"), goal=FindWorst(m=5))


def test_labels_from_the_start_are_said_to_count_as_random():
    assert any("there from the start" in note for note in begin(table="begun").status()["warnings"])
    assert not any("there from the start" in note for note in begin(table="blank").status()["warnings"])


def test_what_others_leave_open_is_handed_out_once_nothing_else_is_left():
    s = begin()
    theirs = s.ask(90, who="ann")
    assert s.ask(2, who="bob") == theirs[:2]
    s.tell(dict.fromkeys(theirs[:2], "a"), who="bob")
    assert s.ask(2, who="ann") == theirs[2:4]


def test_a_pool_that_nobody_can_tell_is_a_dead_end_that_is_named():
    s = Session.create(None, read_table("small"), goal=Estimate(width=0.3))
    s.tell(dict.fromkeys(s.ask(30)))
    assert s.status()["obstacle"].startswith("nothing is left to ask, and the goal is not settled")


def test_a_wrong_answer_of_one_thread_costs_no_other_its_state():
    s = begin()
    tell_truth(s, dict(list(TRUTH.items())[:60]))
    stop, odd = threading.Event(), []

    def slip():
        while not stop.is_set():
            with suppress(InputError):
                s.tell({0: "no such class"})

    def look():
        for _ in range(300):
            odd.extend([n] if (n := len(s.answers())) != 60 else [])

    threads = [threading.Thread(target=slip) for _ in range(3)]
    for thread in threads:
        thread.start()
    look()
    stop.set()
    for thread in threads:
        thread.join()
    assert odd == []


def test_random_choice_follows_the_sizes_of_groups_that_do_not_fit_the_file(monkeypatch):
    monkeypatch.setattr("fewlabels.sessions.queue.MAX_ITEMS", 200)
    table = {"id": range(4000), "predicted": ["a"] * 3600 + ["b"] * 400}
    s = Session.create(None, table, goal=FindWorst(), policy=fl.random)
    assert Counter(s.group(i) for i in s.ask(60))["a"] > 40  # 54 as expected, 5 sigma down


def test_a_policy_that_names_a_group_that_is_not_there_is_told_so():
    with pytest.raises(InputError, match="named group 7; groups go from 0 to 2"):
        begin(policy=lambda rng, prospect: [7]).ask()


@pytest.mark.parametrize("said", [0, None, [0.5], ["a"]])
def test_a_policy_that_returns_no_groups_is_told_so(said):
    with pytest.raises(InputError, match="it must return a list of groups"):
        begin(policy=lambda rng, prospect: said).ask()


def test_a_class_is_no_goal():
    with pytest.raises(InputError, match="goal: FindWorst is a class"):
        Session.create(None, read_table("small"), goal=FindWorst)


@pytest.mark.parametrize("other", [{"goal": FindBest()}, {"policy": fl.random}])
def test_a_file_keeps_the_goal_and_policy_it_was_made_with(tmp_path, other):
    path = tmp_path / "s.db"
    begin(path, goal=FindWorst(), policy=fl.thompson).close()
    with pytest.raises(InputError, match="fixed when it was made"):
        Session.open(path, **other)
    Session.open(path, goal=FindWorst(), policy=fl.thompson).close()


@dataclass(frozen=True)
class Hunch:
    """Three of four are right."""

    name: str = "hunch"
    needs: tuple[str, ...] = ()
    guesses_level: bool = False

    def before(self, cells, reads):
        return fl.Beta(cells.names, np.full(cells.n, 3.0), np.full(cells.n, 1.0))


def test_a_prior_of_ones_own_works_in_memory():
    s = Session.create(None, read_table("small"), goal=FindWorst(), prior=Hunch())
    assert s.assess().groups[0].mean == 0.75


def test_a_metric_of_ones_own_must_be_given_again_with_its_goal(path):
    goal = FindWorst(replace(fl.accuracy, name="mine"))
    with begin(path, goal=goal) as s:
        order = label(s, 3)
    with pytest.raises(InputError, match="a custom one, called 'mine'"):
        Session.open(path)
    with Session.open(path, goal=goal) as s:
        assert [*order, *label(s, 3)] == label(begin(goal=goal), 6)


def test_a_prior_of_ones_own_is_refused_or_must_be_given_again(path):
    with pytest.raises(InputError, match="a custom one"):  # noqa: PT012 (at the start, or when it is opened again)
        begin(path, "small", prior=Hunch()).close()
        Session.open(path).close()


# -- files ----------------------------------------------------------------------------------------------------


def test_a_session_open_to_be_read_can_be_looked_at_and_not_changed(path):
    with begin(path) as s:
        label(s, 4)
        pending = s.ask(2)
        known = state(s)
        with Session.open(path, read_only=True) as reader:
            assert state(reader) == known
            for change in (lambda: reader.tell({pending[0]: "a"}), reader.ask, reader.undo):
                with pytest.raises(InputError, match="not saved: it is open"):
                    change()
            assert state(reader) == known
            tell_truth(s, pending)
            assert reader.status()["n_labels"] == 6  # it follows the file


def test_a_file_of_a_newer_version_is_refused(path):
    begin(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    for read_only in (False, True):
        with pytest.raises(InputError, match=r"made by a newer fewlabels .format 99"):
            Session.open(path, read_only=read_only)


def test_what_is_no_session_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no such file"):
        Session.open(tmp_path / "nothing.db")
    (tmp_path / "text.db").write_text("id,label\n" * 200)
    with pytest.raises(InputError, match="not a session of fewlabels"):
        Session.open(tmp_path / "text.db")


def test_a_refused_opening_lets_go_of_the_file(path):
    begin(path, policy=round_robin).close()
    with pytest.raises(InputError):
        Session.open(path)
    assert [file.name for file in path.parent.iterdir()] == ["s.db"]


def test_a_policy_that_fails_leaves_the_session_as_it_was(path):
    failing = []

    def moody(rng, prospect):
        if failing:
            raise RuntimeError("not today")
        return [0]

    with begin(path, policy=moody) as s:
        label(s, 2)
        pending = s.ask(1)
        failing.append(1)
        with pytest.raises(RuntimeError, match="not today"):
            s.ask(3)
        assert s.pending == pending
        assert s.ask(1) == pending
        failing.clear()
        assert s.ask(2)[:1] == pending


def test_threads_may_share_a_session(path):
    """Both read the journal before either folds it; a lock would make the second wait, and this barrier give up.

    What is folded twice moves the next question: randomness follows from how many items were asked about.
    """
    with begin(path, "small") as s, Session.open(path) as other:
        tell_truth(other, range(30))
        other.ask(1)
        read, both = s._store.journal.read, threading.Barrier(2)

        def read_together(after=0):
            events = read(after)
            with suppress(threading.BrokenBarrierError):
                both.wait(0.3)
            return events

        s._store.journal.read = read_together
        threads = [threading.Thread(target=lambda: s.pending) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        other.status()
        assert s._store.state == other._store.state


# -- several processes ----------------------------------------------------------------------------------------


def fork(work, *words):
    """Start a process that does this and nothing else."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        work(*words)
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


def ask_and_tell(path, who, pipe):
    """Ask for two and tell them, sixteen times; write down what was asked and told."""
    with Session.open(path) as s:
        for k in range(16):
            ids = s.ask(2, who=who)
            told = {i: "abc"[(i + k) % 3] for i in ids}
            s.tell(told, who=who)
            os.write(pipe, (json.dumps(list(told.items())) + "\n").encode())


def tell_at_once(path, k, pipe):
    """Tell forty items nobody asked for, one by one, and one that all others tell too."""
    with Session.open(path) as s:
        for i in range(40):
            s.tell({1000 + 40 * k + i: "abc"[i % 3]}, who=str(k))
            s.tell({0: "abc"[k % 3]}, who=str(k))
    os.write(pipe, b"[]\n")


def fork_four(work, names, path):
    """Four processes at a time; what they write down."""
    out, end = os.pipe()
    pids = [fork(work, path, name, end) for name in names]
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    os.close(end)
    with os.fdopen(out) as said:
        return [pair for line in said for pair in json.loads(line)]


def ask_together(folder):
    return fork_four(ask_and_tell, ["ann", "bob", "cyd", "dan"], folder / "asked.db")


def tell_together(folder):
    return fork_four(tell_at_once, range(4), folder / "told.db")


def test_processes_that_ask_are_never_given_the_same_item(elsewhere):
    told = [tuple(pair) for pair in found_by(ask_together, elsewhere)]
    assert len(told) == len(dict(told)) == 4 * 16 * 2
    with Session.open(elsewhere[0] / "asked.db") as s:
        assert answers_of(s) == dict(told)
        assert [s.status()[k] for k in ("n_labels", "n_pending", "n_not_asked")] == [128, 0, 0]
        assert Counter(row["who"] for row in s.answers()) == dict.fromkeys(["ann", "bob", "cyd", "dan"], 32)


def test_processes_that_tell_at_once_lose_nothing(elsewhere):
    assert found_by(tell_together, elsewhere) == []
    with Session.open(elsewhere[0] / "told.db") as s:
        found = answers_of(s)
        assert found.pop(0) in "abc"
        assert found == {1000 + 40 * k + i: "abc"[i % 3] for k in range(4) for i in range(40)}
        assert s.status()["n_not_asked"] == 161


# -- kills ----------------------------------------------------------------------------------------------------


def work_for_ever(path, who, pipe):
    """Ask, tell, skip, correct and take back; write down what is about to be told, and that it was."""
    rng = random.Random(f"{os.getpid()} {time.time_ns()}")

    def tell(s, told):
        os.write(pipe, (json.dumps(list(told.items())) + "\n").encode())
        s.tell(told, who=who)
        os.write(pipe, b"done\n")

    with Session.open(path) as s:
        for _ in count():
            ids = s.ask(rng.randint(1, 3), who=who)
            tell(s, {i: rng.choice(["a", "b", "c", None]) for i in ids})
            if rng.random() < 0.3:
                tell(s, {ids[0]: rng.choice("abc")})


def read_pipe(out):
    """What was told for sure, and what was about to be told when the process died."""
    with os.fdopen(out) as file:
        lines = file.read().splitlines(keepends=True)
    sure, last = {}, {}
    for line in lines:
        if line == "done\n":
            sure |= last
            last = {}
        elif line.endswith("\n"):
            last = dict(json.loads(line))
    return sure, last


def check_answers_so_far(path, sure, perhaps):
    """Every answer that was acknowledged is there, counts once, and nothing else does."""
    with Session.open(path) as s:
        found, status = answers_of(s), s.status()
        tally = posterior_cache.tally_labels(s._spec, s._store.state)
    for i in {*sure, *found}:
        allowed = [told[i] for told in (sure, *perhaps) if i in told]
        assert i in found or i not in sure, f"the answer to {i} is lost"
        assert found[i] in allowed, f"{i} was never told to be {found[i]}"
    labels = [y for y in found.values() if y is not None]
    assert status["n_labels"] == tally.n_labels.sum() == len(labels)
    assert status["n_skipped"] == len(found) - len(labels)
    assert status["n_not_asked"] == 0
    assert Counter(np.repeat(tally.label[tally.n_labels > 0], tally.n_labels[tally.n_labels > 0]).tolist()) == Counter(
        "abc".index(y) for y in labels
    )
    return found


def kill_workers(folder, n_kills=60):
    """Kill two at a time at any instant, and let their successors, of the same names, go on."""
    rng, told, n_told, n = random.Random(3), {}, 0, 0
    path = folder / "killed.db"
    while n < n_kills or n_told < n_kills:  # they must die while they tell
        n += 2
        pipes = {who: os.pipe() for who in ("ann", "bob")}
        pids = {who: fork(work_for_ever, path, who, end) for who, (_, end) in pipes.items()}
        for who, (out, _) in pipes.items():
            if who == "bob" and rng.random() < 0.8:  # alone by now: it need not wait for the other, and will tell
                assert select.select([out], [], [], 60)[0]
            time.sleep(rng.uniform(0, 0.05))
            os.kill(pids[who], signal.SIGKILL)
            assert os.WIFSIGNALED(os.waitpid(pids[who], 0)[1])
        found = []
        for out, end in pipes.values():
            os.close(end)
            found.append(read_pipe(out))
        for sure, _ in found:
            told |= sure
            n_told += len(sure)
        told = check_answers_so_far(path, told, [last for _, last in found])
    return n


def test_no_answer_is_lost_or_counted_twice_when_processes_are_killed(elsewhere):
    """Sixty kills; what one was asked and did not answer, the successor of that name is asked again."""
    assert found_by(kill_workers, elsewhere) >= 60
    with Session.open(elsewhere[0] / "killed.db") as s:
        pending = {who: [item.id for item in s._store.state.pending_with(who)] for who in ("ann", "bob")}
        assert [str(i) for i in s.ask(3, who="ann")][: len(pending["ann"])] == pending["ann"]
        assert len(pending["ann"]) <= 3
        assert len(pending["bob"]) <= 3


def die_at_line(k, path, pipe):
    """Ask for new items and tell them, but be killed before the k-th line of our own code."""
    ours = {room.__file__ for room in (session, journal, session_state, answers)}
    left = iter(range(k))

    def trace(frame, event, arg):
        if frame.f_code.co_filename not in ours:
            return None
        if event == "line" and next(left, None) is None:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    with Session.open(path) as s:
        sys.settrace(trace)
        told = dict.fromkeys(s.ask(2), "a")
        os.write(pipe, (json.dumps(list(told.items())) + "\n").encode())
        s.tell(told)
        os.write(pipe, b"done\n")
        sys.settrace(None)


def kill_at_lines(folder, step=7):
    """Try every so many lines, until one is beyond the last; give how many kills that took."""
    told, path = {}, folder / "lines.db"
    for n in range(200):
        out, end = os.pipe()
        is_done = os.waitstatus_to_exitcode(os.waitpid(fork(die_at_line, n * step, path, end), 0)[1]) == 0
        os.close(end)
        sure, last = read_pipe(out)
        told = check_answers_so_far(path, told | sure, [last])
        if is_done:
            return n
        with Session.open(path) as s:  # so that the next one has to ask again
            rest = dict.fromkeys(s.pending, "b")
            s.tell(rest)
        told |= rest
    raise AssertionError("there are more lines than expected")


def test_no_line_of_asking_and_telling_is_a_bad_one_to_be_killed_at(elsewhere):
    assert found_by(kill_at_lines, elsewhere) >= 15


def attempt(job, folder):
    try:
        return job(folder)
    except BaseException:
        return traceback.format_exc()


JOBS = (ask_together, tell_together, kill_workers, kill_at_lines)

if __name__ == "__main__":
    print(json.dumps({job.__name__: attempt(job, Path(sys.argv[1])) for job in JOBS}))
