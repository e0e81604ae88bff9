"""Format the text of plots: group names, metric names, values, probabilities and levels."""

from unicodedata import east_asian_width

from fewlabels.metrics.metric import METRICS

MAX_WIDTH = 28  # columns; a wide character (East Asian) takes two
METRIC_NAMES = {
    "ece": "calibration error (ECE)", "cost": "expected cost", "confusion": "accuracy", "f1": "F1", "mcc": "Matthews correlation",
    "tpr": "true positive rate", "fpr": "false positive rate", "tnr": "true negative rate", "fnr": "false negative rate",
    "ppv": "positive predictive value", "npv": "negative predictive value", "fdr": "false discovery rate",
    "for": "false omission rate",
}  # fmt: skip


def shorten_label(name: str, longest: int = MAX_WIDTH) -> str:
    r"""Shorten a name to one line by cutting its middle, and escape `$` so that it is not read as mathtext.

    >>> shorten_label("a name of\nmany words, the last of which matter")
    'a name of man…which matter'
    >>> shorten_label("$5 and $6")
    '\\$5 and \\$6'
    """
    line = " ".join(name.split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) or "(blank)"
    if _display_width(line) > longest:
        half = (longest - 1) // 2
        line = f"{_truncate(line, half).rstrip()}…{_truncate(line[::-1], half)[::-1].lstrip()}"
    return line.replace("$", r"\$")


def _display_width(text: str) -> int:
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)


def _truncate(text: str, columns: int) -> str:
    """Return the longest prefix that fits."""
    while _display_width(text) > columns:
        text = text[:-1]
    return text


def spell_metric(metric: str) -> str:
    """Return the full name of a metric.

    >>> spell_metric("ece"), spell_metric("selection-rate")
    ('calibration error (ECE)', 'selection rate')
    """
    return METRIC_NAMES.get(metric, metric.replace("-", " "))


def is_share(metric: str) -> bool:
    """Return whether a metric is a share, shown in percent; cost and users' own metrics are not."""
    return metric in METRICS and METRICS[metric].is_share


def format_value(value: float, metric: str) -> str:
    """Format a value of a metric: in percent for shares, plain otherwise."""
    return f"{100 * value:.1f}%" if is_share(metric) else f"{value:.3g}"


def format_level(level: float) -> str:
    """Format the level of an interval: 95%, 99.5%."""
    return f"{100 * level:g}%"


def describe_shown(shown: int, n: int) -> str:
    """Return a note that only the worst of n groups are shown; empty if all are."""
    return f" · {shown} worst of {n:,}" if shown < n else ""
