"""Check the overall figure by labels drawn with known probabilities over the whole pool, whatever the model says.

The difference estimator: what the model expects of all items, plus the mean difference between labels and expectation
over the sample (Särndal, Swensson and Wretman 1992, ch. 6). The expectation of a labelled item leaves its own label out.
It is right on average for any model, and precise for a good one. Where it contradicts the model, the wider figure is shown.

In a session the labels of each group are random ones of it, whatever the policy, so the mean over groups of their shares of right
labels, weighted by size, is a second check: the post-stratified estimate from all labels. It has no shared curve, which labels of
unusual groups may distort for all others.
"""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri, stdtrit

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.errors import count
from fewlabels.metrics.metric import Metric
from fewlabels.models.posterior import Posterior

FEWEST = 5  # labels of a sample that is used
PRECISE = 1.5  # standard deviations of the model that the standard error of the second check may have at most
EDGE = 1e-6
ROUNDING = 0.0005  # half of the last digit that is printed
UNEVEN = (
    "propensities differ, so the overall figure comes from labels weighted by them; figures of groups count labels as drawn at "
    "random within their group"
)
UNEVEN_COMPARED = "propensities differ, and comparisons count labels as drawn at random within their group"
TOO_UNEVEN = (
    "propensities differ so much that {n} tell as much as {few:.1f} drawn with equal chances, too few to estimate from: "
    "the overall figure counts labels as drawn at random within their group, and may be wrong; label some items at random"
)


@dataclass(frozen=True)
class Sample:
    """Labelled items that were drawn with known probabilities over the whole pool."""

    entry: Int[np.ndarray, " item"]  # of the counts
    right: Float[np.ndarray, " item"]
    weight: Float[np.ndarray, " item"]  # in proportion to 1 / probability; 1 where all items were as likely
    square: Float[np.ndarray, " item"]  # of the weight; several items may be summed, with their mean outcome
    n: int
    how: str  # they were drawn, in words

    @property
    def is_even(self) -> bool:
        """Were all items of the overall sample as likely? Else its labels do not represent their groups, as the model takes them to."""
        return bool(np.isclose(self.square * self.n, self.weight * self.weight.sum()).all())

    @property
    def effective_size(self) -> float:
        """Number of equally likely items as informative as the overall sample (Kish 1965)."""
        return float(self.weight.sum() ** 2 / self.square.sum()) if len(self.weight) else 0.0


@dataclass(frozen=True)
class OverallCheck:
    """The overall figure by the model and by a sample, and what is shown."""

    shown: Estimate
    model: Estimate
    sample: Estimate
    n: int
    how: str

    @property
    def disagrees(self) -> bool:
        """Is the model's mean outside the sample's interval?"""
        return not self.sample.low <= self.model.mean <= self.sample.high

    @property
    def has_moved(self) -> bool:
        """Does what is shown differ from the model's figure by more than rounding?"""
        pairs = zip(_list_ends(self.shown), _list_ends(self.model), strict=True)
        return any(abs(shown - by_model) >= ROUNDING for shown, by_model in pairs)

    def _describe_move(self) -> str:
        """Say that the overall figure lies between the model's and the sample's."""
        return (
            f"the overall figure, {_format_figure(self.shown)}, lies between that of the model, {_format_figure(self.model)}, and what the {self.n:,} "
            f"labels {self.how}, show, {_format_figure(self.sample)}: they differ by more than a standard error, and no more than chance allows"
        )

    @property
    def warning(self) -> str | None:
        """A warning that says why the figure is not the model's, or its interval wider."""
        if self.shown == self.sample:
            return f"{UNEVEN}; by the model it would be {_format_figure(self.model)}"
        if not self.disagrees:
            return self._describe_move() if self.has_moved else None
        return (
            f"the overall figure by the model, {_format_figure(self.model)}, is contradicted by the {self.n:,} labels {self.how}, "
            f"which show {_format_figure(self.sample)}; the interval spans both: groups with few labels differ from what scores "
            "and other groups lead to expect, so label more of the whole pool"
        )


def is_checked(metric: Metric, sample: Sample | None) -> bool:
    """Is the overall figure of this metric checked by such a sample, if it has enough labels?"""
    return sample is not None and metric.is_cell_accuracy and metric.reads == "right"


def warn_too_uneven(metric: Metric, sample: Sample | None) -> tuple[str, ...]:
    """Warn of propensities so different that the weighted labels are too few to check the overall figure."""
    if sample is None or not is_checked(metric, sample) or sample.is_even or sample.effective_size >= FEWEST:
        return ()
    return (TOO_UNEVEN.format(n=count(sample.n, "weighted label"), few=sample.effective_size),)


def check_overall(
    posterior: Posterior, model: Estimate, sample: Sample | None, *, is_learned: bool = True
) -> OverallCheck | None:
    """Check the overall figure against that of a sample; None where there is no sample that could tell.

    Without a model that is learned from all groups (`is_learned`), the figure is the post-stratified one itself.
    """
    metric = posterior.metric
    if sample is None or not is_checked(metric, sample):
        return None
    found = _check_by_sample(posterior, model, sample) if sample.effective_size >= FEWEST else None
    if not sample.is_even or (found is not None and found.disagrees):
        return found
    return (_check_by_groups(posterior, model) if is_learned else None) or found


