"""Numbers of Monte-Carlo draws: the one home of every budget outside the simulation kernels.

What people see (P(worst), ranks, verdicts) and what stops a session uses at least MIN_DRAWS. Only draws of all the cells of
a very large confusion matrix can be fewer, and a warning then says so.
"""

N_DRAWS = 10_000  # of reported figures
MIN_DRAWS = 4000  # least number of draws of reported figures
FEWEST_DRAWS = 1000  # the same where MIN_DRAWS would take too long
N_DRAWS_SIMULATED = 2000  # of the decisions within a simulation
N_DRAWS_ROUGH = 500  # of simulated completions of the labels
N_DRAWS_QUANTILE = 1000  # of the upper quantile of a gain
N_DRAWS_COVARIANCE = 500  # of the covariance of cells, for acquisition;
MIN_DRAWS_COVARIANCE, COVARIANCE_BUDGET = (
    100,
    100_000,
)  # of many cells fewer, so that the next item is chosen in milliseconds
N_DRAWS_AGREEMENT = 4000  # of the agreement of annotators
MIN_DRAWS_PER_IMPUTATION = 200  # for each set of imputed labels, of which there are 20 or more
MIN_ACQUISITION_DRAWS = 200
BUDGET = 50_000_000  # array elements drawn in all; beyond it the number of draws falls to MIN_DRAWS
MAX_BUDGET = 200_000_000  # beyond it, to FEWEST_DRAWS
STORED_BUDGET = 20_000_000  # array elements kept in memory for means and quantiles
ACQUISITION_BUDGET = 8_000_000  # array elements drawn to choose the next label


def limit_draws(n_draws: int, n_numbers: int) -> int:
    """Return how many Monte-Carlo draws of so many numbers fit the budget, at most `n_draws`.

    >>> limit_draws(10_000, 100), limit_draws(10_000, 30_000), limit_draws(10_000, 100_000), limit_draws(10_000, 10**6)
    (10000, 4000, 2000, 1000)
    """
    within = max(BUDGET // n_numbers, min(MIN_DRAWS, MAX_BUDGET // n_numbers), FEWEST_DRAWS)
    return min(n_draws, within)


def limit_stored_draws(n_draws: int, n_numbers: int) -> int:
    """Return how many draws fit the budget of memory at once, for means and quantiles; at most `n_draws`."""
    return min(n_draws, max(MIN_ACQUISITION_DRAWS, STORED_BUDGET // n_numbers))


def limit_covariance_draws(n_cells: int) -> int:
    """Return the budget of draws from which the covariance of so many cells is estimated.

    >>> [limit_covariance_draws(n) for n in (10, 500, 5000)]
    [500, 200, 100]
    """
    return min(N_DRAWS_COVARIANCE, max(MIN_DRAWS_COVARIANCE, COVARIANCE_BUDGET // n_cells))


def limit_acquisition_draws(n_draws: int, n_numbers: int) -> int:
    """Return how many draws of so many numbers fit the budget of one acquisition, at most `n_draws`."""
    return min(n_draws, max(MIN_ACQUISITION_DRAWS, ACQUISITION_BUDGET // n_numbers))
