"""Groups are combinations of attributes: accuracy as a surface over them, learned from a few labels here and there.

The logit of being right is a curve of the score, plus effects of attributes alone and of two together, plus what is an
arm's own. How large each kind of effect is, labels decide: where attributes explain nothing, arms stand for themselves.
"""
