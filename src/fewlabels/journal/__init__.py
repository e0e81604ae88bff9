"""The journal of a labelling session: what was asked and answered, one event after the other, never changed.

State is a fold of the journal, so that an answer written down here is all that a session must not lose. `MemoryJournal`
is for simulations and tests; `SqliteJournal` is a file. Only `ledger` folds what is read here.
"""

from fewlabels.journal.events import Act, Event, Item, Journal, Pile, tell_time
from fewlabels.journal.faults import StorageError, UnusableError
from fewlabels.journal.memory import MemoryJournal
from fewlabels.journal.sqlite import SqliteJournal

__all__ = [
    "Act",
    "Event",
    "Item",
    "Journal",
    "MemoryJournal",
    "Pile",
    "SqliteJournal",
    "StorageError",
    "UnusableError",
    "tell_time",
]
