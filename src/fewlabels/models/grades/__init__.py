"""The model of grades: what people's grades are, given the slice of an item and the grades of judges.

The posterior is over the distribution of grades in every cell (slice and judges' grades): pass rates, mean grades and the
agreement of judges with people all follow from its draws.
"""
