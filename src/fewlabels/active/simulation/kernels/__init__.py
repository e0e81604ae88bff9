"""Compiled replays of active labelling: the items a policy labels, and measures of the result.

`labelling_loop.choose` turns a problem (arrays) and a rule (a policy as numbers) into an order of items; `compiled_measures` turns an
order into numbers at checkpoints. One run takes a few hundredths of a second, where drawing every group at every step
takes seconds; the orders are equal in distribution.
"""

from fewlabels.errors import InputError

try:
    import numba  # noqa: F401
except ImportError as missing:
    raise InputError(
        "simulations are compiled by Numba, which is not installed: pip install 'fewlabels[simulate]'"
    ) from missing
