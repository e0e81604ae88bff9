"""A surface in plain words: how good, where not, what matters, what is not known, and what to do next."""

from collections.abc import Iterator

from fewlabels.analyses.assessment import Estimate
from fewlabels.analyses.surface.coverage import count_bands
from fewlabels.analyses.surface.naming import find_common, name_values
from fewlabels.analyses.surface.ranking import rank_attributes
from fewlabels.analyses.surface.result import Arm, Reading, Surface
from fewlabels.errors import count, listing

NAMED = 3  # things that are named in a sentence
FEW = 3  # attributes up to which an arm can be described in a sentence
SURE = 0.95  # chance of being the worst from which that is said
MUCH = 0.2  # share of items in arms without a label that is a reason to label there
MODELS = {
    "smooth": "Model: the logit of being right is a curve of the score (where there is one), plus an effect of every attribute, plus an effect of every two together, plus what is an arm's own. How large each kind of effect is, labels decide; so arms that share attributes lend each other strength, and an arm with many labels speaks for itself.",
    "beta-i": "Model: every arm by itself, from its own labels alone.",
    "constant": "Model: every arm is taken to be as accurate as the pool.",
}
DEEP = "Model: a Gaussian process over arms with a kernel that a small network learns, as in the paper."


def percent(value: float) -> str:
    """Write a share the way people read it."""
    return f"{100 * value:.1f}\u202f%"


def headline(s: Surface) -> str:
    """Say how good it is overall, and where it is worst."""
    scope = "on these items" if s.finite_pool else "on data like these items"
    whole = f"Overall accuracy {scope} is {_range(s.overall)}"
    if not s.n_labels:
        return f"{whole}, but no item is labelled: this is what was assumed, not what the model did."
    if len(s.arms) == 1:
        return f"{whole}."
    weak = _find_weak_region(s)
    if weak is None:
        return f"{whole}; no combination of attributes is worse for certain."
    return f"{whole}; where {name_values(weak.arm if isinstance(weak, Arm) else weak.values)} it is {_range(weak)}."


def _find_weak_region(s: Surface) -> Arm | Reading | None:
    """Return the worst place that few words describe and labels show to be worse than the whole."""
    if len(s.attributes) <= FEW:
        return next(iter(_find_weak(s)), None)
    readings = sorted(s.cross(*rank_attributes(s)[:2]), key=lambda one: one.mean)
    return next((one for one in readings if one.n_labels and one.high < s.overall.low), None)


def list_findings(s: Surface) -> Iterator[str]:
    """What the numbers support."""
    if not s.n_labels:
        yield f"Nothing yet: label some of these items, at random, and the {len(s.arms):,} arms will begin to differ."
        return
    weak = _find_weak(s)
    if len(s.arms) > 1:
        yield from _say_weak(s, weak)
        yield _say_worst(s)
    yield from _say_attributes(s)
    yield _say_coverage(s)


def list_doubts(s: Surface) -> Iterator[str]:
    """What they do not support, and what to do next."""
    yield from s.warnings
    if s.n_labels and count_bands(s)[0].n_arms:
        yield "an arm without a label that behaves unlike anything its attributes do elsewhere would not show; intervals allow for as much of that as labelled arms show"
    if len(s.arms) >= 20:
        yield f"with {len(s.arms):,} arms, about {(1 - s.level) * len(s.arms):,.0f} intervals miss the truth even when all is well"
    if s.finite_pool:
        yield "pictures of attributes and answers to questions are about the population the items came from; the arms and the whole are about exactly these items"
    yield "labelled items must have been picked at random within each arm; if they were picked because they looked odd, these numbers describe those items only"
    yield _say_next(s)


def explain(s: Surface) -> list[str]:
    """How the numbers came about."""
    quantity = (
        "accuracy on exactly these items: what is labelled is known, only the rest is uncertain"
        if s.finite_pool
        else "accuracy on the population these items were drawn from"
    )
    lines = [
        f"Quantity: {quantity}. An arm is a combination of {', '.join(s.attributes)} that occurs.",
        MODELS.get(s.model, DEEP),
        f"Estimates are posterior means, intervals hold the middle {100 * s.level:g}% of the posterior.",
    ]
    if s.scales:
        lines.append(f"Standard deviations of effects on the logit: {_say_scales(s)}.")
    if s.health.get("together") is not None:
        lines.append(f"That two attributes together do more than each alone has probability {s.health['together']:.2f}; both answers are averaged over.")  # fmt: skip
    if s.health.get("left_out"):
        lines.append(f"Effects left out, because there would be too many terms: {listing(' × '.join(names) for names in s.health['left_out'])}.")  # fmt: skip
    if "terms" in s.health:
        settled = "found" if s.health["converged"] else "not found to the end"
        lines.append(f"{count(s.health['terms'], 'term')}; the scales that explain the labels best were {settled} in {count(s.health['looks'], 'look')}.")  # fmt: skip
    return lines


