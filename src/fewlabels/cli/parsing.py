"""Parse the values of options into groups, metrics, priors, policies and attributes."""

import csv
import re
from collections.abc import Callable, Sequence
from typing import Any

from fewlabels.active.policies import POLICIES, Policy
from fewlabels.analyses.surface.uncertain_attributes import Uncertain, uncertain
from fewlabels.data.groups import Bins, Column, Groups, column, cross, everything, predicted, ranges
from fewlabels.errors import InputError, did_you_mean
from fewlabels.metrics.metric import METRICS, Metric, cost
from fewlabels.models.calibrated.prior import calibrated
from fewlabels.models.priors import Prior, flat, from_earlier, from_scores
from fewlabels.models.smooth import smooth

DEFAULT_PRIOR = "calibrated"  # prior


def parse_groups(text: str) -> Groups:
    """Parse `all`, `predicted`, `bins:20`, `ranges:age`, a column, or several separated by commas (their cross).

    >>> parse_groups("sex,bins:4").name
    'sex,bins:4'
    """
    parts = [_parse_part(word) for word in split_names(text)]
    if not parts:
        raise InputError("by: name the groups: all, predicted, bins, or a column")
    return parts[0] if len(parts) == 1 else cross(*parts)


def parse_attributes(text: str) -> tuple[str | Groups | Uncertain, ...]:
    """Parse attributes separated by commas; a column stays a string, so that numbers can be grouped into ranges later.

    >>> parse_attributes("age,uncertain:rain")
    ('age', Uncertain(name='rain', scores='rain_'))
    """
    words = split_names(text)
    if not words or "all" in words:
        raise InputError("attributes: name columns, separated by commas; write column:all for a column called all")
    return tuple(map(_parse_attribute, words))


def parse_bins(text: str) -> Bins:
    """Parse score bins such as `10` or `equal-mass:10`."""
    found = re.fullmatch(r"(equal-mass:)?(\d+)", text)
    if not found:
        raise InputError(f"bins: cannot parse {text!r}; write a number (equal width) or equal-mass:NUMBER")
    return Bins(int(found[2]), equal_mass=bool(found[1]))


def parse_metric(text: str, costs: str | None) -> Metric:
    """Return the metric with this name."""
    if text == "cost":
        if costs is None:
            raise InputError(
                "metric cost needs --cost COSTS.csv: one row per true class, one column per predicted class"
            )
        return cost(costs)
    if costs is not None:
        raise InputError(f"--cost needs --metric cost, not --metric {text}")
    if "," in text:
        raise InputError(f"metric: expected one, got {text!r}; run once per metric (only fairness takes several)")
    if text not in METRICS:
        raise InputError(f"metric: unknown metric {text!r}; {did_you_mean(text, [*METRICS, 'cost'])}")
    return METRICS[text]


def parse_prior(text: str, strength: float | None) -> Prior:
    """Return the prior with this name, or the one in the JSON file of an earlier assessment."""
    if text == "flat":
        return flat(strength)
    if text == "scores":
        return from_scores(strength)
    if strength is not None:
        raise InputError("--strength needs --prior flat or scores; other priors set their own strength")
    learned: dict[str, Callable[[], Prior]] = {"calibrated": calibrated, "smooth": smooth}
    return learned[text]() if text in learned else from_earlier(text)


def parse_policy(text: str) -> Policy:
    """Return the policy with this name."""
    if text not in POLICIES:
        raise InputError(f"policy: unknown policy {text!r}; {did_you_mean(text, POLICIES)}")
    return POLICIES[text]


def split_names(text: str) -> list[str]:
    """Split at commas; a name that contains a comma is written in double quotes.

    >>> split_names('"a,b",c')
    ['a,b', 'c']
    """
    return [name.strip() for name in next(csv.reader([text], skipinitialspace=True), []) if name.strip()]


def parse_pair(text: str) -> tuple[str, str]:
    """Parse two names separated by a comma."""
    names = split_names(text)
    if len(names) != 2:
        raise InputError(
            f"groups: expected two, separated by a comma, got {len(names)}; quote a name that contains a comma: '\"a,b\",c'"
        )
    return names[0], names[1]


def drop_missing(**words: Any) -> dict[str, Any]:
    """Return the options that are neither None nor empty."""
    return {
        name: word
        for name, word in words.items()
        if word is not None and not (isinstance(word, Sequence) and len(word) == 0)
    }


def _parse_part(word: str) -> Groups:
    if word == "all":
        return everything
    if word == "predicted":
        return predicted
    if word == "bins":
        return Bins()
    if word.startswith("bins:"):
        return parse_bins(word.removeprefix("bins:"))
    if word.startswith("ranges:"):
        return _parse_ranges(word)
    return column(word.removeprefix("column:"))


def _parse_attribute(word: str) -> str | Groups | Uncertain:
    if word.startswith("uncertain:"):
        name, _, prefix = word.removeprefix("uncertain:").partition(":")
        if not name:
            raise InputError("attributes: uncertain: needs a name; write uncertain:NAME or uncertain:NAME:PREFIX")
        return uncertain(name, prefix or None)
    part = _parse_part(word)
    return word if isinstance(part, Column) and part.column == word else part


def _parse_ranges(word: str) -> Groups:
    """Parse ranges:COLUMN or ranges:COLUMN:NUMBER; the column name may contain colons."""
    found = re.fullmatch(r"ranges:(.+?)(?::(\d+))?", word)
    if not found:
        raise InputError("by: ranges: needs a column; write ranges:COLUMN or ranges:COLUMN:NUMBER")
    return ranges(found[1], int(found[2])) if found[2] else ranges(found[1])
