"""Accuracy as a surface over combinations of attributes (arms), estimated from few labels by `models.additive`.

logit P(right) is a curve of the score, plus main effects and two-way interactions of attributes, plus a random effect
of the arm. The scales of effects are estimated from the labels: where attributes explain nothing, arms are not pooled
by them.
"""
