"""Clocks that jump by a day, forwards and backwards, while answers are told and while items are leased.

Only the processes that are tested see it: in them, our modules get a clock that adds what a file says to the time.
"""

import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

from bench.faults.kills import judge_batches, receive, tell_forever
from bench.faults.processes import CONTEXT, Place, enter, start
from bench.faults.servers import BESIDE, stop, wait_for_address
from bench.faults.sessions import POOL, SESSION, compare, find_label, make_session, try_session, with_litter
from bench.faults.trials import Trial
from fewlabels.web.client import Client

DAY, LEASE = 86_400, 3.0  # seconds
TRUE = time.time


@dataclass(frozen=True)
class Clock:
    """A clock that another process can set: a file with the seconds that it is ahead."""

    path: Path

    def set(self, seconds: float) -> None:
        """Let the clock jump: so far from the true time."""
        new = self.path.with_suffix(".new")
        new.write_text(str(seconds))
        new.replace(self.path)

    def tell(self) -> float:
        """Tell the time."""
        return TRUE() + float(self.path.read_text())

    def install(self) -> None:
        """Let our modules in this process go by this clock."""
        tell = self.tell

        class Shifted(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None) -> "Shifted":
                return cls.fromtimestamp(tell(), tz)

        time.time = tell
        ours = [module for name, module in sys.modules.items() if name.startswith("fewlabels")]
        shown = [module for module in ours if getattr(module, "datetime", None) is datetime]
        if not shown:
            raise SystemExit("no module of ours goes by the clock")
        for module in shown:
            module.datetime = Shifted  # type: ignore[attr-defined]


def work_by_clock(clock: Clock, work: Callable[..., object], *words: Any) -> None:
    """Do this by another clock; in a process of its own."""
    clock.install()
    work(*words)


def jump_while_telling(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Let the clock jump while a process tells."""
    path, clock = make_session(place.folder, 20_000), Clock(place.log.with_name("clock"))
    clock.set(0)
    ours, theirs = CONTEXT.Pipe()
    process = start(work_by_clock, clock, tell_forever, path, "ann", theirs, place=place)
    theirs.close()
    said = [ours.recv(), ours.recv()]
    for _ in range(repeats):
        clock.set(rng.choice((-DAY, DAY)) + rng.uniform(-5, 5))
        said += [*receive(ours), *receive(ours, at_least=2)]  # at least one answer by the new time
        time.sleep(rng.uniform(0, 0.1))
    if not process.is_alive():
        yield Trial(broken=1, notes=(f"the process ended: {place.log.read_text()[-300:]}",))
        return
    process.kill()
    process.join()
    yield judge_batches(place, path, [*said, *receive(ours)], POOL, SESSION)
    yield from (Trial() for _ in range(repeats - 1))


def jump_while_leased(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Let the clock of a server jump: a lease lasts as long as it should, neither shorter nor longer."""
    make_session(place.folder, 1_000)
    clock = Clock(place.log.with_name("clock"))
    clock.set(0)
    words = ("label", POOL, "--session", SESSION, "--no-browser", "--lease", f"{LEASE:g}")
    place.log.write_text("")
    process = start(work_by_clock, clock, enter, *words, place=place)
    client, told = Client(wait_for_address(place.log)), dict[tuple[str, str], str]()
    jumps = [_jump_back if number % 2 else _jump_forward for number in range(repeats)]
    trials = [jump(clock, client, number, told, DAY + rng.uniform(-5, 5)) for number, jump in enumerate(jumps)]
    stop(process)
    kept, trial = try_session(place.folder / SESSION)
    trials[-1] += trial if kept is None else compare(kept, told)
    trials[-1] = with_litter(trials[-1], place.sweep(POOL, SESSION, BESIDE))
    yield from trials


def _jump_forward(clock: Clock, client: Client, number: int, told: dict[tuple[str, str], str], seconds: float) -> Trial:
    """An item that one person has is not handed to another."""
    began = time.monotonic()
    hers = _ask(client, f"ann {number}")
    clock.set(seconds)
    his = _ask(client, f"bob {number}")
    in_time = time.monotonic() - began < LEASE
    _tell(client, hers, f"ann {number}", told)
    if his != hers:
        _tell(client, his, f"bob {number}", told)
    both = his == hers and in_time
    return Trial(twice=int(both), notes=("an item was handed to two people",) if both else ())


def _jump_back(clock: Clock, client: Client, number: int, told: dict[tuple[str, str], str], seconds: float) -> Trial:
    """An item that one person leaves is handed to another once its lease is over."""
    hers = _ask(client, f"ann {number}")
    clock.set(-seconds)
    time.sleep(1.2 * LEASE)
    his = _ask(client, f"bob {number}")
    _tell(client, his, f"bob {number}", told)
    if his == hers:
        return Trial()
    _tell(client, hers, f"ann {number}", told)
    return Trial(broken=1, notes=("an item is still leased after its lease is over",))


def _ask(client: Client, who: str) -> str:
    return str(client.ask(1, who=who)[0]["id"])


def _tell(client: Client, item: str, who: str, told: dict[tuple[str, str], str]) -> None:
    client.tell({item: find_label(item)}, who=who)
    told[item, who] = find_label(item)


CLOCKS = {"clock: library that tells": jump_while_telling, "clock: leases": jump_while_leased}
