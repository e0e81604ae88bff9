"""The prior from an earlier assessment: its labels go on counting, discounted as the user says.

An assessment with the calibrated prior keeps its labels by group, prediction and score. They are fitted again, together with
the new ones, so curve, groups and their correlation carry over. Of other priors, and of files written before labels were
kept, the pseudo-counts of every cell are the prior: cells are then independent.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

import numpy as np

from fewlabels.data.counts import Cells
from fewlabels.distributions.belief import Conjugate
from fewlabels.errors import InputError, did_you_mean, format_option, join_names
from fewlabels.metrics.metric import Reads
from fewlabels.models.calibrated.prior import fit_calibrated
from fewlabels.models.earlier_labels import EarlierLabels
from fewlabels.models.earlier_predictions import EarlierPredictions
from fewlabels.models.priors import EDGE, Flat, PriorFit, pseudo_counts, to_conjugate

if TYPE_CHECKING:
    from fewlabels.models.earlier_assessment import EarlierAssessment

KNOWN = ("calibrated", "smooth", "scores", "flat")  # priors by name, on the command line
READ_EARLIER = "fewlabels.models.earlier_assessment:read_earlier"  # imported on use: its parser is slow to import


@dataclass(frozen=True)
class FromEarlier:
    """The posterior of an earlier assessment of the same groups; `weight` is what one of its labels counts for.

    Its labels are counted again here, so the two assessments must not share labels.
    """

    belief: Mapping[str, tuple[float, ...]]
    by: str
    reads: Reads
    outcomes: tuple[str, ...]
    weight: float = 1.0
    name: str = "earlier"
    needs: tuple[str, ...] = ()
    guesses_level: bool = False
    labels: EarlierLabels | None = None  # None where cells are independent
    lacks_labels: bool = False  # should it have had them?
    fingerprint: str | None = None  # of the earlier predictions
    predictions: EarlierPredictions | None = None  # what they look like; None in files of earlier versions

    @property
    def uses(self) -> tuple[str, ...]:
        """Optional column roles of the prior from an earlier assessment."""
        return () if self.labels is None else ("score", "probabilities", "strata")

    def before(self, cells: Cells, reads: Reads) -> Conjugate:
        """Return each cell's prior from the earlier assessment, without its own labels."""
        return self.learn(cells, reads, finite_pool=False).before

    def learn(self, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:
        """Fit the earlier labels and the new ones together; without earlier labels, only state the earlier belief."""
        if self.labels is None:
            return PriorFit(self._state_belief(cells, reads))
        if cells.by != self.by or not self.labels.knows_any(cells):
            raise InputError("prior: the earlier assessment is about other groups, and cannot be the prior here")
        if reads == "label":
            _refuse_unknown(self.labels.classes, cells.classes)
        return fit_calibrated(cells, self.labels.add_to(cells, self.weight), reads, finite_pool=finite_pool)

    def _state_belief(self, cells: Cells, reads: Reads) -> Conjugate:
        """Return the earlier pseudo-counts of cells it has, mixed with a flat prior's by weight; a flat prior for others."""
        if reads != self.reads or cells.by != self.by or not set(cells.names) & set(self.belief):
            raise InputError(
                "prior: the earlier assessment is about other groups or another kind of metric, and cannot be the prior here"
            )
        outcomes = ("right", "wrong") if reads == "right" else cells.classes
        _refuse_unknown(self.outcomes, outcomes)
        place = [outcomes.index(name) for name in self.outcomes]
        rows = pseudo_counts(Flat().before(cells, reads))
        for i, name in enumerate(cells.names):
            if name in self.belief:
                known = self.weight * np.array(self.belief[name]) + (1 - self.weight) * rows[i, place]
                rows[i, place] = np.maximum(known, EDGE)
        return to_conjugate(cells.names, reads, rows)


def from_earlier(earlier: Any, discount: float = 1.0) -> FromEarlier:
    """Use the posterior of an earlier assessment as prior: the object, its dict, or the path of its JSON file.

    Parameters
    ----------
    earlier: Assessment, dict or path
        The earlier assessment. Its labels must not be among the new ones.
    discount: float
        What one of its labels counts for, from 0 (nothing) to 1 (as much as a new one: the same model on the same
        population). Choose less where either may have changed.
    """
    if not 0 <= discount <= 1:
        raise InputError(
            f"{format_option('discount')} is {discount}; a label of an earlier assessment counts for 0 (nothing) to 1 (as much as a new one)"
        )
    found = _read_earlier(earlier)
    belief = found.belief
    counts = dict(zip(belief.cells, belief.counts, strict=True))
    rows, seen = found.evidence, found.predictions
    return FromEarlier(
        counts, found.by, belief.reads, belief.outcomes, float(discount),
        labels=None if rows is None else EarlierLabels(*(tuple(getattr(row, name) for row in rows) for name in EarlierLabels.__dataclass_fields__)),
        lacks_labels=rows is None and found.prior not in ("flat", "scores", None),
        fingerprint=found.provenance.fingerprint if found.provenance else None,
        predictions=None if seen is None else EarlierPredictions(
            tuple(seen.predicted.items()), tuple(seen.groups.items()), seen.ranges, seen.scores
        ),
    )  # fmt: skip


def _refuse_unknown(earlier: Collection[str], known: Collection[str]) -> None:
    """Refuse an earlier assessment with classes that these predictions lack."""
    unknown_classes = sorted(set(earlier) - set(known))
    if unknown_classes:
        raise InputError(
            f"prior: the earlier assessment has classes that these predictions lack: {join_names(unknown_classes)}"
        )


def _read_earlier(earlier: Any) -> "EarlierAssessment":
    """Read the earlier assessment of a prior."""
    read: Callable[[Any, str], EarlierAssessment] = resolve_name(READ_EARLIER)
    if isinstance(earlier, Mapping) or hasattr(earlier, "to_dict"):
        return read(dict(earlier if isinstance(earlier, Mapping) else earlier.to_dict()), "prior")
    if not Path(earlier).is_file():
        raise InputError(
            f"prior: {str(earlier)!r} is neither a file nor a known prior; {did_you_mean(str(earlier), KNOWN)}"
        )
    return read(Path(earlier), f"prior: {earlier}")
