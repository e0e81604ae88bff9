"""The estimators of the accuracy-surface paper: Gaussian processes over a learned embedding of the arms.

Equations have the numbers of the paper (004, section 3). Only this package imports JAX (extra `deep`).
"""

from fewlabels.errors import InputError

try:
    import jax  # noqa: F401
except ImportError as missing:
    raise InputError("this estimator needs the extra 'deep': pip install 'fewlabels[deep]'") from missing
