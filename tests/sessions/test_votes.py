"""Several people answer each item: in sessions, in files, and on the command line."""

import json
import sqlite3

import numpy as np
import pandas as pd
import pytest

import fewlabels as fl
from fewlabels.analyses.assessment import assess_counts
from fewlabels.cli.session_tables import choose_verb
from fewlabels.models.inference import infer
from fewlabels.sessions.annotations import NO_SHARED_ITEMS
from fewlabels.sessions.posterior_cache import take_snapshot
from fewlabels.sessions.session import Session

CLASSES = ("cat", "dog", "cow")
SKILL = {"ann": 0.95, "bob": 0.75, "cleo": 0.85}


def make_pool(n=400, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.choice(CLASSES, n)
    predicted = np.where(rng.random(n) < 0.85, truth, rng.choice(CLASSES, n))
    return pd.DataFrame({"id": range(n), "predicted": predicted, "text": [f"beast {i}" for i in range(n)]}), truth


def start(path=None, votes=2, goal=None, **more):
    pool, truth = make_pool()
    return Session.create(path, pool, goal=goal or fl.Estimate(), prior=fl.flat(), votes=votes, **more), truth


def work(session, truth, rounds, people=SKILL, n=5, seed=1):
    """Everyone answers a few items in turn, and errs now and then."""
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        for who, skill in people.items():
            ids = session.ask(n, who=who, lease=600.0, fresh=False)
            said = {i: truth[i] if rng.random() < skill else rng.choice(CLASSES) for i in ids}
            session.tell(said, who=who)


def test_that_labels_left_are_not_predicted_with_votes_is_said(type_in, tmp_path):
    session, truth = start(tmp_path / "s.db")
    work(session, truth, 2)
    left = session.status()["labels_left"]
    session.close()
    assert (left["n_more"], left["runs"]) == (None, 0)
    assert "is not predicted where several people label each item" in left["sentence"]
    assert "is not predicted where several people" in type_in("status", "--session", tmp_path / "s.db").out
    alone, truth = start(votes=1)
    assert alone.status()["labels_left"]["runs"] > 0


# -- who gets what --------------------------------------------------------------------------------------------


def test_every_item_is_asked_of_as_many_people_as_are_wanted():
    session, _ = start(votes=2)
    first = session.ask(3, who="ann", lease=600.0)
    session.tell(dict.fromkeys(first, "cat"), who="ann")
    assert session.ask(3, who="bob", lease=600.0) == first
    assert not set(session.ask(3, who="ann", lease=600.0)) & set(first)
    session.tell(dict.fromkeys(first, "cat"), who="bob")
    assert not set(session.ask(9, who="cleo", lease=600.0)) & set(first)
    status = session.status()
    assert (status["n_labels"], status["votes"]["n_votes"], status["votes"]["n_short"]) == (3, 6, 0)


def test_an_item_is_out_to_one_person_at_a_time_also_for_its_second_vote():
    session, _ = start(votes=3)
    (item,) = session.ask(1, who="ann", lease=600.0)
    session.tell({item: "cat"}, who="ann")
    assert session.ask(1, who="bob", lease=600.0) == [item]
    assert session.ask(1, who="cleo", lease=600.0) != [item]


def test_the_nameless_cannot_be_told_apart():
    session, _ = start()
    for call in (lambda: session.ask(1), lambda: session.tell({0: "cat"}), lambda: session.decide({0: "cat"}, who=" ")):
        with pytest.raises(fl.InputError, match="say who you are"):
            call()


def test_an_item_with_a_vote_left_after_undo_counts_once_in_the_status():
    session, _ = start(votes=2)
    items = session.ask(4, who="ann")
    for who in ("ann", "bob"):
        session.tell(dict.fromkeys(items, "cat"), who=who)
    assert session.undo(who="ann") == items[-1]
    found = session.status()
    assert [found[name] for name in ("n_labels", "n_pending", "n_left")] == [4, 0, 396]
    assert found["votes"]["n_short"] == 1
    assert session.ask(1, who="ann") == [items[-1]]  # it waits for another vote


def test_an_item_counts_once_and_each_vote_is_kept():
    session, truth = start()
    work(session, truth, 4)
    votes, answers = session.votes(), session.answers()
    assert len({(row["id"], row["who"]) for row in votes}) == len(votes) == session.status()["votes"]["n_votes"]
    assert len({row["id"] for row in answers}) == len(answers) == session.status()["n_labels"]


def test_more_votes_than_make_sense_are_refused():
    pool, _ = make_pool()
    for votes in (0, 21):
        with pytest.raises(fl.InputError, match="votes must be between 1 and 20"):
            Session.create(None, pool, goal=fl.Estimate(), votes=votes)
    graded = pd.DataFrame({"id": range(9), "agreement": [None] * 8 + [0.5], "topic": ["a", "b", "c"] * 3})
    with pytest.raises(fl.InputError, match="only classes can be voted on"):
        Session.create(None, graded, goal=fl.Estimate(), by=fl.column("topic"), prior=fl.flat(), votes=2)


# -- disagreement ---------------------------------------------------------------------------------------------


@pytest.fixture
def disputed():
    session, truth = start()
    work(session, truth, 2)
    (item,) = session.ask(1, who="ann", lease=600.0)
    session.tell({item: "cat"}, who="ann")
    session.ask(1, who="bob", lease=600.0)
    session.tell({item: "dog"}, who="bob", note="the ears")
    return session, item


def test_disagreements_are_listed_with_what_is_likely(disputed):
    session, item = disputed
    found = {row["id"]: row for row in session.disputes()}[item]
    assert found["votes"] == {"ann": "cat", "bob": "dog"}
    assert set(found["likely"]) >= {"cat", "dog"}
    assert sum(found["likely"].values()) == pytest.approx(1, abs=0.02)
    assert len(session.disputes()) == session.status()["votes"]["n_disputed"]


def test_what_is_decided_is_settled_and_says_by_whom(disputed):
    session, item = disputed
    before = session.status()["votes"]["n_disputed"]
    session.decide({item: "cat"}, who="kim", note="asked the owner")
    assert session.status()["votes"]["n_disputed"] == before - 1
    rows = [row for row in session.votes() if row["id"] == item]
    assert [(row["who"], row["label"], row["decided"], row["note"]) for row in rows] == [
        ("ann", "cat", False, ""), ("bob", "dog", False, "the ears"), ("kim", "cat", True, "asked the owner"),
    ]  # fmt: skip
    last = next(row for row in session.answers() if row["id"] == item)
    assert (last["label"], last["who"], last["note"]) == ("cat", "kim", "asked the owner")
    assert session.undo(who="kim") == item
    assert session.status()["votes"]["n_disputed"] == before
    assert session.undo(who="kim") is None


def test_there_is_nothing_to_decide_where_one_answers():
    session, _ = start(votes=1)
    with pytest.raises(fl.InputError, match="use tell instead"):
        session.decide({0: "cat"}, who="kim")
    assert session.status()["votes"] is None


# -- what is known --------------------------------------------------------------------------------------------


def test_figures_allow_for_mistakes_and_say_so():
    """Taken at its word, the last vote makes the model some 10 points worse than it is."""
    session, truth = start()
    work(session, truth, 16)
    found = session.assess()
    told = assess_counts(found.tally, found.spec)
    right = (make_pool()[0]["predicted"] == truth).mean()
    assert found.overall.low < right < found.overall.high
    assert told.overall.high < found.overall.mean + 0.02
    plain = found.to_dict()["annotators"]
    assert plain["errs"]
    assert plain["sentence"] in found.warnings
    people = {row["who"]: row for row in plain["people"]}
    assert people["bob"]["mean"] < people["ann"]["mean"]
    assert people["bob"]["low"] < 0.75 + 0.25 / 3 < people["bob"]["high"]  # a guess may hit
    assert session.status()["votes"]["sentence"] == plain["sentence"]
    assert found.about(fl.recall).overall.mean > assess_counts(found.tally, told.about(fl.recall).spec).overall.mean
    assert found.reliability is not None
    assert found.merged(fl.accuracy).overall.mean == pytest.approx(found.overall.mean, abs=0.02)


def test_doubt_widens_what_the_goal_sees():
    session, truth = start(goal=fl.FindWorst())
    work(session, truth, 8)
    known = session.knowledge()
    assert known.n_told.sum() == session.status()["n_labels"]
    assert known.counts.sum() < known.n_told.sum()
    low, high = known.interval()
    assessed = session.assess()
    assert [row.mean for row in assessed.groups] == pytest.approx(known.mean(), abs=0.03)
    assert [row.low for row in assessed.groups] == pytest.approx(low, abs=0.04)
    assert [row.high for row in assessed.groups] == pytest.approx(high, abs=0.04)


def test_with_one_vote_each_nothing_can_be_learned_and_the_answer_is_the_ordinary_one():
    session, truth = start()
    ids = session.ask(30, who="ann", lease=600.0)
    session.tell({i: truth[i] for i in ids}, who="ann")
    found = session.assess()
    assert found.imputed is None
    assert found.overall == assess_counts(found.tally, found.spec).overall
    assert session.status()["votes"]["sentence"] == NO_SHARED_ITEMS
    assert session.status()["votes"]["agreement"] is None


def test_decisions_alone_tell_how_good_people_are():
    session, truth = start()
    ids = session.ask(40, who="ann", lease=600.0)
    session.tell({i: CLASSES[(CLASSES.index(truth[i]) + (n % 4 == 0)) % 3] for n, i in enumerate(ids)}, who="ann")
    session.decide({i: truth[i] for i in ids}, who="kim")
    (ann,) = session.status()["votes"]["annotators"]
    assert ann["low"] < 0.75 < ann["high"] < 0.92
    assert session.assess().n_labels == 40


def test_a_pool_that_is_wholly_labelled_is_still_in_doubt():
    pool = pd.DataFrame({"id": range(40), "predicted": ["cat", "dog"] * 20})
    session = Session.create(None, pool, goal=fl.Estimate(), prior=fl.flat(), votes=2, finite_pool=True)
    for who, shift in (("ann", 0), ("bob", 7)):
        ids = session.ask(40, who=who, lease=600.0)
        session.tell({i: "dog" if (i + shift) % 5 == 0 else pool.predicted[i] for i in ids}, who=who)
    found = session.assess()
    assert found.overall.high - found.overall.low > 0.02
    assert session.status()["n_left"] == 0
    assert (session.knowledge().width() > 0).any()


PRICE = fl.cost({true: {said: float(true != said) for said in CLASSES} for true in CLASSES})


@pytest.mark.parametrize(
    ("goal", "prior", "more"),
    [
        (fl.Explore(), fl.smooth(), {"by": fl.cross(fl.column("sex"), fl.column("age"))}),
        (fl.FindWorst(PRICE), fl.flat(), {}),
        (fl.FindWorst(fl.recall), fl.calibrated(), {"finite_pool": True}),
        (fl.Compare(a="f", b="m"), fl.from_scores(), {"by": fl.column("sex"), "finite_pool": True}),
    ],
    ids=["smooth", "cost", "recall", "compare"],
)
def test_votes_go_with_every_goal_and_prior(goal, prior, more):
    pool, truth = make_pool(120)
    rng = np.random.default_rng(0)
    pool = pool.assign(score=rng.uniform(0.4, 1, 120), sex=rng.choice(["f", "m"], 120), age=rng.choice(["x", "y"], 120))
    session = Session.create(None, pool, goal=goal, prior=prior, votes=2, **more)
    work(session, truth, 4)
    found, status = session.assess(), session.status()
    assert found.imputed is not None
    assert all(row.low <= row.mean <= row.high for row in found.groups)
    assert found.overall.low < found.overall.mean < found.overall.high
    assert status["votes"]["n_votes"] == 60
    assert session.ask(1, who="ann", lease=600.0)


# -- files ----------------------------------------------------------------------------------------------------


def test_a_file_holds_votes_and_decisions(tmp_path):
    session, truth = start(tmp_path / "s.db")
    work(session, truth, 3)
    item = session.disputes()[0]["id"]
    session.decide({item: truth[item]}, who="kim")
    with Session.open(tmp_path / "s.db") as again:
        assert again._store.state == session._store.state
        assert again.status() == session.status()
        assert again.wanted == 2
    session.close()


def test_files_of_versions_that_knew_no_votes_open(tmp_path):
    session, truth = start(tmp_path / "s.db", votes=1)
    session.tell({i: truth[i] for i in session.ask(5)})
    session.close()
    with sqlite3.connect(tmp_path / "s.db") as connection:
        (about,) = connection.execute("SELECT about FROM meta").fetchone()
        plain = json.loads(about)
        del plain["votes"]
        connection.execute("UPDATE meta SET about = ?", (json.dumps(plain),))
    connection.close()
    with Session.open(tmp_path / "s.db") as again:
        assert (again.wanted, again.status()["n_labels"]) == (1, 5)


# -- the command line -----------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path):
    make_pool()[0].to_csv(tmp_path / "preds.csv", index=False)
    return tmp_path / "preds.csv"


@pytest.fixture
def db(type_in, file, tmp_path):
    path = tmp_path / "s.db"
    words = ["ask", str(file), "--session", str(path), "--votes", "2", "--as", "ann", "-n", "4", "--prior", "flat", "--out", str(tmp_path / "sheet.csv")]  # fmt: skip
    assert type_in(*words).code == 0
    return path


def test_votes_from_the_command_line(type_in, db, tmp_path):
    sheet = pd.read_csv(tmp_path / "sheet.csv")
    ids = list(sheet["id"])
    rows = [(i, "cat", "ann") for i in ids] + [(i, "dog" if i == ids[0] else "cat", "bob") for i in ids]
    pd.DataFrame(rows, columns=["id", "label", "who"]).to_csv(tmp_path / "filled.csv", index=False)
    assert "8 new answers" in type_in("import", str(tmp_path / "filled.csv"), "--session", str(db)).out
    assert "8 unchanged" in type_in("import", str(tmp_path / "filled.csv"), "--session", str(db)).out
    shown = type_in("status", "--session", str(db)).out
    assert "2 annotators per item: 8 votes, 0 with too few" in shown
    assert "2 people agree on 75% of 4 items: Cohen's kappa" in shown
    assert "1 disagreement; resolve with tell --decide" in shown
    listed = type_in("export", "--session", str(db), "--disputes").out
    assert f'"{ids[0]}","ann: cat; bob: dog",' in listed
    told = type_in("tell", f"{ids[0]}=cat", "--session", str(db), "--as", "kim", "--decide")
    assert f"decided by kim: {ids[0]}: cat\n" in told.out
    never = next(i for i in range(400) if i not in {int(name) for name in ids})
    told = type_in("tell", f"{never}=cat", "--session", str(db), "--as", "kim", "--decide")
    assert f"decided by kim: {never}: cat (not asked for: it counts once the session asks for it)" in told.out
    type_in("tell", "--undo", "--session", str(db), "--as", "kim")
    votes = type_in("export", "--session", str(db), "--votes").out.splitlines()
    assert votes[0].replace('"', "") == "id,label,who,decided,note,at"
    assert len(votes) == 10
    assert "undone" in type_in("tell", "--undo", "--session", str(db), "--as", "kim").out
    changed = type_in("tell", f"{ids[1]}=dog", "--session", str(db), "--as", "bob").out
    assert f"kept: {ids[1]}: dog (before: cat)" in changed
    found = json.loads(type_in("status", "--session", str(db), "--json", "-").out)
    assert (found["votes"]["wanted"], found["votes"]["n_disputed"], found["n_labels"]) == (2, 2, 4)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["tell", "0=cat", "--session", "{db}"], "say who you are (--as NAME"),
        (["ask", "--session", "{db}"], "say who you are"),
        (["ask", "--session", "{db}", "--as", "ann", "--votes", "3"], "it was created with --votes 2"),
        (["ask", "{file}", "--session", "{new}", "--votes", "0"], "votes must be between 1 and 20"),
        (["ask", "{file}", "--session", "{new}", "--votes", "2"], "give your name with --as NAME"),
        (["label", "{file}", "--session", "{new}", "--votes", "2", "--terminal"], "give your name with --as NAME"),
        (["import", "{sheet}", "--session", "{db}"], "say who answered, in a column who or with --as NAME"),
        (["tell", "--undo", "--decide", "--session", "{db}"], "leave --decide out"),
        (["export", "--votes", "--disputes", "--session", "{db}"], "choose one"),
        (["tell", "0=cat", "--decide", "--session", "{one}", "--as", "kim"], "use tell instead"),
    ],
)
def test_wrong_words_are_explained(type_in, db, file, tmp_path, words, says):
    pd.DataFrame({"id": [0], "label": ["cat"]}).to_csv(tmp_path / "anonymous.csv", index=False)
    one, _ = start(tmp_path / "one.db", votes=1)
    one.close()
    names = {
        "db": db,
        "file": file,
        "new": tmp_path / "new.db",
        "sheet": tmp_path / "anonymous.csv",
        "one": tmp_path / "one.db",
    }
    typed = type_in(*(word.format(**names) for word in words))
    assert (typed.code, typed.out, len(typed.err.splitlines())) == (1, "", 1)
    assert says in typed.err
    assert not (tmp_path / "new.db").exists()


