"""Full disks: what is refused is refused as a whole and in plain words, and goes on once there is space again."""

import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

import fewlabels as fl
from bench.faults.kills import ROWS, judge_batches, place_fault, receive
from bench.faults.processes import CONTEXT, PATIENCE, Ended, Place, run_verb, start
from bench.faults.reports import judge_files, write_old
from bench.faults.servers import PEOPLE, People, judge_people, serve, stop
from bench.faults.sessions import (
    GOAL,
    POOL,
    SESSION,
    Answers,
    compare,
    find_label,
    list_earlier,
    make_pool,
    make_session,
    try_session,
    with_litter,
    write_export,
)
from bench.faults.trials import Trial

SIZE = 8_000_000  # bytes of the small disk
MOST_REPORTS = 200_000  # bytes left for reports
BESIDE = "earlier.db"
FILLER, SESSION_FILES = "filler", (SESSION, f"{SESSION}-wal", f"{SESSION}-shm")


@dataclass
class Disk:
    """A place on a small disk of its own, or one where files may not grow."""

    place: Place
    is_small: bool

    def fill(self, free: int) -> None:
        """Leave so many bytes: of the disk, or of what its largest file may grow by."""
        if self.is_small:
            with suppress(OSError), (self.place.folder / FILLER).open("wb") as file:  # others may fill it meanwhile
                file.write(bytes(max(shutil.disk_usage(self.place.folder).free - free, 0)))
        else:
            sizes = [path.stat().st_size for path in self.place.folder.iterdir()]
            self.place = replace(self.place, limit=max([*sizes, 0]) + free)

    def free(self) -> None:
        """Make space again."""
        (self.place.folder / FILLER).unlink(missing_ok=True)
        self.place = replace(self.place, limit=None)


@contextmanager
def small_disk(place: Place) -> Iterator[Disk]:
    """Mount a small disk on a place's folder where this user may, and take it away again."""
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(place.folder)]
    try:
        is_small = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        is_small = False
    try:
        yield Disk(place, is_small)
    finally:
        if is_small:
            subprocess.run(["umount", "--lazy", str(place.folder)], check=True)


def on_full_disks(
    scenario: Callable[[random.Random, Disk], Trial],
) -> Callable[[random.Random, Place, int], Iterator[Trial]]:
    """Repeat a scenario, each time on an empty disk."""

    def repeat(rng: random.Random, place: Place, repeats: int) -> Iterator[Trial]:
        for _ in range(repeats):
            with small_disk(place) as disk:
                yield scenario(rng, disk)
            for path in place.folder.iterdir():
                path.unlink()

    return repeat


def check_refusal(ended: Ended) -> Trial:
    """A verb may succeed, or end with code 1 and one clear message."""
    if ended.is_done or (
        ended.code == 1 and "a bug in fewlabels" not in ended.printed and "Traceback" not in ended.printed
    ):
        return Trial()
    return Trial(broken=1, notes=(f"exit {ended.code}: {ended.printed.strip()[-300:]}",))


def tell_until_full(rng: random.Random, disk: Disk) -> Trial:
    """A process tells until the disk is full, and another goes on once there is space."""
    path = make_session(disk.place.folder, 2_000)
    disk.fill(rng.randrange(20_000, 400_000))
    first = _tell_for_a_while(disk, path, "ann")
    disk.free()
    second = _tell_for_a_while(disk, path, "bob", most=5)
    found = judge_batches(disk.place, path, [*first, *second], POOL, SESSION)
    ended = {word for word, _ in first} >= {"refused"} and sum(word == "kept" for word, _ in second) == 5
    found += place_fault(is_after=False)
    return found + Trial(broken=int(not ended), notes=() if ended else (f"{len(first)} and {len(second)} messages",))


def _tell_for_a_while(disk: Disk, path: Path, who: str, most: int = 600) -> list[tuple[str, Answers]]:
    ours, theirs = CONTEXT.Pipe()
    process = start(tell_until_refused, path, who, most, theirs, place=disk.place)
    theirs.close()
    said = []
    try:
        while ours.poll(PATIENCE):
            said.append(ours.recv())
    except EOFError:
        pass
    process.join(PATIENCE)
    return [*said, *receive(ours)]


def tell_until_refused(path: Path, who: str, most: int, acknowledge: Connection) -> None:
    """Tell three answers at a time until one is refused; in a process of its own."""
    with fl.Session.open(path) as session:
        for _ in range(most):
            batch: Answers = {}
            try:
                batch = {(str(item), who): find_label(item) for item in session.ask(3, who=who)}
                acknowledge.send(("trying", batch))
                session.tell({item: label for (item, _), label in batch.items()}, who=who)
                acknowledge.send(("kept", batch))
            except fl.InputError:
                acknowledge.send(("refused", batch))
                return


