"""From counts to an Assessment: the only source of displayed numbers.

Plots, report and command line show what an Assessment holds and compute nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.assessment_rows import Entry, Estimate, Row, estimate_groups, estimate_matrix, estimate_overall
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.analyses.frames import to_inference_data
from fewlabels.analyses.overall_check import Sample, check_overall
from fewlabels.analyses.provenance import Provenance, record
from fewlabels.analyses.requirements import require_answerable, requires_single_class
from fewlabels.analyses.result import Result
from fewlabels.analyses.warnings import collect_warnings
from fewlabels.data.counts import CountTable
from fewlabels.data.sources import Frame
from fewlabels.errors import InputError, did_you_mean, quote_name
from fewlabels.metrics.metric import Cost, Metric, accuracy, confusion
from fewlabels.models.annotators.imputation import ImputedCounts
from fewlabels.models.calibrated.prior import Calibrated
from fewlabels.models.earlier import FromEarlier
from fewlabels.models.earlier_labels import list_evidence
from fewlabels.models.earlier_predictions import EarlierPredictions
from fewlabels.models.inference import infer, infer_imputed
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Flat, pseudo_counts


@dataclass(frozen=True, eq=False, repr=False)
class Assessment(Result):
    """How good the model is, per group and overall, with credible intervals."""

    metric: str
    by: str
    prior: str
    level: float
    finite_pool: bool
    n_items: int
    n_labels: int
    overall: Estimate
    groups: tuple[Row, ...]
    notes: tuple[str, ...]  # about the table
    estimate_warnings: tuple[str, ...]  # about the estimates
    matrix: tuple[Entry, ...]
    tally: CountTable = field(repr=False)
    spec: AssessmentSpec = field(repr=False)
    posterior: Posterior = field(repr=False)
    source: str = "the table"
    frame: Frame = "pandas"
    imputed: ImputedCounts | None = field(default=None, repr=False)  # where labels are votes
    provenance: Provenance = field(default_factory=record, repr=False)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the assessment, about the table and about the estimates."""
        return (*self.notes, *self.estimate_warnings)

    @property
    def positive(self) -> str | None:
        """The positive class, for metrics that have one."""
        return self.tally.positive if requires_single_class(self.spec.metric, self.tally) else None

    @property
    def draws(self) -> Float[np.ndarray, "draw group"]:
        """Posterior draws of the assessment, groups in the order of `groups`."""
        return self.posterior.draws

    @property
    def in_order(self) -> tuple[Row, ...]:
        """The assessment's rows in display order: score bins from low to high, other groups worst first."""
        return self.groups if self.by.startswith("bins") and "," not in self.by else self.worst_first

    @cached_property
    def worst_first(self) -> tuple[Row, ...]:
        """The rows, worst first."""
        sign = 1 if self.spec.metric.worst == "lowest" else -1
        return tuple(sorted(self.groups, key=lambda row: sign * row.mean))

    def __getitem__(self, group: object) -> Row:
        """Return one group's row: `a["9"]`."""
        return self.row(str(group))

    def __iter__(self) -> Iterator[Row]:
        """Iterate over the rows of the groups."""
        return iter(self.groups)

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.groups)

    def row(self, group: str) -> Row:
        """Return one group's row."""
        for row in self.groups:
            if row.group == group:
                return row
        raise InputError(
            f"there is no group {quote_name(group)}; {did_you_mean(group, [r.group for r in self.groups])}"
        )

    def about(self, metric: Metric) -> "Assessment":
        """Assess another metric from the same counts as this assessment."""
        spec = replace(self.spec, metric=metric)
        return assess_counts(self.tally, spec, imputed=self.imputed, frame=self.frame, provenance=self.provenance)

    def reliability(self) -> "Assessment":
        """Assess the accuracy by score bin, from the same counts: the reliability diagram in numbers."""
        return self._regrouped(CountTable.by_bin, accuracy)

    def merged(self, metric: Metric) -> "Assessment":
        """Assess the whole pool as one group."""
        return self._regrouped(CountTable.merged, metric)

    def _regrouped(self, change: Callable[[CountTable], CountTable], metric: Metric) -> "Assessment":
        """Assess other groups; a prior from an earlier assessment does not cover them, so it becomes flat."""
        prior = Flat() if isinstance(self.spec.prior, FromEarlier) else self.spec.prior
        spec = replace(self.spec, metric=metric, prior=prior, m=1)  # there may be fewer groups
        said = self.imputed and self.imputed.regroup(change)
        return assess_counts(change(self.tally), spec, imputed=said, frame=self.frame, provenance=self.provenance)

    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON as a dict."""
        plain: dict[str, Any] = {
            "metric": self.metric, "by": self.by, "prior": self.prior, "level": self.level, "finite_pool": self.finite_pool,
            "n_items": self.n_items, "n_labels": self.n_labels, "overall": asdict(self.overall),
            "groups": [asdict(row) for row in self.groups],
        }  # fmt: skip
        if self.positive is not None:
            plain["positive"] = self.positive
        if self.matrix:
            plain["matrix"] = [{k: v for k, v in asdict(entry).items() if v is not None} for entry in self.matrix]
        counts = pseudo_counts(self.posterior.belief)
        plain["belief"] = {
            "reads": self.spec.metric.reads,
            "outcomes": ["right", "wrong"] if self.spec.metric.reads == "right" else list(self.tally.classes),
            "cells": list(self.posterior.cells.names),
            "counts": counts.tolist(),
        }
        evidence = self._list_evidence()
        if evidence is not None:
            plain["evidence"] = evidence
        plain["predictions"] = EarlierPredictions.count(self.tally).to_dict()
        if self.posterior.trust is not None:
            plain["trust"] = self.posterior.trust.to_dict(self.level)
        if self.imputed is not None:
            plain["annotators"] = self.imputed.to_dict(self.level)
        return plain | {"warnings": list(self.warnings), "provenance": self.provenance.to_dict()}

    def _list_evidence(self) -> list[dict[str, Any]] | None:
        """Return the labels that a later assessment can continue from; None where the prior is not fitted to labels."""
        prior = self.spec.prior
        if self.imputed is not None:
            return None
        if isinstance(prior, FromEarlier):
            return None if prior.labels is None else list_evidence(self.tally, prior.labels, prior.weight)
        return list_evidence(self.tally, None, 1.0) if isinstance(prior, Calibrated) else None

    def list_rows(self) -> list[dict[str, Any]]:
        """Return one row per group."""
        return [asdict(row) for row in self.groups]

    def to_inference_data(self) -> Any:
        """Return the draws as ArviZ InferenceData (extra: arviz)."""
        return to_inference_data(self.metric, [row.group for row in self.groups], self.draws)


def assess_counts(
    tally: CountTable,
    spec: AssessmentSpec,
    *,
    warnings: tuple[str, ...] = (),
    frame: Frame = "pandas",
    imputed: ImputedCounts | None = None,
    provenance: Provenance | None = None,
    posterior: Posterior | None = None,
    sample: Sample | None = None,
) -> Assessment:
    """Make the assessment of these counts; where labels are votes, average over the imputed counts.

    A `sample` of labels with known probabilities checks the overall figure.
    """
    if isinstance(spec.metric, Cost):
        spec = replace(spec, metric=spec.metric.for_classes(tally.classes))
    metric = spec.metric
    require_answerable(tally, metric)
    if spec.m > len(tally.groups):
        raise InputError(f"m is {spec.m}, but there are only {len(tally.groups)} groups; choose fewer")
    provenance = replace(provenance or record(counts=tally), seed=spec.seed, n_draws=spec.n_draws)
    posterior = posterior or infer_posterior(tally, spec, imputed)
    rows = estimate_groups(tally, posterior, level=spec.level, m=spec.m)
    n_items, n_labels = int(tally.n_items.sum()), int(tally.n_labels.sum())
    overall = estimate_overall(tally, metric, posterior, rows, level=spec.level)
    check = check_overall(posterior, overall, sample, is_learned=posterior.joint is not None)
    return Assessment(
        metric=metric.name,
        by=tally.by,
        prior=spec.prior.name,
        level=spec.level,
        finite_pool=spec.finite_pool,
        n_items=n_items,
        n_labels=n_labels,
        overall=overall if check is None else check.shown,
        groups=rows,
        notes=warnings,
        estimate_warnings=(
            *(() if imputed is None else imputed.collect_warnings(spec.level)),
            *collect_warnings(
                tally,
                metric,
                posterior,
                rows,
                earlier=spec.prior if isinstance(spec.prior, FromEarlier) else None,
                m=spec.m,
            ),
            *(() if check is None or check.warning is None else (check.warning,)),
        ),
        matrix=estimate_matrix(tally, posterior, level=spec.level) if metric is confusion else (),
        tally=tally,
        spec=spec,
        posterior=posterior,
        source=provenance.source,
        frame=frame,
        imputed=imputed,
        provenance=provenance,
    )


def infer_posterior(tally: CountTable, spec: AssessmentSpec, imputed: ImputedCounts | None = None) -> Posterior:
    """Return the posterior that the figures of an assessment come from, for these counts and choices."""
    terms: dict[str, Any] = {
        "finite_pool": spec.finite_pool, "level": spec.level, "n_draws": spec.n_draws, "seed": spec.seed,
    }  # fmt: skip
    if imputed is None:
        return infer(tally, spec.metric, spec.prior, **terms)
    return infer_imputed(tally, imputed.imputations, spec.metric, spec.prior, **terms)
