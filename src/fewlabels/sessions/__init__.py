"""Labelling sessions: a journal of events, the state replayed from it, and the loop of asking and telling."""
