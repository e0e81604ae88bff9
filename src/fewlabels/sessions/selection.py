"""Which items a session asks an annotator for: pending ones, those that lack votes, then what the policy chooses.

Callers hold the store's lock: `Session.ask` selects inside a block of writing.
"""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from fewlabels.active.policies import Random
from fewlabels.distributions.randomness import Rng
from fewlabels.sessions.journal.events import Choice, Item
from fewlabels.sessions.posterior_cache import PosteriorCache, take_snapshot
from fewlabels.sessions.spec import SessionSpec
from fewlabels.sessions.store import EventStore

EDGE = 1e-9  # of rounding


def select_items(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, n: int, *, who: str, lease: float | None, fresh: bool
) -> list[Item]:
    """Select up to n items that an annotator is asked for, and record them as asked."""
    if lease is not None:
        store.renew_and_reassign(n, who, lease)
    store.record_asked(store.state.short_of_vote_from(who)[: _count_missing(store, n, who)], who)
    while missing := _count_missing(store, n, who):
        chosen, choice = _choose_items(spec, store, cache, missing, fresh=fresh)
        if not chosen:
            break
        store.record_asked(chosen, who, choice)
    return (store.state.pending_for(who) if lease is None else store.state.pending_with(who))[:n]


def list_selectable_items(spec: SessionSpec, store: EventStore, n: int) -> list[Item]:
    """List the items that may be selected next, up to n, equally many per group."""
    groups = range(min(n, len(spec.tally.groups)))
    drawn = store.state.n_drawn
    return [item for g in groups for item in store.journal.next_items(g, drawn.get(g, 0), n // len(groups))]


def _count_missing(store: EventStore, n: int, who: str) -> int:
    """Count the items that still have to be selected for an annotator, beside the pending ones."""
    return max(n - len(store.state.pending_with(who)), 0)


def _choose_items(
    spec: SessionSpec, store: EventStore, cache: PosteriorCache, n: int, *, fresh: bool
) -> tuple[list[Item], Choice]:
    """Select the next items of groups that the policy chooses, or of a group at random in proportion to its items left."""
    state, snapshot = store.state, take_snapshot(spec, store.state)
    rng = spec.derive_rng(1 + state.n_asked)
    if is_turn_of_random(len(state.drawn), spec.design.random_share) and snapshot.left.any():
        return _take_items(store, choose_at_random(rng, snapshot.left)), "random"
    posterior = cache.get_posterior(snapshot) if fresh else cache.latest_posterior(snapshot)
    groups = cache.choose_next_groups(posterior, rng)[:n]
    is_random = isinstance(spec.design.policy, Random) or len(snapshot.left) == 1  # items are random within their group
    is_random = is_random and cache.is_open_everywhere(posterior)
    return _take_items(store, groups), "random" if is_random else ""


def is_turn_of_random(n_drawn: int, share: float) -> bool:
    """Is the next selected item drawn at random over the whole pool? The first is, then a regular share.

    >>> [is_turn_of_random(n, 0.25) for n in range(6)]
    [True, False, False, False, True, False]
    """
    return math.ceil((n_drawn + 1) * share - EDGE) > math.ceil(n_drawn * share - EDGE)


def choose_at_random(rng: Rng, left: Int[np.ndarray, " group"]) -> list[int]:
    """Select the group of one item drawn from all items that are left, each as likely."""
    return [int(rng.choice(len(left), p=left / left.sum()))]


def _take_items(store: EventStore, groups: Sequence[int]) -> list[Item]:
    """Take the next items of the selected groups from the queue."""
    n_drawn = store.state.n_drawn
    return [item for g, k in Counter(groups).items() for item in store.journal.next_items(g, n_drawn[g], k)]
