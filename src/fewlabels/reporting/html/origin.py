"""Where a result comes from, as the rows of a report: date, data, fingerprint, command, seed and version."""

from collections.abc import Iterator

from fewlabels.analyses.provenance import Provenance
from fewlabels.text import sanitize_line

FINGERPRINT = 16  # characters that are shown; the JSON has all


def describe_origin(made: Provenance | None) -> list[tuple[str, str]]:
    """Return the names and values of a result's origin; what is not known is left out."""
    return [] if made is None else [(name, sanitize_line(value)) for name, value in _list_origin(made) if value]


def _list_origin(made: Provenance) -> Iterator[tuple[str, str]]:
    """List the names and values of a result's origin, also those that are not known."""
    yield "date", f"{made.date[:16].replace('T', ' ')} UTC"
    yield "data", made.source
    yield "fingerprint of the predictions", f"{made.fingerprint[:FINGERPRINT]}…" if made.fingerprint else ""
    yield "labels", made.labels
    yield "command", made.command or ""
    yield "seed", "" if made.seed is None else f"{made.seed}"
    yield "random draws", "" if made.n_draws is None else f"{made.n_draws:,}"
    yield "version", f"fewlabels {made.version}"
