"""A repeat of every case must be what `fl.assess` says of the masked table."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

import fewlabels as fl
from bench.coverage.cases import Case, Ints
from bench.coverage.trials import LEVEL, Trial, Whole, n_draws
from fewlabels.analyses.assessment import assess_counts
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.data.counts import CountTable
from fewlabels.metrics.metric import accuracy


def verify(trials: Sequence[Trial], wholes: Sequence[Whole], kept: Sequence[Ints]) -> str:
    """A repeat must be what `fl.assess` says of the masked table; returns why it was not the first, if so."""
    refused = ""
    for i, known in enumerate(kept):
        try:
            tally = assess_masked(trials[0].case, known)
        except fl.InputError as error:
            refused = refused or f"`fl.assess` refused the first repeat: {error}"
            continue
        for trial, whole in zip(trials, wholes, strict=True):
            _compare(trial, whole, tally, i)
        return refused
    raise SystemExit(f"{trials[0].case.title}: no repeat could be assessed; {refused}")


def assess_masked(case: Case, kept: Ints) -> CountTable:
    """Counts of the pool with all labels but these hidden, through the front door."""
    known = np.isin(np.arange(len(case.group)), kept)
    labels = [label if k else None for label, k in zip(case.frame["label"].to_pylist(), known, strict=True)]
    frame = case.frame.set_column(case.frame.column_names.index("label"), "label", pa.array(labels, pa.string()))
    roles = {"positive_score": f"score_{case.model}"} if case.model else {}
    by = fl.predicted if case.by == "predicted" else fl.column(case.by)
    return fl.assess(fl.Predictions.read(frame, **roles), by=by, n_draws=n_draws(case)).tally


def _compare(trial: Trial, whole: Whole, tally: CountTable, i: int) -> None:
    """Ends of every group and of the overall figure, drawn with the same seed, to nine digits."""
    found = assess_counts(
        tally, AssessmentSpec(accuracy, trial.prior, LEVEL, trial.finite, seed=i, n_draws=n_draws(trial.case))
    )
    ours = [trial.low[i], trial.high[i], [whole.low[i], whole.high[i]]]
    rows, total = found.groups, found.overall
    theirs = [[r.low for r in rows], [r.high for r in rows], [total.low, total.high]]
    assert tuple(r.group for r in rows) == trial.case.groups, trial.case.title
    assert all(np.allclose(a, b, rtol=0, atol=1e-9) for a, b in zip(ours, theirs, strict=True)), trial.case.title
