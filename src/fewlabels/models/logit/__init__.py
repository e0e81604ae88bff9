"""The one statistical engine: the logit of being right is a curve of the score plus an effect of the group.

`fit` finds the posterior of the curve and of how far groups depart from it, given the labels of a few strata; the Fit
then says what that implies for any cells made of strata, labelled or not.
"""
