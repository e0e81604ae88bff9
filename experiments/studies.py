"""Tables of errors of gaps between groups of people: what was published beside what comes out here."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from experiments.audits import audit_often, list_cells
from experiments.options import Options
from experiments.published_fairness import Table as Published
from experiments.tables import Page, Table, show

RUNS, QUICK_CELLS = 100, 2
OURS = "calibrated"
TITLES = {
    "frequency": "Freq", "beta-binomial": "BB", "bc": "BC", "bc-llo": "LLO", "bc-apart": "NHBC", OURS: "ours (calibrated)",
}  # fmt: skip
NOTES = (
    "The privileged group is compared with everybody else; the truth is the gap when everybody is labelled. Means are over "
    "the runs in which a rate is defined.",
    "BC is the papers' model sampled right: labelled people count as they are, and the second arguments of its priors are "
    "standard deviations.",
)


class Study(NamedTuple):
    """A table of the papers: of which rate, by which methods and how it calls them, and what it printed."""

    title: str
    rate: str
    methods: Mapping[str, str]
    published: Published

    def make(self, options: Options) -> Page:
        """Audit every cell by every method, and by ours."""
        effort = options.effort(RUNS)
        rows, errors = [], []
        for pool, model, n in list_cells(self.published)[: QUICK_CELLS if options.quick else None]:
            printed = self.published[pool, model, n]
            here = [
                audit_often(options.pools, pool, model, n, name, effort).mean_error(self.rate)
                for name in (*self.methods, OURS)
            ]
            pairs = [(printed.get(called, float("nan")), value) for called, value in zip(self.methods.values(), here, strict=False)]  # fmt: skip
            errors.append(pairs)
            rows.append([pool, model, str(n), *(show(value) for pair in pairs for value in pair), show(here[-1])])
        header = ["pool", "model", "labels", *(f"{TITLES[name]}, {whose}" for name in self.methods for whose in ("published", "here")), TITLES[OURS]]  # fmt: skip
        says = f"Mean absolute error of the gap in {self.rate}, in points, over {effort.runs:,} runs. {self._sum_up(np.array(errors))}"  # fmt: skip
        return Page(self.title, says, [Table(header, rows)], notes=NOTES)

    def _sum_up(self, errors: np.ndarray) -> str:
        """Say what both come to over all cells that have both."""
        told = []
        for name, pairs in zip(self.methods, errors.transpose(1, 0, 2), strict=True):
            both = pairs[~np.isnan(pairs).any(axis=1)]
            if len(both):
                told.append("{} {:.1f} published, {:.1f} here".format(TITLES[name], *both.mean(axis=0)))
        return f"On average over cells that have both: {'; '.join(told)}."
