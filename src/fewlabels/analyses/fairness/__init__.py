"""Groups are people: fairness metrics from few labels and many scores, and the gaps between groups.

The scores of the unlabelled say much, once labels have shown how far they can be trusted in each group. Calibration
curves of all groups are learned together, with a step at the decision where labels ask for one; what they say of the
unlabelled is added to what is known of the labelled.
"""
