import json
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import pytest
from makers import PRICE, STATED, beta, learned, make_tally, of, outcome_pool, pending
from scipy import stats
from scipy.integrate import quad

import fewlabels as fl
from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.active.goals.goal import Goal, describe, explain_exhausted_goal, get_remedy
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.policies import POLICIES
from fewlabels.data.tabulation import count_pool
from fewlabels.distributions.belief import Belief
from fewlabels.distributions.difference import BetaDifference
from fewlabels.distributions.draws import Draws
from fewlabels.errors import InputError
from fewlabels.metrics.metric import METRICS, Metric
from fewlabels.models.inference import infer
from fewlabels.models.priors import pseudo_counts


def rng(seed=0):
    return np.random.default_rng(seed)


@dataclass(frozen=True)
class Near:
    """Find the groups nearest to 80 %."""

    name: str = "near"
    metric: Metric = fl.accuracy

    def gain(self, belief, truth):
        return -np.abs(belief.values(truth) - 0.8)

    def answer(self, belief, rng):
        return Draws(belief.groups, np.abs(belief.draw(rng, 2000) - 0.8))

    def settled(self, belief, rng):
        return bool(belief.width().max() < 0.05)


# -- estimate: the fall of the variance, outcome by outcome ---------------------------------------------------

RIGHT, PRICES = np.array([1.0, 0.0]), np.array([[0.0, 5.0], [3.0, 1.0]])  # of a cell by its predicted class
KINDS = {  # metric, groups, and whose variance should fall: the shares' weights in each cell, or all shares alike
    "beta": (fl.accuracy, "g", lambda predicted: RIGHT),
    "beta, many cells": (fl.ece, "g", lambda predicted: RIGHT),
    "dirichlet": (fl.confusion, "predicted", None),
    "dirichlet, many cells": (fl.recall, "g", None),
    "cost": (PRICE, "predicted", lambda predicted: PRICES[predicted]),
    "cost, many cells": (PRICE, "g", lambda predicted: PRICES[predicted]),
}
kinds = pytest.mark.parametrize(("metric", "by", "worth"), KINDS.values(), ids=KINDS)


def variance(alpha, worth):
    """Of a weighted sum of the shares of a Dirichlet; without weights, summed over the shares."""
    spread = stats.dirichlet(alpha).cov()
    return np.trace(spread) if worth is None else worth @ spread @ worth


def waiting(metric, by):
    """Posterior with answers pending in some cells."""
    known = of(metric, by)
    return pending(known, *np.arange(len(known.pending)) % 3)


def by_enumeration(known, truth, worth):
    """p_g (Var − E Var): a label lands in each cell by its size, and shows each outcome as truth has it."""
    alpha, weight, cells = pseudo_counts(known.with_pending), known.weight, known.evaluation.cells
    gains = np.zeros(len(known.groups))
    for c, (k, g) in enumerate(zip(cells.predicted, cells.group, strict=True)):
        aim = worth and worth(k)
        now = weight[c] ** 2 * variance(alpha[c], aim)
        for outcome, p in zip(np.eye(alpha.shape[1]), truth[c], strict=True):
            after = weight[c] ** 2 * variance(alpha[c] + outcome, aim)
            gains[g] += known.share[g] * weight[c] * p * (now - after)
    return gains


@kinds
def test_the_worth_of_a_label_is_the_fall_of_the_variance_over_all_its_outcomes(metric, by, worth):
    known = waiting(metric, by)
    truth = known.draw_cells(rng(), 5)
    gains = Estimate(metric).gain(known, truth)
    whole = truth if truth.ndim == 3 else np.stack([truth, 1 - truth], axis=2)
    assert gains == pytest.approx(np.array([by_enumeration(known, t, worth) for t in whole]), abs=1e-14)


