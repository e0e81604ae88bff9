"""How long ago items were asked for, by the monotonic clock; an item whose lease has expired is asked of others.

Events carry wall-clock time, which may jump. So it is used only for events from before this process first read the
journal; an event that was absent at the previous read is at most as old as that read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from time import monotonic

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Event, utc_now
from fewlabels.sessions.state import PendingItem

MAX_LEASE = 366 * 24 * 3600  # seconds
MIN_SURPLUS = 500  # times of answered items that are kept before they are dropped together


class Leases:
    """The time, on the monotonic clock, at which each item was asked for."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # event -> its time on the monotonic clock
        self._last_read = -float("inf")

    def age(self, one: PendingItem) -> float:
        """Return for how many seconds a leased item has been pending."""
        return monotonic() - self._since.get(one.seq, self._last_read)

    def record_times(self, events: Sequence[Event]) -> None:
        """Record the times of events; those already recorded keep theirs."""
        now, gap = monotonic(), monotonic() - self._last_read
        for event, age in zip(events, _find_ages(events), strict=True):
            if event.kind in ("asked", "withdrawn"):
                self._since.setdefault(event.seq, now - min(age, gap))
        self._last_read = now

    def drop_after(self, seq: int) -> None:
        """Drop events that were not saved: their numbers will be reused."""
        self._since = {event: since for event, since in self._since.items() if event <= seq}

    def keep_only(self, pending: Mapping[str, PendingItem]) -> None:
        """Drop answered items, once there are many."""
        if len(self._since) > 2 * len(pending) + MIN_SURPLUS:
            kept = {one.seq for one in pending.values()}
            self._since = {event: since for event, since in self._since.items() if event in kept}


def _find_ages(events: Sequence[Event]) -> list[float]:
    """Return the ages of leases in seconds, made non-negative and monotone in case the wall clock jumped."""
    latest, ages = utc_now(), []
    now = _read_event_time(latest)
    for event in reversed(events):
        latest = min(latest, event.at)
        ages.append(max(now - _read_event_time(latest), 0.0))
    return ages[::-1]


def _read_event_time(at: str) -> float:
    """Return when a lease began, in seconds since 1970."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except (ValueError, OverflowError):  # not written by us
        return float("inf")


def check_lease(seconds: float) -> float:
    """Refuse a lease that is not positive, or longer than a year."""
    if not 0 < seconds <= MAX_LEASE:
        raise InputError(f"lease: must be more than 0 and at most {MAX_LEASE:,} seconds (a year), got {seconds:g}")
    return seconds
