"""Outputs graded by people (a few) and by judges (most): scales of grades, their columns, and one query of counts.

A grade is a number on an ordered scale. `scale` recognises scales from the values of a column, `columns` turns columns
into numbers, `counting` counts items by group, judges' grades and people's grade.
"""