@kinds
def test_as_expected_a_label_is_worth_how_far_it_moves_the_estimate(metric, by, worth):
    """The law of total variance: what falls on average is the variance of the next mean, no variance formula needed."""
    known = waiting(metric, by)
    alpha, cells = pseudo_counts(known.with_pending), known.evaluation.cells
    expected = np.zeros(len(known.groups))
    for c, (k, g) in enumerate(zip(cells.predicted, cells.group, strict=True)):
        mean = alpha[c] / alpha[c].sum()
        for outcome, p in zip(np.eye(len(mean)), mean, strict=True):
            shift = (alpha[c] + outcome) / (alpha[c].sum() + 1) - mean
            moved = (shift**2).sum() if worth is None else (shift @ worth(k)) ** 2
            expected[g] += known.share[g] * known.weight[c] ** 3 * p * moved
    assert Estimate(metric).gain(known, known.expect())[0] == pytest.approx(expected, abs=1e-14)


def test_the_worth_of_a_label_is_a_plain_formula_for_a_single_beta():
    """Var / (A + 1), by hand for Beta(4, 2) and Beta(1, 1) in groups of 10 and 30 items."""
    known = learned([3, 0], [1, 0], [6, 30])
    by_hand = [10 / 40 * (4 * 2 / (36 * 7)) / 7, 30 / 40 * (1 / 12) / 3]
    assert Estimate().gain(known, known.expect())[0] == pytest.approx(by_hand, abs=1e-15)


@kinds
def test_pending_answers_make_the_next_label_worth_less(metric, by, worth):
    plain = of(metric, by)
    known = pending(plain, *np.full(len(plain.pending), 4))
    truth = plain.expect()
    assert np.all(Estimate(metric).gain(known, truth) < Estimate(metric).gain(plain, truth))


# -- find the worst, find the best ----------------------------------------------------------------------------


@pytest.mark.parametrize("metric", [*METRICS.values(), PRICE], ids=lambda m: m.name)
def test_the_worst_and_the_best_are_at_opposite_ends(metric):
    known = of(metric)
    truth = known.draw_cells(rng(), 3)
    sign = {"lowest": -1, "highest": 1}[metric.worst]
    assert np.array_equal(FindWorst(metric).gain(known, truth), sign * known.values(truth))
    assert np.array_equal(FindBest(metric).gain(known, truth), -sign * known.values(truth))


def chance_lowest(betas, named, rope=0.0):
    """P(every named one is below every other), up to a rope around a single one, by quadrature."""
    others = [b for i, b in enumerate(betas) if i not in named]

    def density(x):
        last = sum(
            betas[i].pdf(x) * np.prod([betas[j].cdf(x) for j in named if j != i]) for i in named
        )  # i is the greatest of the named, at x
        return last * np.prod([b.sf(x - rope) for b in others])

    return quad(density, 0, 1, limit=200)[0]


RECORDS = {  # right and wrong per group
    "two": ([3, 5], [2, 1]),
    "three": ([3, 5, 8], [2, 4, 2]),
    "four": ([1, 4, 5, 9], [3, 4, 1, 1]),
}
DRAWS = 20_000  # a share of so many strays 5 standard errors once in 1.7 million


def assert_share(found, expected):
    assert abs(found - expected) < 5 * np.sqrt(expected * (1 - expected) / DRAWS) + 1e-9


def ends(right, wrong):
    """Posterior, and the Betas of which the lowest are sought, for both goals."""
    known = replace(learned(right, wrong, np.full(len(right), 9)), n_draws=DRAWS)
    shape = list(zip(np.add(right, 1), np.add(wrong, 1), strict=True))
    return known, {FindWorst: [stats.beta(a, b) for a, b in shape], FindBest: [stats.beta(b, a) for a, b in shape]}


