"""Provenance of results: data, version, date, seed and number of draws.

Every result carries one, so that its JSON says how to reproduce it.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any

import numpy as np

from fewlabels.data.counts import NONE, CountTable
from fewlabels.errors import InputError
from fewlabels.text import redact_passwords

EPOCH = "SOURCE_DATE_EPOCH"  # environment variable of reproducible builds
FIELDS = ("version", "date", "command", "seed", "source", "fingerprint", "n_draws", "labels")
GIVEN = "in the table; taken as drawn at random within each group"


@dataclass(frozen=True)
class Provenance:
    """Origin of a result. The command line adds its command."""

    version: str
    date: str  # ISO 8601, UTC
    source: str
    labels: str  # how they were chosen
    seed: int | None = None
    n_draws: int | None = None
    fingerprint: str | None = None  # of the predictions
    command: str | None = None
    inputs: tuple[str, ...] = ()  # files that were read; output must not overwrite them

    def to_dict(self) -> dict[str, Any]:
        """Return the provenance as plain data."""
        return {name: getattr(self, name) for name in FIELDS}


def record(
    source: str = "the table",
    *,
    inputs: tuple[str, ...] = (),
    counts: CountTable | None = None,
    seed: int | None = None,
    n_draws: int | None = None,
    labels: str = GIVEN,
) -> Provenance:
    """Return the provenance of a result computed now."""
    fingerprint = None if counts is None else digest_counts(counts)
    date, named = get_timestamp(os.environ), redact_passwords(source)
    return Provenance(find_version(), date, named, labels, seed, n_draws, fingerprint, inputs=inputs)


def digest_counts(counts: CountTable) -> str:
    """Return a digest, for the provenance, of predicted classes and the mean score, whatever labels and groups are.

    It uses existing counts, so the table is not read again.
    """
    n_items = np.bincount(counts.predicted - NONE, weights=counts.n_items, minlength=len(counts.classes) + 1)
    said = sorted((name, int(n)) for name, n in zip(("", *counts.classes), n_items, strict=True) if n)
    score = float(counts.score.sum()) / max(1, int(counts.n_items.sum()))
    return sha256(repr((said, f"{score:.6g}")).encode()).hexdigest()


def get_timestamp(environment: Mapping[str, str]) -> str:
    """Return the time of a provenance in UTC, or the one set by SOURCE_DATE_EPOCH.

    >>> get_timestamp({"SOURCE_DATE_EPOCH": "0"})
    '1970-01-01T00:00:00Z'
    """
    fixed = environment.get(EPOCH)
    try:
        now = datetime.now(UTC) if fixed is None else datetime.fromtimestamp(int(fixed), UTC)
    except (ValueError, OverflowError, OSError):
        raise InputError(f"{EPOCH} is {fixed!r}; it must be a whole number of seconds since 1970") from None
    return now.isoformat(timespec="seconds").replace("+00:00", "Z")


@cache
def find_version() -> str:
    """Return the installed version of fewlabels, for the provenance."""
    return version("fewlabels")
