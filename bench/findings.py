"""Rows of a part -> the lines of the one table: what was measured, ours, what stands beside it, and the ratio."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from bench.harness.rows import Row, Rows, select
from bench.peers_page import OURS, average


@dataclass(frozen=True)
class Finding:
    """One line of the one table."""

    what: str
    ours: str
    beside: str
    whose: str  # what stands beside it
    ratio: float  # beside / ours, of what is better when it is less: above 1 is better than what stands beside it


BARE = "the bare DuckDB query"
SCORES = "the papers' prior from scores, by the better policy"


def find_in_replay(rows: Rows) -> Iterator[Finding]:
    """Yield seconds of a replay beside the papers' code and the plain definition."""
    for row in select(rows, "replays"):
        what = f"{row['replay']}, {row['pool']}"
        for name, whose in (("papers", "the papers' code"), ("definition", "a plain NumPy loop")):
            if row[name] is not None:
                yield Finding(what, f"{row['kernel']:.3g} s", f"{row[name]:.3g} s", whose, row[f"times_{name}"])


def find_in_speed(rows: Rows) -> Iterator[Finding]:
    """Yield a million rows beside the bare query."""
    programs = {row["program"]: row for row in select(rows, "programs")}
    yield _compare_seconds("assess, a million rows", programs["fewlabels assess"], programs["bare DuckDB query"])


def find_in_fairness(rows: Rows) -> Iterator[Finding]:
    """Yield rows beside the bare query."""
    costs = select(rows, "costs")
    for bare, ours in zip(costs[::2], costs[1::2], strict=True):
        yield _compare_seconds(f"fairness, {ours['rows']:,} rows", ours, bare)


def _compare_seconds(what: str, ours: Row, bare: Row) -> Finding:
    ratio = bare["seconds"] / ours["seconds"]
    return Finding(what, f"{ours['seconds']:.2f} s", f"{bare['seconds']:.2f} s", BARE, ratio)


def find_in_asking(rows: Rows) -> Iterator[Finding]:
    """Yield the wait for the next item beside the floor of a synced append and a draw."""
    for row in select(rows, "sizes"):
        what, whose = f"ask, {row['groups']:,} groups", "one synced append and one draw per group"
        floor = f"{row['append'] + row['draw']:.2g} ms"
        yield Finding(what, f"{row['ask']:.2f} ms", floor, whose, 1 / row["times_floor"])


def find_in_surfaces(rows: Rows) -> Iterator[Finding]:
    """Yield a surface beside a logistic regression."""
    whose = "one logistic regression, without intervals"
    for row in select(rows, "shapes"):
        ours, beside = f"{row['again']:.2f} s", f"{row['regression']:.2f} s"
        yield Finding(f"surface, {row['shape']}", ours, beside, whose, 1 / row["ratio"])


def find_in_peers(rows: Rows) -> Iterator[Finding]:
    """Yield error and coverage with the same labels beside other tools."""
    means = list(average(select(rows, "tools")))
    ours = {row["labels"]: row for row in means if row["tool"] == OURS}
    for row in (row for row in means if not row["tool"].startswith("fewlabels")):
        mine, what = ours[row["labels"]], f"RMSE of groups, {row['labels']} labels"
        yield Finding(what, _show_error(mine), _show_error(row), row["tool"], row["rmse"] / mine["rmse"])


def _show_error(row: Row) -> str:
    return f"{100 * row['rmse']:.1f} points, coverage {100 * row['coverage']:.0f} ({100 * row['lowest_coverage']:.0f})"


def find_in_means(whose: str, titles: Mapping[str, str]) -> Callable[[Rows], Iterator[Finding]]:
    """Return a function that yields means over pools; the titles tell which ratios, and what they are of."""

    def find(rows: Rows) -> Iterator[Finding]:
        for row in (row for row in select(rows, "means") if row["ratio"] in titles and row["pools"]):
            yield Finding(f"{titles[row['ratio']]}, {row['pools']} pools", "", "", whose, 1 / row["mean"])

    return find


FINDERS: Mapping[str, Callable[[Rows], Iterator[Finding]]] = {
    "replay": find_in_replay,
    "speed": find_in_speed,
    "fairness": find_in_fairness,
    "asking": find_in_asking,
    "surfaces": find_in_surfaces,
    "peers": find_in_peers,
    "accuracies": find_in_means(
        SCORES, {f"ours / theirs at {n} labels per class": f"RMSE at {n} labels per class" for n in (2, 5, 10)}
    ),
    "comparison": find_in_means(
        "the better of flat and the papers'", {"ratio": "labels until two classes are told apart"}
    ),
    "calibration": find_in_means(
        SCORES,
        {f"at {n} labels: ours / theirs": f"error of the calibration error at {n} labels" for n in (20, 50, 100)},
    ),
    "finding": find_in_means(
        "the papers' prior from scores, Thompson",
        {"worst class": "labels until the worst class is found", "m worst": "labels until the m worst are found"},
    ),
}
