"""Ours beside a correct BC on every pool, model and number of labels: error, coverage and width of gaps in three rates."""

from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from experiments.audits import LARGER, PRIVILEGED, RATES_ASKED, audit_often, list_models, read_audit
from experiments.options import Options, start
from experiments.studies import NOTES, OURS, QUICK_CELLS
from experiments.tables import Page, Table, show

BUDGETS, RUNS = (10, 40, 100, 400, 1000), 20
POOR = 80.0  # percent; intervals of at most 3 % of the cells may cover less
HONEST, WORSE, WIDER = (92.0, 98.0), 1.05, 1.3
LEAST = 1e-9


class Row(NamedTuple):
    """One rate in one cell: (BC, ours) each."""

    pool: str
    model: str
    n: int
    rate: str
    error: tuple[float, float]
    coverage: tuple[float, float]
    width: tuple[float, float]

    @property
    def ratio(self) -> float:
        """Error of ours as a multiple of BC's."""
        return max(self.error[1], LEAST) / max(self.error[0], LEAST)

    @property
    def wider(self) -> float:
        """Width of ours as a multiple of BC's."""
        return max(self.width[1], LEAST) / max(self.width[0], LEAST)


def make(options: Options) -> Page:
    """Audit every cell by both."""
    rows = [row for row in _measure(options) if not np.isnan(row.error).any()]
    return Page(
        "Gaps in accuracy, TPR and FPR: ours beside a correct BC",
        f"Over {options.effort(RUNS).runs:,} runs: mean absolute error in points, coverage of 95 % intervals about exactly "
        "these people in percent, width in points, each of BC and of ours.",
        [
            Table(("rate", "labels", "cells", "error: ours / BC", "cells > 1.05", "highest", "mean error: ours / BC", "coverage, BC", "lowest", "coverage, ours", "lowest", "cells < 80, BC", "ours", "in 92-98", "over 98", "width: ours / BC where BC covers", "cells > 1.3"), list(_sum_up(rows))),
            Table(("pool", "model", "labels", "rate", "error, BC", "ours", "coverage, BC", "ours", "width, BC", "ours"), [_tell(row) for row in rows]),
        ],
        notes=NOTES,
    )  # fmt: skip


def _measure(options: Options) -> Iterator[Row]:
    effort = options.effort(RUNS)
    cells = (
        (pool, model, n)
        for pool in (*PRIVILEGED, *LARGER)
        for model, n in product(list_models(pool), BUDGETS)
        if n < read_audit(options.pools, pool, model).n_people
    )
    for pool, model, n in islice(cells, QUICK_CELLS if options.quick else None):
        bc, ours = (audit_often(options.pools, pool, model, n, name, effort) for name in ("bc", OURS))
        for rate in RATES_ASKED:
            yield Row(
                pool, model, n, rate, (bc.mean_error(rate), ours.mean_error(rate)),
                (bc.coverage(rate), ours.coverage(rate)), (bc.mean_width(rate), ours.mean_width(rate)),
            )  # fmt: skip


def _sum_up(rows: Sequence[Row]) -> Iterator[list[str]]:
    """One line for each rate and number of labels, and one for all."""
    for rate, n in [*product(RATES_ASKED, BUDGETS), ("all", 0)]:
        here = [row for row in rows if rate == "all" or (row.rate, row.n) == (rate, n)]
        if not here:
            continue
        ratio, covered = np.array([row.ratio for row in here]), np.array([row.coverage for row in here])
        wider = np.array([row.wider for row in here if row.coverage[0] >= HONEST[0]])
        worst = here[int(ratio.argmax())]
        yield [
            rate, str(n) if n else "all", str(len(here)), f"{np.exp(np.log(ratio).mean()):.2f}",
            str((ratio > WORSE).sum()), f"{ratio.max():.2f} ({worst.pool} {worst.model})",
            f"{np.sum([row.error for row in here], axis=0)[1] / max(sum(row.error[0] for row in here), LEAST):.2f}",
            show(covered[:, 0].mean()), show(covered[:, 0].min()), show(covered[:, 1].mean()), show(covered[:, 1].min()),
            f"{np.mean(covered[:, 0] < POOR):.1%}", f"{np.mean(covered[:, 1] < POOR):.1%}",
            f"{np.mean((covered[:, 1] >= HONEST[0]) & (covered[:, 1] <= HONEST[1])):.0%}",
            f"{np.mean(covered[:, 1] > HONEST[1]):.0%}",
            f"{np.exp(np.log(wider).mean()):.2f}" if len(wider) else "–", str((wider > WIDER).sum()),
        ]  # fmt: skip


def _tell(row: Row) -> list[str]:
    figures = (*row.error, *row.coverage, *row.width)
    return [row.pool, row.model, str(row.n), row.rate, *(show(value) for value in figures)]


if __name__ == "__main__":
    start("fairness_goals", make)
