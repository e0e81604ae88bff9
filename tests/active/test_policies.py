from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from makers import PRICE, learned, make_tally, of
from scipy import stats
from scipy.integrate import quad

import fewlabels as fl
from fewlabels.active import policies
from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.comparison import Compare
from fewlabels.active.goals.estimation import Estimate, Explore, LeastCertain
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.active.policies import (
    POLICIES,
    EpsilonGreedy,
    MultiPlay,
    Random,
    Stratified,
    Thompson,
    TopTwo,
    UpperBound,
    choose_policy,
    name_policy,
)
from fewlabels.errors import InputError
from fewlabels.models.inference import infer


def rng(seed=0):
    return np.random.default_rng(seed)


def last_open(rng, prospect):
    """The smallest policy there can be."""
    return [int(np.nonzero(prospect.is_open)[0][-1])]


# -- the contract ---------------------------------------------------------------------------------------------

EVERY_POLICY = {**POLICIES, "a plain function": last_open}
KINDS = {
    "accuracy": (fl.accuracy, "g"),
    "ece": (fl.ece, "g"),
    "confusion": (fl.confusion, "predicted"),
    "cost": (PRICE, "g"),
    "recall": (fl.recall, "g"),
    "f1": (fl.f1, "predicted"),
}
GOALS = {
    "estimate": Estimate,
    "explore": Explore,
    "least-certain": LeastCertain,
    "find-worst": FindWorst,
    "find-best-2": partial(FindBest, m=2),
    "compare": partial(Compare, "1", "0"),
}
CONCERNED = {"compare": {0, 1}}  # groups that matter to a goal, if not all


