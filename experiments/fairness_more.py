"""How many more labels: what widths of gaps come to after more of them, beside what was foreseen."""

from collections.abc import Iterator
from itertools import islice, product

import numpy as np

from experiments.audits import RATES_ASKED, Audit, hasten, read_audit
from experiments.options import Options, start
from experiments.studies import OURS, QUICK_CELLS
from experiments.tables import Page, Table, show
from fewlabels.analyses.fairness.group_metrics import RATES
from fewlabels.analyses.fairness.methods import METHODS, MethodDraws

CELLS = (("adult_race", "rf"), ("adult_sex", "mlp"), ("compas-r_sex", "mlp"), ("compas-r_sex", "nb"))
FEW, TIMES, RUNS = (20, 100), (2, 10), 20


def make(options: Options) -> Page:
    """Label some, foresee, label more, and look."""
    cells = islice(product(CELLS, FEW), QUICK_CELLS if options.quick else None)
    found = {(*cell, n): _leapfrog(options, *cell, n) for cell, n in cells}
    rows = [
        [pool, model, str(n), str(n * times), *(show(100 * value) for value in shares), show(100 / times**0.5)]
        for (pool, model, n), steps in found.items()
        for times, shares in zip(TIMES, steps, strict=True)
    ]
    shares = np.concatenate([np.reshape(steps, (-1, 2, len(RATES_ASKED))) for steps in found.values()])
    after, foreseen = shares[:, 0].ravel(), shares[:, 1].ravel()
    root = np.repeat(np.tile(np.array(TIMES, dtype=float) ** -0.5, len(found)), len(RATES_ASKED))
    summary = "; ".join(
        f"{name} {value.mean():.2f}, off by {np.abs(value - after).mean():.2f}"
        for name, value in (("foreseen", foreseen), ("by the root of their number", root))
    )
    header = ("pool", "model", "labels", "then", *(f"{rate}, {what}" for what in ("after", "foreseen") for rate in RATES_ASKED), "root")  # fmt: skip
    return Page(
        "Widths of gaps after more labels, and as foreseen",
        f"In percent of what they were, means of {options.effort(RUNS).runs:,} runs; about the population. On average they "
        f"come to {after.mean():.2f} of what they were: {summary}.",
        [Table(header, rows)],
    )


def _leapfrog(options: Options, pool: str, model: str, n: int) -> list[np.ndarray]:
    """For each step, widths after more labels and as foreseen, of every rate, as shares of what they were."""
    effort, audit = options.effort(RUNS), read_audit(options.pools, pool, model)
    runs = np.stack([np.stack(list(_follow_once(audit, n, effort.seed, run))) for run in range(effort.runs)])
    before, steps = runs[:, 0, 0].mean(axis=0), runs[:, 1:]
    return [
        np.concatenate([step[:, 0].mean(axis=0) / before, step[:, 1].mean(axis=0)]) for step in steps.swapaxes(0, 1)
    ]


def _follow_once(audit: Audit, n: int, seed: int, run: int) -> Iterator[np.ndarray]:
    """Widths, and what was foreseen of them: at first, and after each step. Those labelled stay labelled."""
    method, gaps = hasten(METHODS[OURS]), []
    for times in (1, *TIMES):
        strata = audit.label(n * times, np.random.default_rng([seed, run]))
        sample = method.learn(strata, np.random.default_rng([seed, run, times]), finite_pool=False)
        gaps = [_subtract(sample, rate) for rate in RATES_ASKED]
        if times == 1:
            prospects = [sample.forecast(gap, [0, 1]) for gap in gaps]
        widths = [np.ptp(np.nanquantile(gap, [0.025, 0.975])) for gap in gaps]
        yield np.array(
            [widths, [prospect.relative_width(n * (times - 1)) if times > 1 else 1.0 for prospect in prospects]]
        )


def _subtract(sample: MethodDraws, rate: str) -> np.ndarray:
    values = sample.value(RATES[rate])
    return values[:, 1] - values[:, 0]


if __name__ == "__main__":
    start("fairness_more", make)