@pytest.mark.parametrize("goal", [FindWorst, FindBest])
@pytest.mark.parametrize(("record", "m"), [("two", 1), ("three", 1), ("three", 2), ("four", 2), ("four", 3)])
def test_the_chance_that_the_named_groups_are_the_ones_equals_an_integral(goal, record, m):
    known, betas = ends(*RECORDS[record])
    sets = {named: chance_lowest(betas[goal], named) for named in combinations(range(len(known.groups)), m)}
    each = np.array([sum(p for named, p in sets.items() if g in named) for g in range(len(known.groups))])
    found = describe(goal(m=m), known, rng()).details
    named = sorted(np.argsort(-each)[:m].tolist())
    assert sorted(map(int, found["groups"])) == named
    assert_share(found["p"], sets[tuple(named)])
    for g in named:
        assert_share(found["p_each"][str(g)], each[g])
    answer = goal(m=m).answer(known, rng())
    assert answer.mean().sum() == pytest.approx(m)
    for p, expected in zip(answer.mean(), each, strict=True):
        assert_share(p, expected)


def test_the_chance_of_a_single_comparison_is_a_fraction():
    """P(U < V) for U ~ Beta(1, 1) and V ~ Beta(2, 1) is E V = 2 / 3."""
    known = replace(learned([0, 1], [0, 0], [9, 9]), n_draws=DRAWS)
    assert_share(FindWorst().answer(known, rng()).mean()[0], 2 / 3)


@pytest.mark.parametrize("goal", [FindWorst, FindBest])
@pytest.mark.parametrize("rope", [0.02, 0.1])
def test_groups_within_the_rope_of_the_last_one_count_as_just_as_bad(goal, rope):
    known, betas = ends(*RECORDS["three"])
    for g, p in enumerate(goal(rope=rope).answer(known, rng()).mean()):
        assert_share(p, chance_lowest(betas[goal], [g], rope))


@pytest.mark.parametrize(
    ("right", "m", "rope", "p"),
    [
        ([5, 5, 8], 1, 0.0, 1.0),  # any of the two will do
        ([5, 5, 5], 2, 0.0, 1.0),
        ([5, 6, 6], 2, 0.0, 1.0),  # the worst, and any of the next two
        ([7, 8, 9], 1, 0.1, 1.0),
        ([5, 7, 9], 3, 0.0, 1.0),
        ([5, 7, 9], 9, 0.0, 1.0),  # all there are
    ],
)
@pytest.mark.parametrize("goal", [FindWorst, FindBest])
def test_in_a_pool_labelled_to_the_last_item_ties_are_settled(goal, right, m, rope, p):
    known = learned(right, np.subtract(10, right), [0, 0, 0], finite_pool=True)
    found = describe(goal(m=m, rope=rope, confidence=0.999), known, rng())
    assert found.settled
    assert found.details["p"] == p
    assert len(found.details["groups"]) == min(m, 3)


@pytest.mark.parametrize(("right", "rope", "among"), [([5, 5, 8], 0.0, [1, 1, 0]), ([7, 8, 9], 0.1, [1, 1, 0])])
def test_all_that_are_tied_with_the_last_are_among_the_worst(right, rope, among):
    """0.8 − 0.7 is within 0.1, whatever floating point says."""
    known = learned(right, np.subtract(10, right), [0, 0, 0], finite_pool=True)
    assert FindWorst(rope=rope).answer(known, rng()).mean().tolist() == among


def test_without_a_rope_groups_alike_in_the_population_are_never_told_apart():
    known = learned([5000, 5000], [5000, 5000], [0, 0])
    assert not FindWorst(confidence=0.9).settled(known, rng())
    assert FindWorst(confidence=0.9, rope=0.02).settled(known, rng())


# -- compare two groups ---------------------------------------------------------------------------------------

PARTED = [[3, 0, 6], [1, 5, 2], [9, 9, 9]]  # right, wrong and rest of three groups


def verdict_chances(a, b, rope):
    difference = BetaDifference(beta(*a), beta(*b))
    below, above = difference.below(-rope), difference.above(rope)
    return below, 1 - below - above, above


