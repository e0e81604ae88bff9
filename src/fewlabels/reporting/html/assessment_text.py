"""The sentences of an assessment or comparison report: headline, findings, caveats and method."""

from collections.abc import Sequence

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Row
from fewlabels.analyses.comparison import Comparison
from fewlabels.analyses.warnings import is_prior_dominated, list_wide_groups
from fewlabels.errors import count, join_names
from fewlabels.text import format_probability

METRIC_DEFINITIONS = {
    "accuracy": "the share of items whose prediction is right",
    "ece": "expected calibration error: the mean absolute difference between score and accuracy over score bins, weighted by their items",
    "brier": "the Brier score of the confidence: the mean squared difference between the score and 1 if the prediction is right, 0 "
    "if it is wrong (with two classes, the usual Brier score; 0 is perfect)",
    "log-loss": "the log-loss of the confidence, in nats: the mean of −log score where the prediction is right and of "
    "−log(1 − score) where it is wrong, scores cut to [0.000001, 0.999999] (with two classes, the usual log-loss; 0 is perfect)",
    "confusion": "for each predicted class, the share of its items that truly belong to each class",
    "cost": "the expected cost of a prediction, under the costs given for each pair of true and predicted class",
    "precision": "of the items predicted to be of a class, the share that truly are",
    "recall": "of the items truly of a class, the share predicted to be",
    "f1": "the harmonic mean of precision and recall",
    "balanced-accuracy": "recall, averaged over the classes",
    "mcc": "the Matthews correlation coefficient of predicted and true classes (1 perfect, 0 no better than chance)",
    "tpr": "true positive rate: of the truly positive items, the share predicted positive",
    "fpr": "false positive rate: of the truly negative items, the share predicted positive",
    "tnr": "true negative rate: of the truly negative items, the share predicted negative",
    "fnr": "false negative rate: of the truly positive items, the share predicted negative",
    "ppv": "positive predictive value: of the items predicted positive, the share that truly are",
    "npv": "negative predictive value: of the items predicted negative, the share that truly are",
    "fdr": "false discovery rate: of the items predicted positive, the share that truly are negative",
    "for": "false omission rate: of the items predicted negative, the share that truly are positive",
    "selection-rate": "the share of items predicted positive",
}
PRIOR_TEXTS = {
    "flat": "flat: before any label, all outcomes are equally likely",
    "scores": "scores: the prior mean of each group's accuracy is the model's mean score in that group, and counts as much as "
    "a few labels (the strength); if the model is overconfident, groups with few labels look better than they are",
    "calibrated": "calibrated: a calibration curve of the scores and the differences between groups are learned from the labels "
    "of all groups; groups are shrunk towards the curve as far as these labels show that they follow it",
    "earlier": "earlier: the posterior of an earlier assessment is the prior, its labels discounted as asked; this is valid only if "
    "the two share no labels",
}

PRIOR_CAVEAT = ". This estimate depends strongly on the prior."
SETTLED_PROBABILITY = 0.95  # P(worst) from which a group is called the worst


def define_metric(metric: str) -> str:
    """Return the definition of an assessment's metric; a user's own metric has none here."""
    return METRIC_DEFINITIONS.get(metric, "as defined by its author")


def number(a: Assessment, value: float) -> str:
    """Format a value of an assessment as text: in percent if the metric is a share, else with three decimals."""
    return f"{100 * value:.1f}%" if a.spec.metric.is_share else f"{value:.3f}"


def format_estimate(a: Assessment, row: Row) -> str:
    """Format an assessment's estimate of a group with its interval as text."""
    return f"{number(a, row.mean)} ({number(a, row.low)} to {number(a, row.high)})"


def title(a: Assessment) -> str:
    """Say in a few words what was assessed: the title of an assessment's page."""
    return f"How good are these predictions? {a.metric}, {'all items together' if a.by == 'all' else f'by {a.by}'}"


def headline(a: Assessment) -> str:
    """State the overall estimate of an assessment and its interval in one sentence of the HTML report."""
    o = a.overall
    scope = "on these items" if a.finite_pool else "on data like these items"
    return (
        f"Overall {a.metric} {scope} is {number(a, o.mean)}; with {100 * a.level:g}% probability it lies "
        f"between {number(a, o.low)} and {number(a, o.high)}{PRIOR_CAVEAT if a.n_labels and is_prior_dominated(a.posterior) else '.'}"
    )


def supported(a: Assessment) -> list[str]:
    """List in sentences of the HTML report what the estimates of an assessment support."""
    said = []
    worst = a.worst_first[0]
    if len(a.groups) > 1:
        certain = max(a.groups, key=lambda row: row.p_worst or 0.0)
        if (certain.p_worst or 0.0) >= SETTLED_PROBABILITY and a.spec.m == 1:
            said.append(
                f"“{certain.group}” is the worst group with probability {certain.chance_of_worst}: {format_estimate(a, certain)}."
            )
        lower_is_worse = a.spec.metric.worst == "lowest"
        weak = [
            r
            for r in a.worst_first
            if r.n_labels and (r.high < a.overall.low if lower_is_worse else r.low > a.overall.high)
        ]
        strong = [
            r for r in reversed(a.worst_first) if (r.low > a.overall.high if lower_is_worse else r.high < a.overall.low)
        ]
        if weak:
            said.append(f"Worse than the overall estimate (the intervals do not overlap): {_name_groups(a, weak)}.")
        if strong:
            said.append(f"Better than the overall estimate (the intervals do not overlap): {_name_groups(a, strong)}.")
        if not weak and not strong:
            said.append("The interval of every labelled group overlaps that of the overall estimate.")
    elif a.n_labels:
        said.append(f"With {count(worst.n_labels, 'label')}, the interval is {number(a, worst.high - worst.low)} wide.")
    return said


