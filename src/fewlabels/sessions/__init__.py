"""Labelling sessions: a journal of events, the state replayed from it, and the ask/tell loop."""
