"""The sentences of a surface report: headline, findings, caveats, method and what to label next."""

from collections.abc import Iterator

from fewlabels.analyses.assessment_rows import Estimate
from fewlabels.analyses.surface.arm_names import find_common, name_values
from fewlabels.analyses.surface.coverage import count_bands
from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Arm, Surface, SurfaceEstimate
from fewlabels.errors import count, join_names
from fewlabels.text import format_probability

MAX_NAMED = 3  # arms or attributes named in a sentence
FEW_ATTRIBUTES = 3  # up to this many attributes, sentences name whole arms
SETTLED_PROBABILITY = 0.95  # P(worst) from which an arm is called the worst
UNLABELLED_SHARE = 0.2  # share of items in arms without labels from which labelling there is recommended
MODEL_TEXTS = {
    "smooth": "Model: the logit of being right is the sum of a curve of the score (if there are scores), an effect of each attribute, an effect of each pair of attributes (their interaction) and a random effect of the arm. The standard deviation of each kind of effect is learned from the labels. Arms that share attributes are therefore partially pooled, and an arm with many labels is determined mostly by its own.",
    "beta-i": "Model: every arm by itself, from its own labels and a weak prior centred at the accuracy of the pool.",
    "constant": "Model: all arms have the same accuracy.",
}
DEEP_MODEL_TEXT = "Model: a Gaussian process over arms whose kernel is learned by a small neural network, as in the accuracy-surface paper (004)."


def format_percent(value: float) -> str:
    """Format a share in percent for the text of a surface."""
    return f"{100 * value:.1f}%"


def headline(s: Surface) -> str:
    """State in one sentence of the HTML report the overall accuracy of a surface, and the worst region that labels show."""
    scope = "on these items" if s.finite_pool else "on data like these items"
    ends = f"{100 * s.level:g}% interval {format_percent(s.overall.low)} to {format_percent(s.overall.high)}"
    whole = f"Overall accuracy {scope} is {format_percent(s.overall.mean)} ({ends})"
    if not s.n_labels:
        return f"{whole}, but no item is labelled: this estimate comes from the prior alone."
    if len(s.arms) == 1:
        return f"{whole}."
    weak = _find_worse_region(s)
    if weak is None:
        return f"{whole}; no labelled combination of attributes is clearly worse."
    return f"{whole}; where {name_values(weak.arm if isinstance(weak, Arm) else weak.values)} it is {_format_estimate(weak)}."


def _find_worse_region(s: Surface) -> Arm | SurfaceEstimate | None:
    """Return the worst labelled arm of a surface, or pair of values, whose interval lies below the overall interval."""
    if len(s.attributes) <= FEW_ATTRIBUTES:
        return next(iter(_find_worse_arms(s)), None)
    readings = sorted(s.marginals(*rank_attributes(s)[:2]), key=lambda one: one.mean)
    return next((one for one in readings if one.n_labels and one.high < s.overall.low), None)


def list_findings(s: Surface) -> Iterator[str]:
    """Yield sentences of the HTML report on what the estimates of a surface support."""
    if not s.n_labels:
        yield f"Nothing yet: label some of these items, drawn at random, to learn how the {len(s.arms):,} arms differ."
        return
    weak = _find_worse_arms(s)
    if len(s.arms) > 1:
        yield from _describe_worse_arms(s, weak)
        yield _describe_worst_arm(s)
    yield from _describe_attributes(s)
    yield _describe_coverage(s)


def list_caveats(s: Surface) -> Iterator[str]:
    """Yield sentences of the HTML report on the caveats of a surface, then what to label next."""
    yield from s.warnings
    if s.n_labels and count_bands(s)[0].n_arms:
        yield "no label can show that an arm without labels departs from what its attributes predict; intervals allow for departures as large as those of labelled arms"
    if len(s.arms) >= 20:
        yield f"with {len(s.arms):,} arms, expect about {(1 - s.level) * len(s.arms):,.0f} intervals to miss the true value, even if all assumptions hold"
    if s.finite_pool:
        yield "effects of attributes and answers to questions are about the population the items came from; the arms and the overall estimate are about exactly these items"
    yield "labelled items must have been drawn at random within each arm; if they were chosen because they looked odd, the estimates describe only such items"
    yield _recommend_next(s)


def explain_method(s: Surface) -> list[str]:
    """List in sentences of the HTML report how the estimates of a surface were computed."""
    quantity = (
        "accuracy on exactly these items: labelled items are known, only the others are uncertain"
        if s.finite_pool
        else "accuracy on the population these items were drawn from"
    )
    lines = [
        f"Quantity: {quantity}. An arm is a combination of values of {', '.join(s.attributes)} that occurs in the pool.",
        MODEL_TEXTS.get(s.model, DEEP_MODEL_TEXT),
        f"Estimates are posterior means; intervals are equal-tailed {100 * s.level:g}% credible intervals.",
    ]
    if s.scales:
        lines.append(f"Standard deviations of effects on the logit: {_describe_scales(s)}.")
    if s.health.get("together") is not None:
        lines.append(f"Attributes interact with posterior probability {format_probability(s.health['together'])}; the estimates average over the models with and without interactions.")  # fmt: skip
    if s.health.get("left_out"):
        lines.append(f"Interactions left out, because there would be too many terms: {join_names(' × '.join(names) for names in s.health['left_out'])}.")  # fmt: skip
    if "terms" in s.health:
        settled = "converged" if s.health["converged"] else "did not converge"
        lines.append(f"The model has {count(s.health['terms'], 'term')}; the optimisation of the standard deviations {settled} in {count(s.health['looks'], 'evaluation')} of the marginal likelihood.")  # fmt: skip
    return lines


