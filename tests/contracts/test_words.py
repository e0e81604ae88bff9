"""Every public function accepts the words of the command line, and gives the same digits as with the objects."""

import inspect
import json
import re

import numpy as np
import pytest

import fewlabels as fl
from fewlabels import InputError

RNG = np.random.default_rng(0)
N = 240
SCORE = RNG.uniform(0.5, 1.0, N)
PREDICTED = RNG.choice(["0", "1"], N)
LABEL = np.where(RNG.random(N) < SCORE, PREDICTED, np.where(PREDICTED == "1", "0", "1"))
POOL = {
    "id": np.arange(N), "predicted": PREDICTED, "score": SCORE, "label": np.where(np.arange(N) < 120, LABEL, None),
    "site": RNG.choice(["north", "south", "west"], N), "sex": RNG.choice(["f", "m"], N), "age": RNG.integers(20, 70, N),
}  # fmt: skip
LABELLED = POOL | {"label": LABEL}
QUICK = {"runs": 2, "n_jobs": 1}


def plain(result):
    """Plain data of a result, without the date of the provenance."""
    found = result if isinstance(result, list | tuple | dict) else result.to_dict()
    return json.loads(json.dumps(found, default=str), object_hook=lambda d: {k: v for k, v in d.items() if k != "date"})


