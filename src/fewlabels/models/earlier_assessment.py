"""Reader of an earlier assessment's JSON: pseudo-counts of every cell, and labels where it kept them, for `earlier`."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from fewlabels.data.documents.parsing import Schema, check, parse_any, read_file
from fewlabels.errors import InputError, choose_words

MAX_PSEUDO_COUNT = 1e15  # largest pseudo-count of a cell
ItemCount = Annotated[int, Field(ge=0, le=MAX_PSEUDO_COUNT)]
PseudoCount = Annotated[float, Field(ge=0, le=MAX_PSEUDO_COUNT)]


class EarlierBelief(Schema):
    """Pseudo-counts: a row per cell, a column per outcome."""

    reads: Literal["right", "label"]
    outcomes: tuple[str, ...]
    cells: tuple[str, ...]
    counts: tuple[tuple[PseudoCount, ...], ...]

    @model_validator(mode="after")
    def _require_shape(self) -> "EarlierBelief":
        """Refuse an earlier assessment's belief whose cells, outcomes and counts do not fit."""
        n = len(self.outcomes)
        if len(set(self.outcomes)) < n or not n:
            raise ValueError("outcomes should be different names, at least one")
        if len(self.cells) != len(self.counts):
            raise ValueError(f"there are {len(self.cells)} cells, and counts of {len(self.counts)}")
        wrong = next((i for i, row in enumerate(self.counts) if len(row) != n), None)
        if wrong is not None:
            raise ValueError(f"counts[{wrong}] has {len(self.counts[wrong])} numbers for {n} outcomes")
        return self


class EarlierRow(Schema):
    """Labels of the items of one group, predicted class and range of scores."""

    group: str
    predicted: str | None
    score: Annotated[float, Field(ge=0, le=1)] | None
    n_labels: PseudoCount
    right: PseudoCount
    labels: dict[str, PseudoCount]


class EarlierCounts(Schema):
    """Counts of the predictions of the earlier assessment."""

    predicted: dict[str, ItemCount]
    groups: dict[str, ItemCount]
    ranges: tuple[str, ...]
    scores: tuple[tuple[ItemCount, ...], ...]

    @model_validator(mode="after")
    def _require_shape(self) -> "EarlierCounts":
        """Refuse an earlier assessment's counts whose scores do not fit its groups and ranges."""
        n_rows, n = len(self.groups) if self.ranges else 0, len(self.ranges)
        if len(self.scores) != n_rows or any(len(row) != n for row in self.scores):
            raise ValueError(f"scores should have {n_rows} rows of {n} numbers")
        return self


class EarlierProvenance(Schema):
    """What the earlier assessment was made from."""

    fingerprint: str | None = None


class EarlierAssessment(Schema):
    """The posterior of an earlier assessment; its labels, if the prior was one that is fitted to them."""

    by: str
    belief: EarlierBelief
    prior: str | None = None
    evidence: tuple[EarlierRow, ...] | None = None
    predictions: EarlierCounts | None = None  # absent in files of earlier versions
    provenance: EarlierProvenance | None = None


def read_earlier(source: Path | dict[str, Any], where: str) -> EarlierAssessment:
    """Read an earlier assessment from its JSON file or its dict."""
    advice = f"write one with {choose_words('assess --json FILE', 'to_json')}"
    found = source if isinstance(source, dict) else parse_any(read_file(source), where, f"not a JSON file; {advice}")
    if not isinstance(found, dict) or "belief" not in found:
        raise InputError(f"{where}: this is no assessment written by fewlabels (it has no 'belief'); {advice}")
    return check(EarlierAssessment, found, where, advice)
