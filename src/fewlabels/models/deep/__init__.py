"""The accuracy-surface paper's own estimators: Gaussian processes over a learned embedding of the arms.

Equations are as the paper prints them (004, section 3). The only room that knows JAX, which the extra `deep` brings.
"""

from fewlabels.errors import InputError

try:
    import jax  # noqa: F401
except ImportError as missing:
    raise InputError("this estimator needs the extra 'deep': pip install 'fewlabels[deep]'") from missing
