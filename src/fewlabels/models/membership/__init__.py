"""Which arm is an item of, where its attributes are known only through classifiers?

Classifiers look at one attribute each, are too sure of themselves, and know nothing of attributes that go together. The
chance of an arm a given an item x is log P(a|x) = Σ_k t_k log M_k(a_k|x) + N(a) − log Z(x): temperatures t say how far
each classifier is believed, the potential N which values occur, and occur together (AAA, Eq. 13-14). Both are learned
from a few items with known attributes and from what classifiers say of all others; items are then counted
fractionally. The attributes of no other item are used.
"""
