"""The result of `--fail-if` conditions as Markdown."""

from collections.abc import Sequence

from fewlabels.reporting.markdown.markup import escape

MAX_FAILURES = 25  # failures listed one by one


def render_checks(asked: Sequence[str], failures: Sequence[str]) -> str:
    """Return checks as Markdown: the conditions to fail on and where they hold; empty without conditions.

    >>> print(render_checks(["low < 0.8"], ["cat: low is 0.7, and that is < 0.8"]))
    ❌ **Failed**: fail if low &lt; 0.8
    <BLANKLINE>
    - cat: low is 0.7, and that is &lt; 0.8
    """
    if not asked:
        return ""
    conditions = " or ".join(map(escape, asked))
    if not failures:
        return f"✅ **Passed**: fail if {conditions}"
    lines = [f"- {escape(failure)}" for failure in failures[:MAX_FAILURES]]
    if len(failures) > MAX_FAILURES:
        lines.append(f"- and {len(failures) - MAX_FAILURES:,} more")
    return "\n".join([f"❌ **Failed**: fail if {conditions}", "", *lines])
