"""Items to arms: chances against brute force, derivatives against differences, and what is learned against what made the data."""

from itertools import product

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax, softmax

from fewlabels.errors import InputError
from fewlabels.models.membership import arms as arms_room
from fewlabels.models.membership import terms as terms_room
from fewlabels.models.membership.arms import Arms, list_arms
from fewlabels.models.membership.attribution import Attribution
from fewlabels.models.membership.fit import fit_membership
from fewlabels.models.membership.fractional_counts import count_fractionally
from fewlabels.models.membership.joint_distribution import Joint, _ItemLikelihoods, estimate_joint
from fewlabels.models.membership.potential import GoldItems, learn_jointly
from fewlabels.models.membership.scores import center_log_scores
from fewlabels.models.membership.temperature_scaling import _log_posterior, calibrate
from fewlabels.models.membership.terms import Terms, choose_pairs, contrast

NONE = np.zeros((0, 2), dtype=np.int64), np.zeros(0, dtype=np.int64)


def list_grid(sizes):
    return np.array(list(product(*map(range, sizes))))


def make_items(seed=0, n=4000, sizes=(2, 2, 3, 2), coupling=0.8, over=2.5, together=0.0):
    """Attributes that go together, and classifiers that are noisy and too sure; `together` is noise that all share."""
    rng = np.random.default_rng(seed)
    grid = list_grid(sizes)
    height = sum(coupling * (grid[:, k] == 0) * (grid[:, k + 1] == 0) * (-1) ** k * 2 for k in range(len(sizes) - 1))
    truth = grid[rng.choice(len(grid), size=n, p=softmax(height))]
    shared, scores = rng.normal(size=(n, 1)), []
    for k, size in enumerate(sizes):
        noise = np.sqrt(1 - together) * rng.normal(size=(n, size))
        noise += np.sqrt(together) * shared * (np.arange(size) == 0) * 1.5
        sign = 1.3 * (truth[:, [k]] == np.arange(size)) + noise
        share = np.bincount(truth[:, k], minlength=size) / n
        scores.append(softmax(over * (1.3 * sign + np.log(share)), axis=1))
    return tuple(scores), truth, height


def learn(items, method, n=400, seed=0):
    scores, truth, _ = items
    return fit_membership(scores, truth[:n], np.arange(n), method=method, seed=seed)


def take(scores, rows):
    return tuple(score[rows] for score in scores)


def locate(found, truth):
    return found.considered.find(truth)


def lose(found, scores, truth):
    """Log loss of the arms that are true."""
    chance = found.assign(scores).toarray()[np.arange(len(truth)), locate(found, truth)]
    return -np.log(np.maximum(chance, 1e-4)).mean()


def miscalibrate(found, scores, truth):
    """Between what chances of every arm say and how often it is so: classwise calibration error."""
    chance = found.assign(scores).toarray()
    true = np.zeros(chance.shape)
    true[np.arange(len(truth)), locate(found, truth)] = 1.0
    spot = np.digitize(chance, [0.1, 0.3, 0.5, 0.7, 0.9]) + 6 * np.arange(chance.shape[1])
    spot = spot.reshape(-1)
    return np.abs(np.bincount(spot, weights=(chance - true).reshape(-1))).sum() / len(truth)


# --- chances of arms


def test_chances_are_those_of_the_formula():
    rng, sizes = np.random.default_rng(1), (2, 3, 2)
    scores = tuple(rng.dirichlet(np.ones(size), size=5) for size in sizes)
    grid, warm, potential = list_grid(sizes), np.array([0.5, 1.0, 0.8]), rng.normal(size=12)
    found = Attribution(Arms(grid, sizes), warm, potential, {}).assign(scores).toarray()
    for i in range(5):
        weight = [
            np.prod([scores[k][i, v] ** warm[k] for k, v in enumerate(arm)]) * np.exp(potential[a])
            for a, arm in enumerate(grid)
        ]
        expected = np.array(weight) / np.sum(weight)
        likely = expected > 0.002
        assert found[i][likely] == pytest.approx(expected[likely], rel=0.01)
        assert found[i].sum() == pytest.approx(1.0)


