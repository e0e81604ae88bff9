"""Compiled replays of active assessment: which items a rule would have had labelled, and how good that was.

Choosing and measuring are separate: `choose` turns a problem (arrays) and a rule into an order of items, measures turn
an order into numbers at checkpoints. One run takes a few hundredths of a second where drawing every group at every
step takes seconds; in distribution the orders are the same.
"""
