"""Synthetic pools and counts, and metrics counted by hand: what the tests compare with."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

import fewlabels as fl
from fewlabels.data.counts import NONE, CountTable
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.models.inference import infer

VANISHING = 1e-9  # the strength of a prior that says nothing


def drop_provenance(plain):
    """A result's JSON without when and how it was made."""
    return {name: value for name, value in plain.items() if name != "provenance"}


def beta(alpha, beta):
    """A Beta per group, groups called 0, 1, ..."""
    alpha, beta = np.atleast_1d(np.asarray(alpha, float)), np.atleast_1d(np.asarray(beta, float))
    return Beta(tuple(map(str, range(len(alpha)))), alpha, beta)


def dirichlet(*alpha):
    """A Dirichlet per group, groups called 0, 1, ..."""
    return Dirichlet(tuple(map(str, range(len(alpha)))), np.array(alpha, float))


def make_pool(seed, n=60, classes="abc", labelled=1.0, skill=0.6):
    """A pool with scores and two attributes; each prediction is right with chance `skill`."""
    rng = np.random.default_rng(seed)
    truth = rng.choice(list(classes), n)
    predicted = np.where(rng.random(n) < skill, truth, rng.choice(list(classes), n))
    known = rng.random(n) < labelled
    return {
        "id": list(range(n)),
        "predicted": predicted.tolist(),
        "score": np.round(rng.uniform(0.2, 1.0, n), 2).tolist(),
        "sex": rng.choice(["f", "m"], n).tolist(),
        "age": rng.choice([9, 10, 30], n).tolist(),
        "label": [t if k else None for t, k in zip(truth.tolist(), known, strict=True)],
    }


def make_models(seed=0, n=600, labelled=0.5, skills=(0.6, 0.9)):
    """Models of these accuracies on the same items; labels only in the first table."""
    rng = np.random.default_rng(seed)
    truth, known = rng.choice(list("abc"), n), rng.random(n) < labelled
    pools = {}
    for i, skill in enumerate(skills):
        predicted = np.where(rng.random(n) < skill, truth, rng.choice(list("abc"), n))
        pools[f"m{i}"] = {"id": np.arange(n), "predicted": predicted, "score": np.round(rng.uniform(0.4, 0.99, n), 2), "site": np.where(np.arange(n) % 2, "x", "y")}  # fmt: skip
    pools["m0"]["label"] = [t if k else None for t, k in zip(truth, known, strict=True)]
    return pools, truth


def outcome_pool(**groups):
    """A pool with a column `group`, from name=(right, wrong, unlabelled)."""
    rows = [
        (name, label)
        for name, (right, wrong, rest) in groups.items()
        for label, n in (("yes", right), ("no", wrong), (None, rest))
        for _ in range(n)
    ]
    return {
        "id": list(range(len(rows))),
        "group": [name for name, _ in rows],
        "predicted": ["yes"] * len(rows),
        "label": [label for _, label in rows],
    }


def take(pool, rows):
    """Some rows of a pool, in this order."""
    return {name: [values[i] for i in rows] for name, values in pool.items()}


def stack(one, other):
    """Two pools, one after the other."""
    return {name: [*one[name], *other[name]] for name in one}


def make_tally(
    *, group, predicted=None, bin=None, label=None, n_items, n_labels=None, right=None, score=None, k=2, by="g"
):
    """Counts without a pool: one entry per given index."""
    n = len(group)
    none = np.full(n, NONE)
    n_items = np.asarray(n_items)
    return CountTable(
        by=by,
        groups=tuple(map(str, range(int(np.max(group)) + 1))),
        classes=tuple(map(str, range(k))),
        bins=() if bin is None else tuple(f"bin {b}" for b in range(int(np.max(bin)) + 1)),
        group=np.asarray(group),
        predicted=none if predicted is None else np.asarray(predicted),
        bin=none if bin is None else np.asarray(bin),
        label=none if label is None else np.asarray(label),
        n_items=n_items,
        n_labels=n_items if n_labels is None else np.asarray(n_labels),
        score=np.full(n, np.nan) if score is None else np.asarray(score, float),
        right=np.zeros(n) if right is None else np.asarray(right, float),
        positive="1",
    )


# -- knowledge ------------------------------------------------------------------------------------------------

STATED = replace(fl.flat(), guesses_level=False)  # a prior taken at its word
PRICE = fl.cost({"0": {"0": 0.0, "1": 3.0}, "1": {"0": 5.0, "1": 1.0}})

# (group, predicted, bin, label, items); a label of -1 marks the unlabelled. In group 0 one class is always right and
# the other always wrong, so that what is believed of its accuracy hangs on the sizes of its cells.
ENTRIES = np.array([
    (0, 0, 0, 0, 9), (0, 0, 0, -1, 5), (0, 1, 1, 0, 8), (0, 1, 1, -1, 4),
    (1, 0, 0, 0, 3), (1, 0, 1, 1, 7), (1, 0, 1, -1, 2), (1, 1, 0, 1, 6), (1, 1, 1, -1, 3),
    (2, 0, 0, -1, 6), (2, 1, 1, -1, 2),
])  # fmt: skip