@pytest.mark.parametrize("rope", [0.0, 0.05, 0.3])
@pytest.mark.parametrize(("a", "b"), [("0", "2"), ("2", "1")])
def test_the_worth_of_a_label_is_the_chance_of_the_verdict_after_each_outcome(a, b, rope):
    known = pending(learned(*PARTED), 0, 1, 3)
    now, truth = known.with_pending, known.draw_cells(rng(), 4)
    gains = Compare(a, b, rope=rope).gain(known, truth)
    start = {group: (now.alpha[int(group)], now.beta[int(group)]) for group in (a, b)}
    for group in (a, b):
        after = []
        for outcome in ((1, 0), (0, 1)):
            then = start | {group: tuple(np.add(start[group], outcome))}
            after.append(max(verdict_chances(then[a], then[b], rope)))
        right = truth[:, int(group)]
        assert gains[:, int(group)] == pytest.approx(right * after[0] + (1 - right) * after[1], abs=1e-5)
    assert np.isneginf(gains[:, 3 - int(a) - int(b)]).all()


def test_on_average_a_label_never_makes_a_verdict_less_likely():
    """The largest of several chances is convex: its mean after a label is at least what it is now."""
    known = learned(*PARTED)
    for a, b in combinations("012", 2):
        now = max(describe(Compare(a, b), known, rng()).details[f"p_{v}"] for v in ("below", "equivalent", "above"))
        gain = Compare(a, b).gain(known, known.expect())[0]
        assert np.all(gain[[int(a), int(b)]] >= now - 1e-6)


@pytest.mark.parametrize("metric", [fl.ece, fl.recall, fl.confusion, PRICE], ids=lambda m: m.name)
def test_without_a_closed_form_the_fall_of_the_variance_in_either_group_is_the_worth(metric):
    known = of(metric)
    truth = known.draw_cells(rng(), 3)
    gains = Compare("0", "2", metric).gain(known, truth)
    falls = Estimate(metric).gain(known, truth) / known.share
    assert gains[:, [0, 2]] == pytest.approx(falls[:, [0, 2]], abs=1e-14)
    assert np.isneginf(gains[:, 1]).all()


POOL = outcome_pool(a=(30, 5, 40), b=(20, 12, 30), c=(1, 1, 1))


def known_pool(finite=False):
    counts = count_pool(fl.Predictions.read(POOL), fl.column("group"))
    return replace(infer(counts, fl.accuracy, fl.flat(), finite_pool=finite), n_draws=DRAWS)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize(("groups", "rope"), [(("a", "b"), 0.05), (("b", "a"), 0.3), (("c", "b"), 0.0)])
def test_the_verdict_is_that_of_a_comparison(groups, rope, finite):
    """Exact for a population; by 20,000 draws each for a finite pool, 5 standard errors apart once in 1.7 million."""
    expected = fl.compare(
        POOL, groups, rope=rope, prior=fl.flat(), by=fl.column("group"), finite_pool=finite, n_draws=DRAWS
    )
    found = describe(Compare(*groups, rope=rope), known_pool(finite), rng(1))
    for name in ("p_below", "p_equivalent", "p_above", "confidence"):
        p = getattr(expected, name)
        assert abs(found.details[name] - p) < (5 * np.sqrt(2 * p * (1 - p) / DRAWS) + 1e-9 if finite else 1e-9)
    assert found.details["verdict"] == expected.verdict
    near = 0.02 if finite else 1e-9
    assert [found.details[x] for x in ("mean", "low", "high")] == pytest.approx(
        [expected.mean, expected.low, expected.high], abs=near
    )
    assert found.sentence.split(", with")[0] == expected.sentence.split(", with")[0]


@pytest.mark.parametrize("finite", [False, True])
def test_the_answer_of_a_comparison_is_the_difference(finite):
    answer = Compare("a", "b").answer(known_pool(finite), rng())
    assert answer.groups == ("a − b",)
    mean = known_pool(finite).mean()
    assert abs(answer.mean()[0] - (mean[0] - mean[1])) < 5 * answer.samples.std() / np.sqrt(DRAWS)


