"""Results as GitHub-flavoured Markdown, for pull requests, job summaries and issues.

Numbers are those of the rows that `summary`, `comparison`, `gaps` and `surfaces` made; here they are only written down.
Names come out of people's files, so nothing in them is obeyed: no HTML, no link, no column of their own.
"""

from fewlabels.markdown.assessment import render_assessment
from fewlabels.markdown.checks import render_checks
from fewlabels.markdown.comparison import render_comparison
from fewlabels.markdown.fairness import render_fairness
from fewlabels.markdown.surface import render_surface

__all__ = ["render_assessment", "render_checks", "render_comparison", "render_fairness", "render_surface"]
