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
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd

import fewlabels as fl
from fewlabels.web.client import Client

PEOPLE, ANSWERS, ITEMS = 20, 10_000, 50_000
THINK = 0.25  # seconds between two answers of a person: faster than anybody reads
GOAL = 0.1  # seconds, for 95 of 100 requests
READ = "import sys; from bench.page import read; read(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))"


def make_pool(folder: Path) -> dict[int, str]:
    """Items of ten classes, in a file; return their true classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, ITEMS).astype(str)
    predicted = np.where(rng.random(ITEMS) < 0.85, truth, rng.integers(0, 10, ITEMS).astype(str))
    text = [f"item number {i}" for i in range(ITEMS)]
    pool = pd.DataFrame({"id": range(ITEMS), "predicted": predicted, "score": rng.beta(6, 2, ITEMS), "text": text})
    pool.to_parquet(folder / "pool.parquet")
    return dict(enumerate(truth.tolist()))


def start(folder: Path, votes: int) -> tuple[subprocess.Popen[str], list[str]]:
    """Serve the page, and read its links: the owner's, and one for each person."""
    goal = (
        []
        if (folder / "s.db").exists()
        else ["--goal", "find-worst", "--votes", str(votes), "--classes", ",".join(map(str, range(10)))]
    )
    people = ",".join(f"person {number}" for number in range(PEOPLE))
    words = ["label", "pool.parquet", "--session", "s.db", *goal, "--no-browser", "--invite", people]
    run = subprocess.Popen(
        [sys.executable, "-c", "from fewlabels.cli.app import main; main()", *words],
        cwd=folder, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert run.stdout is not None
    lines = (line.split()[-1] for line in run.stdout if "http" in line)
    return run, [next(lines) for _ in range(PEOPLE + 1)]


def read(address: str, n: int, seconds: float) -> None:
    """Let so many clients fetch the assessment, each as soon as it has the last one; print how long each time took."""
    client, end = Client(address), time.perf_counter() + seconds

    def fetch(_: int) -> list[float]:
        spent = []
        while (began := time.perf_counter()) < end:
            with suppress(fl.InputError):
                client.assessment()
                spent.append(time.perf_counter() - began)
        return spent

    with ThreadPoolExecutor(n) as readers:
        spent = [one for found in readers.map(fetch, range(n)) for one in found]
    print(*spent)


class Crowd:
    """People who label until there are enough answers, and note how long each request took."""

    def __init__(self, links: list[str], truth: dict[int, str], think: float) -> None:
        self.owner, self.clients = links[0], [Client(link) for link in links[1:]]
        self.truth, self.think = truth, think
        self.spent: dict[str, list[float]] = defaultdict(list)  # by kind of request
        self.told: dict[tuple[int, str], str] = {}
        self.idle: list[float] = []
        self.failed, self.lock = 0, threading.Lock()

    def probe(self, done: threading.Event) -> None:
        """Ask for nothing, again and again."""
        request = Request(f"{self.owner.partition('?')[0]}favicon.ico")
        request.add_header("authorization", f"Bearer {self.owner.partition('token=')[2]}")
        while not done.wait(self.think):
            began = time.perf_counter()
            with suppress(OSError):
                urlopen(request, timeout=10).close()
                self.idle.append(time.perf_counter() - began)

    def label(self, number: int, n: int) -> None:
        """Label so many items."""
        who, client, rng = f"person {number}", self.clients[number], np.random.default_rng(number)
        while n > 0:
            items = self._try("ask", partial(client.ask, 1))
            if not items:
                continue
            item = items[0]["id"]
            time.sleep(self.think * rng.uniform(0.5, 1.5))
            while self._try("tell", partial(client.tell, {item: self.truth[item]})) is None:
                pass  # as the page does: until it is heard
            with self.lock:
                self.told[item, who] = self.truth[item]
            n -= 1

    def _try(self, kind: str, request: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        try:
            found = request()
        except fl.InputError:
            with self.lock:
                self.failed += 1
            time.sleep(0.2)
            return None
        with self.lock:
            self.spent[kind].append(time.perf_counter() - began)
        return found


def measure(answers: int, kills: int, think: float, votes: int, readers: int = 0) -> str:
    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        truth = make_pool(folder)
        run, links = start(folder, votes)
        crowd, done = Crowd(links, truth, think), threading.Event()
        prober = threading.Thread(target=crowd.probe, args=(done,))
        prober.start()
        began = time.perf_counter()
        seconds = max(answers / PEOPLE * think, 5.0)
        reading = subprocess.Popen([sys.executable, "-c", READ, links[0], str(readers), str(seconds)], stdout=subprocess.PIPE, text=True) if readers else None  # fmt: skip
        people = [threading.Thread(target=crowd.label, args=(i, answers // PEOPLE)) for i in range(PEOPLE)]
        for person in people:
            person.start()
        for moment in np.sort(rng.uniform(0.1, 0.9, kills)):
            while len(crowd.told) < answers * moment:
                time.sleep(0.01)
            run.send_signal(signal.SIGKILL)
            run.wait()
            run, again = start(folder, votes)
            assert again == links
        for person in people:
            person.join()
        took = time.perf_counter() - began
        done.set()
        prober.join()
        fetched = [float(word) for word in reading.communicate()[0].split()] if reading else []
        run.send_signal(signal.SIGINT)
        run.wait()
        worked = resource.getrusage(resource.RUSAGE_CHILDREN)
        with fl.Session.open(folder / "s.db") as session:
            kept = {(row["id"], row["who"]): row["label"] for row in session.votes()}
            twice = len(session.votes()) - len(kept)
            n_labels = session.status()["n_labels"]
    lost = sum(kept.get(item) != label for item, label in crowd.told.items())
    spent = [one for found in crowd.spent.values() for one in found]
    middle, most, longest = np.quantile(spent, [0.5, 0.95, 0.999])
    cpu = (worked.ru_utime + worked.ru_stime) / len(spent)
    rows = [
        ("answers acknowledged", f"{len(crowd.told):,}", ""), ("lost or changed", f"{lost}", "0"), ("kept twice", f"{twice}", "0"),
        ("labels in the session", f"{n_labels:,}", f"{len({item for item, _ in crowd.told}):,}"),
        ("requests answered", f"{len(spent):,} in {took:.0f} s", ""), ("requests while the server was away", f"{crowd.failed:,}", ""),
        ("median, ms", f"{1000 * middle:.0f}", ""), ("95th percentile, ms", f"{1000 * most:.0f}", f"{1000 * GOAL:.0f}"),
        ("99.9th percentile, ms", f"{1000 * longest:.0f}", ""),
        *((f"{kind}: median, 95th and 99th percentile, ms", _say(found), f"95th: {1000 * GOAL:.0f}") for kind, found in crowd.spent.items()),
        *([(f"assessments read by {readers} clients", f"{len(fetched):,} in {seconds:.0f} s", ""),
           ("assessment: median, 95th and 99th percentile, ms", _say(fetched), "")] if fetched else []),
        ("95th percentile of a request that does nothing, ms", f"{1000 * np.quantile(crowd.idle, 0.95):.0f}", ""),
        ("the server's own time per request, its starts included, ms", f"{1000 * cpu:.1f}", ""),
        ("load of this machine's two cores", f"{os.getloadavg()[1]:.1f}", ""),
    ]  # fmt: skip
    table = "\n".join(f"| {' | '.join(row)} |" for row in (("", "found", "goal"), ("---", "---", "---"), *rows))
    command = f"python -m bench.page --answers {answers} --kills {kills} --think {think:g} --votes {votes} --readers {readers} --out bench/page.md"
    return (
        f"# The page under load\n\n`{command}`\n\n{PEOPLE} people at once, each thinking {think:g} s on average; the server is killed and "
        f"started again at {kills} random moments. Answers per item: {votes}; {ITEMS:,} items, ten classes, calibrated prior.\n\n{table}\n"
    )


def _say(spent: list[float]) -> str:
    return ", ".join(f"{1000 * one:.0f}" for one in np.quantile(spent, [0.5, 0.95, 0.99]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=ANSWERS)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--think", type=float, default=THINK)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--votes", type=int, default=1)
    parser.add_argument("--readers", type=int, default=0, help="clients that fetch the assessment meanwhile")
    words = parser.parse_args()
    found = measure(words.answers, words.kills, words.think, words.votes, words.readers)
    print(found)
    if words.out:
        words.out.write_text(found, encoding="utf-8")


if __name__ == "__main__":
    main()
