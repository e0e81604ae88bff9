"""The additive model of accuracy: the logit of a correct prediction is a curve of the score plus effects of attributes.

Effects of single attributes, of pairs and of each arm are normal; their scales are learned from the labels.
"""
