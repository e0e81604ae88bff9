"""Numbers in plain words: what they support, what they do not, and how they came about."""

from collections.abc import Sequence

from fewlabels.analyses.assessment import Assessment, Row
from fewlabels.analyses.comparison import Comparison
from fewlabels.analyses.warnings import leans_on_prior, thin_groups
from fewlabels.errors import listing

MEANINGS = {
    "accuracy": "the share of items the model gets right",
    "ece": "expected calibration error: how far the model's confidence is, on average, from how often it is right",
    "confusion": "for each predicted class, the share of items that truly belong to each class",
    "cost": "the expected cost of a prediction, under the costs given for each kind of mistake",
    "precision": "of the items said to be of a class, the share that are",
    "recall": "of the items that are of a class, the share the model finds",
    "f1": "the harmonic mean of precision and recall",
    "balanced-accuracy": "recall, averaged over the classes",
    "mcc": "the Matthews correlation between prediction and truth (1 perfect, 0 no better than chance)",
    "tpr": "true positive rate: of the truly positive items, the share predicted positive",
    "fpr": "false positive rate: of the truly negative items, the share predicted positive",
    "tnr": "true negative rate: of the truly negative items, the share predicted negative",
    "fnr": "false negative rate: of the truly positive items, the share predicted negative",
    "ppv": "positive predictive value: of the items predicted positive, the share that are",
    "npv": "negative predictive value: of the items predicted negative, the share that are",
    "fdr": "false discovery rate: of the items predicted positive, the share that are not",
    "for": "false omission rate: of the items predicted negative, the share that are positive",
    "selection-rate": "the share of items predicted positive",
}
PRIORS = {
    "flat": "flat: before any label, no outcome is taken to be likelier than another",
    "scores": "scores: before any label, the model's own mean confidence in a group is taken for its accuracy there, as if "
    "a label or two had said so; where the model is overconfident, groups with few labels look better than they are",
    "calibrated": "calibrated: the model's confidence, corrected by what the labels so far show of it in all groups, and trusted as "
    "far as groups are seen to follow it",
    "earlier": "earlier: belief starts where an earlier assessment ended; that is right only if the two share no labels",
}

LEANS = ", if the prior is to be believed, on which this figure leans."
SURE = 0.95  # probability from which on a group is called the worst


def meaning(metric: str) -> str:
    """Return what a metric is, in a sentence; a user's own is what its author says."""
    return MEANINGS.get(metric, "as its author defined it")


def number(a: Assessment, value: float) -> str:
    """Write a value the way people read it: percent for shares, digits for the rest."""
    return f"{100 * value:.1f}\u202f%" if a.question.metric.is_share else f"{value:.3f}"


def between(a: Assessment, row: Row) -> str:
    """Write a group's estimate with its interval."""
    return f"{number(a, row.mean)} ({number(a, row.low)} to {number(a, row.high)})"


def headline(a: Assessment) -> str:
    """The overall figure in one sentence."""
    o = a.overall
    scope = "on these items" if a.finite_pool else "on data like these items"
    return (
        f"Overall {a.metric} {scope} is {number(a, o.mean)}; with {100 * a.level:g}% probability it lies "
        f"between {number(a, o.low)} and {number(a, o.high)}{LEANS if a.n_labels and leans_on_prior(a.posterior) else '.'}"
    )


def supported(a: Assessment) -> list[str]:
    """What the numbers support."""
    said = []
    worst = a.worst_first[0]
    if len(a.groups) > 1:
        certain = max(a.groups, key=lambda row: row.p_worst or 0.0)
        if (certain.p_worst or 0.0) >= SURE and a.question.m == 1:
            said.append(
                f"“{certain.group}” is the worst group with probability {certain.chance_of_worst}: {between(a, certain)}."
            )
        lower_is_worse = a.question.metric.worst == "lowest"
        weak = [
            r
            for r in a.worst_first
            if r.n_labels and (r.high < a.overall.low if lower_is_worse else r.low > a.overall.high)
        ]
        strong = [
            r for r in reversed(a.worst_first) if (r.low > a.overall.high if lower_is_worse else r.high < a.overall.low)
        ]
        if weak:
            said.append(f"Worse than the whole, by their own intervals: {_named(a, weak)}.")
        if strong:
            said.append(f"Better than the whole, by their own intervals: {_named(a, strong)}.")
        if not weak and not strong:
            said.append("No group's interval lies clear of that of the whole yet.")
    elif a.n_labels:
        said.append(f"{worst.n_labels:,} labels narrow it to an interval {number(a, worst.high - worst.low)} wide.")
    return said


