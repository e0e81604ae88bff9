"""Can one stop where a session says so? Sessions replayed to their stopping rule, under every goal, policy and prior.

Of sessions that settled: how often the stated answer was right. At every look from 20 labels on: whether the interval of
the overall accuracy contains the truth. In replays with a broken class, 45 % of its right labels are changed while its
scores stay as they were: whether the settled session's interval of this class contains the truth. About exactly these
items.
Run it from the project's folder: python -m bench.settling --out bench/settling.md
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from zlib import crc32

import numpy as np
import numpy.typing as npt

import fewlabels as fl
from bench.harness.main import Benchmark, start_in_batches
from bench.harness.page import Columns, figure, points, show_notes, show_table, text
from bench.harness.pools import add_pools_option, read_columns
from bench.harness.rows import Row, Rows, select

Goals = fl.Estimate | fl.FindWorst | fl.Compare
ONLY = "cifar10_lenet,20news,imdb,letter26_gnb,cifar10h_people,langid_py3langid"
FEWEST = 20  # labels from which the overall figure is held to its level
BROKEN = 0.45  # of the right labels of a broken class are changed
LEVEL, ROUNDING, N_WORST = 0.95, 1e-9, 15


@dataclass(frozen=True, eq=False)
class Pool:
    """Predictions without labels, and the labels."""

    name: str
    table: dict[str, npt.NDArray[np.generic]]

    @cached_property
    def predictions(self) -> fl.Predictions:
        """The pool as a session sees it."""
        seen = {name: self.table[name] for name in ("id", "predicted", "score") if name in self.table}
        return fl.Predictions.read({name: values.tolist() for name, values in seen.items()})

    @cached_property
    def predicted(self) -> npt.NDArray[np.str_]:
        """The predicted class of every item."""
        return self.table["predicted"].astype(str)

    @cached_property
    def right(self) -> npt.NDArray[np.bool_]:
        """Whether each prediction is right."""
        return self.predicted == self.table["label"].astype(str)

    def break_class(self, seed: int) -> tuple[npt.NDArray[np.bool_], str]:
        """Change the right labels of a class of at least 50 items; return what is right then, and the class."""
        rng = np.random.default_rng([seed, crc32(self.name.encode())])
        names, counts = np.unique(self.predicted[self.right], return_counts=True)
        name = str(rng.choice(names[counts >= min(50, counts.max())]))
        right = self.right.copy()
        (there,) = np.nonzero(right & (self.predicted == name))
        right[rng.choice(there, int(BROKEN * len(there)), replace=False)] = False
        return right, name


@dataclass(frozen=True)
class Case:
    """A kind of session."""

    goal: Goals
    by: str
    policy: str
    prior: str
    breaks: bool = False
    most: int = 1500  # labels
    batch: int = 10

    @property
    def words(self) -> dict[str, str | float]:
        """The case in a row."""
        aim = f" ±{self.goal.width / 2:g}" if isinstance(self.goal, fl.Estimate) else ""
        return {
            "goal": f"{self.goal.name}{aim}", "by": self.by, "policy": self.policy, "prior": self.prior,
            "broken": "yes" if self.breaks else "no", "batch": self.batch,
        }  # fmt: skip


def list_cases() -> Iterator[Case]:
    """Yield the kinds of sessions, the most frequent first."""
    for width in (0.3, 0.2):
        for policy in ("thompson", "random"):
            yield Case(fl.Estimate(width=width), "predicted", policy, "calibrated", breaks=True)
    yield Case(fl.Estimate(width=0.3), "predicted", "thompson", "calibrated", batch=1)
    for policy in ("thompson", "top-two", "random"):
        yield Case(fl.FindWorst(rope=0.05), "predicted", policy, "calibrated")
    yield Case(fl.FindWorst(rope=0.05), "predicted", "thompson", "flat")
    yield Case(fl.Estimate(width=0.3), "predicted", "thompson", "flat", breaks=True)
    for policy in ("thompson", "random", "stratified:neyman"):
        yield Case(fl.Estimate(width=0.1), "all", policy, "calibrated")


def replay(pool: Pool, case: Case, run: int) -> dict[str, float]:
    """Label until the session is settled, or to its budget."""
    right, broken = pool.break_class(run) if case.breaks else (pool.right, "")
    answers = np.where(right, pool.predicted, "none of these")
    place = {str(name): i for i, name in enumerate(pool.table["id"].tolist())}
    session = fl.Session.create(
        None, pool.predictions, goal=case.goal, by=case.by, policy=case.policy, prior=case.prior, finite_pool=True, seed=run
    )  # fmt: skip
    began, settled, n, looks, covered, squares = time.process_time(), False, 0, 0, 0, []
    asking = 0.0
    while n < min(case.most, len(right)) and not settled:
        clock = time.process_time()
        asked = session.ask(case.batch)
        asking += time.process_time() - clock
        if not asked:
            break
        session.tell({i: answers[place[str(i)]] for i in asked}, new_classes=True)
        n += len(asked)
        settled = session.standing().settled
        if n >= FEWEST:
            low, mean, high = estimate_overall(session)
            looks, covered = looks + 1, covered + (low - ROUNDING <= right.mean() <= high + ROUNDING)
            squares.append((mean - right.mean()) ** 2)
    known = session.knowledge()
    found = {
        "settled": float(settled), "n": float(n), "looks": float(looks), "covered": float(covered),
        "square": squares[-1] if squares else np.nan, "asking": asking / max(n / case.batch, 1),
        "seconds": time.process_time() - began, "most_in_one": float(known.n_told.max() / max(known.n_told.sum(), 1)),
        "no_labels": float((known.n_told == 0).mean()),
    }  # fmt: skip
    return found | judge(pool, case, right, broken, session, settled)


def estimate_overall(session: fl.Session) -> tuple[float, float, float]:
    """Return the overall figure with its interval."""
    overall = session.assess().overall
    return overall.low, overall.mean, overall.high


def judge(
    pool: Pool, case: Case, right: npt.NDArray[np.bool_], broken: str, session: fl.Session, settled: bool
) -> dict[str, float]:
    """Compare the stated answer of a settled session with the truth; nan where it did not settle."""
    known = session.knowledge()
    if not settled:
        return dict.fromkeys(("answer", "groups_covered", "broken_covered", "broken_labels"), np.nan)
    names = list(known.groups)
    truth = np.array([right.mean()] if case.by == "all" else [right[pool.predicted == g].mean() for g in names])
    low, high = known.interval()
    inside = (low - ROUNDING <= truth) & (truth <= high + ROUNDING)
    found = {"groups_covered": float(inside.mean()), "broken_covered": np.nan, "broken_labels": np.nan}
    if broken:
        found["broken_covered"] = float(inside[names.index(broken)])
        found["broken_labels"] = float(known.n_told[names.index(broken)])
    if isinstance(case.goal, fl.FindWorst):
        named = session.standing().details["groups"]
        at = [names.index(g) for g in named]
        bar = np.sort(truth)[case.goal.m - 1] + case.goal.rope + ROUNDING
        found["answer"] = float((truth[at] <= bar).all())
    else:
        found["answer"] = float(inside.mean())
    return found


def measure(options: argparse.Namespace, kept: Rows) -> Iterator[Rows]:
    """Yield all rows after every pool and kind of session; those that an earlier run left are not measured again."""
    cases = list(list_cases())
    chosen = [cases[int(i)] for i in options.cases.split(",")] if options.cases else cases
    rows = list(kept)
    done = {_identify(row) for row in rows}
    for name in options.only.split(","):
        pool = Pool(name, read_columns(options.pools / f"{name}.parquet"))
        for case in chosen:
            about = {"table": "cells", "pool": name, **case.words}
            if _identify(about) in done:
                continue
            found = [replay(pool, case, run) for run in range(options.runs)]
            rows.append({**about, "runs": options.runs, **average(found)})
            yield rows


def _identify(row: Row) -> tuple[object, ...]:
    return tuple(row[name] for name in ("pool", "goal", "by", "policy", "prior", "broken", "batch"))


def average(found: Sequence[dict[str, float]]) -> dict[str, float | None]:
    """Average over runs; None where a figure exists in no run."""
    means: dict[str, float | None] = {}
    for name in found[0]:
        values = np.array([one[name] for one in found])
        there = values[~np.isnan(values)]
        means[name] = float(there.mean()) if len(there) else None
    looks = sum(one["looks"] for one in found)
    means["covered"] = sum(one["covered"] for one in found) / looks if looks else None
    means["error"] = (
        None if means.pop("square") is None else float(np.sqrt(np.nanmean([one["square"] for one in found])))
    )
    means["n_settled"] = sum(one["settled"] for one in found)
    return means


COLUMNS: Columns = (
    ("pool", text("pool")), ("goal", text("goal")), ("by", text("by")), ("policy", text("policy")), ("prior", text("prior")),
    ("a class broken", text("broken")), ("settled", points("settled", ".0f")), ("labels", figure("n", ".0f")),
    ("answer right", points("answer", ".1f")), ("broken class covered", points("broken_covered", ".0f")),
    ("its labels", figure("broken_labels", ".0f")), ("overall covered", points("covered", ".1f")),
    ("overall error", points("error", ".1f")), ("largest share in one group", points("most_in_one", ".0f")),
    ("groups without a label", points("no_labels", ".0f")), ("runs", figure("runs", "d")),
)  # fmt: skip


def render(rows: Rows) -> Iterator[str]:
    """Yield the page: the worst cells first."""
    cells = select(rows, "cells")
    yield "# Asking one can stop on\n\n" + (__doc__ or "").split("\n\n", 1)[1].rsplit("\n", 2)[0].strip()
    yield f"Measured on {len({row['pool'] for row in cells})} pools, {min(row['runs'] for row in cells)} to {max(row['runs'] for row in cells)} runs a row; with so few runs a share is uncertain by tens of points."
    yield from show_notes(rows)
    yield "Percentages and points. `answer right`: of an estimate, the share of groups inside their intervals; of find-worst, the named group is the worst or within its rope."
    for title, name, least in (
        ("Stated answers of settled sessions", "answer", LEVEL), ("Broken classes of settled sessions", "broken_covered", 0.93),
        ("Overall accuracy at every look", "covered", 0.93),
    ):  # fmt: skip
        there = [row for row in cells if row[name] is not None]
        if there:
            worst = sorted(there, key=lambda row: row[name])[:N_WORST]
            below = sum(row[name] < least for row in there)
            mean = float(np.mean([row[name] for row in there]))
            yield f"## {title}\n\n{len(there)} kinds of sessions: {100 * mean:.1f}% on average, {below} below {100 * least:.0f}%. The worst:"
            yield show_table(COLUMNS, worst)
    yield "## All\n\n" + show_table(COLUMNS, cells)


BENCHMARK = Benchmark("settling", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Replay on the pools that are asked for."""
    parser = BENCHMARK.make_parser()
    add_pools_option(parser)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--only", default=ONLY, help="names of pools, joined by commas")
    parser.add_argument("--cases", default="", help="places of kinds of sessions, joined by commas")
    start_in_batches(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
