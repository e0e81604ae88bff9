"""Several people say what an item is, and none is always right: what they agree on, how good each is, what is true.

Pure functions of a Poll. The session floors above turn ballots into one, and what it teaches into counts.
"""
