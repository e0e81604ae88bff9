"""Votes: kappas against their textbook formulas, the posterior against enumeration, and coverage by simulation."""

from itertools import product

import numpy as np
import pytest
from scipy.special import betaln, gammaln, logsumexp

from fewlabels.models.annotators.agreement import measure_agreement
from fewlabels.models.annotators.dawid_skene import (
    ACCURACY_LEVELS,
    CELL_STRENGTHS,
    ERROR_RATES,
    OTHER_CLASS_STRENGTH,
    RATE_STRENGTHS,
    ROW_STRENGTHS,
    GibbsSchedule,
    compute_error_prior,
    fit_annotators,
)
from fewlabels.models.annotators.vote_matrix import NONE, VoteMatrix


def make_vote_matrix(votes, *, k=2, truth=None, n=None, cell=None, predicted=(0,), known=None):
    votes = np.array(votes)
    return VoteMatrix(
        tuple(f"person {w}" for w in range(votes.shape[1])), tuple(map(str, range(k))), votes,
        np.full(len(votes), NONE) if truth is None else np.array(truth), np.ones(len(votes), int) if n is None else np.array(n),
        np.zeros(len(votes), int) if cell is None else np.array(cell), np.array(predicted),
        np.zeros((len(predicted), k)) if known is None else np.array(known, float),
    )  # fmt: skip


# -- agreement ------------------------------------------------------------------------------------------------


def cohen_by_hand(a, b):
    a, b = np.asarray(a), np.asarray(b)
    chance = sum((a == c).mean() * (b == c).mean() for c in np.unique([*a, *b]))
    return ((a == b).mean() - chance) / (1 - chance)


def fleiss_by_hand(table):
    table = np.asarray(table, float)
    n, m = len(table), table[0].sum()
    each = (np.square(table).sum(axis=1) - m) / (m * (m - 1))
    share = table.sum(axis=0) / (n * m)
    chance = np.square(share).sum()
    return (each.mean() - chance) / (1 - chance)


def test_two_people_are_compared_by_cohens_kappa():
    rng = np.random.default_rng(0)
    votes = rng.integers(0, 3, (40, 2))
    votes[:25, 1] = votes[:25, 0]
    found = measure_agreement(make_vote_matrix(votes, k=3))
    assert (found.method, found.n_items, found.n_people) == ("cohen", 40, 2)
    assert found.kappa == pytest.approx(cohen_by_hand(*votes.T))
    assert found.low < found.kappa < found.high
    assert found.share == pytest.approx((votes[:, 0] == votes[:, 1]).mean())


def test_more_people_are_compared_by_fleiss_kappa():
    """Fleiss' own example has ten items of fourteen votes in five classes, and kappa 0.210."""
    table = [[0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1], [7, 7, 0, 0, 0],
             [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7]]  # fmt: skip
    votes = [[c for c, n in enumerate(row) for _ in range(n)] for row in table]
    found = measure_agreement(make_vote_matrix(votes, k=5))
    assert (found.method, round(found.kappa, 3)) == ("fleiss", 0.210)
    assert found.kappa == pytest.approx(fleiss_by_hand(table))


def test_items_of_one_vote_say_nothing_of_agreement():
    votes = [[0, 0, NONE], [1, 0, NONE], [NONE, NONE, 1], [0, NONE, NONE]]
    found = measure_agreement(make_vote_matrix(votes))
    assert (found.n_items, found.n_people, found.method) == (2, 2, "cohen")
    assert measure_agreement(make_vote_matrix(votes[2:])) is None


def test_people_who_only_ever_say_one_class_agree():
    assert measure_agreement(make_vote_matrix([[0, 0], [0, 0]])).kappa == 1.0


def test_alike_items_count_as_many():
    one, many = (
        make_vote_matrix([[0, 0], [0, 1], [1, 1]], n=[3, 1, 2]),
        make_vote_matrix([[0, 0]] * 3 + [[0, 1]] + [[1, 1]] * 2),
    )
    assert measure_agreement(one).kappa == pytest.approx(measure_agreement(many).kappa)


# -- the posterior, enumerated --------------------------------------------------------------------------------


def log_people(poll, truth):
    """Log-chance of the votes, were this the truth, with every rate and strength summed out."""
    k, (expected, likely) = len(poll.classes), compute_error_prior()
    said = np.zeros((len(poll.annotators), k, k))
    for t, row in zip(truth, poll.votes, strict=True):
        for w, v in enumerate(row):
            if v != NONE:
                said[w, t, v] += 1
    error = ERROR_RATES * (k - 1) / k
    total = []
    for strength in ROW_STRENGTHS:
        by_annotator = []
        for rows in said:
            each = []
            for e in error:
                centre = np.where(np.eye(k) == 1, 1 - e, e / (k - 1)) * strength
                up = (gammaln(rows + centre) - gammaln(centre)).sum()
                each.append(up - (gammaln(rows.sum(axis=1) + strength) - gammaln(strength)).sum())
            by_annotator.append(each)
        total.append(likely + sum(logsumexp(np.log(expected) + np.array(each), axis=1) for each in by_annotator))
    return logsumexp(total)


