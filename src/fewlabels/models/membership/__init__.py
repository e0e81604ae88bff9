"""P(arm | item) for items whose attributes are known only through classifiers, and fits with such soft assignments.

Attribute classifiers predict one attribute each, are overconfident, and ignore correlations between attributes. The
probability of arm a given item x is log P(a|x) = Σ_k t_k log M_k(a_k|x) + N(a) − log Z(x): temperatures t recalibrate
the classifiers, the potential N models the joint distribution of attribute values (AAA, Eq. 13-14). Both are
estimated from a few items with known attributes and from the classifiers' outputs on all items; items then enter with
fractional counts. True attributes of other items are not used.
"""
