"""Hierarchical logistic regression: the logit of accuracy is a curve of the score plus a random effect of the group.

`laplace.fit` computes the posterior of the curve and of the scale of the random effects from labelled strata; `cells`
projects the fit to the accuracy of any cells made of strata, labelled or not.
"""