def log_model(poll, truth):
    k = len(poll.classes)
    counts = poll.known.copy()
    for c, t in zip(poll.cell, truth, strict=True):
        counts[c, t] += 1
    at = np.arange(len(poll.predicted))
    right = counts[at, poll.predicted]
    wrong = counts.sum(axis=1) - right
    level = [
        (
            betaln(strength * rho + right, strength * (1 - rho) + wrong) - betaln(strength * rho, strength * (1 - rho))
        ).sum()
        for rho, strength in product(ACCURACY_LEVELS, CELL_STRENGTHS)
    ]
    shares = 0.0
    for said in range(k):
        others = [counts[poll.predicted == said, j].sum() for j in range(k) if j != said]
        a = OTHER_CLASS_STRENGTH / (k - 1)
        shares += sum(gammaln(n + a) - gammaln(a) for n in others) - (
            gammaln(sum(others) + OTHER_CLASS_STRENGTH) - gammaln(OTHER_CLASS_STRENGTH)
        )
    return logsumexp(level) + shares


def enumerate_truths(poll):
    k, n = len(poll.classes), len(poll.votes)
    options = [range(k) if t == NONE else [t] for t in poll.truth]
    imputations = list(product(*options))
    log_p = np.array([log_people(poll, t) + log_model(poll, t) for t in imputations])
    p = np.exp(log_p - logsumexp(log_p))
    return np.array(
        [[sum(q for q, t in zip(p, imputations, strict=True) if t[i] == c) for c in range(k)] for i in range(n)]
    )


@pytest.mark.parametrize(
    "poll",
    [
        make_vote_matrix([[0, 0], [0, 1], [1, 0], [1, 1], [NONE, 1]], cell=[0, 0, 1, 1, 0], predicted=(0, 1)),
        make_vote_matrix([[0, 1, 0], [1, 1, 0], [0, NONE, 1], [1, 0, 0]], truth=[NONE, 1, NONE, 0], known=[[3, 1]]),
        make_vote_matrix([[0, 2], [2, 2], [1, 1], [1, 2]], k=3, cell=[0, 0, 1, 1], predicted=(2, 1)),
    ],
    ids=["two cells", "decided and known", "three classes"],
)
def test_the_truth_of_every_item_is_what_enumeration_finds(poll):
    found = fit_annotators(np.random.default_rng(0), poll, GibbsSchedule(burn=200, kept=10, thin=300, chains=1))
    assert found.posterior == pytest.approx(enumerate_truths(poll), abs=0.03)
    assert len(found.imputations) == 10
    assert all(truth.n.sum() == len(poll.votes) for truth in found.imputations)


def test_alike_items_may_be_counted_together():
    votes, n = [[0, 0], [0, 1], [1, 1]], [4, 2, 3]
    one = fit_annotators(np.random.default_rng(0), make_vote_matrix(votes, n=n), GibbsSchedule(100, 1, 1500, 1))
    many = make_vote_matrix(np.repeat(votes, n, axis=0))
    other = fit_annotators(np.random.default_rng(1), many, GibbsSchedule(100, 1, 1500, 1))
    assert one.posterior == pytest.approx(other.posterior[[0, 4, 6]], abs=0.06)


# -- people ---------------------------------------------------------------------------------------------------


def simulate_poll(rng, n, skill, right=0.8, k=2, each=2):
    """People who are right so often, `each` of them for every item; a model that is right so often in every cell."""
    predicted = rng.integers(0, k, n)
    truth = np.where(rng.random(n) < right, predicted, (predicted + rng.integers(1, k, n)) % k)
    votes = np.full((n, len(skill)), NONE)
    for i in range(n):
        for w in rng.permutation(len(skill))[:each]:
            votes[i, w] = truth[i] if rng.random() < skill[w] else (truth[i] + rng.integers(1, k)) % k
    return make_vote_matrix(votes, k=k, cell=predicted, predicted=range(k)), truth


def test_good_people_are_told_from_bad_ones():
    poll, _ = simulate_poll(np.random.default_rng(0), 400, (0.95, 0.7, 0.9), each=3)
    found = {one.who: one for one in fit_annotators(np.random.default_rng(1), poll).rate()}
    assert all(found[f"person {w}"].low < skill < found[f"person {w}"].high for w, skill in enumerate((0.95, 0.7, 0.9)))
    assert found["person 1"].high < found["person 2"].low


def test_whoever_said_little_is_judged_by_what_is_known_of_others():
    poll, _ = simulate_poll(np.random.default_rng(0), 300, (0.95, 0.95))
    votes = np.column_stack([poll.votes, np.full(300, NONE)])
    votes[0] = [0, 0, 0]
    few = make_vote_matrix(votes, cell=poll.cell, predicted=(0, 1))
    newcomer = fit_annotators(np.random.default_rng(1), few).rate()[-1]
    assert (newcomer.who, newcomer.n_votes) == ("person 2", 1)
    assert newcomer.mean > 0.85
    assert newcomer.high - newcomer.low > 0.05