@pytest.mark.parametrize("finite", [False, True])
@pytest.mark.parametrize("goal", [LeastCertain(), Explore()], ids=lambda goal: goal.name)
def test_a_group_is_least_certain_where_what_is_asked_varies_most(finite, goal):
    """Of exactly these items, as draws of them vary: those that are labelled do not."""
    known = known_pool(finite)
    if goal.name == "least-certain":
        spread = known.cell_posterior.draw(rng(), 100_000).var(axis=0)
        assert np.allclose(goal.gain(known, known.expect())[0], spread, rtol=0.03)
    waiting = replace(known, pending=known.evaluation.cells.n_items - known.counts.sum(axis=1).astype(int))
    assert np.allclose(goal.gain(waiting, waiting.expect()), 0) == finite


@pytest.mark.parametrize("finite", [False, True])
def test_exploring_is_worth_what_a_label_takes_off_the_variance(finite):
    """Whether the label is right or wrong, weighed by how likely that is; here groups tell nothing of each other.

    A group of fewer than five items counts by their number.
    """
    known = known_pool(finite)
    mean = known.belief.mean()
    expected = _variance(known) - sum(
        chance * _variance(known.label(np.tile(outcome, (len(mean), 1))))
        for chance, outcome in ((mean, [1.0, 0.0]), (1 - mean, [0.0, 1.0]))
    )
    worth = np.minimum(known.n_items / 5, 1.0)
    assert worth.min() < 1.0 == worth.max()
    assert Explore().gain(known, known.expect())[0] == pytest.approx(worth * expected, rel=1e-6)


def _variance(known):
    """Of every group's accuracy, by enumeration where it is about exactly these items."""
    if not known.finite_pool:
        return known.belief.variance()
    size = known.evaluation.cells.n_items
    rest = size - known.counts.sum(axis=1).astype(int)
    return stats.betabinom.var(rest, known.belief.alpha, known.belief.beta) / size**2


# -- settled? -------------------------------------------------------------------------------------------------

GOALS = {
    "estimate": Estimate(width=0.1),
    "explore": Explore(width=0.1),
    "least-certain": LeastCertain(width=0.1),
    "find-worst": FindWorst(),
    "find-best": FindBest(),
    "compare": Compare("0", "1"),
}
goals = pytest.mark.parametrize("goal", GOALS.values(), ids=GOALS)
CLEAR = ([900, 100], [100, 900], [9, 9])
SCORED = fl.from_scores(10_000.0)


def scored(prior, n_labels=0):
    """Two groups whose scores, taken at their word, leave no doubt; the first `n_labels` were right."""
    right = np.array([n_labels, 0.0])
    counts = make_tally(
        group=[0, 1], n_items=[50, 50], n_labels=right.astype(int), right=right, score=[50 * 0.95, 50 * 0.2]
    )
    return infer(counts, fl.accuracy, prior)


@goals
def test_a_goal_is_settled_once_its_target_holds(goal):
    assert goal.settled(learned(*CLEAR), rng())
    assert describe(goal, learned(*CLEAR), rng()).settled


@goals
def test_a_goal_is_not_settled_while_its_target_does_not_hold(goal):
    known = learned([5, 5], [4, 5], [99, 99])
    assert not goal.settled(known, rng())
    assert not describe(goal, known, rng()).settled


@goals
def test_a_guess_alone_settles_nothing_however_sure_it_is(goal):
    known = scored(SCORED)
    assert known.width().max() < 0.1
    assert not goal.settled(known, rng())
    assert not describe(goal, known, rng()).settled


@goals
def test_no_prior_settles_a_goal_without_labels(goal):
    assert not goal.settled(scored(replace(SCORED, guesses_level=False)), rng())


@pytest.mark.parametrize(
    ("goal", "settled"),
    [(Estimate(width=0.1), False), (FindBest(), True), (FindWorst(), False), (Compare("0", "1"), False)],
    ids=lambda x: getattr(x, "name", ""),
)
def test_only_groups_that_are_named_must_be_heard(goal, settled):
    """Labels in the first group, which is the best; the second is but a guess."""
    assert goal.settled(scored(SCORED, n_labels=3), rng()) == settled
    assert not goal.settled(scored(SCORED, n_labels=2), rng())


