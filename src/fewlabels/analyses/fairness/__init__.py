"""Fairness metrics of groups of people from few labels and many scores, and the gaps between groups.

Hierarchical calibration curves of all groups, with a step at the decision threshold, are fitted to the labels. They
predict the unlabelled items; labelled items are counted as they are.
"""
