"""The journal of a labelling session: what was asked and answered, one event after the other, never changed.

State is a fold of the journal, so that an answer written down here is all that a session must not lose. `MemoryJournal`
is for simulations and tests; `SqliteJournal` is a file. Only `ledger` folds what is read here.
"""