def _find_worse_arms(s: Surface) -> list[Arm]:
    """Return labelled arms of a surface whose intervals lie below the overall interval, worst first."""
    return [arm for arm in s.worst_first if arm.n_labels and arm.high < s.overall.low]


def _describe_worse_arms(s: Surface, weak: list[Arm]) -> Iterator[str]:
    """Say in a sentence which arms of a surface are worse than the overall estimate."""
    if not weak:
        yield "No labelled arm's interval lies below that of the overall estimate yet."
        return
    most = MAX_NAMED if len(s.attributes) <= FEW_ATTRIBUTES else 1
    named = "; ".join(f"{name_values(arm.arm)}: {_format_estimate(arm)}" for arm in weak[:most])
    items = sum(arm.n_items for arm in weak)
    yield f"Worse than the overall estimate (labelled, and the intervals do not overlap): {count(len(weak), 'arm')} with {count(items, 'item')}. The worst: {named}."
    common = find_common(weak[:10])
    if common and len(common) < len(s.attributes):
        yield f"The {min(len(weak), 10)} worst of these have in common: {name_values(common)}."


def _describe_worst_arm(s: Surface) -> str:
    """Say in a sentence which arm of a surface is the worst, or that this is not settled."""
    likeliest = max(s.arms, key=lambda arm: arm.p_worst)
    named = f"{name_values(likeliest.arm)}, with probability {format_probability(likeliest.p_worst)}"
    if likeliest.p_worst >= SETTLED_PROBABILITY:
        return f"The worst arm is {named}."
    if len(s.attributes) > FEW_ATTRIBUTES:
        return f"Which arm is the worst is not settled: the largest P(worst) of an arm is {format_probability(likeliest.p_worst)}."
    return f"Which arm is the worst is not settled; the most likely is {named}."


def _describe_attributes(s: Surface) -> Iterator[str]:
    """Name the largest effects of a surface, and give the adjusted accuracy at both ends of the first attribute."""
    if not s.scales or s.fitted is None:
        return
    first = rank_attributes(s)[0]
    readings = sorted(s.adjust(first), key=lambda one: one.mean)
    if len(readings) < 2:
        return
    low, high = readings[0], readings[-1]
    yield (
        f"The largest effects: {_name_effects(s)}. With the other attributes as in the whole pool, accuracy would be "
        f"{_format_estimate(low)} where {name_values(low.values)}, and {_format_estimate(high)} where {name_values(high.values)}."
    )


def _name_effects(s: Surface) -> str:
    """Name the attributes with the largest effects on a surface, as text."""
    first, *others = (" × ".join(one.attributes) for one in s.scales[:-1][:MAX_NAMED])
    return f"{first}, then {' and '.join(others)}" if others else first


def _describe_scales(s: Surface) -> str:
    """List the sizes of a surface's effects, as text."""
    *effects, own = s.scales
    named = join_names((f"{' × '.join(one.attributes)} {one.scale:.2f}" for one in effects), most=10)
    return f"{named}{'; ' if effects else ''}random effect of the arm {own.scale:.2f}"


def _describe_coverage(s: Surface) -> str:
    """Say in a sentence how many arms of a surface have no labels, or few."""
    blank, few, *_ = count_bands(s)
    said = f"Arms without labels: {blank.n_arms:,} of {len(s.arms):,}, with {format_percent(blank.n_items / s.n_items)} of all items"
    rest = f"; arms with one to four labels: {few.n_arms:,}." if few.n_arms else "."
    return f"{said}{rest}" if blank.n_arms else f"Every arm has a label{rest}"


def _recommend_next(s: Surface) -> str:
    """Say in a sentence where on a surface to label next: where many items have wide intervals."""
    if not s.n_labels:
        return "Next: label a few hundred items, drawn at random"
    blank = count_bands(s)[0]
    if len(s.attributes) > FEW_ATTRIBUTES:
        where = (
            f"from the {blank.n_arms:,} arms without a label"
            if blank.n_items > UNLABELLED_SHARE * s.n_items
            else "in the worst arms"
        )
        return f"Next: label items at random {where}"
    wide = sorted(s.arms, key=lambda arm: -arm.n_items * (arm.high - arm.low))[:MAX_NAMED]
    return f"Next: label where many items have wide intervals: {'; '.join(name_values(arm.arm) for arm in wide)}"


def _format_estimate(one: Estimate | Arm | SurfaceEstimate) -> str:
    """Format an estimate of a surface with its interval as text."""
    return f"{format_percent(one.mean)} ({format_percent(one.low)} to {format_percent(one.high)})"
