"""From counts to a posterior: ask the prior about the cells, once for the same counts, and combine it with the labels."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from fewlabels.data.counts import CountTable
from fewlabels.distributions.beta_dirichlet import Beta, Dirichlet
from fewlabels.distributions.budgets import MIN_DRAWS_PER_IMPUTATION, N_DRAWS
from fewlabels.distributions.mixture import match_moments
from fewlabels.metrics.evaluate import Evaluation, build_evaluation
from fewlabels.metrics.metric import Cost, Metric, ScoringRule
from fewlabels.models.grades.mean_grades import has_partial_grades, infer_mean_grades
from fewlabels.models.joint_outcomes.posterior import N_DRAWS as N_JOINT_DRAWS
from fewlabels.models.joint_outcomes.posterior import infer_joint
from fewlabels.models.pooled_shares import PooledShares, pool_accuracies
from fewlabels.models.posterior import Posterior
from fewlabels.models.priors import Flat, LearningPrior, Prior, PriorFit, fit_prior, pseudo_counts

MAX_LABEL_SHARE = 0.999  # largest share of a moment-matched cell's pseudo-counts that is assigned to labels


def infer(
    tally: CountTable,
    metric: Metric,
    prior: Prior,
    *,
    finite_pool: bool = False,
    level: float = 0.95,
    n_draws: int = N_DRAWS,
    seed: int | tuple[int, ...] = 0,
) -> Posterior:
    """Infer the posterior from prior and counts; every unlabelled item can be asked.

    Unless the pool is finite, the target is the metric on the population the pool was sampled from. Cell sizes are then
    drawn too (a Dirichlet over the counts, the Bayesian bootstrap).
    """
    joint = None
    if tally.models is not None:  # its figures are those of the joint outcome; the first model's come from a flat prior
        joint = infer_joint(
            tally,
            metric,
            use_scores=prior.name != "flat",
            finite_pool=finite_pool,
            level=level,
            n_draws=min(n_draws, N_JOINT_DRAWS),
            seed=seed,
        )
        prior = Flat()
    evaluation = build_evaluation(tally, metric.for_classes(tally.classes) if isinstance(metric, Cost) else metric)
    cells = evaluation.cells
    counts = cells.outcomes if metric.reads == "right" else cells.labels
    prior_fit = _fit_prior(tally, evaluation, prior, finite_pool)
    return Posterior(
        evaluation, prior_fit.before, counts, np.zeros(cells.n, dtype=np.int64), tally.count("n_items") - tally.count("n_labels"),
        finite_pool, level, prior.guesses_level, prior_fit.joint, prior_fit.unlabelled, prior_fit.residual_variance, prior_fit.trust, prior_fit.covariance,
        models=joint, n_draws=n_draws, seed=seed,
    )  # fmt: skip


def infer_imputed(
    tally: CountTable,
    imputed: Sequence[CountTable],
    metric: Metric,
    prior: Prior,
    *,
    n_draws: int = N_DRAWS,
    seed: int = 0,
    **choices: Any,
) -> Posterior:
    """Infer the posterior from uncertain labels: an equal-weight mixture over imputed sets of labels.

    Every reported figure comes from the mixture. Acquisition uses the moment-matched conjugate distribution of each cell,
    split so that prior and label counts are both positive. The first argument holds the labels as given.
    """
    each = max(MIN_DRAWS_PER_IMPUTATION, n_draws // len(imputed))
    parts = tuple(infer(one, metric, prior, n_draws=each, seed=(seed, i), **choices) for i, one in enumerate(imputed))
    return _mix_imputed(infer(tally, metric, prior, n_draws=n_draws, seed=seed, **choices), parts)


def _mix_imputed(given: Posterior, parts: tuple[Posterior, ...]) -> Posterior:
    """Infer the mixture of posteriors with imputed labels; `given` is the posterior with the labels as given."""
    after = match_moments([part.belief for part in parts])
    pooled_cells = pseudo_counts(after)
    counts = pooled_cells * np.minimum(MAX_LABEL_SHARE, given.counts.sum(axis=1) / pooled_cells.sum(axis=1))[:, None]
    rest = pooled_cells - counts
    prior = replace(after, alpha=rest) if isinstance(after, Dirichlet) else Beta(after.groups, rest[:, 0], rest[:, 1])
    middle = sorted(parts, key=lambda part: float(part.overall.mean()[0]))[len(parts) // 2]
    return replace(
        given,
        prior=prior,
        counts=counts,
        joint=None,
        unlabelled=None,
        residual_variance=None,
        trust=middle.trust,
        parts=parts,
    )


_PRIOR_FITS: WeakKeyDictionary[CountTable, dict[Any, PriorFit]] = WeakKeyDictionary()


def _fit_prior(tally: CountTable, evaluation: Evaluation, prior: Prior, finite_pool: bool) -> PriorFit:
    """Fit the prior to the cells whose posterior is inferred, cached for the same counts."""
    metric = evaluation.metric
    try:
        key = hash(prior), (metric.splits, metric.reads, prior, finite_pool)
    except TypeError:  # it holds something that changes
        return _fit_anew(prior, evaluation, finite_pool)
    known = _PRIOR_FITS.setdefault(tally, {})
    if key not in known:
        known[key] = _fit_anew(prior, evaluation, finite_pool)
    return known[key]


def _fit_anew(prior: Prior, evaluation: Evaluation, finite_pool: bool) -> PriorFit:
    """Fit the prior for an inference; a guessed level is learned from all cells, unless its strength is stated."""
    cells, metric = evaluation.cells, evaluation.metric
    found = fit_prior(prior, cells, metric.reads, finite_pool=finite_pool)
    if isinstance(prior, LearningPrior) and has_partial_grades(evaluation.tally) and metric.is_cell_accuracy:
        return replace(found, joint=infer_mean_grades(evaluation.tally, metric.splits, finite_pool=finite_pool))
    is_stated = not prior.guesses_level or getattr(prior, "strength", None) is not None
    is_mean = metric.reads == "label" or isinstance(metric, ScoringRule)
    if not is_mean or is_stated or found.joint is not None or cells.n == 1:
        return found
    right = prior.before(cells, "right")
    if not isinstance(right, Beta):
        return found
    return replace(
        found,
        joint=PooledShares(cells, right, finite_pool)
        if metric.reads == "label"
        else pool_accuracies(cells, right, finite_pool=finite_pool),
    )
