"""The base class of results: dict, JSON, frame, Markdown, plot, HTML report and provenance.

Rendering is in `reporting`. Only this module refers to it, by name, in one registry.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fewlabels.analyses.frames import to_frame
from fewlabels.analyses.provenance import Provenance
from fewlabels.data.sources import Frame
from fewlabels.files import write_atomic
from fewlabels.text import dump_json


class Renderers(NamedTuple):
    """Names of the functions in `fewlabels.reporting` that render one kind of result."""

    markdown: str
    plot: str
    report: str
    headline: str
    image: str = ""  # writes all its plots to one file


RENDERERS = {
    "Assessment": Renderers("markdown.assessment:render_assessment", "plots.assessment:plot_assessment", "html.assessment:render_report", "html.assessment_text:headline"),
    "Comparison": Renderers("markdown.comparison:render_comparison", "plots.difference:plot_comparison", "html.assessment:render_comparison", "html.assessment_text:headline_comparison"),
    "ModelComparison": Renderers("markdown.models:render_models", "plots.models:plot_models", "html.models:render_models", "html.models:headline"),
    "Fairness": Renderers("markdown.fairness:render_fairness", "plots.fairness:plot_gaps", "html.fairness:render_fairness", "html.fairness:headline"),
    "Surface": Renderers("markdown.surface:render_surface", "plots.surface:plot_surface", "html.surface:render_surface", "html.surface_text:headline"),
    "Rating": Renderers("markdown.rating:render_rating", "plots.rating:plot_rating", "html.rating:render_rating", "rating_text:headline"),
    "Diagnosis": Renderers("markdown.diagnosis:render_diagnosis", "plots.diagnosis:plot_diagnosis", "html.diagnosis:render_diagnosis", "summaries:summarize_diagnosis"),
    "Plan": Renderers("markdown.plan:render_plan", "plots.plan:plot_plan", "html.plan:render_plan", "summaries:summarize_plan"),
    "Simulation": Renderers("markdown.simulation:render_simulation", "plots.simulation:plot_simulation", "html.simulation:render_simulation", "summaries:summarize_simulation", "plots.simulation:write_curves"),
}  # fmt: skip


class Result(ABC):
    """A result of an analysis."""

    provenance: Provenance
    if TYPE_CHECKING:  # a field of some results, a property of others

        @property
        def warnings(self) -> tuple[str, ...]:
            """Its limitations, one sentence each."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the contract's JSON of the result as a dict."""

    @abstractmethod
    def list_rows(self) -> Sequence[Mapping[str, Any]]:
        """Return the rows of the result's frame."""

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the contract's JSON of the result, and write it to `path` if given."""
        return write_json(self.to_dict(), path, self.provenance.inputs)

    def to_frame(self, kind: Frame | None = None) -> Any:
        """Return the result's rows as a pandas, Polars or Arrow table; by default in the kind of the predictions."""
        usual: Frame = getattr(self, "frame", "pandas")
        return to_frame(self.list_rows(), kind or usual)

    def to_markdown(self, **choices: Any) -> str:
        """Return the result as GitHub-flavoured Markdown, for pull requests and job summaries."""
        text: str = self._find("markdown")(self, **choices)
        return text

    def plot(self, kind: str | None = None, *, ax: Any = None, **choices: Any) -> Any:
        """Plot the result with matplotlib; `kind` names one of its plots."""
        return self._find("plot")(self, *(() if kind is None else (kind,)), ax=ax, **choices)

    def to_html(self, **choices: Any) -> str:
        """Return the result's report, a self-contained HTML page."""
        page: str = self._find("report")(self, **choices)
        return page

    def report(self, path: str | Path, **choices: Any) -> Path:
        """Write the result's report as one self-contained HTML file."""
        return write_atomic(path, self.to_html(**choices), inputs=self.provenance.inputs)

    def __repr__(self) -> str:
        """Return what a shell shows: a sentence and the first rows of its frame."""
        text: str = _load_renderer("excerpts:render_text")(self, self._find("headline")(self))
        return text

    def _repr_html_(self) -> str:
        """Return what a notebook shows of a result: a sentence, the first rows of its frame, and the warnings."""
        text: str = _load_renderer("html.notebook:render_excerpt")(self, self._find("headline")(self))
        return text

    def _find(self, what: str) -> Any:
        """Find the renderer of this kind of result."""
        return _load_renderer(getattr(RENDERERS[type(self).__name__], what))


def _load_renderer(name: str) -> Any:
    """Load a renderer of results from `fewlabels.reporting`."""
    return resolve_name(f"fewlabels.reporting.{name}")


def write_json(plain: Mapping[str, Any], path: str | Path | None, inputs: Iterable[str] = ()) -> str:
    """Return a result as JSON text, and write it to `path` if given."""
    text = dump_json(drop_undefined(plain), indent=2)
    if path is not None:
        write_atomic(path, text + "\n", inputs=inputs)
    return text


def drop_undefined(value: Any) -> Any:
    """Replace numbers of a result that JSON cannot represent (NaN, infinity) by null.

    >>> drop_undefined({"mean": float("nan"), "rows": [1.0, float("inf")]})
    {'mean': None, 'rows': [1.0, None]}
    """
    if isinstance(value, Mapping):
        return {key: drop_undefined(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [drop_undefined(item) for item in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
