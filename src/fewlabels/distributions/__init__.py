"""Probability distributions of one quantity per group: Beta, Dirichlet, draws, finite pools, mixtures and differences.

Axes are always (draw, group, outcome). Nothing here depends on where the counts came from.
"""