SAME = {
    "by": (fl.assess, POOL, {"by": "site"}, {"by": fl.column("site")}),
    "by all": (fl.assess, POOL, {"by": "all"}, {"by": fl.everything}),
    "by several": (fl.assess, POOL, {"by": "site,sex"}, {"by": fl.cross(fl.column("site"), fl.column("sex"))}),
    "by a list": (fl.assess, POOL, {"by": ["site", "bins:4"]}, {"by": fl.cross("site", fl.bins(4))}),
    "by ranges": (fl.assess, POOL, {"by": "ranges:age:3"}, {"by": fl.ranges("age", 3)}),
    "by bins": (fl.assess, POOL, {"by": "bins:equal-mass:4"}, {"by": fl.bins(4, equal_mass=True)}),
    "metric": (fl.assess, POOL, {"by": "site", "metric": "recall"}, {"by": "site", "metric": fl.recall}),
    "bins": (
        fl.assess,
        POOL,
        {"metric": "ece", "bins": "equal-mass:5"},
        {"metric": fl.ece, "bins": fl.bins(5, equal_mass=True)},
    ),
    "a number of bins": (fl.assess, POOL, {"metric": "ece", "bins": 5}, {"metric": fl.ece, "bins": fl.bins(5)}),
    "flat": (fl.assess, POOL, {"prior": "flat"}, {"prior": fl.flat()}),
    "scores": (fl.assess, POOL, {"prior": "scores"}, {"prior": fl.from_scores()}),
    "smooth": (fl.assess, POOL, {"by": "site,sex", "prior": "smooth"}, {"by": "site,sex", "prior": fl.smooth()}),
    "calibrated": (fl.assess, POOL, {"prior": "calibrated"}, {"prior": fl.calibrated()}),
    "compare": (
        fl.compare,
        POOL,
        {"groups": "north,south", "by": "site", "metric": "accuracy", "prior": "flat"},
        {"groups": ("north", "south"), "by": fl.column("site"), "metric": fl.accuracy, "prior": fl.flat()},
    ),
    "fairness": (
        fl.fairness,
        POOL,
        {"by": "sex", "metrics": "accuracy,tpr", "method": "beta-binomial"},
        {"by": fl.column("sex"), "metrics": (fl.accuracy, fl.tpr), "method": "beta-binomial"},
    ),
    "surface": (
        fl.surface,
        POOL,
        {"attributes": "site,ranges:age:3"},
        {"attributes": (fl.column("site"), fl.ranges("age", 3))},
    ),
    "rate": (
        fl.rate,
        POOL,
        {"grade": "age", "by": "site", "judge": "score", "n_draws": 200},
        {"grade": "age", "by": fl.column("site"), "judge": ("score",), "n_draws": 200},
    ),
    "attributes": (
        fl.surface,
        POOL,
        {"attributes": ("sex", "ranges:age:3"), "model": "beta-i"},
        {"attributes": (fl.column("sex"), fl.ranges("age", 3)), "model": "beta-i"},
    ),
    "simulate": (
        fl.simulate,
        LABELLED,
        {"goal": "find-worst", "by": "site", "policies": "random,top-two", "priors": "flat,scores", "budget": 20, **QUICK},
        {"goal": fl.FindWorst(), "by": fl.column("site"), "policies": (fl.random, fl.top_two),
         "priors": (fl.flat(), fl.from_scores()), "budget": 20, **QUICK},
    ),
    "plan": (
        fl.plan,
        POOL,
        {"goal": fl.Estimate("recall", width=0.4), "by": "site", "policy": "random", "prior": "flat", **QUICK},
        {"goal": fl.Estimate(fl.recall, width=0.4), "by": fl.column("site"), "policy": fl.random, "prior": fl.flat(),
         **QUICK},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SAME)
def test_words_give_the_same_digits_as_objects(case) -> None:
    function, pool, words, objects = SAME[case]
    assert plain(function(pool, **words)) == plain(function(pool, **objects))


def label_a_few(**choices):
    """The items that a session asks for, and its estimates after their answers."""
    s = fl.Session.create(None, POOL, **choices)
    asked = s.ask(6)
    s.tell({i: str(LABEL[i]) for i in asked})
    return asked, s.assess().to_dict(), s.assess("recall").to_dict() if s.assess().metric != "recall" else None


def test_a_session_takes_words() -> None:
    words = {"goal": fl.FindWorst("recall", m=2), "by": "site", "policy": "upper-bound", "prior": "flat"}
    objects = {
        "goal": fl.FindWorst(fl.recall, m=2),
        "by": fl.column("site"),
        "policy": fl.upper_bound,
        "prior": fl.flat(),
    }
    assert plain(label_a_few(**words)) == plain(label_a_few(**objects))


def test_a_session_takes_the_word_of_a_goal_and_assesses_another_metric() -> None:
    found = label_a_few(goal="find-worst", by="site")
    assert plain(found) == plain(label_a_few(goal=fl.FindWorst(), by=fl.column("site")))
    assert found[2]["metric"] == "recall"


@pytest.mark.parametrize("kind", [fl.Estimate, fl.Explore, fl.LeastCertain, fl.FindWorst, fl.FindBest])
def test_goals_hold_the_metric_and_not_its_name(kind) -> None:
    assert kind("recall") == kind(fl.recall)
    assert kind(metric="recall").metric is fl.recall
    assert fl.Compare("a", "b", "recall").metric is fl.recall


WRONG = {
    "metric": (lambda: fl.assess(POOL, metric="recal"), "metric: unknown metric 'recal'; did you mean 'recall'"),
    "two metrics": (lambda: fl.assess(POOL, metric="recall,tpr"), "metric: expected one, got 'recall,tpr'"),
    "costs": (lambda: fl.assess(POOL, metric="cost"), r"metric=fl\.cost\('COSTS.csv'\)"),
    "goal's metric": (lambda: fl.FindWorst("acuracy"), "did you mean 'accuracy'"),
    "by": (lambda: fl.assess(POOL, by="sitte"), "by: there is no column 'sitte'; did you mean 'site'"),
    "no groups": (lambda: fl.assess(POOL, by=""), "by: name the groups"),
    "empty list": (lambda: fl.assess(POOL, by=[]), "by: name the groups"),
    "bins": (lambda: fl.assess(POOL, metric="ece", bins="many"), "bins: cannot parse 'many'"),
    "prior": (lambda: fl.assess(POOL, prior="flatt"), "prior: 'flatt' is neither a file nor a known prior; did you mean 'flat'"),
    "pair": (lambda: fl.compare(POOL, "north", by="site"), "groups: expected two, separated by a comma, got 1"),
    "three": (lambda: fl.compare(POOL, ("north", "south", "west"), by="site"), "groups: expected two, got 3"),
    "fairness by": (lambda: fl.fairness(POOL, by="sexx"), "did you mean 'sex'"),
    "fairness metric": (lambda: fl.fairness(POOL, by="sex", metrics="tprr"), "did you mean 'tpr'"),
    "attributes": (lambda: fl.surface(POOL, attributes="sitte,sex"), "attributes: there is no column 'sitte'; did you mean 'site'"),
    "all": (lambda: fl.surface(POOL, attributes=("all",)), "attributes: name columns"),
    "policy": (lambda: fl.simulate(LABELLED, goal="estimate", policies="thomson"), "did you mean 'thompson'"),
    "plan's policy": (lambda: fl.plan(POOL, goal="estimate", policy="top2"), "policy: unknown policy 'top2'"),
    "goal": (lambda: fl.plan(POOL, goal="find-wurst"), "goal: unknown goal 'find-wurst'; did you mean 'find-worst'"),
    "compare's groups": (lambda: fl.plan(POOL, goal="compare"), r"goal=fl\.Compare\('human', 'trees'\)"),
    "session": (lambda: fl.Session.create(None, POOL, goal="estimate", policy="randm"), "did you mean 'random'"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_word_is_explained(case) -> None:
    call, said = WRONG[case]
    with pytest.raises(InputError, match=said):
        call()


def test_a_prior_may_be_the_path_of_an_earlier_assessment(tmp_path) -> None:
    fl.assess(POOL, by="site", prior="flat").to_json(tmp_path / "earlier.json")
    path = str(tmp_path / "earlier.json")
    again = fl.assess(LABELLED, by="site", prior=path)
    assert plain(again) == plain(fl.assess(LABELLED, by="site", prior=fl.from_earlier(path)))


def test_the_command_line_gives_the_digits_of_the_same_words(tmp_path, type_in) -> None:
    path = tmp_path / "pool.csv"
    rows = [",".join("" if value is None else str(value) for value in row) for row in zip(*POOL.values(), strict=True)]
    path.write_text("\n".join([",".join(POOL), *rows]))
    done = type_in("assess", path, "--by", "site", "--metric", "recall", "--prior", "flat", "--json", "-")
    found = json.loads(done.out)
    assert found["groups"] == fl.assess(str(path), by="site", metric="recall", prior="flat").to_dict()["groups"]


PUBLIC = (
    fl.assess, fl.compare, fl.fairness, fl.surface, fl.simulate, fl.plan, fl.diagnose, fl.Session.create, fl.Session.open,
    fl.Session.ask, fl.Session.tell, fl.Session.assess, fl.Predictions.read, fl.Predictions.from_arrays, fl.cross,
    fl.Surface.query, fl.Surface.reweight, fl.Surface.marginals, fl.Surface.adjust,
)  # fmt: skip


@pytest.mark.parametrize("function", PUBLIC, ids=lambda f: f.__qualname__)
def test_every_parameter_is_documented(function) -> None:
    _, _, section = inspect.getdoc(function).partition("Parameters\n----------\n")
    named = {name.lstrip("*") for line in re.findall(r"^(\S.*?):", section, re.MULTILINE) for name in line.split(", ")}
    assert set(inspect.signature(function).parameters) - {"self"} <= named
