"""A fuzzer for everything that reads files: damaged documents of every kind, and random options, through every verb.

`python -m tests.fuzz --cases 10000 --seed 0 --jobs 2` runs it at length; tests/contracts/test_fuzz.py runs a few hundred cases.
A case follows from its seed and its number alone, so that a failure can be run again.
"""
