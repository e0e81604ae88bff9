"""Votes of several annotators: agreement, accuracy of each annotator, and the posterior of the true labels.

Pure functions of a vote matrix. `sessions.annotations` builds the matrix from votes, and counts from the imputed
labels.
"""
