"""Kills of the page server while people label; it is started again, and they go on."""

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import fewlabels as fl
from bench.faults.processes import PATIENCE, Place, enter, start, wait_for
from bench.faults.sessions import GOAL, POOL, SESSION, compare, find_label, make_pool, try_session, with_litter
from bench.faults.trials import Trial
from fewlabels.web.client import Client

PEOPLE, ITEMS, PAUSE = 4, 4_000, 0.02
BESIDE = f"{SESSION}.keys"  # where the server keeps who may come in


def serve(place: Place, *options: str) -> tuple[BaseProcess, str]:
    """Start the page server, and wait for its address."""
    place.log.write_text("")
    goal = () if (place.folder / SESSION).exists() else GOAL
    process = start(enter, "label", POOL, "--session", SESSION, *goal, *options, "--no-browser", place=place)
    return process, wait_for_address(place.log)


def wait_for_address(log: Path) -> str:
    """Read the address that a server prints, once its line is complete."""
    wait_for(log, "stop with")
    return next(word for word in log.read_text().split() if word.startswith("http"))


def stop(process: BaseProcess) -> bool:
    """End a server as Ctrl-C does; say whether it ended."""
    if process.is_alive() and process.pid is not None:
        os.kill(process.pid, signal.SIGINT)
    process.join(PATIENCE)
    return not process.is_alive()


@dataclass
class People:
    """Threads that label over HTTP, and send an answer again until the server acknowledges it, as the page does."""

    address: str
    done: threading.Event = field(default_factory=threading.Event)
    acknowledged: dict[tuple[str, str], str] = field(default_factory=dict)
    refusals: list[str] = field(default_factory=list)
    last: float = 0.0  # when the last answer was acknowledged

    def label(self, number: int) -> None:
        """Ask and tell until all is done."""
        who, client = f"person {number}", Client(self.address)
        while not self.done.is_set():
            items = self._try(partial(client.ask, 1, who=who))
            if items:
                item = items[0]["id"]
                while not self._try(partial(client.tell, {item: find_label(item)}, who=who)):
                    if self.done.is_set():
                        return
                self.acknowledged[str(item), who] = find_label(item)
                self.last = time.monotonic()

    def _try(self, request: Callable[[], Any]) -> Any:
        try:
            return request()
        except fl.InputError as error:
            self.refusals.append(str(error))
            time.sleep(PAUSE)
            return None

    def wait_for_more(self) -> float:
        """Wait until another answer is acknowledged; return how long that took."""
        began = time.monotonic()
        while self.last < began:
            if time.monotonic() > began + PATIENCE:
                raise SystemExit(f"the server does not answer: {self.refusals[-1:]}")
            time.sleep(PAUSE / 10)
        return time.monotonic() - began


def kill_server(rng: random.Random, place: Place, repeats: int, *, votes: int) -> Iterator[Trial]:
    """Kill the server at random moments, and start it again, while four people label."""
    make_pool(place.folder, ITEMS)
    process, address = serve(place, "--votes", str(votes))
    people = People(address)
    threads = [threading.Thread(target=people.label, args=(k,), daemon=True) for k in range(PEOPLE)]
    for thread in threads:
        thread.start()
    trials = []
    for _ in range(repeats):
        people.wait_for_more()
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.join()
        began = time.monotonic()
        process, again = serve(place)
        people.wait_for_more()
        moved = int(again != address)
        notes = ("its address changed",) if moved else ()
        trials.append(Trial(recovery=time.monotonic() - began, broken=moved, notes=notes))
    people.done.set()
    for thread in threads:
        thread.join(PATIENCE)
    ended = stop(process)
    trials[-1] += judge_people(place, people) + Trial(broken=int(not ended))
    yield from trials


def judge_people(place: Place, people: People) -> Trial:
    """Compare what was acknowledged with what the session holds; an answer that is sent again counts once."""
    kept, trial = try_session(place.folder / SESSION)
    if kept is None:
        return trial
    found = compare(replace(kept, times={}), people.acknowledged)
    twice = kept.n_labels - len({item for item, _ in kept.answers})
    return with_litter(replace(found, twice=twice), place.sweep(POOL, SESSION, BESIDE))


SERVERS = {
    "kill: page server": partial(kill_server, votes=1),
    "kill: page server, votes": partial(kill_server, votes=2),
}
