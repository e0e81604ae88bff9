"""Comparison of several models on one set of labels: figures, differences with verdicts, and which model is best."""
