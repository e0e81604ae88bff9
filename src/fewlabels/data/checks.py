"""Validate the data of a pool; each finding states the column, the row and the remedy.

`doctor` reports all findings; the analyses raise the first error. If the caller passes an aggregate of the pool,
validation adds one query over the ids (none if the aggregate sampled ids), and further queries only if the data are
invalid.
"""

from collections.abc import Iterator
from typing import Any

from fewlabels.data.aggregate import Aggregate, aggregate_pool
from fewlabels.data.conflicts import Finding, check_confidence, check_groups, check_twins, find_conflicts
from fewlabels.data.groups import everything
from fewlabels.data.name_twins import fold_name
from fewlabels.data.predictions import Predictions
from fewlabels.data.relation import Value
from fewlabels.data.sampling import Sample
from fewlabels.data.tolerances import LEAST_PROPENSITY, ROUNDING, SUM_TOLERANCE
from fewlabels.errors import InputError, count, did_you_mean, format_option, join_names, quote_name

MIN_LABELS = 10
MAX_GRADE = 10  # the highest value that is taken for a grade
MAX_EXACT_IDS, ID_SAMPLE_STEP = (
    10_000_000,
    61,
)  # beyond MANY ids, a subset of 1/PARTS is searched for duplicates: all take gigabytes
UNLABELLED_MARKERS = {
    "",
    "?",
    "-",
    "-1",
    "na",
    "n/a",
    "nan",
    "none",
    "null",
    "unlabelled",
    "unlabeled",
    "unknown",
    "missing",
}


def require_valid(
    pool: Predictions, aggregated: Aggregate | None = None, *, uses_propensities: bool = False
) -> tuple[str, ...]:
    """Raise the first error that the checks of a pool find; return the warnings, also of propensities that the caller does not use."""
    findings = check_pool(pool, aggregated, uses_propensities=uses_propensities)
    for finding in findings:
        if finding.severity == "error":
            raise InputError(finding.message)
    return tuple(finding.message for finding in findings)


def check_pool(
    pool: Predictions, aggregated: Aggregate | None = None, *, uses_propensities: bool = False
) -> tuple[Finding, ...]:
    """Check ids, scores, probabilities and classes of a pool."""
    aggregated = aggregated or aggregate_pool(pool, everything)
    if not aggregated.n_items:
        return (_make_error(f"{pool.source} has no rows"),)
    found = _check_item_ids(pool, aggregated)
    if not _looks_valid(aggregated):
        facts = pool.measure(_range_queries(pool))
        found += [*_check_scores(pool, facts), *_check_sums(pool, facts), *_check_agreement(pool, facts)]
    found += [*_check_propensities(pool, aggregated, is_used=uses_propensities)]
    if not any(f.severity == "error" for f in found):
        found += [
            *_check_classes(pool),
            *check_groups(aggregated.cut, aggregated.found),
            *find_conflicts(pool, aggregated.found),
            *check_confidence(pool, aggregated.found, aggregated.edges),
        ]
    return (*found, *(Finding("warning", note) for note in pool.notes))


def _looks_valid(aggregated: Aggregate) -> bool:
    """Check quickly that no prediction or score is missing or out of range; otherwise the rows must be queried."""
    found = aggregated.found
    missing = None in found.get("predicted", []) or None in found.get("bin", []) or any(found.get("p_bad", []))
    sums = [value for value in found.get("score", []) if value is not None]
    ranges = [name for name in ("p", "agreement") if f"{name}_low" in found]
    off = (aggregated.highest("off_sum") or 0.0) if "off_sum" in found else 0.0
    inside = all(
        _is_within_bounds(aggregated.lowest(f"{name}_low"), aggregated.highest(f"{name}_high")) for name in ranges
    )
    return not missing and all(value == value for value in sums) and inside and off <= SUM_TOLERANCE


def _is_within_bounds(low: float | None, high: float | None) -> bool:
    """Is a range of scores within [0, 1]?"""
    return low is None or high is None or (low >= -ROUNDING and high <= 1 + ROUNDING)


def _range_queries(pool: Predictions) -> dict[str, Value]:
    """Return the minima, maxima and counts that the checks of scores need."""
    questions: dict[str, Value] = {"n": pool.items.count()}
    if pool.has("predicted"):
        questions["null_predicted"] = pool.predicted.isnull().sum()
    if pool.stated_score is not None:
        questions |= _range_of("score", pool.stated_score)
    if pool.has("agreement"):
        questions |= {"agreement_low": pool.agreement.min(), "agreement_high": pool.agreement.max()}
    if pool.has("probabilities"):
        total = pool.total_probability()
        questions |= {"off_sum": (total - 1).abs().max(), "p_bad": (total.isnull() | total.isnan()).sum()}
        questions |= {"p_low": pool.min_probability().min(), "p_high": pool.max_probability().max()}
    return questions