def test_a_prior_that_is_no_guess_must_still_be_narrow():
    assert not Estimate().settled(learned([0], [0], [9], STATED), rng())


@pytest.mark.parametrize(("width", "settled"), [(0.2, False), (0.3, True)])
def test_an_estimate_is_settled_when_the_widest_interval_is_narrow_enough(width, settled):
    known = learned([50, 20], [50, 20], [0, 0])
    low, high = stats.beta(21, 21).ppf([0.025, 0.975])
    assert 0.2 < high - low < 0.3
    assert Estimate(width=width).settled(known, rng()) == settled
    assert Estimate(width=high - low).settled(known, rng())


def test_an_estimate_must_stay_narrow_after_two_more_labels_against_it():
    """Beta(31, 1) is 0.112 wide, and Beta(31, 3), after two wrong labels, 0.189."""
    known = learned([30], [0], [100])
    assert known.width()[0] < 0.12
    assert not Estimate(width=0.18).settled(known, rng())
    assert Estimate(width=0.2).settled(known, rng())
    assert Estimate(width=0.12).settled(learned([30], [0], [0], finite_pool=True), rng())  # nothing is left to doubt


def test_what_is_undefined_is_not_known():
    """With everything predicted positive, there is no negative prediction to be right about."""
    known = infer(make_tally(group=[0], predicted=[1], label=[1], n_items=[3]), fl.npv, fl.flat())
    assert not Estimate(fl.npv).settled(known, rng())


# -- in words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("goal", "known", "sentence"),
    [
        (Estimate(), CLEAR, "accuracy of every group is known to within ±0.05 (1,000 labels in each, or more)"),
        (Estimate(), PARTED, "groups not known to within ±0.05 yet: 3 of 3; the widest interval is 0.664 (0)"),
        (FindWorst(), CLEAR, "the worst by accuracy is 1, with probability >0.99"),
        (FindBest(m=2), CLEAR, "the best by accuracy are 0, 1, with probability >0.99"),
        (Compare("0", "1"), CLEAR, "0 is higher than 1 by more than 0.05, with probability >0.99"),
        (Compare("1", "0"), CLEAR, "1 is lower than 0 by more than 0.05, with probability >0.99"),
        (Compare("1", "0", rope=0.9), CLEAR, "1 and 0 differ by at most 0.9, with probability >0.99"),
    ],
)
def test_a_goal_says_how_it_stands(goal, known, sentence):
    assert describe(goal, learned(*known), rng()).sentence == sentence


def test_an_estimate_names_the_widest_interval_of_those_not_done():
    details = describe(Estimate(width=0.2), learned([500, 0, 2], [500, 9, 2], [9, 9, 9]), rng()).details
    low, high = stats.beta(3, 3).ppf([0.025, 0.975])
    assert details == {"width": 0.2, "n_groups_open": 2, "unseen": [], "widest": {"group": "2", "low": pytest.approx(low), "high": pytest.approx(high)}}  # fmt: skip


def test_an_estimate_names_a_group_without_a_label_before_a_wider_one_that_is_done():
    known = scored(SCORED, n_labels=1)
    assert describe(Estimate(width=0.5), known, rng()).details["widest"]["group"] == "1"


@kinds
@pytest.mark.parametrize("goal", [Estimate, FindWorst, FindBest, lambda metric: Compare("0", "1", metric)])
def test_every_goal_works_with_every_kind_of_metric(goal, metric, by, worth):
    goal, known = goal(metric), waiting(metric, by)
    assert isinstance(goal, Goal)
    assert isinstance(goal.answer(known, rng()), Belief)
    found = describe(goal, known, rng())
    assert found.settled == goal.settled(known, rng())
    json.dumps(found.details)  # fits into a result file
    assert goal.gain(known, known.draw_cells(rng(), 2)).shape == (2, len(known.groups))


# -- out of reach ---------------------------------------------------------------------------------------------


