"""Replays of labelling items that several models predict, with the posterior, goals and policies of a session.

The labels come from a labelled table, to simulate, or from one draw of the posterior, to plan.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from fewlabels.active.acquisition import AcquisitionView
from fewlabels.active.goals.models import BestModel, CompareModels, find_joint
from fewlabels.active.policies import choose_groups
from fewlabels.active.study_design import StudyDesign
from fewlabels.analyses.models.estimates import compare_scope
from fewlabels.data.counts import NONE, CountTable
from fewlabels.distributions.budgets import N_DRAWS_SIMULATED
from fewlabels.distributions.randomness import Rng
from fewlabels.models.inference import infer
from fewlabels.models.joint_outcomes.posterior import JointPosterior
from fewlabels.models.posterior import Posterior

BATCH, GROWTH = 5, 10  # the posterior is refitted after five more labels, as many as `ask` returns, or 1/10 more
ROUNDING = 1e-9
PerKind = Int[np.ndarray, " kind"]


@dataclass(frozen=True, eq=False)
class ModelReplayPool:
    """Items whose labels a replay reveals, by kind: an entry of the counts, and a label."""

    start: CountTable  # the counts before the first label of the replay
    entry: PerKind
    label: PerKind
    n_items: PerKind

    @classmethod
    def from_labelled(cls, counts: CountTable) -> "ModelReplayPool":
        """Hide the labels of a labelled table; items without a label are left out."""
        columns, known = counts.models, counts.label != NONE
        assert columns is not None
        predictions = [columns.predicted, columns.slot, columns.bin]
        key = np.column_stack([counts.group, *predictions])[known]
        _, example, kind = np.unique(key, axis=0, return_index=True, return_inverse=True)
        kind, n, example = kind.reshape(-1), len(example), np.nonzero(known)[0][example]
        score = [np.bincount(kind, weights=one[known], minlength=n) for one in columns.score.T]
        models = replace(
            columns, predicted=columns.predicted[example], slot=columns.slot[example], bin=columns.bin[example],
            score=np.stack(score, axis=1),
        )  # fmt: skip
        n_items = np.bincount(kind, weights=counts.n_items[known], minlength=n).astype(np.int64)
        start = replace(
            counts, group=counts.group[example], predicted=counts.predicted[example], bin=counts.bin[example], stratum=None,
            label=np.full(n, NONE), n_items=n_items, n_labels=np.zeros(n, dtype=np.int64), score=score[0],
            right=np.zeros(n), probability=None, models=models,
        )  # fmt: skip
        return cls(start, kind, counts.label[known], counts.n_items[known])

    @classmethod
    def from_posterior(cls, rng: Rng, joint: JointPosterior) -> "ModelReplayPool":
        """Draw the labels of all unlabelled items."""
        columns, drawn = joint.tally.models, joint.simulate_outcomes(rng)
        assert columns is not None
        entry, right = np.nonzero(drawn)
        predicted, m = columns.predicted[entry], len(columns.models)
        hit = np.take_along_axis(predicted, np.minimum(right, m - 1)[:, None], axis=1)[:, 0]
        is_free = np.ones((len(entry), len(joint.tally.classes)), dtype=bool)
        np.put_along_axis(is_free, predicted, False, axis=1)
        return cls(joint.tally, entry, np.where(right < m, hit, is_free.argmax(axis=1)), drawn[entry, right])

    @cached_property
    def group(self) -> PerKind:
        """The group of every kind of items that models predict."""
        return self.start.group[self.entry]

    def count(self, revealed: PerKind) -> CountTable:
        """Return the counts with the labels of so many items of every kind."""
        (kind,) = np.nonzero(revealed)
        entry, label, n = self.entry[kind], self.label[kind], revealed[kind]
        return self.start.add_labels(entry, label, n, n * (label == self.start.predicted[entry]).astype(np.float64))

    def count_by_group(self, items: PerKind) -> Int[np.ndarray, " group"]:
        """Sum items of every kind by group."""
        return np.bincount(self.group, weights=items, minlength=len(self.start.groups)).astype(np.int64)

    def draw(self, rng: Rng, left: PerKind, n: int, group: int | None = None) -> PerKind:
        """Draw n of the items that are left, of one group or of all."""
        here = left if group is None else np.where(self.group == group, left, 0)
        return rng.multivariate_hypergeometric(here, min(n, int(here.sum())), method="marginals")


@dataclass(frozen=True, eq=False)
class ModelReplay:
    """Labels, goal, policy and prior of a replay."""

    labelled: ModelReplayPool
    design: StudyDesign
    n_draws: int = N_DRAWS_SIMULATED

    @property
    def goal(self) -> CompareModels | BestModel:
        """What the labels of a replay of models are for."""
        assert isinstance(self.design.goal, CompareModels | BestModel)
        return self.design.goal

    def infer_posterior(self, revealed: PerKind) -> Posterior:
        """Return the posterior given the labels of so many items of every kind."""
        return infer(
            self.labelled.count(revealed), self.goal.metric, self.design.prior, finite_pool=self.design.finite_pool,
            level=self.design.level, n_draws=self.n_draws,
        )  # fmt: skip

    @cached_property
    def n_askable(self) -> int:
        """Number of items whose label has value for the goal."""
        posterior = self.infer_posterior(np.zeros_like(self.labelled.n_items))
        left = self.labelled.count_by_group(self.labelled.n_items)
        return int(AcquisitionView(replace(posterior, left=left), self.goal.gain).left.sum())

    @cached_property
    def truth(self) -> Float[np.ndarray, " model"]:
        """The accuracy of every model on the labelled items."""
        columns, pool = self.labelled.start.models, self.labelled
        assert columns is not None
        right = columns.predicted[pool.entry] == pool.label[:, None]
        return pool.n_items @ right / pool.n_items.sum()

    def label_in_batches(self, rng: Rng, stops: Sequence[int] = ()) -> Iterator[tuple[int, Posterior]]:
        """Yield the number of labels and the posterior: at every stop, and after five or a tenth more labels.

        Labels between two posteriors are chosen from the first of them, each given those that are chosen already.
        """
        pool, left, n = self.labelled, self.labelled.n_items.copy(), 0
        while True:
            posterior = self.infer_posterior(pool.n_items - left)
            yield n, posterior
            target = min([n + max(BATCH, n // GROWTH), *(stop for stop in stops if stop > n)])
            chosen = self._choose(rng, posterior, pool.count_by_group(left), target - n)
            if not chosen.any():
                return
            for group in np.nonzero(chosen)[0].tolist():
                left -= pool.draw(rng, left, int(chosen[group]), group)
            n += int(chosen.sum())

    def _choose(
        self, rng: Rng, posterior: Posterior, left: Int[np.ndarray, " group"], n: int
    ) -> Int[np.ndarray, " group"]:
        """Return how many of the replay's next n labels are from each group; fewer once none is open."""
        chosen = np.zeros_like(left)
        for _ in range(n):
            view = AcquisitionView(posterior.set_queue(chosen, left - chosen), self.goal.gain)
            groups = choose_groups(self.design.policy, rng, view)[: n - int(chosen.sum())]
            if not groups:
                break
            np.add.at(chosen, groups, 1)
        return chosen

    def replay(
        self, rng: Rng, checkpoints: Int[np.ndarray, " checkpoint"]
    ) -> tuple[int, dict[str, Float[np.ndarray, " checkpoint"]]]:
        """Run a replay once; return its number of labels, and its measures at every checkpoint."""
        marks, rows, last = checkpoints.tolist(), [], 0
        for n, posterior in self.label_in_batches(rng, marks):
            last = n
            if n in marks:
                rows.append(self.measure(posterior))
            if n >= marks[-1]:
                break
        rows += rows[-1:] * (len(marks) - len(rows))
        return last, {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def measure(self, posterior: Posterior) -> dict[str, float]:
        """Measure a replay of several models: compare the answer with the truth on the labelled items."""
        joint = find_joint(self.goal.name, posterior)
        if isinstance(self.goal, BestModel):
            loss = float(self.truth.max() - self.truth[joint.regret().argmin()])
            return {"near_best": float(loss <= self.goal.rope + ROUNDING), "loss": loss}
        return self._measure_difference(joint, self.goal)

    def _measure_difference(self, joint: JointPosterior, goal: CompareModels) -> dict[str, float]:
        """Measure a replay of two models: error, coverage and width of the difference, and whether the likeliest verdict is right."""
        pair = a, b = goal.find_pair(joint)
        row = compare_scope(joint, pair, rope=goal.rope, confidence=0.0, level=self.design.level)
        true = float(self.truth[a] - self.truth[b])
        verdict = "equivalent" if abs(true) <= goal.rope + ROUNDING else "below" if true < 0 else "above"
        chances = {"below": row.p_below, "equivalent": row.p_equivalent, "above": row.p_above}
        return {
            "correct": float(max(chances, key=lambda word: chances[word]) == verdict), "error": abs(row.mean - true),
            "coverage": float(row.low - ROUNDING <= true <= row.high + ROUNDING), "width": row.high - row.low,
        }  # fmt: skip
