"""Tolerances of probabilities in predictions."""

ROUNDING = 1e-6  # of one probability: single-precision softmax may slightly exceed 1
LEAST_PROPENSITY = 1e-15  # no pool is that large, and squared weights stay finite
SUM_TOLERANCE = 0.02  # of a sum: rounding of half-precision probabilities over a thousand classes