def _range_of(name: str, value: Value) -> dict[str, Value]:
    """Return minimum, maximum and number of missing values of one column to check."""
    bad = value.isnull() | value.isnan()
    return {
        f"{name}_low": value.nullif(float("nan")).min(),
        f"{name}_high": value.nullif(float("nan")).max(),
        f"{name}_bad": bad.sum(),
    }


def _check_item_ids(pool: Predictions, aggregated: Aggregate) -> list[Finding]:
    """Check that every item has an id of its own; warn if row numbers serve as ids."""
    if not pool.roles.id:
        return [Finding("warning", "no id column: row numbers serve as ids, so labels can only be matched while the order of the rows stays the same")]  # fmt: skip
    sample = aggregated.sample if aggregated.sample and aggregated.sample.rule.every <= ID_SAMPLE_STEP else None
    missing, repeated = _check_sampled_ids(sample) if sample else _check_stored_ids(pool, aggregated.n_items)
    if missing:
        row = pool.find(pool.id.isnull())["row"][0]
        return [_make_error(f"column {pool.roles.id!r}: {count(missing, 'id')} {'is' if missing == 1 else 'are'} missing, the first in row {row:,}; every item needs an id of its own")]  # fmt: skip
    return [_make_error(describe_duplicate(pool, repeated))] if repeated is not None else []


def _check_sampled_ids(sample: Sample) -> tuple[int, Any]:
    """Return the number of missing ids, and a duplicate id or None."""
    return sample.n_missing, sample.find_duplicate()


def _check_stored_ids(pool: Predictions, n: int) -> tuple[int, Any]:
    """Query the number of missing ids, and a duplicate id or None."""
    seen = pool if n <= MAX_EXACT_IDS else pool.take_subset(ID_SAMPLE_STEP)
    facts = seen.measure({"n": seen.items.count(), "filled": seen.id.count(), "ids": seen.id.nunique()})
    missing = facts["n"] - facts["filled"]
    repeated = facts["ids"] < facts["filled"]
    return missing, seen.most_frequent(seen.id) if repeated and not missing else None


def describe_duplicate(pool: Predictions, first: Any) -> str:
    """Name the rows of a duplicate id that the checks found."""
    rows = pool.find(pool.id == first, most=3)["row"]
    return f"column {pool.roles.id!r}: id {quote_name(first)} occurs in rows {join_names(rows)}; every item needs an id of its own"


def _check_scores(pool: Predictions, facts: dict[str, Any]) -> list[Finding]:
    """Check that predictions and scores are present and that scores lie in [0, 1]."""
    found = []
    if facts.get("null_predicted"):
        row = pool.find(pool.predicted.isnull())["row"][0]
        found.append(_make_error(f"column {pool.roles.predicted or 'predicted'!r}: the prediction is missing in {count(facts['null_predicted'], 'row')}, the first is row {row:,}; drop these rows or fill them in"))  # fmt: skip
    score = pool.stated_score
    if score is None:
        return found
    column = pool.roles.score or str(pool.roles.positive_score)
    if facts["score_bad"]:
        row = pool.find(score.isnull() | score.isnan())["row"][0]
        found.append(_make_error(f"column {column!r}: the score is missing or NaN in {count(facts['score_bad'], 'row')}, the first is row {row:,}; drop these rows or fill them in"))  # fmt: skip
    elif facts["score_low"] < -ROUNDING or facts["score_high"] > 1 + ROUNDING:
        hit = pool.find((score < -ROUNDING) | (score > 1 + ROUNDING), value=score)
        found.append(
            _make_error(
                _describe_score_outside(
                    f"column {column!r}",
                    hit["value"][0],
                    hit["row"][0],
                    facts["score_low"],
                    facts["score_high"],
                )
            )
        )
    return found


def _describe_score_outside(column: str, value: float, row: int, low: float, high: float) -> str:
    """Describe a score that the check finds outside [0, 1], and how to rescale it."""
    return f"{column}: scores must lie between 0 and 1, but row {row:,} has {value:g}; {_suggest_rescaling(low, high)}"


