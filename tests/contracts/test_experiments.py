"""Every experiment runs, and writes what it promises; on small made-up pools, so that no real one is needed."""

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bench.harness.rows import read_rows
from experiments.__main__ import NAMES, main
from experiments.audits import PRIVILEGED, RATES_ASKED, audit_often, read_audit
from experiments.comparisons import weigh_path
from experiments.crossings import find_first, find_lasting, locate
from experiments.finite import expect_gains, expect_means, rank_known
from experiments.identification import find
from experiments.methods import ACTIVE
from experiments.options import Options, spell_command, write_page
from experiments.pools import CIFAR10, CIFAR100, DENSENET, IMAGENET, MNIST, NEWS, WIDERESNET, add_deciles, read_pool
from experiments.prices import price_people, price_superclasses
from experiments.published_fairness import MODELS
from experiments.replays import Curve, Effort, lay_out
from experiments.tables import show_error
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.identification import FindWorst
from fewlabels.active.policies import thompson
from fewlabels.active.simulation.dispatch import find_problem, run_policy
from fewlabels.active.simulation.kernels.problems import CalibrationError, Cost, Rate
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.distributions.difference import BetaDifference
from fewlabels.metrics.metric import Metric, accuracy, ece
from fewlabels.models.priors import from_scores, pseudo_counts

CLASSES = ["0", "1", "2", "3", "4", "5"]
SUPERCLASS = {"0": "14", "1": "14", "2": "3", "3": "3", "4": "7", "5": "7"}


def make_pool(seed: int, n: int = 360) -> pd.DataFrame:
    """Predictions of six classes, some harder than others, over-confident."""
    rng = np.random.default_rng(seed)
    predicted = rng.integers(len(CLASSES), size=n)
    right = rng.random(n) < 0.5 + 0.08 * predicted
    label = np.where(right, predicted, (predicted + rng.integers(1, len(CLASSES), size=n)) % len(CLASSES))
    probability = rng.dirichlet(np.full(len(CLASSES), 0.3), size=n)
    probability[np.arange(n), predicted] += 1.5
    probability /= probability.sum(axis=1, keepdims=True)
    names = np.array(CLASSES)
    pool = pd.DataFrame({"id": np.arange(n), "label": names[label], "predicted": names[predicted]})
    pool["score"] = probability[np.arange(n), predicted]
    pool["predicted_superclass"] = pool["predicted"].map(SUPERCLASS)
    return pool.assign(**{f"p_{name}": probability[:, i] for i, name in enumerate(CLASSES)})


def make_people(n: int = 400) -> pd.DataFrame:
    """People of two groups, scored by four models, and who is positive."""
    rng = np.random.default_rng(0)
    logit = rng.normal(-0.5, 1.5, size=n)
    people = pd.DataFrame({"id": np.arange(n), "label": (rng.random(n) < 1 / (1 + np.exp(-logit))).astype(int)})
    people["race"] = np.where(rng.random(n) < 0.7, PRIVILEGED["adult_race"], "Black")
    return people.assign(**{f"score_{model}": 1 / (1 + np.exp(-logit * (1 + i))) for i, model in enumerate(MODELS)})


@pytest.fixture(scope="module")
def small_pools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pools")
    for seed, dataset in enumerate((CIFAR100, IMAGENET, NEWS, CIFAR10, MNIST, DENSENET, WIDERESNET)):
        make_pool(seed).to_parquet(folder / f"{dataset.pool}.parquet")
    make_people().to_parquet(folder / "fair_adult_race.parquet")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_writes_its_page(name: str, small_pools: Path, tmp_path: Path) -> None:
    options = Options(small_pools, tmp_path, jobs=1, quick=True)
    page = write_page(name, import_module(f"experiments.{name}").make, options).read_text(encoding="utf-8")
    assert spell_command(name, options) in page
    assert "nan" not in page
    if name.startswith("figure"):
        assert (tmp_path / f"{name}.png").stat().st_size > 5000


def test_the_door_lists_and_runs(
    small_pools: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["experiments"])
    main()
    said = capsys.readouterr().out
    assert all(name in said for name in NAMES)
    words = [
        "table_8",
        "--quick",
        "--jobs",
        "1",
        "--pools",
        str(small_pools),
        "--out",
        str(tmp_path),
        "--json",
        str(tmp_path),
    ]
    monkeypatch.setattr(sys, "argv", ["experiments", *words])
    main()
    page = (tmp_path / "table_8.md").read_text(encoding="utf-8")
    settings, *rows = read_rows(tmp_path / "table_8.jsonl")
    assert settings["command"] in page
    assert len(rows) == page.count("\n| ") - 2
    assert all(f"| {' | '.join(list(row.values())[1:])} |" in page for row in rows)


def test_an_audit_counts_what_is_there(small_pools: Path) -> None:
    people = make_people()
    audit = read_audit(small_pools, "adult_race", "lr")
    others, said = people["race"] != PRIVILEGED["adult_race"], people["score_lr"] >= 0.5
    right = said == (people["label"] == 1)
    accuracy_gap = right[others].mean() - right[~others].mean()
    tpr = [said[here & (people["label"] == 1)].mean() for here in (others, ~others)]
    assert audit.measure_truth()[:2] == pytest.approx([accuracy_gap, tpr[0] - tpr[1]])
    labelled = audit.label(50, np.random.default_rng(1))
    assert (labelled.n_labels.sum(), labelled.n_items.sum()) == (50, 400)


def test_everybody_labelled_leaves_no_error(small_pools: Path) -> None:
    for method in ("bc", "frequency"):
        found = audit_often(small_pools, "adult_race", "lr", 400, method, Effort(2, 0, 1))
        assert [found.mean_error(rate) for rate in RATES_ASKED] == pytest.approx([0.0] * 3, abs=0.5)
    assert found.coverage("accuracy") == 100.0