@goals
def test_where_nothing_is_left_to_ask_a_remedy_is_named(goal):
    """Nothing is out of reach while an item is left or pending: what labels will say is not known."""
    exhausted = learned([3, 3], [3, 3], [0, 0])
    assert (
        explain_exhausted_goal(goal, exhausted) == f"nothing is left to ask, and the goal is not settled: {goal.remedy}"
    )
    assert explain_exhausted_goal(goal, learned([3, 3], [3, 3], [0, 1])) is None
    assert explain_exhausted_goal(goal, pending(exhausted, 0, 1)) is None


# -- a goal of one's own --------------------------------------------------------------------------------------


def test_a_goal_of_ones_own_is_described_by_its_answer():
    assert isinstance(Near(), Goal)
    found = describe(Near(), learned(*PARTED), rng())
    assert (found.settled, found.sentence) == (False, "near is not settled yet")
    assert [row["group"] for row in found.details["groups"]] == ["0", "1", "2"]
    assert all(0 <= row["low"] <= row["mean"] <= row["high"] for row in found.details["groups"])
    assert describe(Near(), learned([900], [1], [0]), rng()).sentence == "near is settled"


def test_a_goal_of_ones_own_without_a_remedy_is_asked_to_aim_for_less():
    assert get_remedy(Near()) == "aim for less"


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES)
def test_a_goal_of_ones_own_works_with_every_policy(policy):
    (group,) = policy(rng(), AcquisitionView(learned(*PARTED), Near().gain))
    assert group in range(3)


@pytest.mark.parametrize("policy", ["thompson", "top-two", "multi-play", "epsilon-greedy", "upper-bound"])
def test_policies_that_look_at_worth_follow_a_goal_of_ones_own(policy):
    """The second group is surely the nearest: others are 0.3 off, some ten standard deviations."""
    prospect = AcquisitionView(learned([500, 800, 10], [500, 200, 990], [9, 9, 9]), Near().gain)
    chosen = [POLICIES[policy](rng(seed), prospect)[0] for seed in range(24)]
    assert chosen.count(1) >= (5 if policy == "top-two" else 16)  # fewer of Binomial(24, ½) or (24, 0.93) once in 1,000


# -- refusals -------------------------------------------------------------------------------------------------

NAN = float("nan")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        *[(lambda w=w: Estimate(width=w), f"goal estimate: a width of {w} cannot be reached") for w in (0.0, -0.1, NAN)],
        *[(lambda c=c: FindWorst(confidence=c), f"goal find-worst: confidence is {c}") for c in (0.0, 1.0, 1.5, NAN)],
        *[(lambda c=c: Compare("a", "b", confidence=c), f"goal compare: confidence is {c}") for c in (0.0, 1.0, NAN)],
        *[(lambda r=r: Compare("a", "b", rope=r), f"goal compare: rope is {r}") for r in (-0.1, NAN)],
        *[(lambda r=r: FindWorst(rope=r), f"goal find-worst: rope is {r}") for r in (-0.1, NAN)],
        (lambda: FindBest(m=0), "goal find-best: m is 0; at least one group is sought"),
        (lambda: FindBest(confidence=2.0), "goal find-best: confidence is 2.0; it must lie between 0 and 1"),
        (lambda: Compare("a", "a"), "goal compare: 'a' cannot be compared with itself; name two groups"),
    ],
)  # fmt: skip
def test_a_goal_that_makes_no_sense_is_refused(make, says):
    with pytest.raises(InputError, match=says):
        make()


@pytest.mark.parametrize("groups", [("a", "bb"), ("bb", "a")])
@pytest.mark.parametrize(
    "ask",
    [
        lambda goal, known: goal.gain(known, known.expect()),
        lambda goal, known: goal.answer(known, rng()),
        lambda goal, known: goal.settled(known, rng()),
        lambda goal, known: goal.describe(known, rng()),
    ],
)
def test_a_group_that_is_not_there_is_refused(ask, groups):
    with pytest.raises(InputError, match="goal compare: there is no group 'bb'; did you mean 'b'?"):
        ask(Compare(*groups), known_pool())
