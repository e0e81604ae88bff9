"""The append-only journal of a labelling session: the events asked, told, skipped, decided and withdrawn.

The state of a session is replayed from its journal (`sessions.state`), so the journal is all that must be stored.
`MemoryJournal` is for simulations and tests; `SqliteJournal` is a file.
"""
