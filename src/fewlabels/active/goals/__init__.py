"""Goals: the gain of one more label, the current answer, and the stopping criterion (002, Table 1).

Goals map a Posterior to numbers per group; policies choose the group.
"""