# -- exactly these items -----------------------------------------------------------------------------------


def mix_by_hand(session, n=20_000):
    """Draw from the mixture over imputed label sets of what each says about exactly these items."""
    with session._store.reading() as state:
        snapshot = take_snapshot(session._spec, state)
    imputations, spec = session._posterior_cache.impute_labels(snapshot).imputations, session._spec
    rng = np.random.default_rng(7)
    parts = [infer(t, spec.design.goal.metric, spec.design.prior, finite_pool=True) for t in imputations]
    return np.concatenate([part.per_group.draw(rng, n // len(imputations)) for part in parts])


@pytest.mark.parametrize("prior", [fl.flat(), fl.calibrated()], ids=["flat", "calibrated"])
@pytest.mark.parametrize("seed", range(3))
def test_figures_of_votes_about_exactly_these_items_are_those_of_the_mixture(prior, seed):
    """Draws on both sides: means within 0.015, ends of intervals within one item."""
    pool, truth = make_pool(n=60, seed=seed)
    goal = fl.Estimate(width=0.4)
    session = Session.create(None, pool, goal=goal, prior=prior, votes=2, finite_pool=True, seed=seed)
    work(session, truth, rounds=4, seed=seed)
    draws = mix_by_hand(session)
    mean, (low, high) = draws.mean(axis=0), np.quantile(draws, [0.025, 0.975], axis=0)
    known = session.knowledge()
    step = 1.01 / known.n_items.min()
    assert min(known.prior.alpha.min(), known.prior.beta.min()) > 0
    assert known.counts.min() >= 0
    shown = session.assess().groups
    for figures in (
        (known.mean(), *known.interval()),
        tuple(np.array([getattr(row, name) for row in shown]) for name in ("mean", "low", "high")),
    ):
        assert figures[0] == pytest.approx(mean, abs=0.015)
        assert figures[1] == pytest.approx(low, abs=step)
        assert figures[2] == pytest.approx(high, abs=step)
    widest = session.status()["answer"]["widest"]
    assert widest["high"] - widest["low"] == pytest.approx((high - low).max(), abs=2 * step)
    if abs((high - low).max() - goal.width) > 2 * step:
        assert not session.is_settled or (high - low).max() < goal.width  # narrow, and looked at
    assert known.simulate_completion(np.random.default_rng(0)).width().max() <= known.width().max() + step


@pytest.mark.parametrize("seed", [0, 2])
def test_the_status_of_votes_about_exactly_these_items_has_the_interval_of_the_assessment(seed):
    rng, other = np.random.default_rng(seed), {"cat": "dog", "dog": "cat"}
    predicted = np.array(["cat", "dog"])[rng.integers(0, 2, 60)]
    truth = [name if rng.random() < 0.4 else other[name] for name in predicted]
    pool = pd.DataFrame({"id": range(60), "predicted": predicted})
    session = Session.create(None, pool, goal=fl.Estimate(), by=fl.everything, prior=fl.flat(), votes=2, finite_pool=True, random_share=0.0)  # fmt: skip
    for who in ("ann", "bob"):
        said = {i: truth[i] if rng.random() < 0.8 else other[truth[i]] for i in session.ask(30, who=who)}
        session.tell(said, who=who)
    shown, widest = session.assess().overall, session.status()["answer"]["widest"]
    assert [widest["low"], widest["high"]] == pytest.approx([shown.low, shown.high], abs=1.01 / 60)


def test_answers_of_one_person_settle_nothing_where_several_are_wanted():
    session, _ = start(votes=2, goal=fl.Estimate(width=0.4), by=fl.everything)
    asked = session.ask(150, who="ann")
    session.tell(dict.fromkeys(asked, "cat"), who="ann")
    session.tell({asked[0]: "cat"}, who="bob")
    status = session.status()
    assert not (status["settled"])
    assert not (session.is_settled)
    assert not session.standing().settled
    assert "fewer votes" in status["obstacle"]
    assert status["votes"]["agreement"] is None  # of a single item
    session.tell(dict.fromkeys(asked, "cat"), who="bob")
    assert session.is_settled
    assert session.status()["votes"]["agreement"]["n_items"] == 150


def test_a_session_says_at_its_start_what_is_odd_about_the_table(tmp_path, type_in):
    rng = np.random.default_rng(0)
    score = rng.random(200)
    pd.DataFrame({"id": range(200), "predicted": (score > 0.5).astype(int), "score": score}).to_csv(
        tmp_path / "p.csv", index=False
    )
    said = type_in("ask", tmp_path / "p.csv", "--session", tmp_path / "s.db", "--goal", "estimate")
    assert said.code == 0
    assert "it looks like the probability of class '1'" in said.err


@pytest.mark.parametrize(
    ("goal", "verb"),
    [("fairness", "fairness FILE --by"), ("best-model", "compare OLD NEW"), ("estimate", "assess FILE --by")],
)
def test_a_settled_session_names_the_verb_of_its_goal(goal, verb):
    assert choose_verb(goal).startswith(verb)