def test_raw_is_the_product_of_what_classifiers_say():
    scores, truth, _ = make_items(n=50)
    found = fit_membership(scores, truth[:5], np.arange(5), method="raw")
    one = np.einsum("a,b,c,d->abcd", *(score[7] for score in scores)).reshape(-1)
    assert found.assign(scores).toarray()[7] == pytest.approx(one, abs=0.0025)
    assert (found.temperatures == 1).all()
    assert (found.potential == 0).all()


@pytest.mark.parametrize("method", ["raw", "temperature", "full"])
def test_every_item_is_one_item(method):
    items = make_items(n=600)
    chance = learn(items, method, n=100).assign(items[0])
    assert chance.sum(axis=1) == pytest.approx(np.ones(600), abs=1e-5)
    assert chance.data.min() > 0


def test_items_with_known_attributes_are_all_of_their_arm():
    scores, truth, _ = make_items(n=300)
    found = learn((scores, truth, None), "full", n=100)
    rows = np.array([5, 250, 17])
    chance = found.assign(scores, truth[rows], rows)
    assert (found.arms[chance[rows].toarray().argmax(axis=1)] == truth[rows]).all()
    assert chance[rows].nnz == 3
    assert (chance[rows].data == 1).all()
    others = np.setdiff1d(np.arange(300), rows)
    assert (chance[others] != found.assign(scores)[others]).nnz == 0


def test_arms_that_are_dropped_do_not_make_rare_arms_rarer():
    rng, n = np.random.default_rng(0), 400
    scores = tuple(np.stack([p, 1 - p], axis=1) for p in rng.beta(4, 1.5, size=(10, n)))
    found = fit_membership(scores, np.zeros((0, 10), dtype=np.int64), NONE[1], method="raw")
    chance = found.assign(scores)
    exact = found._probabilities(center_log_scores(scores)).sum(axis=0)
    counted = chance.sum(axis=0)
    assert chance.nnz < 0.4 * n * 1024
    rare = exact < np.quantile(exact, 0.3)
    assert counted[rare].sum() == pytest.approx(exact[rare].sum(), rel=0.1)
    # Beyond the lot, rows add up to within a cut of one, and are made to add up exactly
    assert np.abs(counted - exact).max() < 6 * np.sqrt(0.002 * exact.max()) + 0.002 * exact.max()


# --- derivatives


def unpack(evaluation):
    return evaluation.value, evaluation.gradient, getattr(evaluation, "hessian", None)


def check_gradient(evaluate, at, step=1e-5, rel=1e-4):
    """Slope against differences of values, bend against differences of slopes."""
    evaluation = evaluate(at)
    for i in range(len(at)):
        ahead, behind = (evaluate(at + sign * step * np.eye(len(at))[i]) for sign in (1, -1))
        assert evaluation[1][i] == pytest.approx((ahead[0] - behind[0]) / (2 * step), rel=rel, abs=1e-3)
        if len(evaluation) > 2:
            assert evaluation[2][i] == pytest.approx(-(ahead[1] - behind[1]) / (2 * step), rel=rel, abs=1e-3)


def make_gold(n=30, sizes=(2, 3, 1, 2), seed=3):
    rng = np.random.default_rng(seed)
    evidence = center_log_scores(tuple(rng.dirichlet(np.ones(size), size=n) for size in sizes))
    arms = Arms(list_grid(sizes), sizes)
    terms = Terms(arms, choose_pairs(sizes, np.zeros((1, len(sizes)), dtype=np.int64)))
    given = Joint(rng.normal(size=terms.design.shape[1]), rng.normal(size=len(arms)))
    return GoldItems(evidence, rng.integers(0, len(arms), size=n), terms, given), rng


def test_derivatives_for_known_attributes(monkeypatch):
    monkeypatch.setattr("fewlabels.models.membership.potential.ENTRIES", 100)  # several blocks
    gold, rng = make_gold()
    at = rng.normal(0.5, 0.5, size=4 + gold.design.shape[1])
    check_gradient(lambda at: unpack(gold.evaluate(at)), at)


def test_derivatives_for_one_classifier():
    rng = np.random.default_rng(2)
    design, known = rng.normal(size=(20, 3, 4)), rng.integers(0, 3, size=20)
    centre, spread = rng.normal(size=4), np.array([0.5, 1, 1, 2])
    check_gradient(lambda at: _log_posterior(design, known, at, centre, spread), rng.normal(size=4))


