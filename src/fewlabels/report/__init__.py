"""An Assessment as one self-contained HTML file: data, then text. It asks `summary` for numbers and never the pool."""

from fewlabels.report.fairness import write_fairness
from fewlabels.report.pages import write_comparison, write_report
from fewlabels.report.surface import write_surface

__all__ = ["write_comparison", "write_fairness", "write_report", "write_surface"]
