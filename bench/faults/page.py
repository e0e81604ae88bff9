"""The page of faults, made from rows."""

from collections.abc import Iterator

from bench.faults.trials import FAULTS, WRONG
from bench.harness.page import figure, show_notes, show_table, text
from bench.harness.rows import Rows, find_settings, select

CLEAN = "Nothing was lost, kept twice, kept in part or left lying about."
LEGEND = """*before*, *after*: faults before and after the work at hand was acknowledged (a server has always both). *acknowledged*:
answers, sessions and files that were acknowledged before each fault, also by earlier commands, added over all faults."""
COLUMNS = (
    ("scenario", text("scenario")),
    *((name, figure(name, ",")) for name in ("faults", "before", "after", "acknowledged", "lost", "twice")),
    ("half-kept", figure("half", ",")),
    ("litter", figure("litter", ",")),
    ("other", figure("broken", ",")),
    ("slowest recovery, s", figure("recovery", ".2f")),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield what was done and what came of it."""
    yield "# Faults on purpose"
    yield f"`{find_settings(rows)['command']}`"
    yield from show_notes(rows)
    yield show_table(COLUMNS, select(rows, FAULTS))
    yield "\n".join(f"- {row['scenario']}: {row['text']}" for row in select(rows, WRONG)) or CLEAN
    yield LEGEND
