"""The joint outcome of several models on the same items: which of them are right.

Where models predict the same class, all are right or all are wrong; where they differ, at most one class is right. The
models' predictions split every item into candidate classes, and a conditional logit with the scores of a candidate's
models says which candidate is right, or that none is. Groups have effects with a learned scale. All models' figures, and
their differences, come from the same draws.
"""