def test_slope_for_all_items():
    rng, sizes = np.random.default_rng(4), (2, 3, 2)
    terms = Terms(Arms(list_grid(sizes), sizes), ((0, 1), (1, 2)))
    likelihoods = _ItemLikelihoods(rng.random((40, 12)), terms)
    at = rng.normal(size=terms.design.shape[1])
    check_gradient(lambda at: unpack(likelihoods.evaluate(at))[:2], at, step=1e-2, rel=1e-2)


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_contrasts_treat_values_alike(size):
    code = contrast(size)
    expected = (size * np.eye(size) - 1) / max(size - 1, 1)
    assert code @ code.T == pytest.approx(expected if size > 1 else np.zeros((1, 1)))
    assert code.sum(axis=0) == pytest.approx(np.zeros(size - 1))


def test_terms_express_values_of_single_attributes():
    rng, sizes = np.random.default_rng(0), (3, 2)
    terms = Terms(Arms(list_grid(sizes), sizes), ((0, 1),))
    values = tuple(rng.normal(size=(4, size)) for size in sizes)
    height = terms.project_values(values) @ terms.design[:, : terms.n_single].T
    expected = values[0][:, terms.arms.table[:, 0]] + values[1][:, terms.arms.table[:, 1]]
    assert np.ptp(height - expected, axis=1) == pytest.approx(np.zeros(4))


# --- what is learned


def test_temperatures_are_found():
    rng, n, warm = np.random.default_rng(0), 3000, np.array([0.3, 0.6, 1.0])
    scores, truth = [], []
    for k, size in enumerate((2, 4, 3)):
        honest = rng.normal(0, 1.5, size=(n, size))
        truth.append((softmax(honest, axis=1).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1))
        scores.append(softmax(honest / warm[k], axis=1))
    items = tuple(scores), np.stack(truth, axis=1), None
    for method in ("temperature", "full"):
        assert learn(items, method, n=2000).temperatures == pytest.approx(warm, rel=0.12)


def test_potential_is_found_where_attributes_go_together():
    items = make_items(n=12_000, sizes=(2, 2, 2, 2))
    found = learn(items, "full", n=500)
    for pair, table in found.pairs.items():
        odds = table[0, 0] + table[1, 1] - table[0, 1] - table[1, 0]  # log odds ratio
        made = 1.6 * (-1) ** pair[0] if pair[1] == pair[0] + 1 else 0.0
        assert odds == pytest.approx(made, abs=0.45)


def test_all_items_tell_how_attributes_go_together_although_classifiers_err():
    """Predictions hang together less than attributes; the errors are undone."""
    scores, truth, height = make_items(n=12_000, sizes=(2, 2, 2, 2))
    evidence = center_log_scores(scores)
    scales, _ = calibrate(take(evidence, slice(2000)), truth[:2000], biased=True)
    calibrated = [scale.apply(log) for scale, log in zip(scales, evidence, strict=True)]
    signs = tuple(np.log(chance) - np.log(chance.mean(axis=0)) for chance in calibrated)
    terms = Terms(Arms(list_grid((2,) * 4), (2,) * 4), choose_pairs((2,) * 4, truth))
    found = softmax(terms.design @ estimate_joint(np.random.default_rng(0), signs, terms).weights)
    guesses = np.stack([score.argmax(axis=1) for score in scores], axis=1)
    guessed = np.bincount(terms.arms.find(guesses), minlength=16) / len(guesses)
    wrong, wronger = (np.abs(share - softmax(height)).sum() for share in (found, guessed))
    assert wrong < 0.1
    assert wrong < wronger / 2


def test_more_calibration_is_better_calibrated():
    """Three pools, 2,000 items that nothing was learned from each: loss and calibration error fall with every step."""
    losses, gaps = [], []
    for seed in range(3):
        items = make_items(seed, n=6000, sizes=(2, 2, 3, 2, 2), coupling=1.2)
        scores, truth = take(items[0], slice(4000, None)), items[1][4000:]
        found = [learn(items, method, n=400) for method in ("raw", "temperature", "full")]
        losses.append([lose(one, scores, truth) for one in found])
        gaps.append([miscalibrate(one, scores, truth) for one in found])
    for raw, temperature, full in (np.mean(losses, axis=0), np.mean(gaps, axis=0)):
        assert raw > 1.2 * temperature
        assert temperature > 1.1 * full