def _suggest_rescaling(low: float, high: float) -> str:
    """Suggest how to convert scores with this range to [0, 1], when the check fails.

    >>> _suggest_rescaling(1.0, 5.0), _suggest_rescaling(3.5, 99.0)
    ('they look like grades: bring them to 0 to 1, for instance by (x - 1) / 4', 'they look like percent: divide them by 100')
    """
    if low < 0 and high <= 0:
        return "they look like logits or logarithms of probabilities: put logits through a sigmoid (two classes) or softmax (more), exponentiate logarithms"
    if low < 0:
        return "they look like logits: put them through a sigmoid (two classes) or softmax (more) first"
    if 2 < high <= MAX_GRADE and float(low).is_integer() and float(high).is_integer():
        return f"they look like grades: bring them to 0 to 1, for instance by (x - {low:g}) / {max(high - low, 1):g}"
    return (
        "they look like percent: divide them by 100"
        if MAX_GRADE < high <= 100
        else "probabilities cannot be greater than 1"
    )


def _check_sums(pool: Predictions, facts: dict[str, Any]) -> list[Finding]:
    """Check that the probabilities of every item lie in [0, 1] and sum to 1."""
    if not pool.has("probabilities") or pool.roles.positive_score:
        return []
    columns = f"columns {pool.roles.used()['scores']}"
    total, least, greatest = pool.total_probability(), pool.min_probability(), pool.max_probability()
    if facts["p_low"] is not None and (facts["p_low"] < -ROUNDING or facts["p_high"] > 1 + ROUNDING):
        hit = pool.find((least < -ROUNDING) | (greatest > 1 + ROUNDING), low=least, high=greatest)
        value = hit["low"][0] if hit["low"][0] < 0 else hit["high"][0]
        return [_make_error(_describe_score_outside(columns, value, hit["row"][0], facts["p_low"], facts["p_high"]))]
    missing = pool.find(total.isnull() | total.isnan())["row"] if facts["p_bad"] else []
    if missing:
        return [
            _make_error(
                f"{columns}: a probability is missing or NaN in row {missing[0]:,}; drop such rows or fill them in"
            )
        ]
    if facts["off_sum"] > SUM_TOLERANCE:
        hit = pool.find((total - 1).abs() > SUM_TOLERANCE, total=total)
        return [_make_error(f"{columns}: the probabilities of a row must add up to 1, but in row {hit['row'][0]:,} they add up to {hit['total'][0]:.4g}; is a class missing, or are these not probabilities?")]  # fmt: skip
    return []


def _check_agreement(pool: Predictions, facts: dict[str, Any]) -> list[Finding]:
    """Check that agreement lies between 0 and 1."""
    if not pool.has("agreement") or facts["agreement_low"] is None:
        return []
    if facts["agreement_low"] < 0 or facts["agreement_high"] > 1:
        hit = pool.find((pool.agreement < 0) | (pool.agreement > 1), value=pool.agreement)
        return [_make_error(f"column {pool.roles.agreement!r}: agreement must lie between 0 and 1, but row {hit['row'][0]:,} has {hit['value'][0]:g}; {_suggest_rescaling(facts['agreement_low'], facts['agreement_high'])}")]  # fmt: skip
    return []


def _check_propensities(pool: Predictions, aggregated: Aggregate, *, is_used: bool) -> Iterator[Finding]:
    """Check that propensities are probabilities, and warn about labels without one and about those that are not used."""
    if not pool.has("propensity"):
        return
    found, column = aggregated.found, pool.roles.propensity
    low, high = aggregated.lowest("propensity_low"), aggregated.highest("propensity_high")
    if low is not None and high is not None and (low < LEAST_PROPENSITY or high > 1):
        hit = pool.find((pool.propensity < LEAST_PROPENSITY) | (pool.propensity > 1), value=pool.propensity)
        row, value = hit["row"][0], hit["value"][0]
        yield Finding("error", f"column {column!r}: a propensity is the probability with which a labelled item was chosen, more than 0 and at most 1, but row {row:,} has {value:g}; {_suggest_propensity_remedy(value)}")  # fmt: skip
        return
    if low is not None and high is not None and high - low > ROUNDING * high and not is_used:
        yield Finding("warning", f"propensities in column {column!r} differ, and only the overall accuracy of fewlabels assess is weighted by them: all other figures count labels as drawn at random within their group")  # fmt: skip
    n_labels, n_known = sum(found["n_labels"]), sum(k or 0 for k in found["n_weighted"])
    if n_labels > n_known:
        yield Finding("warning", f"labels without a propensity in column {column!r}: {n_labels - n_known:,} of {n_labels:,}; they count as drawn at random within their groups, and are left out of the check of the overall figure")  # fmt: skip


def _suggest_propensity_remedy(value: float) -> str:
    """Suggest what to do about a propensity that the check finds invalid."""
    if 0 <= value < LEAST_PROPENSITY:
        return "an item that could not be chosen has no label: leave its label out, or give the probability it had"
    return "is it a weight? Then give 1 divided by it" if value > 1 else "leave it empty where it is not known"


