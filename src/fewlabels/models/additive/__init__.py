"""The additive model of accuracy: the logit of a correct prediction is a curve of the score plus effects of attributes.

Effects of single attributes, of pairs of attributes and of each arm are normal random effects. Their scales (standard
deviations) are estimated from the labels.
"""