def test_with_few_known_attributes_classifiers_lean_on_each_other():
    losses = []
    for seed in range(4):
        items = make_items(seed, n=3000, sizes=(2,) * 6)
        rest = take(items[0], slice(1000, None)), items[1][1000:]
        losses.append([lose(learn(items, method, n=15), *rest) for method in ("raw", "temperature", "full")])
    raw, temperature, full = np.mean(losses, axis=0)
    assert raw > 1.2 * temperature
    assert full < temperature + 0.05


def test_errors_that_go_together_are_not_taken_for_attributes_that_do():
    """All items say that attributes go together, wrongly; known attributes overrule them."""
    items = make_items(n=6000, sizes=(2,) * 5, coupling=0.0, together=0.7)
    rest = take(items[0], slice(4000, None)), items[1][4000:]
    scores, truth, _ = items
    evidence = center_log_scores(scores)
    alone, common = calibrate(take(evidence, slice(500)), truth[:500], biased=True)
    calibrated = [scale.apply(log) for scale, log in zip(alone, evidence, strict=True)]
    signs = tuple(np.log(chance) - np.log(chance.mean(axis=0)) for chance in calibrated)
    terms = Terms(Arms(list_grid((2,) * 5), (2,) * 5), choose_pairs((2,) * 5, truth))
    given = estimate_joint(np.random.default_rng(0), signs, terms)
    gold = GoldItems(take(evidence, slice(500)), terms.arms.find(truth[:500]), terms, given)
    assert learn_jointly(gold, np.array([scale.temperature for scale in alone]), common).trust[0] < 0.5
    assert lose(learn(items, "full", n=500), *rest) < lose(learn(items, "temperature", n=500), *rest) + 0.02


def test_structure_beyond_pairs_is_heard_if_items_bear_it_out():
    """The third attribute is whether the first two differ: no pair goes together, all three do."""
    rng, n = np.random.default_rng(0), 8000
    truth = rng.integers(0, 2, size=(n, 3))
    truth[:, 2] = np.where(rng.random(n) < 0.95, truth[:, 0] ^ truth[:, 1], truth[:, 2])
    logits = 2.5 * (truth * 2 - 1) * 1.0 + rng.normal(0, 1.6, size=(n, 3))
    scores = tuple(np.stack([1 - p, p], axis=1) for p in expit(2 * logits).T)
    rest = take(scores, slice(4000, None)), truth[4000:]
    full, temperature = (learn((scores, truth, None), method, n=200) for method in ("full", "temperature"))
    assert all(np.abs(table).max() < 0.25 for table in full.pairs.values())
    assert lose(full, *rest) < 0.85 * lose(temperature, *rest)


def test_the_same_seed_gives_the_same():
    items = make_items(n=500)
    one, other = (learn(items, "full", n=60, seed=3) for _ in range(2))
    assert (one.potential == other.potential).all()
    assert (one.assign(items[0]) != other.assign(items[0])).nnz == 0


# --- many arms


def make_many(n=1500, n_axes=14):
    rng = np.random.default_rng(0)
    truth = (rng.normal(size=(n, 2)) @ rng.normal(size=(2, n_axes)) + rng.normal(0, 0.5, size=(n, n_axes)) > 0).astype(
        int
    )
    logits = 4 * (truth * 2 - 1) + rng.normal(0, 2, size=(n, n_axes))
    return tuple(np.stack([1 - p, p], axis=1) for p in expit(logits).T), truth


def test_of_very_many_combinations_those_that_items_have_are_considered():
    scores, truth = make_many()
    found = fit_membership(scores, truth[:50], np.arange(50), method="full")
    assert len(found.arms) < 1500 < 2**14
    assert len(np.unique(found.arms, axis=0)) == len(found.arms)
    assert "of 16,384 combinations" in found.warnings[0]
    chance = found.assign(scores, truth[:50], np.arange(50))
    assert (found.arms[chance[:50].toarray().argmax(axis=1)] == truth[:50]).all()
    strange = 1 - found.arms[:1]
    while (found.arms == strange).all(axis=1).any():
        strange = np.random.default_rng(0).integers(0, 2, size=(1, 14))
    with pytest.raises(InputError, match="not among the .* arms of this model"):
        found.assign(scores, strange, np.array([3]))