def _check_classes(pool: Predictions) -> list[Finding]:
    """Check the classes of predictions, scores and labels against each other."""
    if not pool.has("predicted") or pool.has("agreement"):
        return []
    table = pool.pairs
    pairs = list(zip(table["predicted"], table["label"], table["n"], strict=True))
    predicted = {p for p, _, _ in pairs}
    labels = {y for _, y, _ in pairs if y is not None}
    return [
        *_check_scored(pool, predicted, labels),
        *_check_overlap(pool, predicted, labels),
        *check_twins(predicted, labels),
        *_check_polarity(pool, pairs, None if None in table.get("score", []) else table.get("score")),
    ]


def _check_scored(pool: Predictions, predicted: set[str], labels: set[str]) -> list[Finding]:
    """Check that predicted classes and labels are among the classes that have scores."""
    scored = set(pool.scored_classes)
    if not scored:
        return []
    for role, names, value in (("predicted", predicted, pool.predicted), ("label", labels, pool.label)):
        unknown = sorted(names - scored)
        if unknown:
            row = pool.find(value == unknown[0])["row"][0]
            column = getattr(pool.roles, role) or role
            return [_make_error(f"column {column!r}: {quote_name(unknown[0])} in row {row:,} is not among the classes that have scores ({join_names(sorted(scored))}); {_suggest_class(unknown[0], scored)}")]  # fmt: skip
    return []


def _check_overlap(pool: Predictions, predicted: set[str], labels: set[str]) -> list[Finding]:
    """Check that labels and predictions share classes, and that no label is a marker such as "unknown"."""
    if not labels:
        return []
    marker = next(
        (y for y in sorted(labels - predicted - set(pool.scored_classes)) if y.strip().lower() in UNLABELLED_MARKERS),
        None,
    )
    if marker is not None:
        row = pool.find(pool.label == marker)["row"][0]
        return [
            _make_error(
                f"column {pool.roles.label!r}: {marker!r} in row {row:,} is never predicted; if it means 'not labelled', leave it empty"
            )
        ]
    if not labels & (predicted | set(pool.scored_classes)) and pool.n_labels >= MIN_LABELS:
        row = pool.find(pool.label == min(labels))["row"][0]
        return [_make_error(f"column {pool.roles.label!r}: no label is ever predicted: labels are {join_names(sorted(labels))} (the first of them in row {row:,}), predictions are {join_names(sorted(predicted))}; write both with the same names")]  # fmt: skip
    found = []
    unseen = sorted(predicted - labels)
    if unseen and pool.n_labels >= MIN_LABELS * len(predicted):
        found.append(Finding("warning", f"predicted but never seen as a label: {join_names(unseen)}; if these classes cannot occur, every such prediction is wrong"))  # fmt: skip
    unknown = sorted(labels - predicted - set(pool.scored_classes))
    if unknown:
        row = pool.find(pool.label == unknown[0])["row"][0]
        found.append(Finding("warning", f"labels that are never predicted: {join_names(unknown)} (row {row:,}); {_suggest_class(unknown[0], predicted)}"))  # fmt: skip
    return found


def _suggest_class(name: str, known: set[str]) -> str:
    """Suggest which known class an unknown one is, when the check of classes fails."""
    tidy = {fold_name(other).casefold(): other for other in known}
    same = tidy.get(fold_name(name).casefold())
    return f"is it {quote_name(same)} written differently?" if same else did_you_mean(name, sorted(known))


def _check_polarity(
    pool: Predictions, pairs: list[tuple[str, str | None, int]], scores: list[float] | None
) -> list[Finding]:
    """Warn if a confident two-class model is wrong most of the time: its classes are probably swapped."""
    known = [(p == y, n, s) for (p, y, n), s in zip(pairs, scores or [0.0] * len(pairs), strict=True) if y is not None]
    total = sum(n for _, n, _ in known)
    right = sum(n for ok, n, _ in known if ok)
    confident = scores is None or sum(s for _, _, s in known) / max(total, 1) > 0.6
    if len(pool.classes) != 2 or total < MIN_LABELS or right / total + 2 * (0.25 / total) ** 0.5 > 0.5 or not confident:
        return []
    flip = "swap the two classes in the predicted column"
    if pool.roles.positive_score and not pool.roles.predicted:
        other = next(name for name in pool.classes if name != pool.roles.positive)
        flip = f"say {format_option('positive', other)}, or give 1 minus the score"
    return [Finding("warning", f"only {right:,} of {total:,} labelled items are right, far below chance for two classes: the scores may be those of the other class; if so, {flip}")]  # fmt: skip


def _make_error(message: str) -> Finding:
    """Return a check's finding that is an error."""
    return Finding("error", message)
