"""What is one more label worth, what do the labels so far answer, and may we stop?

Goals follow 002, Table 1. They read Posterior and return numbers per group; which group is then chosen is a policy's
business.
"""
