"""How far to trust the scores: a prior that learns it from the labels so far, in all groups at once.

The logit of being right is a curve of the score, a line with two bends, plus what sets a group apart: its size, its
mean score, and a departure of its own. The curve and the spread of departures are learned from all labels. What they
imply for one cell is put as a Beta (or a Dirichlet over classes), so that everything else here can work with it; what
they imply for all cells together is kept as joint draws.
"""