def test_most_probable_arms_and_known_ones_are_kept(monkeypatch):
    monkeypatch.setattr(arms_room, "MOST_ARMS", 3)
    guesses = np.array([[0, 0], [0, 0], [1, 1], [1, 1], [1, 0], [0, 1]])
    table = list_arms((2, 2), guesses, np.array([[0, 1]])).table.tolist()
    assert sorted(table) == [[0, 0], [0, 1], [1, 1]]


def test_combinations_of_more_attributes_than_a_number_can_hold():
    rng = np.random.default_rng(0)
    table = np.unique(rng.integers(0, 3, size=(200, 70)), axis=0)
    arms = Arms(table, (3,) * 70)
    order = rng.permutation(len(table))
    assert (arms.find(table[order]) == order).all()


def test_of_very_many_pairs_those_that_hang_together_are_considered(monkeypatch):
    monkeypatch.setattr(terms_room, "MOST_TERMS", 3)
    items = make_items(n=3000, sizes=(2, 2, 2, 2), coupling=1.2)
    found = learn(items, "full")
    assert set(found.pairs) == {(0, 1), (1, 2), (2, 3)}
    assert "of 6 pairs" in found.warnings[0]
    scores, truth = take(items[0], slice(1000, None)), items[1][1000:]
    assert lose(found, scores, truth) < lose(learn(items, "temperature"), scores, truth)


# --- counts


def test_counts_are_sums_of_fractions():
    items = make_items(n=200)
    chance = learn(items, "full", n=50).assign(items[0])
    outcomes = np.where(np.arange(200) < 80, np.arange(200) % 3 > 0, np.nan)
    counts = count_fractionally(chance, outcomes)
    dense = chance.toarray()
    assert counts.n_items == pytest.approx(dense.sum(axis=0), rel=1e-5)
    assert counts.n_labels == pytest.approx(dense[:80].sum(axis=0), rel=1e-5)
    assert counts.right == pytest.approx(outcomes[:80] @ dense[:80], rel=1e-5)
    assert counts.n_items.sum() == pytest.approx(200)


@pytest.mark.parametrize(
    ("outcomes", "words"),
    [
        (np.array([1.0]), "1 outcomes for 2 items"),
        (np.array([1.0, 2.0]), "outcome 2 is 2; give 1 for right"),
        (np.array([-0.5, 1.0]), "outcome 1 is -0.5"),
    ],
)
def test_strange_outcomes_are_explained(outcomes, words):
    with pytest.raises(InputError, match=words):
        count_fractionally(csr_array(np.eye(2)), outcomes)


# --- what may be given


SOUND = np.array([[0.5, 0.5], [0.9, 0.1], [0.2, 0.8]])


def spoil(row, values):
    spoilt = SOUND.copy()
    spoilt[row] = values
    return spoilt


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        ((), "there are no attributes"),
        ((np.zeros((0, 2)),), "there are no items"),
        ((SOUND, SOUND[:2]), "different numbers of items \\(3, 2\\)"),
        ((SOUND, np.zeros((3, 0))), "attribute 2 has no values"),
        ((SOUND, spoil(1, [0.6, 0.6])), "attribute 2, row 2: the probabilities add up to 1.2, not 1"),
        ((SOUND, spoil(2, [1.2, -0.2])), "attribute 2, row 3: a probability is negative"),
        ((spoil(0, [np.nan, 0.5]), SOUND), "attribute 1, row 1: a probability is missing or NaN"),
        ((spoil(2, [np.inf, 0.5]), SOUND), "attribute 1, row 3: a probability is missing or NaN"),
    ],
)
def test_strange_probabilities_are_explained(scores, words):
    with pytest.raises(InputError, match=words):
        fit_membership(scores, np.zeros((0, len(scores)), dtype=np.int64), NONE[1], method="raw")


