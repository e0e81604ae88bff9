"""The server of `bench.page`, the people who label there, and the clients that read."""

import os
import subprocess
import sys
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

PEOPLE, ITEMS = 20, 50_000
READ = "import sys; from bench.page_crowd import read; read(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))"


def make_pool(folder: Path) -> dict[int, str]:
    """Items of ten classes, in a file; return their true classes."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 10, ITEMS).astype(str)
    predicted = np.where(rng.random(ITEMS) < 0.85, truth, rng.integers(0, 10, ITEMS).astype(str))
    text = [f"item number {i}" for i in range(ITEMS)]
    pool = pd.DataFrame({"id": range(ITEMS), "predicted": predicted, "score": rng.beta(6, 2, ITEMS), "text": text})
    pool.to_parquet(folder / "pool.parquet")
    return dict(enumerate(truth.tolist()))


def serve(folder: Path, votes: int) -> tuple[subprocess.Popen[str], list[str]]:
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


def start_reading(address: str, n: int, seconds: float) -> subprocess.Popen[str] | None:
    """Start the readers in a process of their own, if there are any."""
    command = [sys.executable, "-c", READ, address, str(n), str(seconds)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True) if n else None


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
        self.links, self.owner, self.clients = links, links[0], [Client(link) for link in links[1:]]
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
