"""Format the text of plots: group names, metric names, values, probabilities and levels."""

import re
from collections.abc import Sequence

from fewlabels.metrics.metric import METRICS
from fewlabels.text import display_width

MIN_SHARED = 6  # characters that names share, to be worth cutting
MAX_WIDTH = 28  # columns; a wide character (East Asian) takes two
METRIC_NAMES = {
    "ece": "calibration error (ECE)", "brier": "Brier score", "log-loss": "log-loss", "cost": "expected cost", "confusion": "accuracy", "f1": "F1", "mcc": "Matthews correlation",
    "tpr": "true positive rate", "fpr": "false positive rate", "tnr": "true negative rate", "fnr": "false negative rate",
    "ppv": "positive predictive value", "npv": "negative predictive value", "fdr": "false discovery rate",
    "for": "false omission rate",
}  # fmt: skip


def shorten_label(name: str, longest: int = MAX_WIDTH) -> str:
    r"""Format a name of a plot on one line by cutting its middle, and escape `$` (mathtext).

    >>> shorten_label("a name of\nmany words, the last of which matter")
    'a name of man…which matter'
    >>> shorten_label("$5 and $6")
    '\\$5 and \\$6'
    """
    line = " ".join(name.split())
    line = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in line) or "(blank)"
    if display_width(line) > longest:
        half = (longest - 1) // 2
        line = f"{_truncate(line, half).rstrip()}…{_truncate(line[::-1], half)[::-1].lstrip()}"
    return line.replace("$", r"\$")


def shorten_labels(names: Sequence[str]) -> list[str]:
    """Format names of a plot on one line each: what all share at the start or the end is cut first.

    >>> shorten_labels(["region=north america, device=phone", "region=north america, device=tablet"])
    ['…device=phone', '…device=tablet']
    """
    if len(names) < 2 or max(map(display_width, names)) <= MAX_WIDTH:
        return [shorten_label(name) for name in names]
    start = len(_cut_to_word(_find_shared_start(names)))
    stop = len(_cut_to_word(_find_shared_start([name[start:][::-1] for name in names])))
    parts = [name[start : len(name) - stop] for name in names]
    return [shorten_label(f"{'…' if start else ''}{part}{'…' if stop else ''}") for part in parts]


def _find_shared_start(names: Sequence[str]) -> str:
    """Return what all names of a plot share at the start, to cut it when they are formatted."""
    first, last = min(names), max(names)
    n = next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))
    return "" if first[:n] in names else first[:n]  # a name that is all shared would have nothing left


def _cut_to_word(shared: str) -> str:
    """Return a shared beginning of a plot's names up to the end of its last whole word; nothing if it is short."""
    found = re.search(r".*[\s,/|:;_.-]", shared, flags=re.DOTALL)
    return found[0] if found and len(found[0]) >= MIN_SHARED else ""


def _truncate(text: str, columns: int) -> str:
    """Return the longest prefix of a plot's name that fits."""
    while display_width(text) > columns:
        text = text[:-1]
    return text


def spell_metric(metric: str) -> str:
    """Return the full name of a metric, formatted for plots.

    >>> spell_metric("ece"), spell_metric("selection-rate")
    ('calibration error (ECE)', 'selection rate')
    """
    return METRIC_NAMES.get(metric, metric.replace("-", " "))


def is_share(metric: str) -> bool:
    """Return whether a plot formats a metric as a share, in percent; cost and users' own metrics are not."""
    return metric in METRICS and METRICS[metric].is_share


def format_value(value: float, metric: str) -> str:
    """Format a value of a metric for a plot: in percent for shares, plain otherwise."""
    return f"{100 * value:.1f}%" if is_share(metric) else f"{value:.3g}"


def format_level(level: float) -> str:
    """Format the level of an interval for a plot: 95%, 99.5%."""
    return f"{100 * level:g}%"


def format_n_shown(shown: int, n: int) -> str:
    """Format, for the text of a plot, that only the worst of n groups are shown; empty if all are."""
    return f" · {shown} worst of {n:,}" if shown < n else ""
