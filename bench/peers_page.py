"""The page of `bench.peers`: all pools together, where others win, then pool by pool."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from bench.harness.page import Show, figure, points, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select

OURS, FLAT, PLAIN = "fewlabels, calibrated", "fewlabels, flat", "Jeffreys"
LEAST = 0.9  # coverage below which an interval of 95 % is not one
Case = tuple[str, int]  # a pool, and how many labels
ABOUT = """Every run draws labels at random and hands the same ones to every tool; each is asked for the accuracy of every group,
with 95 % intervals, by its own defaults (fairlearn: 100 resamples). The truth is the accuracy on the whole pool. A group that
a tool says nothing about counts as the accuracy of all labels together, anywhere from 0 to 1: such an interval is of no
use, but it covers. RMSE is over groups, each counting alike; small groups are the four smallest of a pool; seconds are of
processor time for all groups at once. fairlearn's accuracy is scikit-learn's, so their errors are the same; ppi-python's intervals
lean on a normal approximation that wants more labels than small groups have here. Where coverage is 95 %, its standard error is one to two
points on a pool; where it is 50 %, three to five."""
FIGURES = ("rmse", "coverage", "coverage_small", "width", "width_small", "silent", "seconds")


def _show_coverage(name: str) -> Show:
    return lambda row: f"{100 * row[name]:.0f} ({100 * row[f'lowest_{name}']:.0f})"


def _list_columns(show_coverage: Callable[[str], Show]) -> tuple[tuple[str, Show], ...]:
    return (
        ("labels", text("labels")),
        ("tool", text("tool")),
        ("RMSE", points("rmse", ".1f")),
        ("coverage", show_coverage("coverage")),
        ("on small groups", show_coverage("coverage_small")),
        ("width", figure("width", ".2f")),
        ("on small groups", figure("width_small", ".2f")),
        ("says nothing", points("silent", ".0f")),
        ("seconds", figure("seconds", ".2g")),
    )


ALL_POOLS = _list_columns(_show_coverage)
BY_POOL = (("pool", text("pool")), *_list_columns(lambda name: points(name, ".0f")))


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings, tools = find_settings(rows), select(rows, "tools")
    minutes = sum(row["seconds"] for row in select(rows, "times")) / 60
    yield "# Side by side: fewlabels and what one would use instead"
    yield f"Made by `{settings['command']}` in {minutes:.0f} minutes (load of the machine at the end: {settings['load']:.1f})."
    yield ABOUT
    yield "## All pools together"
    yield "RMSE in points, coverage and silence in percent. Mean over pools; in brackets the lowest coverage of any pool."
    yield show_table(ALL_POOLS, average(tools))
    yield "![RMSE against labels](peers_errors.png)"
    yield "![Coverage against width](peers_coverage.png)"
    yield "## Where others win"
    yield "\n".join(f"- {line}" for line in admit(tools))
    yield "## Pool by pool"
    yield show_table(BY_POOL, tools)


def average(tools: Rows) -> Iterator[Row]:
    """Yield the means over pools, of every tool with as many labels, and the lowest coverage."""
    for labels in sorted({row["labels"] for row in tools}):
        for tool in dict.fromkeys(row["tool"] for row in tools):
            here = select(tools, "tools", labels=labels, tool=tool)
            means = {name: float(np.mean([row[name] for row in here])) for name in FIGURES}
            lowest = {f"lowest_{name}": min(row[name] for row in here) for name in ("coverage", "coverage_small")}
            yield {"labels": labels, "tool": tool, **means, **lowest}


def admit(tools: Rows) -> Iterator[str]:
    """Yield where another tool is closer or more honest, and who is quickest."""
    cases: dict[Case, dict[str, Row]] = {}
    for row in tools:
        cases.setdefault((row["pool"], row["labels"]), {})[row["tool"]] = row
    for case, here in cases.items():
        yield from _admit_closer(case, here)
        yield from _admit_coverage(case, here)
    beaten = [case for case, here in cases.items() if here[PLAIN]["rmse"] < here[FLAT]["rmse"]]
    yield (
        f"Without scores: {PLAIN} is closer than {FLAT} in {len(beaten)} of {len(cases)} cases. A flat prior is worth two labels and "
        "says one half, Jeffreys' one; models are mostly right, so the weaker prior hurts less."
    )
    wide = float(np.mean([here[OURS]["coverage"] for here in cases.values()]))
    yield f"Width: intervals of {OURS} cover {100 * wide:.1f} % on average where 95 would do, so they could be narrower."
    yield _admit_seconds(tools)


def _admit_closer(case: Case, here: Mapping[str, Row]) -> Iterator[str]:
    ours = here[OURS]
    closer = [row for tool, row in here.items() if row["rmse"] < ours["rmse"] and not tool.startswith("fewlabels")]
    for row in sorted(closer, key=lambda row: float(row["rmse"]))[:1]:
        yield (
            f"Closer: on {case[0]} with {case[1]} labels {row['tool']} has an RMSE of {100 * row['rmse']:.1f} points (coverage "
            f"{100 * row['coverage']:.0f} %), {OURS} {100 * ours['rmse']:.1f} ({100 * ours['coverage']:.0f} %)."
        )


def _admit_coverage(case: Case, here: Mapping[str, Row]) -> Iterator[str]:
    for tool in (OURS, FLAT):
        low, other = min(here[tool]["coverage"], here[tool]["coverage_small"]), here[PLAIN]["coverage"]
        if low < LEAST:
            yield (
                f"Not honest enough: on {case[0]} with {case[1]} labels intervals of {tool} cover {100 * low:.0f} %, "
                f"of {PLAIN} {100 * other:.0f} %."
            )


def _admit_seconds(tools: Rows) -> str:
    names = dict.fromkeys(row["tool"] for row in tools)
    seconds = {name: float(np.mean([row["seconds"] for row in tools if row["tool"] == name])) for name in names}
    first = min(seconds, key=lambda name: seconds[name])
    return (
        f"Time: {first} takes {seconds[first]:.1g} s, {OURS} {seconds[OURS]:.2g} s, most of it for reading the table into an engine "
        "and for random draws."
    )
