"""The generator of random numbers: always an argument, never global."""

import numpy as np

Rng = np.random.Generator
