"""A confusion matrix as rows of text: the matrix itself where it is small, else its largest confusions."""

from collections.abc import Sequence

from fewlabels.analyses.assessment import Assessment
from fewlabels.analyses.assessment_rows import Entry
from fewlabels.errors import count

MAX_CLASSES, MAX_ROWS = 8, 25  # a larger matrix is too wide for a terminal

TextTable = tuple[tuple[str, ...], list[tuple[str, ...]]]  # header and rows


def tabulate_confusion(a: Assessment) -> tuple[str, TextTable]:
    """Return a title and the table of a confusion matrix: each row's mean and half its interval, or the largest confusions.

    Names are as they stand in the data: the code that prints them escapes them.
    """
    labels = list(dict.fromkeys(entry.label for entry in a.matrix))
    level = f"{100 * a.level:g}% interval"
    if len(labels) <= MAX_CLASSES and all(entry.group is None for entry in a.matrix):
        return f"P(true class | predicted), ± half the {level}", _arrange(a.matrix, labels)
    wrong = sorted((entry for entry in a.matrix if entry.label != entry.predicted), key=lambda entry: -entry.mean)
    left_out = "; JSON has all" if len(wrong) > MAX_ROWS else ""
    title = f"P(true class | predicted), largest of {count(len(wrong), 'confusion')}{left_out}"
    return title, _list_largest(a, wrong[:MAX_ROWS], level)


def _arrange(entries: Sequence[Entry], labels: Sequence[str]) -> TextTable:
    """Arrange the entries of a confusion matrix in rows, one per predicted class."""
    rows: dict[str, dict[str, str]] = {}
    for entry in entries:
        rows.setdefault(entry.predicted, {})[entry.label] = f"{entry.mean:.3f} ±{(entry.high - entry.low) / 2:.3f}"
    return ("predicted", *labels), [(name, *(row[label] for label in labels)) for name, row in rows.items()]


def _list_largest(a: Assessment, entries: Sequence[Entry], level: str) -> TextTable:
    """List the largest confusions as rows, with their means and intervals."""
    named = any(entry.group is not None for entry in entries)
    header = (*((a.by,) if named else ()), "predicted", "true class", "mean", level)
    return header, [
        (
            *((entry.group or "",) if named else ()),
            *(entry.predicted, entry.label, f"{entry.mean:.3f}", f"[{entry.low:.3f}, {entry.high:.3f}]"),
        )
        for entry in entries
    ]