def import_on_full(rng: random.Random, disk: Disk) -> Trial:
    """An import is kept as a whole or refused as a whole."""
    earlier = list_earlier(2 * ROWS)
    make_session(disk.place.folder, 2 * ROWS, answers=earlier)
    answers = {(str(item), f"person{item % 5}@example.org"): find_label(item) for item in range(ROWS)}
    write_export(disk.place.folder / "export.json", answers)
    words = ["import", "export.json", "--session", SESSION]
    disk.fill(rng.randrange(0, 120_000))
    ended = run_verb(disk.place, words)
    disk.free()
    kept, trial = try_session(disk.place.folder / SESSION)
    if kept is None:
        return trial
    found = compare(kept, earlier | answers if ended.is_done else earlier, answers) + check_refusal(ended)
    found += place_fault(is_after=ended.is_done)
    again = run_verb(disk.place, words)
    return with_litter(found + Trial(broken=int(not again.is_done)), disk.place.sweep(POOL, SESSION, "export.json"))


def create_on_full(rng: random.Random, disk: Disk) -> Trial:
    """A session is created as a whole or not at all; one beside it keeps its answers."""
    earlier = list_earlier(5_000)
    make_session(disk.place.folder, 5_000, name=BESIDE, answers=earlier)
    words = ["ask", POOL, "--session", SESSION, *GOAL]
    disk.fill(rng.randrange(0, 600_000))
    ended = run_verb(disk.place, words)
    found = with_litter(
        check_refusal(ended) + Trial(int(ended.is_done)), disk.place.sweep(FILLER, POOL, BESIDE, *SESSION_FILES)
    )
    disk.free()
    again = run_verb(disk.place, words)
    _, trial = try_session(disk.place.folder / SESSION)
    found += trial + Trial(broken=int(not again.is_done)) + place_fault(is_after=ended.is_done)
    kept, trial = try_session(disk.place.folder / BESIDE)
    found += trial if kept is None else compare(kept, earlier)
    return with_litter(found, disk.place.sweep(POOL, SESSION, BESIDE))


def report_on_full(rng: random.Random, disk: Disk) -> Trial:
    """A report is written as a whole, or the one that was there stays."""
    make_pool(disk.place.folder, 500)
    names = ("r.html", "r.json")
    write_old(disk.place.folder, names)
    words = ["assess", POOL, "--html", "r.html", "--json", "r.json"]
    disk.fill(rng.randrange(0, MOST_REPORTS))
    ended = run_verb(disk.place, words)
    found = check_refusal(ended) + judge_files(disk.place.folder, names, {}, is_new=ended.is_done)
    found = with_litter(found + place_fault(is_after=ended.is_done), disk.place.sweep(FILLER, POOL, *names))
    disk.free()
    return found + Trial(broken=int(not run_verb(disk.place, words).is_done))


def serve_on_full(rng: random.Random, disk: Disk) -> Trial:
    """The page server refuses answers while the disk is full, and keeps them once there is space."""
    make_session(disk.place.folder, 2_000)
    process, address = serve(disk.place)
    people = People(address)
    threads = [threading.Thread(target=people.label, args=(k,), daemon=True) for k in range(PEOPLE)]
    for thread in threads:
        thread.start()
    people.wait_for_more()
    disk.fill(rng.randrange(0, 60_000))
    end = time.monotonic() + PATIENCE / 6
    while disk.is_small and not people.refusals and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(rng.uniform(0, 0.3))
    disk.free()
    recovery = people.wait_for_more()
    people.done.set()
    for thread in threads:
        thread.join(PATIENCE)
    ended = stop(process)
    refused = bool(people.refusals) or not disk.is_small
    unclear = [said for said in people.refusals if "bug" in said or "Traceback" in said]
    found = judge_people(disk.place, people) + Trial(broken=int(not (ended and refused)) + len(unclear))
    return replace(found, recovery=max(found.recovery, recovery), notes=(*found.notes, *dict.fromkeys(unclear)))


DISKS = {
    "full disk: library that tells": on_full_disks(tell_until_full),
    "full disk: `import`": on_full_disks(import_on_full),
    "full disk: new session": on_full_disks(create_on_full),
    "full disk: reports": on_full_disks(report_on_full),
    "full disk: page server": on_full_disks(serve_on_full),
}
