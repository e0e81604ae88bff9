"""The fixed part of a session: counts of the pool, size of its queue, and the design of the study.

It is stored in the session's file, so that labelling can continue without the predictions. Neighbours: `creation` makes
it from predictions, `spec_file` writes and reads it, `queue` orders the items.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Int

from fewlabels.active.study_design import StudyDesign
from fewlabels.data.counts import CountTable
from fewlabels.data.given_roles import GivenRoles
from fewlabels.data.names import natural_order
from fewlabels.data.sources import Frame
from fewlabels.distributions.randomness import Rng
from fewlabels.errors import InputError
from fewlabels.metrics.metric import Cost, Metric
from fewlabels.sessions.journal.events import EntryItems
from fewlabels.sessions.state import SessionState

RESTORE_COPY = "go back to an earlier copy"


@dataclass(frozen=True)
class SessionSpec:
    """The fixed part of a session."""

    tally: CountTable  # with the labels that the table had at the start
    n_askable: Int[np.ndarray, " group"]  # items in the file: for a large pool, a sample of the unlabelled ones
    design: StudyDesign
    fingerprint: Mapping[str, Any]
    source: str
    notes: tuple[str, ...]
    graded: bool  # labels are grades of agreement, not classes
    whole_ids: bool  # ids are integers in the table
    frame: Frame  # kind of frame that the predictions came in
    prices: tuple[float, ...] = ()  # mean price of a label in each group; empty where all cost the same
    grades: tuple[tuple[str, float], ...] = ()  # that people can give, lowest first, and their place from 0 to 1
    given_roles: GivenRoles | None = None  # that the predictions were read with; None in files of earlier versions

    def require_roles(self, metric: Metric) -> None:
        """Refuse a metric whose columns these predictions lack."""
        has = {"score": bool(self.tally.bins), "predicted": bool(self.tally.classes)}
        for role in metric.needs:
            if not has.get(role, True):
                raise InputError(f"metric {metric.name} needs a {role} column, and {self.source} has none")

    def require_costs(self, classes: Sequence[str], labels: Iterable[str | None]) -> None:
        """Refuse labels of new classes that the cost table lacks."""
        if isinstance(self.design.goal.metric, Cost):
            new = [name for name in dict.fromkeys(labels) if name is not None and name not in classes]
            self.design.goal.metric.for_classes([*classes, *new])

    def require_items(self, entries: Iterable[EntryItems], where: object) -> None:
        """Refuse a file whose items do not match its counts: every estimate would be wrong."""
        tally, n_left = self.tally, self.tally.n_items - self.tally.n_labels
        found, last = np.zeros_like(self.n_askable), np.full(len(self.n_askable), -1)
        for items in entries:
            if (
                not 0 <= items.entry < len(n_left)
                or tally.group[items.entry] != items.group
                or items.n > n_left[items.entry]
            ):
                raise InputError(f"{where}: damaged: its items do not fit its counts; {RESTORE_COPY}")
            found[items.group] += items.n
            last[items.group] = max(last[items.group], items.last if items.first >= 0 else len(n_left) + items.n)
        if (found != self.n_askable).any() or (last != found - 1).any():
            raise InputError(f"{where}: damaged: items are missing from it, or out of order; {RESTORE_COPY}")

    def derive_rng(self, step: int) -> Rng:
        """Derive the generator from seed and step, so that no random state has to be stored."""
        return np.random.default_rng([self.design.seed, 0, step])

    def count_left(self, state: SessionState) -> Int[np.ndarray, " group"]:
        """Count the unlabelled items of each group that were not drawn yet; 0 once its queue is empty.

        The file holds only a sample of a large pool, which represents all items of the group.
        """
        drawn = np.zeros_like(self.n_askable)
        for group, n in state.n_drawn.items():
            drawn[group] = n
        n_unlabelled = self.tally.count("n_items") - self.tally.count("n_labels")
        return np.where(drawn < self.n_askable, n_unlabelled - drawn, 0)

    def list_choices(self, state: SessionState) -> tuple[str, ...]:
        """Return what people can answer: the grades if there are levels of them, else the classes."""
        return tuple(name for name, _ in self.grades) or self.list_classes(state)

    def read_grade(self, name: str) -> float:
        """Read a grade, from 0 to 1, from a file that may be damaged."""
        try:
            grade = dict(self.grades)[name] if self.grades else float(name)
        except (KeyError, ValueError):
            grade = -1.0
        if not 0 <= grade <= 1:
            raise InputError(f"damaged: {name[:40]!r} is no grade of this session; {RESTORE_COPY}")
        return grade

    def list_classes(self, state: SessionState) -> tuple[str, ...]:
        """Return the classes of the labels, new ones last; empty where labels are grades."""
        classes = self.tally.classes
        new = () if self.graded else set(state.label_counts).difference(classes)
        return (*classes, *sorted(new, key=natural_order))