@pytest.mark.parametrize("policy", EVERY_POLICY.values(), ids=EVERY_POLICY)
@pytest.mark.parametrize("goal", GOALS)
@pytest.mark.parametrize(("metric", "by"), KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("prior", [fl.flat(), fl.from_scores()], ids=["flat", "scores"])
def test_a_policy_names_open_groups_as_many_as_are_sought_and_each_once(policy, goal, metric, by, prior, monkeypatch):
    """All groups open; then one of those chosen closed; then a single one open."""
    monkeypatch.setattr(policies, "N_DRAWS_QUANTILE", 50)
    aim, known = GOALS[goal](metric=metric), of(metric, by, prior)
    concerned = CONCERNED.get(goal, set(range(len(known.groups))))

    def choose_among(opened):
        left = np.where(np.isin(np.arange(len(known.groups)), list(opened)), known.left, 0)
        prospect = AcquisitionView(replace(known, left=left), aim.gain, getattr(aim, "m", 1))
        chosen = policy(rng(), prospect)
        assert 1 <= len(chosen) <= prospect.plays
        assert len(set(chosen)) == len(chosen)
        assert all(type(g) is int for g in chosen)
        assert set(chosen) <= opened & concerned
        assert list(policy(rng(), prospect)) == list(chosen)  # the same rng, the same choice
        return chosen

    favourite = choose_among(set(range(len(known.groups))))[0]
    choose_among(set(range(len(known.groups))) - {favourite})
    assert list(choose_among({favourite})) == [favourite]


@pytest.mark.parametrize("policy", ["thompson", "top-two", "upper-bound"])
def test_a_rate_of_nothing_does_not_stop_a_policy(policy):
    """A model sure that a group has no positives: in most draws it has none, and no true positive rate."""
    counts = make_tally(group=[0, 1], predicted=[0, 1], label=[-1, -1], n_items=[3, 3], n_labels=[0, 0], score=[3, 3])
    known = infer(counts, fl.tpr, fl.from_scores())
    assert POLICIES[policy](rng(), AcquisitionView(known, FindWorst(fl.tpr).gain))[0] in (0, 1)


# -- how often each group is chosen ---------------------------------------------------------------------------

TIMES = 1000


def assert_frequencies(chosen, expected):
    """Chi-square; called different by chance once in 100,000. What cannot happen does not."""
    expected = np.asarray(expected, float)
    seen = np.bincount(chosen, minlength=len(expected))
    assert not seen[expected == 0].any()
    if (expected > 0).sum() == 1:
        return
    assert stats.chisquare(seen[expected > 0], expected[expected > 0] * len(chosen)).pvalue > 1e-5


def choose(policy, prospect, seed=0, times=TIMES):
    """One after the other from one rng."""
    source = rng(seed)
    return np.array([policy(source, prospect) for _ in range(times)])


def lowest(known, truth):
    """Find the worst, of groups that are single cells."""
    return -truth


def worst(right, wrong, m=1):
    """Which of some Betas is lowest?"""
    return AcquisitionView(learned(right, wrong, np.full(len(right), 9)), lowest, m)


def chance_of_extreme(right, wrong, end="lowest"):
    """P(each of some Betas is the lowest, or the highest), by quadrature."""
    betas = [stats.beta(a + 1, b + 1) for a, b in zip(right, wrong, strict=True)]
    beyond = (lambda b, x: b.sf(x)) if end == "lowest" else (lambda b, x: b.cdf(x))
    return np.array([
        quad(lambda x, i=i: betas[i].pdf(x) * np.prod([beyond(b, x) for b in betas if b is not betas[i]]), 0, 1)[0]
        for i in range(len(betas))
    ])  # fmt: skip


def test_random_chooses_groups_in_proportion_to_what_is_left_of_them():
    prospect = AcquisitionView(learned([50, 0, 20, 1], [0, 0, 0, 1], [10, 30, 0, 60]), lowest)
    assert_frequencies(choose(Random(), prospect)[:, 0], [0.1, 0.3, 0, 0.6])


def test_random_sees_only_what_the_goal_is_about():
    prospect = AcquisitionView(learned([1, 1, 1], [0, 0, 0], [10, 30, 60]), Compare("0", "2").gain)
    assert_frequencies(choose(Random(), prospect, times=300)[:, 0], [1 / 7, 0, 6 / 7])


def test_thompson_chooses_a_group_as_often_as_it_is_the_worst():
    """P(U < V) for U ~ Beta(1, 1) and V ~ Beta(2, 1) is 2 / 3; for three groups, an integral."""
    prospect = AcquisitionView(learned([0, 1], [0, 0], [9, 9]), FindWorst().gain)
    assert_frequencies(choose(Thompson(), prospect)[:, 0], [2 / 3, 1 / 3])
    three = ([3, 5, 8], [2, 4, 2])
    assert_frequencies(choose(Thompson(), worst(*three))[:, 0], chance_of_extreme(*three))


def test_thompson_chooses_a_group_as_often_as_it_is_the_best():
    prospect = AcquisitionView(learned([0, 1], [0, 0], [9, 9]), FindBest().gain)
    assert_frequencies(choose(Thompson(), prospect)[:, 0], [1 / 3, 2 / 3])


@pytest.mark.parametrize("chance", [0.3, 0.5, 1.0])
def test_top_two_follows_russos_formula(chance):
    """P(i) = (1 − c) a_i + c Σ_j≠i a_j a_i / (1 − a_j), a_i being the chance that i is the worst; c is his 1 − β."""
    groups = ([3, 5, 8], [2, 4, 2])
    a = chance_of_extreme(*groups)
    rival = [sum(a[j] * a[i] / (1 - a[j]) for j in range(3) if j != i) for i in range(3)]
    chosen = choose(TopTwo(chance), worst(*groups))[:, 0]
    assert_frequencies(chosen, (1 - chance) * a + chance * np.array(rival))


def test_top_two_that_is_too_sure_takes_the_second_of_a_draw():
    prospect = worst([10, 500, 990], [990, 500, 10])
    assert set(choose(TopTwo(1.0), prospect, times=5)[:, 0]) == {1}
    assert set(choose(TopTwo(0.0), prospect, times=5)[:, 0]) == {0}


@pytest.mark.parametrize("m", [2, 3])
def test_multi_play_names_the_m_best_of_a_draw_in_a_fair_order(m):
    groups = ([1, 5, 8, 90], [7, 4, 2, 1])
    chosen = choose(MultiPlay(), worst(*groups, m=m))
    assert chosen.shape == (TIMES, m)
    assert all(len(set(row)) == m for row in chosen.tolist())
    place = np.argsort(np.argsort(chosen, axis=1), axis=1)[:, 0]  # of the first named, among the named
    assert_frequencies(place, np.full(m, 1 / m))


def test_multi_play_names_a_pair_as_often_as_the_third_is_the_best():
    groups = ([3, 5, 8], [2, 4, 2])
    left_out = 3 - choose(MultiPlay(), worst(*groups, m=2)).sum(axis=1)
    assert_frequencies(left_out, chance_of_extreme(*groups, end="highest"))


@pytest.mark.parametrize(("open_groups", "n"), [([0, 1, 2], 2), ([0, 2], 2), ([1], 1)])
def test_multi_play_names_fewer_where_fewer_are_open(open_groups, n):
    known = learned([3, 5, 8], [2, 4, 2], [9 * (g in open_groups) for g in range(3)])
    chosen = MultiPlay()(rng(), AcquisitionView(known, lowest, 2))
    assert len(chosen) == n
    assert set(chosen) <= set(open_groups)


@pytest.mark.parametrize("chance", [0.0, 0.1, 1.0])
def test_epsilon_greedy_is_mostly_greedy(chance):
    prospect = AcquisitionView(learned([3, 5, 8, 0], [2, 4, 2, 9], [9, 9, 9, 0]), lowest)  # the worst is closed
    chosen = choose(EpsilonGreedy(chance), prospect)[:, 0]
    assert_frequencies(chosen, [chance / 3, 1 - chance + chance / 3, chance / 3, 0])


@pytest.mark.parametrize(("goal", "quantile", "best"), [(FindBest, 0.975, 1), (FindBest, 0.5, 0), (FindWorst, 0.975, 1), (FindWorst, 0.025, 2)])  # fmt: skip
def test_an_upper_bound_is_a_quantile_of_what_a_label_may_be_worth(goal, quantile, best):
    """Beta(60, 42), Beta(2, 3) and Beta(42, 60); far apart for the error of 1,000 draws."""
    known = learned([59, 1, 41], [41, 2, 59], [9, 9, 9])
    betas = [stats.beta(60, 42), stats.beta(2, 3), stats.beta(42, 60)]
    bound = [b.ppf(quantile) if goal is FindBest else -b.ppf(1 - quantile) for b in betas]
    assert np.argmax(bound) == best
    assert set(choose(UpperBound(quantile), AcquisitionView(known, goal().gain), times=20)[:, 0]) == {best}


# -- stratified: quotas ---------------------------------------------------------------------------------------

SIZES, SCORES = np.array([100, 200, 700]), np.array([0.5, 0.9, 0.99])
NEYMAN = SIZES * np.sqrt(SCORES * (1 - SCORES))  # size times spread, by hand


def strata(sizes=SIZES, start=(0, 0, 0)):
    """Groups whose means are all but known, so that spreads do not move as labels come in."""
    counts = make_tally(group=[0, 1, 2], n_items=sizes, n_labels=[0, 0, 0], score=sizes * SCORES)
    known = infer(counts, fl.accuracy, fl.from_scores(1e6))
    return replace(known, pending=np.array(start), left=np.subtract(sizes, start))


def ask(policy, known, n, matters=(True, True, True)):
    """Ask n times, answers pending; return how often in each group."""
    start = known.pending
    for seed in range(n):
        (g,) = policy(rng(seed), AcquisitionView(known, lambda known, truth: np.where(matters, truth, -np.inf)))
        one = np.eye(3, dtype=int)[g]
        known = replace(known, pending=known.pending + one, left=known.left - one)
    return known.pending - start


@pytest.mark.parametrize(("allocation", "weight"), [("proportional", SIZES), ("equal", np.ones(3)), ("neyman", NEYMAN)])
@pytest.mark.parametrize("n", [10, 90])
def test_stratified_reaches_its_quotas(allocation, weight, n):
    """To within the label that is asked for next."""
    assert np.all(np.abs(ask(Stratified(allocation), strata(), n) - n * weight / weight.sum()) <= 1)


def test_stratified_makes_up_for_what_was_labelled_before():
    assert ask(Stratified(), strata(start=(0, 20, 0)), 80).tolist() == [10, 0, 70]


def test_an_equal_share_goes_on_in_the_groups_that_are_left():
    assert ask(Stratified("equal"), strata(np.array([5, 300, 700])), 65).tolist() == [5, 30, 30]


@pytest.mark.parametrize("third", [1, 300])
def test_labels_in_a_group_the_goal_is_not_about_do_not_change_the_quotas(third):
    assert ask(Stratified(), strata(start=(0, 0, third)), 90, matters=(True, True, False)).tolist() == [30, 60, 0]


def test_an_emptied_group_leaves_the_others_their_proportions():
    """By size times spread 5 : 3 : 10; the first has been labelled to its last item, the others in proportion."""
    found = ask(Stratified("neyman"), strata(np.array([100, 100, 1000]), start=(100, 60, 200)), 130)
    assert np.all(np.abs(found - [0, 30, 100]) <= 1)


# -- ties -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "policy",
    [
        Stratified("equal"),
        Thompson(),
        TopTwo(),
        EpsilonGreedy(0.0),
        UpperBound(),
        MultiPlay(),
    ],
    ids=name_policy,
)
def test_of_groups_alike_any_is_chosen(policy):
    known = learned([0] * 4, [0] * 4, [9, 9, 0, 9])
    prospect = AcquisitionView(known, lambda known, truth: np.zeros((len(truth), 4)))
    assert_frequencies(choose(policy, prospect, times=400)[:, 0], [1 / 3, 1 / 3, 0, 1 / 3])


# -- names and refusals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_goes_by_its_name_on_the_command_line(name):
    assert name_policy(POLICIES[name]) == name


def test_a_plain_function_is_a_policy_and_goes_by_its_own_name():
    assert last_open(rng(), worst([0, 1], [0, 0])) == [1]
    assert name_policy(last_open) == "last_open"
    assert name_policy(partial(last_open)) == "partial"


@pytest.mark.parametrize(("plays", "name"), [(1, "thompson"), (2, "multi-play")])
def test_without_a_preference_as_many_groups_are_played_as_are_sought(plays, name):
    assert name_policy(choose_policy(plays)) == name


@pytest.mark.parametrize("chance", [-0.1, 1.1, float("nan")])
@pytest.mark.parametrize(("policy", "name"), [(TopTwo, "top-two"), (EpsilonGreedy, "epsilon-greedy"), (UpperBound, "upper-bound")])  # fmt: skip
def test_what_is_no_probability_is_refused(policy, name, chance):
    with pytest.raises(InputError, match=f"policy {name}: {chance} is no probability; it must lie between 0 and 1"):
        policy(chance)