def _check_by_sample(posterior: Posterior, model: Estimate, sample: Sample) -> OverallCheck:
    """Compare the model's overall figure with that of labels drawn over the whole pool."""
    difference, error = _estimate_difference(posterior, sample)
    reach = float(stdtrit(sample.effective_size - 1, (1 + posterior.level) / 2)) * error
    mean = model.mean + difference
    by_sample = Estimate(*(float(np.clip(x, 0.0, 1.0)) for x in (mean, mean - reach, mean + reach)))
    found = OverallCheck(model, model, by_sample, sample.n, sample.how)
    if not sample.is_even:
        return replace(found, shown=by_sample)
    if not found.disagrees:
        return found
    moved = model.mean + (1 - (reach / difference) ** 2) * difference  # as far as chance does not explain it
    low, high = min(model.low, by_sample.low), max(model.high, by_sample.high)
    return OverallCheck(Estimate(float(np.clip(moved, low, high)), low, high), model, by_sample, found.n, found.how)


def _check_by_groups(posterior: Posterior, model: Estimate) -> OverallCheck | None:
    """Compare the model's overall figure with the post-stratified one; None where it has little to say, or they agree.

    The model is moved as far as chance does not explain the difference (James and Stein 1961), and the interval spans both.
    """
    n = posterior.sum_by_group(posterior.counts.sum(axis=1))
    if n.sum() < FEWEST or posterior.parts or posterior.cells.n != len(posterior.groups):
        return None
    difference, error = _compare_groups(posterior, n)
    deviation = (model.high - model.low) / 2 / float(ndtri((1 + posterior.level) / 2))
    if error > PRECISE * deviation or abs(difference) <= error:
        return None
    shift = (1 - (error / difference) ** 2) * difference
    low, high = model.low + min(shift, 0.0), model.high + max(shift, 0.0)
    reach = float(ndtri((1 + posterior.level) / 2)) * error
    mean = model.mean + difference
    by_groups = Estimate(*(float(np.clip(x, 0.0, 1.0)) for x in (mean, mean - reach, mean + reach)))
    shown = Estimate(*(float(np.clip(x, 0.0, 1.0)) for x in (model.mean + shift, low, high)))
    return OverallCheck(shown, model, by_groups, int(n.sum()), "of all groups, weighted by their sizes")


def _compare_groups(posterior: Posterior, n: Float[np.ndarray, " group"]) -> tuple[float, float]:
    """Return the overall post-stratified figure minus the model's, and its standard error, to check one by the other."""
    expected, share = posterior.mean(), posterior.share
    observed = posterior.sum_by_group(posterior.counts[:, 0]) / np.maximum(n, 1.0)
    spread = np.maximum(observed * (1 - observed) * n / np.maximum(n - 1, 1.0), expected * (1 - expected))
    left = 1 - n / posterior.n_items if posterior.finite_pool else 1.0
    variance = np.where(n > 0, spread / np.maximum(n, 1.0) * left, posterior.draws.var(axis=0))
    return float(share @ np.where(n > 0, observed - expected, 0.0)), float(np.sqrt(max(share**2 @ variance, EDGE**2)))


def _estimate_difference(posterior: Posterior, sample: Sample) -> tuple[float, float]:
    """Return the overall mean difference of labels and what the model expects without them, and its standard error.

    The variance of a few differences may be small by chance; it is at least what the model expects.
    """
    expected = _expect_without_own_label(posterior, sample)
    share = sample.weight / sample.weight.sum()
    residual = sample.right - expected
    mean = float(share @ residual)
    spread = float(share @ (residual - mean) ** 2) * sample.effective_size / max(sample.effective_size - 1, 1.0)
    variance = max(spread, float(share @ (expected * (1 - expected))))
    left = 1 - sample.n / posterior.n_items.sum() if posterior.finite_pool else 1.0
    return mean, float(np.sqrt(max(variance, EDGE) * left / sample.effective_size))


def _expect_without_own_label(posterior: Posterior, sample: Sample) -> Float[np.ndarray, " item"]:
    """Return the outcome of each item that the overall check expects, given the other labels of its cell."""
    belief = posterior.belief
    assert isinstance(belief, Beta)
    cell = posterior.evaluation.tally.assign_cells(posterior.metric.splits)[1][sample.entry]
    alpha, beta = belief.alpha[cell] - sample.right, belief.beta[cell] - (1 - sample.right)
    return np.maximum(alpha, EDGE) / (np.maximum(alpha, EDGE) + np.maximum(beta, EDGE))


def _list_ends(found: Estimate) -> tuple[float, float, float]:
    """Return mean and ends of an overall figure, by which the check compares two."""
    return found.mean, found.low, found.high


def _format_figure(found: Estimate) -> str:
    """Format a figure with its interval, for the warning of the overall check."""
    return f"{found.mean:.3f} [{found.low:.3f}, {found.high:.3f}]"