def unsupported(a: Assessment) -> list[str]:
    """List in sentences the caveats of an assessment: warnings, and what the estimates do not support."""
    said = list(a.warnings)
    if len(a.groups) > 1 and a.n_labels:
        p_worst = {r.group: r.p_worst for r in a.groups if r.p_worst is not None and r.p_worst >= 0.05}
        candidates = sorted(p_worst, key=lambda group: -p_worst[group])
        if a.spec.m == 1 and candidates and p_worst[candidates[0]] < SETTLED_PROBABILITY:
            chances = ", ".join(f"“{group}” ({format_probability(p_worst[group])})" for group in candidates[:6])
            said.append(f"Which group is the worst is not settled. P(worst): {chances}.")
        if not list_wide_groups(a.groups):
            said.append(
                "The order of groups whose intervals overlap is uncertain; the table below gives intervals of their ranks."
            )
    if len(a.groups) >= 20:
        n_missed = (1 - a.level) * len(a.groups)
        said.append(
            f"With {len(a.groups):,} groups, expect about {n_missed:.0f} intervals to miss the true value, even if all assumptions hold."
        )
    said.append(
        "The labelled items must have been drawn at random within each group. If they were chosen because they looked odd, "
        "easy or important, the estimates describe only such items."
    )
    if not a.finite_pool:
        said.append(
            "The estimates hold for data drawn from the same population as these items. On other data, the model may perform differently."
        )
    return said


def method(a: Assessment) -> list[str]:
    """List in sentences of the HTML report how the estimates of an assessment were computed."""
    exact = (
        "in closed form"
        if a.posterior.exact is not None
        else f"from {len(a.draws):,} random draws (seed {a.spec.seed})"
    )
    quantity = (
        "the metric on exactly these items: labelled items are known, only the others are uncertain"
        if a.finite_pool
        else "the metric on the population these items were drawn from"
    )
    return [
        f"Metric: {a.metric}, {define_metric(a.metric)}{_name_positive_class(a)}.",
        f"Quantity: {quantity}.",
        f"Groups: by {a.by}; the overall estimate weights each group by its share of all items, labelled or not.{_explain_overall(a)}",
        f"Prior: {PRIOR_TEXTS.get(a.prior, a.prior)}.{_describe_prior_fit(a)}",
        f"Estimates are posterior means. Intervals are equal-tailed {100 * a.level:g}% credible intervals, computed {exact}. Ranks and "
        f"P(worst) are computed from {len(a.draws):,} draws. Rank 1 is the best group.",
    ]


def headline_comparison(c: Comparison) -> str:
    """State the verdict of a comparison of two groups of an assessment in one sentence."""
    return verdict(c)[0]


def verdict(c: Comparison) -> list[str]:
    """State in sentences the verdict on two groups of an assessment, the difference and the probabilities."""
    a, b = c.groups
    each = (
        f"{r.group}: {r.mean:.3f} ({r.low:.3f} to {r.high:.3f}), {count(r.n_labels, 'label')}, {count(r.n_items, 'item')}."
        for r in c.rows
    )
    return [
        f"{c.sentence[0].upper()}{c.sentence[1:]}.",
        f"The difference {a} − {b} in {c.metric} is {c.mean:+.3f}; with {100 * c.level:g}% probability it lies between {c.low:+.3f} and {c.high:+.3f}.",
        f"Probability that {a} is lower by more than {c.rope:g}: {format_probability(c.p_below)}; that they differ by at most {c.rope:g}: "
        f"{format_probability(c.p_equivalent)}; that {a} is higher by more than {c.rope:g}: {format_probability(c.p_above)}.",
        *each,
    ]


def _describe_prior_fit(a: Assessment) -> str:
    """Say in the text of an assessment's report how well the prior fits the labels."""
    said = a.posterior.trust.say(a.level) if a.posterior.trust is not None else ""
    return f" {said[0].upper()}{said[1:]}." if said else ""


def _name_positive_class(a: Assessment) -> str:
    """Name the positive class in the text of an assessment's report."""
    return f"; the positive class is “{a.positive}”" if a.positive is not None else ""


def _explain_overall(a: Assessment) -> str:
    """Say in the text of an assessment's report why the overall estimate is not the weighted average of its groups, if it is not."""
    if a.posterior.pooled_cells is None:
        return ""
    return " It is not the weighted average of the rows: for the overall estimate, the level and the strength of the prior are learned from the labels of all groups."


def _name_groups(a: Assessment, rows: Sequence[Row]) -> str:
    """List groups with their estimates in the text of an assessment's report."""
    return join_names((f"“{r.group}” {format_estimate(a, r)}" for r in rows), most=5)