def partly_labelled(by="g"):
    group, predicted, bin, label, n = ENTRIES.T
    return make_tally(
        group=predicted if by == "predicted" else group, predicted=predicted, bin=bin, label=label, n_items=n,
        n_labels=np.where(label < 0, 0, n), right=np.where(label == predicted, n, 0), score=n * np.where(bin, 0.95, 0.6), by=by,
    )  # fmt: skip


def learned(right, wrong, rest, prior=None, **choices):
    """Posterior of the accuracy of groups that are single cells."""
    right, labels = np.asarray(right, float), np.add(right, wrong)
    tally = make_tally(
        group=np.arange(len(right)), n_items=(labels + rest).astype(int), n_labels=labels.astype(int), right=right
    )
    return infer(tally, fl.accuracy, prior or fl.flat(), **choices)


def of(metric, by="g", prior=None, **choices):
    return infer(partly_labelled(by), metric, prior or fl.flat(), **choices)


def pending(known, *n):
    return replace(known, pending=np.array(n))


# -- metrics by hand: predicted, label and weight of each row in, one number out ------------------------------


def _divide(a, b):
    return a / b if b > 0 else 0.0


def _one_class(rate: Callable) -> Callable:
    def by_hand(predicted, label, weight, positive):
        said, true = np.asarray(predicted) == positive, np.asarray(label) == positive
        w = np.asarray(weight, float)
        return rate(w[said & true].sum(), w[said & ~true].sum(), w[~said & ~true].sum(), w[~said & true].sum())

    return by_hand


ONE_CLASS = {
    "tpr": _one_class(lambda tp, fp, tn, fn: _divide(tp, tp + fn)),
    "fpr": _one_class(lambda tp, fp, tn, fn: _divide(fp, fp + tn)),
    "tnr": _one_class(lambda tp, fp, tn, fn: _divide(tn, fp + tn)),
    "fnr": _one_class(lambda tp, fp, tn, fn: _divide(fn, tp + fn)),
    "ppv": _one_class(lambda tp, fp, tn, fn: _divide(tp, tp + fp)),
    "npv": _one_class(lambda tp, fp, tn, fn: _divide(tn, tn + fn)),
    "fdr": _one_class(lambda tp, fp, tn, fn: _divide(fp, tp + fp)),
    "for": _one_class(lambda tp, fp, tn, fn: _divide(fn, tn + fn)),
    "selection-rate": _one_class(lambda tp, fp, tn, fn: _divide(tp + fp, tp + fp + tn + fn)),
    "precision": _one_class(lambda tp, fp, tn, fn: _divide(tp, tp + fp)),
    "recall": _one_class(lambda tp, fp, tn, fn: _divide(tp, tp + fn)),
    "f1": _one_class(lambda tp, fp, tn, fn: _divide(2 * tp, 2 * tp + fp + fn)),
}
MACRO = ("precision", "recall", "f1")
DENOMINATOR = {
    name: _one_class(lambda tp, fp, tn, fn, pick=pick: pick(tp, fp, tn, fn))
    for name, pick in {
        "tpr": lambda tp, fp, tn, fn: tp + fn,
        "fnr": lambda tp, fp, tn, fn: tp + fn,
        "fpr": lambda tp, fp, tn, fn: fp + tn,
        "tnr": lambda tp, fp, tn, fn: fp + tn,
        "ppv": lambda tp, fp, tn, fn: tp + fp,
        "fdr": lambda tp, fp, tn, fn: tp + fp,
        "npv": lambda tp, fp, tn, fn: tn + fn,
        "for": lambda tp, fp, tn, fn: tn + fn,
    }.items()
}


def macro(name, predicted, label, weight):
    """The plain mean over the classes that occur."""
    classes = sorted({*predicted, *label})
    return float(np.mean([ONE_CLASS[name](predicted, label, weight, c) for c in classes]))


def accuracy_by_hand(predicted, label, weight):
    """The weight of the right ones."""
    return float(np.average(np.asarray(predicted) == np.asarray(label), weights=weight))


def mcc_by_hand(predicted, label, weight):
    """The correlation of two binary columns."""
    said, true = np.equal(predicted, "1"), np.equal(label, "1")
    both, p, q = (np.average(x, weights=weight) for x in (said & true, said, true))
    return float((both - p * q) / np.sqrt(p * (1 - p) * q * (1 - q)))


def cost_by_hand(costs, predicted, label, weight):
    """The average cost of the rows."""
    return float(np.average([costs[y][p] for p, y in zip(predicted, label, strict=True)], weights=weight))


def ece_by_hand(right, score, edges: Sequence[float], weight=None):
    """Bins are [low, high), the last closed; scores of a bin average without weights."""
    right, score = np.asarray(right, float), np.asarray(score, float)
    weight = np.ones(len(score)) if weight is None else weight
    at = np.clip(np.searchsorted(edges, score, side="right") - 1, 0, len(edges) - 2)
    gaps = [
        weight[at == b].sum() * abs(np.average(right[at == b], weights=weight[at == b]) - score[at == b].mean())
        for b in np.unique(at)
    ]
    return float(sum(gaps) / weight.sum())
