"""Pages of measurements -> one table: what was measured, ours, what stands beside it, and the ratio.

Every page is read as it is written for people: its tables, by their headers. A page that changes its columns is missed loudly.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

BOLD = re.compile(r"\*\*|`")
Cells = dict[str, str]


@dataclass(frozen=True)
class Finding:
    """One line of the one table."""

    what: str
    ours: str
    beside: str
    whose: str  # what stands beside it
    ratio: float  # beside / ours, of what is better when it is less: above 1 is better than what stands beside it


def read_tables(page: str) -> Iterator[list[Cells]]:
    """Return the rows of every table of a page, by their headers."""
    for block in re.findall(r"(?:^\|.*\n)+", page, flags=re.MULTILINE):
        header, _, *rows = (
            [BOLD.sub("", cell.strip()) for cell in line.strip().strip("|").split("|")] for line in block.splitlines()
        )
        yield [dict(zip(header, row, strict=True)) for row in rows]


def find_table(page: str, *columns: str) -> list[Cells]:
    """Return the table that has these columns."""
    for table in read_tables(page):
        if table and set(columns) <= set(table[0]):
            return table
    raise SystemExit(f"no table with the columns {', '.join(columns)} in the page that begins {page[:60]!r}")


def gather_replay(page: str) -> Iterator[Finding]:
    """Seconds of a replay beside the papers' code and the plain definition."""
    for row in find_table(page, "replay", "pool", "kernel", "definition", "papers"):
        what = f"{row['replay']}, {row['pool']}"
        for name, whose in (("papers", "the papers' code"), ("definition", "a plain NumPy loop")):
            if row[name]:
                yield Finding(what, f"{row['kernel']} s", f"{row[name]} s", whose, _number(row[f"{name} / kernel"]))


def gather_speed(page: str) -> Iterator[Finding]:
    """A million rows beside the bare query."""
    rows = {row["program"]: row for row in find_table(page, "program", "seconds", "MB at most")}
    yield _in_seconds("assess, a million rows", rows["fewlabels assess"], rows["bare DuckDB query"])


def gather_fairness(page: str) -> Iterator[Finding]:
    """Rows beside the bare query."""
    table = find_table(page, "rows", "program", "seconds")
    for bare, ours in zip(table[::2], table[1::2], strict=True):
        yield _in_seconds(f"fairness, {ours['rows']} rows", ours, bare)


def _in_seconds(what: str, ours: Cells, bare: Cells) -> Finding:
    ratio = _number(bare["seconds"]) / _number(ours["seconds"])
    return Finding(what, f"{ours['seconds']} s", f"{bare['seconds']} s", "the bare DuckDB query", ratio)


def gather_asking(page: str) -> Iterator[Finding]:
    """Waiting for the next item beside the floor of a synced append and a draw."""
    for row in find_table(page, "groups", "ask", "ask / floor"):
        floor = f"{_number(row['synced append']) + _number(row['draw']):.2g} ms"
        what, whose = f"ask, {row['groups']} groups", "one synced append and one draw per group"
        yield Finding(what, f"{row['ask']} ms", floor, whose, 1 / _number(row["ask / floor"]))


def gather_surfaces(page: str) -> Iterator[Finding]:
    """A surface beside a logistic regression."""
    for row in find_table(page, "first call", "logistic regression", "ratio"):
        whose = "one logistic regression, without intervals"
        yield Finding(f"surface, {row['']}", f"{row['again']} s", f"{row['logistic regression']} s", whose, 1 / _number(row["ratio"]))  # fmt: skip


def gather_accuracies(page: str) -> Iterator[Finding]:
    """Error with the same labels beside the papers' priors and policies."""
    for found in re.finditer(r"ours / theirs at (\d+) labels per class: \*\*([\d.]+)\*\* over (\d+) pools", page):
        what = f"RMSE at {found[1]} labels per class, {found[3]} pools"
        yield Finding(what, "", "", "the papers' prior from scores, by the better policy", 1 / float(found[2]))


def gather_comparison(page: str) -> Iterator[Finding]:
    """Labels to a verdict."""
    for found in re.finditer(r"- ratio: \*\*([\d.]+)\*\* over (\d+) pools", page):
        what = f"labels until two classes are told apart, {found[2]} pools"
        yield Finding(what, "", "", "the better of flat and the papers'", 1 / float(found[1]))


def gather_calibration(page: str) -> Iterator[Finding]:
    """Error of the calibration error with the same labels."""
    for found in re.finditer(r"- at (\d+) labels: ours / theirs: \*\*([\d.]+)\*\* over (\d+) pools", page):
        what = f"error of the calibration error at {found[1]} labels, {found[3]} pools"
        yield Finding(what, "", "", "the papers' prior from scores, by the better policy", 1 / float(found[2]))


def gather_finding(page: str) -> Iterator[Finding]:
    """Labels to the worst classes."""
    for found in re.finditer(r"- (worst class|m worst): \*\*([\d.]+)\*\* over (\d+) pools", page):
        what = f"labels until the {found[1]} is found, {found[3]} pools".replace("worst is", "worst are")
        yield Finding(what, "", "", "the papers' prior from scores, Thompson", 1 / float(found[2]))


def gather_peers(page: str) -> Iterator[Finding]:
    """Error and coverage with the same labels beside other tools."""
    table = find_table(page, "labels", "tool", "RMSE", "coverage")
    ours = {row["labels"]: row for row in table if row["tool"] == "fewlabels, calibrated"}
    for row in (row for row in table if not row["tool"].startswith("fewlabels")):
        mine = ours[row["labels"]]
        said, other = (f"{one['RMSE']} points, coverage {one['coverage']}" for one in (mine, row))
        ratio = _number(row["RMSE"]) / _number(mine["RMSE"])
        yield Finding(f"RMSE of groups, {row['labels']} labels", said, other, row["tool"], ratio)


def gather_nothing(_: str) -> Iterator[Finding]:
    """Nothing stands beside it: the page speaks for itself."""
    return iter(())


GATHERERS: Mapping[str, Callable[[str], Iterator[Finding]]] = {
    "replay": gather_replay, "speed": gather_speed, "fairness": gather_fairness, "asking": gather_asking,
    "surfaces": gather_surfaces, "accuracies": gather_accuracies, "comparison": gather_comparison, "peers": gather_peers,
    "calibration": gather_calibration, "finding": gather_finding,
}  # fmt: skip


def _number(text: str) -> float:
    return float(text.replace(",", ""))
