"""Faults on purpose: kills, full disks and clocks that jump, and a count of what was lost, kept twice or left half done.

`python -m bench.faults` runs every scenario and prints a table. A scenario is a function that injects a number of faults
and gives a `Trial` for each; `processes` starts and kills what is tested, `sessions` reads back what it kept.
"""
