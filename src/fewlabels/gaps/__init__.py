"""Groups are people: fairness metrics from few labels and many scores, and the gaps between groups."""