def _find_weak(s: Surface) -> list[Arm]:
    """Return arms that are worse than the whole by their own intervals, and have labels of their own; the worst first."""
    return [arm for arm in s.worst_first if arm.n_labels and arm.high < s.overall.low]


def _say_weak(s: Surface, weak: list[Arm]) -> Iterator[str]:
    if not weak:
        yield "No arm with labels of its own lies clear below the whole yet."
        return
    most = NAMED if len(s.attributes) <= FEW else 1
    named = "; ".join(f"{name_values(arm.arm)}: {_range(arm)}" for arm in weak[:most])
    items = sum(arm.n_items for arm in weak)
    yield f"Worse than the whole, by their own labels and intervals: {count(len(weak), 'arm')} with {count(items, 'item')}. The worst {'is' if most == 1 else 'of them'} {named}."
    common = find_common(weak[:10])
    if common and len(common) < len(s.attributes):
        yield f"What the {min(len(weak), 10)} worst of these have in common: {name_values(common)}."


def _say_worst(s: Surface) -> str:
    likeliest = max(s.arms, key=lambda arm: arm.p_worst)
    named = f"{name_values(likeliest.arm)}, with probability {likeliest.p_worst:.2f}"
    if likeliest.p_worst >= SURE:
        return f"The worst of all is {named}."
    if len(s.attributes) > FEW:
        return f"Which arm is the worst of all is not settled: no arm is, with a probability above {likeliest.p_worst:.2f}."
    return f"Which arm is the worst of all is not settled; the likeliest is {named}."


def _say_attributes(s: Surface) -> Iterator[str]:
    """Name the attributes that matter most, and say what the first of them does by itself."""
    if not s.scales or s.chart is None:
        return
    first = rank_attributes(s)[0]
    readings = sorted(s.adjust(first), key=lambda one: one.mean)
    if len(readings) < 2:
        return
    low, high = readings[0], readings[-1]
    yield (
        f"What matters most is {_name_effects(s)}. Were all else as in the whole pool, accuracy would be "
        f"{_range(low)} where {name_values(low.values)}, and {_range(high)} where {name_values(high.values)}."
    )


def _name_effects(s: Surface) -> str:
    first, *others = (" × ".join(one.attributes) for one in s.scales[:-1][:NAMED])
    return f"{first}, then {' and '.join(others)}" if others else first


def _say_scales(s: Surface) -> str:
    *effects, own = s.scales
    named = listing((f"{' × '.join(one.attributes)} {one.scale:.2f}" for one in effects), most=10)
    return f"{named}{'; ' if effects else ''}of a combination beyond its attributes {own.scale:.2f}"


def _say_coverage(s: Surface) -> str:
    blank, few, *_ = count_bands(s)
    said = f"{count(blank.n_arms, 'arm')} of {len(s.arms):,}, with {percent(blank.n_items / s.n_items)} of all items"
    rest = f"; {few.n_arms:,} more have fewer than five." if few.n_arms else "."
    return f"Without a label of their own are {said}{rest}" if blank.n_arms else f"Every arm has a label{rest}"


def _say_next(s: Surface) -> str:
    """What to do next: label where most items are known least."""
    if not s.n_labels:
        return "Next: label a few hundred items, picked at random"
    blank = count_bands(s)[0]
    if len(s.attributes) > FEW:
        where = (
            f"from the {blank.n_arms:,} arms without a label"
            if blank.n_items > MUCH * s.n_items
            else "in the worst arms"
        )
        return f"Next: label items at random {where}"
    wide = sorted(s.arms, key=lambda arm: -arm.n_items * (arm.high - arm.low))[:NAMED]
    return f"Next: label where many items are known least: {'; '.join(name_values(arm.arm) for arm in wide)}"


def _range(one: Estimate | Arm | Reading) -> str:
    return f"{percent(one.mean)} ({percent(one.low)} to {percent(one.high)})"
