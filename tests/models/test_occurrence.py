"""Which classes are absent from a pool: learned from which have labels, and consistent with right predictions."""

from dataclasses import replace

import numpy as np
import pytest

import fewlabels as fl
from fewlabels.data.tabulation import count_pool
from fewlabels.models.logit.occurrence import Occurrence, fit_occurrence


def make_cells(n_labels, n_classes=40, n_absent=15, seed=0):
    """Classes of 200 items each, and others without items that get a hundredth of the probability."""
    rng = np.random.default_rng(seed)
    n_present = n_classes - n_absent
    truth = rng.integers(n_present, size=200 * n_present)
    p = rng.dirichlet(np.full(n_classes, 0.1), len(truth)) * np.where(np.arange(n_classes) < n_present, 1, 0.1)
    p[np.arange(len(truth)), truth] += 0.3
    p /= p.sum(axis=1, keepdims=True)
    label = [f"c{y:02}" if i < n_labels else None for i, y in enumerate(truth)]
    pool = {"id": range(len(truth)), "label": label} | {f"p_c{j:02}": p[:, j] for j in range(n_classes)}
    tally = count_pool(fl.Predictions.read(pool), fl.predicted, probabilities=True)
    present = np.isin(tally.classes, [f"c{j:02}" for j in range(n_present)])
    return tally.cells(("predicted",)), present


def test_small_classes_without_labels_are_absent_once_all_others_have_some():
    cells, present = make_cells(600)
    found = fit_occurrence(cells)
    chance = found.weight @ found.absent
    assert chance[~present].mean() > 0.8
    assert chance[present].max() < 0.05


def test_few_labels_leave_it_open():
    cells, present = make_cells(5)
    found = fit_occurrence(cells)
    chance = found.weight @ found.absent
    assert chance[~present].min() > 0
    assert chance[~present].max() < 0.7


def test_where_every_class_has_labels_none_is_absent():
    cells, _ = make_cells(3000, n_absent=0)
    assert not fit_occurrence(cells).absent.any()


def test_a_class_of_expected_size_is_not_absent_because_it_has_no_label_yet():
    """40 equal classes and 40 labels: a third of them have none."""
    cells, _ = make_cells(40, n_absent=0)
    found = fit_occurrence(cells)
    assert (found.weight @ found.absent).max() < 0.2


def test_scores_alone_are_enough():
    cells, present = make_cells(600)
    found = fit_occurrence(replace(cells, probability=None))
    chance = found.weight @ found.absent
    assert chance[present].max() < 0.1


def test_absent_classes_have_no_right_predictions():
    """P(absent) is kept where that is possible: at most the probability of no right prediction."""
    rng, n = np.random.default_rng(0), 20_000
    hits = np.column_stack([rng.random(n) < 0.3, rng.random(n) < 0.8, np.zeros(n)]).astype(float)
    occurrence = Occurrence(np.array([0.5, 0.5]), np.array([[0.4, 0.6, 0.9], [0.6, 0.6, 0.7]]))
    absent = occurrence.draw(rng, hits)
    assert not np.any(absent & (hits > 0))
    assert absent.mean(axis=0) == pytest.approx([0.5, 0.2, 0.8], abs=0.015)
