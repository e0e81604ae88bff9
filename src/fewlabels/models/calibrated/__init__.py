"""The calibrated prior: recalibrates the scores with the labels of all groups.

The logit of accuracy is a linear spline of the score's logit with two knots, plus group covariates (size, mean score, how
often the class should occur) and a random effect per group. Curve, scale of miscalibration, scale of the random effects and
share of groups that are never right are learned from all labels. Figures come from joint draws of all cells; acquisition
uses a Beta (or a Dirichlet over classes) per cell.
"""
