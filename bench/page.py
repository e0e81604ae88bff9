"""Twenty people label at once, as fast as the server lets them: is every answer kept, once, and how long does each take?

A server of its own process, a session in a file, twenty threads, each with a link of its own, that ask and tell over
loopback, 10,000 answers in all; at random moments the server is killed and started again. A prober sends requests that do
nothing at all, over the same loopback and through the same door, to tell how long this machine takes for that. With
readers, so many clients of another process fetch the assessment again and again meanwhile.
Run it from the project's folder: python -m bench.page --out bench/page.md
"""

import argparse
import os
import resource
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import fewlabels as fl
from bench.harness.main import Benchmark, start
from bench.harness.page import figure, show_notes, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select
from bench.page_crowd import ITEMS, PEOPLE, Crowd, make_pool, serve, start_reading

ANSWERS = 10_000
THINK = 0.25  # seconds between two answers of a person: faster than anybody reads
GOAL = 0.1  # seconds, for 95 of 100 requests


@dataclass(frozen=True)
class Load:
    """What came of people who labelled at once."""

    crowd: Crowd
    seconds: float
    reading: float  # seconds that readers had
    fetched: list[float]


def put_under_load(folder: Path, crowd: Crowd, run: subprocess.Popen[str], options: argparse.Namespace) -> Load:
    """Let people label, with readers and kills meanwhile."""
    done, began = threading.Event(), time.perf_counter()
    prober = threading.Thread(target=crowd.probe, args=(done,))
    prober.start()
    seconds = max(options.answers / PEOPLE * options.think, 5.0)
    reading = start_reading(crowd.owner, options.readers, seconds)
    people = [threading.Thread(target=crowd.label, args=(i, options.answers // PEOPLE)) for i in range(PEOPLE)]
    for person in people:
        person.start()
    run = kill_and_restart(folder, crowd, run, options)
    for person in people:
        person.join()
    took = time.perf_counter() - began
    done.set()
    prober.join()
    fetched = [float(word) for word in reading.communicate()[0].split()] if reading else []
    stop(run, signal.SIGINT)
    return Load(crowd, took, seconds, fetched)


def kill_and_restart(
    folder: Path, crowd: Crowd, run: subprocess.Popen[str], options: argparse.Namespace
) -> subprocess.Popen[str]:
    """Kill the server at random moments and start it again; return the last one."""
    for moment in np.sort(np.random.default_rng(1).uniform(0.1, 0.9, options.kills)):
        while len(crowd.told) < options.answers * moment:
            time.sleep(0.01)
        stop(run, signal.SIGKILL)
        run, links = serve(folder, options.votes)
        assert links == crowd.links
    return run


def stop(run: subprocess.Popen[str], how: signal.Signals) -> None:
    """End the server."""
    run.send_signal(how)
    run.wait()


def count_answers(path: Path, crowd: Crowd) -> dict[str, int]:
    """Return how many answers were acknowledged, and what the session makes of them."""
    with fl.Session.open(path) as session:
        votes, n_labels = session.votes(), session.status()["n_labels"]
    kept = {(row["id"], row["who"]): row["label"] for row in votes}
    lost = sum(kept.get(item) != label for item, label in crowd.told.items())
    n_items = len({item for item, _ in crowd.told})
    return {
        "told": len(crowd.told),
        "lost": lost,
        "twice": len(votes) - len(kept),
        "labels": n_labels,
        "items": n_items,
    }


def describe_requests(load: Load) -> Iterator[Row]:
    """Yield a row for every kind of request, in milliseconds."""
    kinds = {**load.crowd.spent, **({"assessment": load.fetched} if load.fetched else {})}
    for kind, spent in kinds.items():
        middle, most, longest = (1000 * float(one) for one in np.quantile(spent, [0.5, 0.95, 0.99]))
        yield {
            "table": "requests", "kind": kind, "number": len(spent), "median": middle, "p95": most, "p99": longest,
            "seconds": load.reading if kind == "assessment" else load.seconds,
        }  # fmt: skip


def measure(options: argparse.Namespace) -> Iterator[Row]:
    """Yield a row about all answers and requests, and one for every kind of request."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = make_pool(folder)
        run, links = serve(folder, options.votes)
        load = put_under_load(folder, Crowd(links, truth, options.think), run, options)
        worked = resource.getrusage(resource.RUSAGE_CHILDREN)
        counts = count_answers(folder / "s.db", load.crowd)
    spent = [one for found in load.crowd.spent.values() for one in found]
    middle, most, longest = (1000 * float(one) for one in np.quantile(spent, [0.5, 0.95, 0.999]))
    yield {
        "table": "loads", "title": None, "kills": options.kills, "think": options.think, "votes": options.votes,
        **counts, "requests": len(spent), "seconds": load.seconds, "failed": load.crowd.failed, "median": middle,
        "p95": most, "p999": longest, "idle_p95": 1000 * float(np.quantile(load.crowd.idle, 0.95)),
        "busy": 1000 * (worked.ru_utime + worked.ru_stime) / len(spent), "load": os.getloadavg()[1],
    }  # fmt: skip
    yield from describe_requests(load)


def list_figures(load: Row, requests: Rows) -> Iterator[tuple[str, str, str]]:
    """Yield what was measured, what was found, and the goal."""
    goal = f"{1000 * GOAL:.0f}"
    yield "answers acknowledged", f"{load['told']:,}", ""
    yield "lost or changed", f"{load['lost']}", "0"
    yield "kept twice", f"{load['twice']}", "0"
    yield "labels in the session", f"{load['labels']:,}", f"{load['items']:,}"
    yield "requests answered", f"{load['requests']:,} in {load['seconds']:.0f} s", ""
    yield "requests while the server was away", f"{load['failed']:,}", ""
    yield "median, ms", f"{load['median']:.0f}", ""
    yield "95th percentile, ms", f"{load['p95']:.0f}", goal
    yield "99.9th percentile, ms", f"{load['p999']:.0f}", ""
    for row in requests:
        yield from _list_requests(row, goal)
    yield "95th percentile of a request that does nothing, ms", f"{load['idle_p95']:.0f}", ""
    yield "the server's own time per request, its starts included, ms", f"{load['busy']:.1f}", ""
    yield "load of this machine's two cores", f"{load['load']:.1f}", ""


def _list_requests(row: Row, goal: str) -> Iterator[tuple[str, str, str]]:
    is_reading = row["kind"] == "assessment"
    if is_reading:
        yield "assessments read", f"{row['number']:,} in {row['seconds']:.0f} s", ""
    found = f"{row['median']:.0f}, {row['p95']:.0f}, {row['p99']:.0f}"
    yield f"{row['kind']}: median, 95th and 99th percentile, ms", found, "" if is_reading else f"95th: {goal}"


COLUMNS = (("", text("what")), ("found", text("found")), ("goal", text("goal")))
READERS = (
    ("load of the two cores", text("load")),
    ("readers", text("readers")),
    ("ask, ms", figure("ask", ".0f")),
    ("tell, ms", figure("tell", ".0f")),
    ("a request that does nothing, ms", figure("idle", ".0f")),
    ("assessments a second", figure("assessments", ".0f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page: every run, then what was noted, and runs beside readers."""
    requests, settings = select(rows, "requests"), find_settings(rows)
    yield "# The page under load"
    for load in select(rows, "loads"):
        yield from render_load(load, [row for row in requests if row.get("title") == load["title"]], settings)
    yield from show_notes(rows)
    readers = select(rows, "readers")
    if readers:
        yield show_table(READERS, readers)


def render_load(load: Row, requests: Rows, settings: Row) -> Iterator[str]:
    """Yield the parts of one run."""
    if load["title"]:
        yield f"## {load['title']}"
    yield f"`{load.get('command') or settings['command']}`"
    yield (
        f"{PEOPLE} people at once, each thinking {load['think']:g} s on average; the server is killed and "
        f"started again at {load['kills']} random moments. Answers per item: {load['votes']}; {ITEMS:,} items, ten classes, calibrated prior."
    )
    figures = list_figures(load, requests)
    yield show_table(COLUMNS, [{"what": what, "found": found, "goal": goal} for what, found, goal in figures])


BENCHMARK = Benchmark("page", __doc__, render)


def main(words: Sequence[str] | None = None) -> None:
    """Measure, or make the page again."""
    parser = BENCHMARK.make_parser()
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--think", type=float, default=THINK)
    parser.add_argument("--votes", type=int, default=1)
    parser.add_argument("--readers", type=int, default=0, help="clients that fetch the assessment meanwhile")
    start(BENCHMARK, parser, measure, words)


if __name__ == "__main__":
    main()