def test_a_confusion_of_one_class_is_not_spread_over_all():
    """Somebody calls half of class 1 class 0, and errs nowhere else: items of two 0s may yet be 1."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, 600)
    careless = np.where((truth == 1) & (rng.random(600) < 0.5), 0, truth)
    poll = make_vote_matrix(np.column_stack([truth, careless]), cell=truth, predicted=(0, 1))
    found = fit_annotators(np.random.default_rng(0), poll)
    split = (poll.votes[:, 0] == 1) & (poll.votes[:, 1] == 0)
    assert found.posterior[split, 1].mean() > 0.9
    assert "annotators seem to err" in found.say()


def test_people_who_agree_are_not_accused():
    poll = make_vote_matrix(np.repeat([[0, 0], [1, 1]], 100, axis=0), cell=[0] * 100 + [1] * 100, predicted=(0, 1))
    found = fit_annotators(np.random.default_rng(0), poll)
    assert not found.errs
    assert "no sign of frequent annotator errors on 200 items" in found.say()


@pytest.mark.parametrize(("skill", "each"), [((0.85, 0.8), 2), ((0.9, 0.85, 0.8), 3)], ids=["two votes", "three votes"])
def test_the_accuracy_of_people_and_model_is_covered(skill, each):
    """Of 24 polls, exact 95% intervals would miss 5 or more with chance 0.006; bench/votes.md has more polls."""
    missed, wrong = 0, np.zeros(len(skill))
    naive = []
    for seed in range(24):
        rng = np.random.default_rng([7, seed])
        poll, _ = simulate_poll(rng, 150, skill, each=each)
        found = fit_annotators(rng, poll)
        right = [(t.n * (t.label == poll.cell[t.item])).sum() for t in found.imputations]
        draws = rng.beta(1 + np.array(right), 1 + 150 - np.array(right), size=(200, len(right)))
        low, high = np.quantile(draws, [0.025, 0.975])
        missed += not low < 0.8 < high
        wrong += [not one.low < s < one.high for one, s in zip(sorted(found.rate(), key=lambda r: r.who), skill, strict=True)]  # fmt: skip
        naive.append((poll.votes[:, 0] == poll.cell).mean())
    assert missed <= 4
    assert (wrong <= 4).all()
    assert np.mean(naive) < 0.75  # what one gets by taking the first person's word: 0.8 · 0.85 + 0.2 · 0.15 = 0.71


def test_chains_that_agree_say_so():
    poll, _ = simulate_poll(np.random.default_rng(0), 300, (0.95, 0.9, 0.85), each=3)
    found = fit_annotators(np.random.default_rng(0), poll)
    assert found.warning is None
    assert 0.98 < found.health["rhat"] < 1.1
    assert found.health["chains"] == 4
    assert len(found.imputations) == 40


def test_chains_that_disagree_are_warned_of():
    """Two people who contradict each other on every item: either may be the one who is right, and no chain changes sides."""
    truth = np.repeat([0, 1], 150)
    poll = make_vote_matrix(np.column_stack([truth, 1 - truth]), cell=[0] * 300, predicted=(0,))
    found = [fit_annotators(np.random.default_rng(seed), poll) for seed in range(4)]
    sided = [one for one in found if one.health["rhat"] > 1.1]
    assert sided
    assert all("disagree" in one.warning for one in sided)


def test_beforehand_the_chances_of_all_settings_add_up():
    assert len(RATE_STRENGTHS) * len(ERROR_RATES) == len(compute_error_prior()[1])
    assert np.exp(compute_error_prior()[1]).sum() == pytest.approx(1)


def test_kappa_of_votes_that_all_agree_is_at_most_one_whatever_the_rounding():
    for seed in range(20):
        votes = np.tile(np.random.default_rng(seed).integers(0, 3, 4)[:, None], (1, 2))
        nothing = np.full(4, NONE)
        given = VoteMatrix(("a", "b"), ("x", "y", "z"), votes, nothing, np.ones(4, dtype=np.int64), nothing * 0, np.array([0]), np.zeros((1, 3)))  # fmt: skip
        found = measure_agreement(given, seed=seed)
        assert found is not None
        assert found.low <= found.kappa <= found.high <= 1.0


@pytest.mark.parametrize("n", [10, 30])
@pytest.mark.parametrize("accuracy", [0.99, 0.95])
def test_kappa_is_covered_also_where_the_few_votes_there_are_all_agree(n, accuracy):
    """Two classes, equally frequent: kappa is 1 − 4 a (1 − a). Of 200 intervals, fewer than 177 cover once in 3,000."""
    rng, covered = np.random.default_rng(0), 0
    for _ in range(200):
        truth = rng.integers(0, 2, (n, 1))
        votes = np.where(rng.random((n, 2)) < accuracy, truth, 1 - truth)
        found = measure_agreement(make_vote_matrix(votes, k=2))
        covered += found.low <= 1 - 4 * accuracy * (1 - accuracy) <= found.high
        assert found.low < 0.95
    assert covered >= 177