@pytest.mark.parametrize(("find", "at"), [(find_first, 2.0), (find_lasting, 4.0)])
def test_a_mean_that_falls_again_crosses_twice(find: Callable[..., float], at: float) -> None:
    values = np.array([[0.5, 0.9, 0.995, 0.9, 1.0]] * 3)
    assert locate(Curve("", np.arange(5), values), find) == (at, 0.0)


def test_a_mean_that_never_gets_there_is_first_at_its_own_height() -> None:
    n_labels, mean = np.arange(4), np.array([0.1, 0.9, 0.95, 0.94])
    assert find_first(n_labels, mean) == 2
    assert np.isnan(find_lasting(n_labels, mean))


def test_costs_are_dear_where_they_should_be() -> None:
    people = price_people(SUPERCLASS, 10).for_classes(CLASSES).matrix
    others = price_superclasses(SUPERCLASS, 10).for_classes(CLASSES).matrix
    assert people is not None
    assert others is not None
    assert people[0].tolist() == [0, 1, 10, 10, 10, 10]  # a person taken for another person is a mistake like any
    assert people[2].tolist() == [1, 1, 0, 1, 1, 1]
    assert others[2].tolist() == [10, 10, 0, 1, 10, 10]
    assert np.array_equal(price_people(SUPERCLASS, 1).for_classes(CLASSES).matrix, 1 - np.eye(6))


def test_deciles_are_of_equal_size_even_where_scores_tie() -> None:
    pool = make_pool(0).assign(score=1.0)
    assert add_deciles(pool)["decile"].value_counts().unique().tolist() == [36]


def test_the_path_of_a_comparison_is_that_of_the_library(small_pools: Path) -> None:
    labelled = lay_out(read_pool(small_pools, NEWS))
    run = ReplayRun(labelled, Compare("0", "5"), ACTIVE.choose(), ACTIVE.prior, finite_pool=False)
    two = (run.start.position("0"), run.start.position("5"))
    order = run_policy(run, np.random.default_rng(0), 30)
    belief = run.infer_posterior(order).belief
    assert isinstance(belief, Beta)
    a, b = (Beta((str(g),), belief.alpha[[g]], belief.beta[[g]]) for g in two)
    difference = BetaDifference(a, b)
    below, above = difference.below(-0.05), difference.above(0.05)
    assert weigh_path(run, order, two)[-1] == pytest.approx([below, 1 - below - above, above], abs=1e-6)


@pytest.mark.parametrize("metric", [accuracy, ece, price_people(SUPERCLASS, 10)], ids=["accuracy", "ece", "cost"])
def test_with_every_item_labelled_the_worst_are_known(metric: Metric, small_pools: Path) -> None:
    labelled = lay_out(read_pool(small_pools, NEWS), probabilities=True)
    run = ReplayRun(labelled, FindWorst(metric, 2), ACTIVE.choose(2), from_scores(50.0))
    order = run_policy(run, np.random.default_rng(0), labelled.n_items)
    assert rank_known(run, order, np.array([0, 100, labelled.n_items]))[-1] == 1.0


@pytest.mark.parametrize("metric", [accuracy, ece, price_people(SUPERCLASS, 10)], ids=["accuracy", "ece", "cost"])
def test_what_is_expected_of_the_pool_follows_from_what_is_expected_of_its_cells(
    metric: Metric, small_pools: Path
) -> None:
    labelled = lay_out(read_pool(small_pools, NEWS), probabilities=True)
    run = ReplayRun(labelled, FindWorst(metric), ACTIVE.choose(), ACTIVE.prior)
    problem, order = find_problem(run), run_policy(run, np.random.default_rng(0), 70)
    assert isinstance(problem, Rate | CalibrationError | Cost)
    gains = expect_gains(problem, expect_means(problem, order, np.array([20, 70])))
    for row, n in zip(gains, (20, 70), strict=True):
        counts = labelled.count(run.start, order[:n])
        believed = counts + pseudo_counts(run.start.prior)
        rest = run.start.evaluation.cells.n_items - counts.sum(axis=1)
        shares = counts + (rest / believed.sum(axis=1))[:, None] * believed
        shares /= shares.sum(axis=1, keepdims=True)
        values = run.start.values((shares if isinstance(problem, Cost) else shares[:, 0])[None])[0]
        assert row == pytest.approx(problem.sign * values)


def test_what_is_expected_of_the_pool_is_what_the_library_expects(small_pools: Path) -> None:
    labelled = lay_out(read_pool(small_pools, NEWS))
    run = ReplayRun(labelled, FindWorst(), ACTIVE.choose(), ACTIVE.prior)
    problem, order = find_problem(run), run_policy(run, np.random.default_rng(0), 70)
    assert isinstance(problem, Rate)
    means = expect_means(problem, order, np.array([20, 70]))
    assert means[0] == pytest.approx(run.infer_posterior(order[:20]).mean())
    assert means[1] == pytest.approx(run.infer_posterior(order).mean())


def test_what_was_played_is_not_played_again(small_pools: Path) -> None:
    labelled, at = lay_out(read_pool(small_pools, NEWS)), np.array([0, 20])
    one, other = (find(labelled, FindWorst(), thompson, from_scores(), at, Effort(2), name) for name in "ab")
    assert one.values is other.values
    assert (one.name, other.name) == ("a", "b")


def test_what_is_never_reached_is_said_so() -> None:
    assert show_error(float("nan"), 0.1) == "never"
    assert show_error(1.0, float("nan")) == "1.0"
