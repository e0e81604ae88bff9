"""Which items a session asks an annotator for: pending ones, those that lack votes, then what the policy chooses.

Callers hold the store's lock: `Session.ask` selects inside a block of writing.
"""

from collections import Counter

from fewlabels.errors import InputError
from fewlabels.sessions.journal.events import Item
from fewlabels.sessions.posterior_cache import PosteriorCache, take_snapshot
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.store import EventStore

MAX_LEASE = 366 * 24 * 3600  # seconds


def check_lease(seconds: float) -> float:
    """Refuse a lease that is not positive, or longer than a year."""
    if not 0 < seconds <= MAX_LEASE:
        raise InputError(f"lease: must be more than 0 and at most {MAX_LEASE:,} seconds (a year), got {seconds:g}")
    return seconds


def select_items(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, n: int, *, who: str, lease: float | None, fresh: bool
) -> list[Item]:
    """Record and return up to n items that an annotator is asked for."""
    if lease is not None:
        store.renew_and_reassign(n, who, lease)
    store.record_asked(store.state.short_of_vote_from(who)[: _count_missing(store, n, who)], who)
    while missing := _count_missing(store, n, who):
        chosen = _choose_items(spec, store, cache, missing, fresh=fresh)
        if not chosen:
            break
        store.record_asked(chosen, who)
    return (store.state.pending_for(who) if lease is None else store.state.pending_with(who))[:n]


def list_next_items(spec: SessionSpec, store: EventStore, n: int) -> list[Item]:
    """List up to n items at the heads of the queues, an equal number per group."""
    groups = range(min(n, len(spec.tally.groups)))
    drawn = store.state.n_drawn
    return [item for g in groups for item in store.journal.next_items(g, drawn.get(g, 0), n // len(groups))]


def _count_missing(store: EventStore, n: int, who: str) -> int:
    return max(n - len(store.state.pending_with(who)), 0)


def _choose_items(spec: SessionSpec, store: EventStore, cache: PosteriorCache, n: int, *, fresh: bool) -> list[Item]:
    """Let the policy choose groups, and take the next items in the queue of each."""
    state, snapshot = store.state, take_snapshot(spec, store.state)
    posterior = cache.get_posterior(snapshot) if fresh else cache.latest_posterior(snapshot)
    groups = cache.choose_next_groups(posterior, spec.derive_rng(1 + state.n_asked))[:n]
    return [item for g, k in Counter(groups).items() for item in store.journal.next_items(g, state.n_drawn[g], k)]
