"""The calibrated prior: recalibrates the scores with the labels of all groups.

The logit of accuracy is a linear spline of the score's logit with two knots, plus group covariates (size, mean score) and
a random effect per group. The curve and the scale of the random effects are learned from all labels. Their implication
for one cell is approximated by a Beta (or a Dirichlet over classes); for all cells jointly it is kept as draws.
"""
