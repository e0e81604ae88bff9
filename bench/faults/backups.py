"""Backups of a session that people are labelling: each copy opens, and holds all that was acknowledged before it began."""

import random
import threading
import time
from collections.abc import Iterator

from bench.faults.processes import PATIENCE, Place, run_verb
from bench.faults.servers import BESIDE, PEOPLE, People, serve, stop
from bench.faults.sessions import POOL, SESSION, compare, make_session, try_session, with_litter
from bench.faults.trials import Trial

COPY = "copy.db"


def back_up_while_served(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
    """Copy the session while four people label, and read the copy."""
    make_session(place.folder, 4_000)
    process, address = serve(place)
    people = People(address)
    threads = [threading.Thread(target=people.label, args=(k,), daemon=True) for k in range(PEOPLE)]
    for thread in threads:
        thread.start()
    for _ in range(repeats):
        people.wait_for_more()
        time.sleep(rng.uniform(0, 0.1))
        yield _back_up(place, dict(people.acknowledged))
    people.done.set()
    for thread in threads:
        thread.join(PATIENCE)
    stop(process)


def _back_up(place: Place, before: dict[tuple[str, str], str]) -> Trial:
    ended = run_verb(place, ["backup", "--session", SESSION, "--out", COPY])
    if not ended.is_done:
        return Trial(broken=1, notes=(f"exit {ended.code}: {ended.printed.strip()[-300:]}",))
    kept, trial = try_session(place.folder / COPY)
    found = trial if kept is None else compare(kept, before)
    (place.folder / COPY).unlink(missing_ok=True)
    return with_litter(found, place.sweep(POOL, BESIDE, *(f"{SESSION}{end}" for end in ("", "-wal", "-shm"))))


BACKUPS = {"backup while served": back_up_while_served}