@pytest.mark.parametrize(
    ("gold", "rows", "words"),
    [
        ([[0, 0, 0]], [0], "a table of 1 by 3, but there are 1 rows and 2 attributes"),
        ([[0, 1], [0, 2]], [0, 1], "row 2: attribute 2 is 2, but its values are 0 to 1"),
        ([[0, -1]], [0], "row 1: attribute 2 is -1"),
        ([[0, 1]], [3], "refer to item 3, but items are 0 to 2"),
        ([[0, 1], [1, 1]], [2, 2], "attributes of item 2 are given more than once"),
    ],
)
def test_strange_known_attributes_are_explained(gold, rows, words):
    with pytest.raises(InputError, match=words):
        fit_membership((SOUND, SOUND), np.array(gold), np.array(rows), method="full")


def test_other_attributes_than_learned_are_explained():
    found = fit_membership((SOUND, SOUND), *NONE, method="raw")
    with pytest.raises(InputError, match="give the same attributes"):
        found.assign((SOUND,))


def test_rounding_is_put_right():
    rounded = SOUND * 1.01
    found = fit_membership((rounded, rounded), *NONE, method="raw")
    assert found.assign((rounded, rounded)).toarray() == pytest.approx(found.assign((SOUND, SOUND)).toarray(), abs=1e-6)


@pytest.mark.parametrize("method", ["temperature", "full"])
def test_classifiers_that_are_always_certain_are_believed_as_far_as_they_are_right(method):
    rng, n = np.random.default_rng(0), 2000
    truth = rng.integers(0, 2, size=(n, 2))
    said = np.where(rng.random((n, 2)) < 0.8, truth, 1 - truth)
    scores = tuple(np.eye(2)[column] for column in said.T)
    found = learn((scores, truth, None), method, n=500)
    chance = found.assign(scores).toarray().reshape(n, 2, 2)
    assert chance.sum(axis=2)[np.arange(n), said[:, 0]] == pytest.approx(np.full(n, 0.8), abs=0.05)


@pytest.mark.parametrize("method", ["raw", "temperature", "full"])
@pytest.mark.parametrize("n_gold", [0, 1, 40])
@pytest.mark.parametrize("sizes", [(1, 2, 3), (2,), (1,), (1, 1)])
def test_few_attributes_of_few_values(sizes, n_gold, method):
    rng = np.random.default_rng(0)
    scores = tuple(rng.dirichlet(np.ones(size), size=60) for size in sizes)
    gold = np.zeros((n_gold, len(sizes)), dtype=np.int64)  # of one value only
    found = fit_membership(scores, gold, np.arange(n_gold), method=method)
    chance = found.assign(scores, gold, np.arange(n_gold))
    assert np.isfinite(found.potential).all()
    assert chance.sum(axis=1) == pytest.approx(np.ones(60), abs=1e-5)
    assert bool(found.warnings) == (n_gold == 0 and method != "raw")


def test_without_known_attributes_classifiers_are_taken_at_their_word():
    scores, truth, _ = make_items(n=3000, over=1.0, coupling=1.2)
    none = np.zeros((0, 4), dtype=np.int64), np.zeros(0, dtype=np.int64)
    raw, temperature, full = (fit_membership(scores, *none, method=m) for m in ("raw", "temperature", "full"))
    assert temperature.temperatures == pytest.approx(raw.temperatures)
    assert full.temperatures == pytest.approx(raw.temperatures)
    assert "add the attributes of some items" in full.warnings[0]
    assert lose(full, scores, truth) < lose(raw, scores, truth)


def test_a_classifier_that_knows_nothing_is_not_listened_to():
    rng = np.random.default_rng(0)
    scores, truth, _ = make_items(n=3000, sizes=(2, 2))
    junk = softmax(rng.normal(0, 3, size=(3000, 2)), axis=1)
    found = learn(((junk, scores[1]), truth, None), "full", n=500)
    assert abs(found.temperatures[0]) < 0.1
    assert found.temperatures[1] > 0.2


def test_evidence_is_centred_and_bounded():
    (log,) = center_log_scores((np.array([[1.0, 0.0, 0.0], [0.2, 0.3, 0.5]]),))
    assert log.sum(axis=1) == pytest.approx(np.zeros(2))
    assert np.ptp(log[0]) == pytest.approx(np.log(1e6))
    assert log_softmax(log[1]) == pytest.approx(np.log([0.2, 0.3, 0.5]))