def unsupported(a: Assessment) -> list[str]:
    """What they do not support."""
    said = list(a.warnings)
    if len(a.groups) > 1 and a.n_labels:
        p_worst = {r.group: r.p_worst for r in a.groups if r.p_worst is not None and r.p_worst >= 0.05}
        candidates = sorted(p_worst, key=lambda group: -p_worst[group])
        if a.question.m == 1 and candidates and p_worst[candidates[0]] < SURE:
            chances = ", ".join(f"“{group}” ({p_worst[group]:.2f})" for group in candidates[:6])
            said.append(f"Which group is the worst is not settled. Probabilities: {chances}.")
        if not thin_groups(a.groups):
            said.append(
                "Groups whose intervals overlap may stand in either order; the ranks below say how far that goes."
            )
    if len(a.groups) >= 20:
        n_missed = (1 - a.level) * len(a.groups)
        said.append(
            f"With {len(a.groups):,} groups, about {n_missed:.0f} intervals miss the truth even when all is well."
        )
    said.append(
        "The labelled items must have been picked at random within each group. If they were picked because they looked odd, "
        "easy or important, these numbers describe those items only."
    )
    if not a.finite_pool:
        said.append("The numbers speak about data like this pool. If tomorrow's data differ, so may the model.")
    return said


def method(a: Assessment) -> list[str]:
    """How the numbers came about."""
    exact = (
        "in closed form"
        if a.posterior.exact is not None
        else f"from {len(a.draws):,} random draws (seed {a.question.seed})"
    )
    quantity = (
        "the metric on exactly these items: what is labelled is known, only the rest is uncertain"
        if a.finite_pool
        else "the metric on the population these items were drawn from"
    )
    return [
        f"Metric: {a.metric}, {meaning(a.metric)}{_of_class(a)}.",
        f"Quantity: {quantity}.",
        f"Groups: by {a.by}; the overall figure weighs each group by its share of all items, labelled or not.{_pooled(a)}",
        f"Prior: {PRIORS.get(a.prior, a.prior)}.{_trusted(a)}",
        f"Estimates are posterior means, intervals hold the middle {100 * a.level:g}% of the posterior, computed {exact}; ranks and "
        f"probabilities of being worst from {len(a.draws):,} draws. Rank 1 is the best group.",
    ]


def verdict(c: Comparison) -> list[str]:
    """What a comparison says."""
    a, b = c.groups
    each = (
        f"{r.group}: {r.mean:.3f} ({r.low:.3f} to {r.high:.3f}), {r.n_labels:,} labels of {r.n_items:,} items."
        for r in c.rows
    )
    return [
        f"{c.sentence[0].upper()}{c.sentence[1:]}.",
        f"The difference {a} − {b} in {c.metric} is {c.mean:+.3f}, and lies between {c.low:+.3f} and {c.high:+.3f} with {100 * c.level:g}% probability.",
        f"Probability that {a} is lower by more than {c.rope:g}: {c.p_below:.3f}; that they differ by at most {c.rope:g}: "
        f"{c.p_equivalent:.3f}; that {a} is higher by more than {c.rope:g}: {c.p_above:.3f}.",
        *each,
    ]


def _trusted(a: Assessment) -> str:
    said = a.posterior.trust.say(a.level) if a.posterior.trust is not None else ""
    return f" {said[0].upper()}{said[1:]}." if said else ""


def _of_class(a: Assessment) -> str:
    return f"; the positive class is “{a.positive}”" if a.positive is not None else ""


def _pooled(a: Assessment) -> str:
    if a.posterior.whole is None:
        return ""
    return " It is not the average of the rows: for the whole, the level of the prior is learned from the labels of all groups."


def _named(a: Assessment, rows: Sequence[Row]) -> str:
    return listing((f"“{r.group}” {between(a, r)}" for r in rows), most=5)
