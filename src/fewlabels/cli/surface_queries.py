"""Queries of a surface: parse them, and combine the surface with its answers for output."""

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from fewlabels.analyses.result import write_json
from fewlabels.analyses.surface.arm_names import name_values
from fewlabels.analyses.surface.result import Surface, SurfaceEstimate
from fewlabels.cli.console import name_command
from fewlabels.errors import InputError

SEPARATOR = re.compile(r",(?=[^,=]+=)")  # a comma before ATTRIBUTE=, because values may contain commas


@dataclass(frozen=True)
class SurfaceAnswers:
    """A surface with the answers to queries."""

    surface: Surface
    answers: tuple[tuple[str, SurfaceEstimate], ...] = ()

    @property
    def warnings(self) -> tuple[str, ...]:
        """The limitations of the answers to queries of a surface."""
        return self.surface.warnings

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON document as a dict; it has "answers" if there were queries."""
        answers = [{"question": question, **asdict(reading)} for question, reading in self.answers]
        return {**self.surface.to_dict(), **({"answers": answers} if answers else {})}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the answers to queries as a JSON document, and write it if a path is given."""
        return write_json(self.to_dict(), path, self.surface.provenance.inputs)

    def to_markdown(self) -> str:
        """Return the answers to queries as GitHub-flavoured Markdown, for pull requests and job summaries."""
        return self.surface.to_markdown(answers=self.answers)

    def report(self, path: str | Path) -> Path:
        """Write the surface with the answers to queries as one self-contained HTML file."""
        made = replace(self.surface.provenance, command=name_command())
        return replace(self.surface, provenance=made).report(path, answers=self.answers)


def parse_query(text: str) -> dict[str, str]:
    """Parse a query of a surface: attribute values such as `light=night,rain=wet`.

    >>> parse_query("age=[18, 40), sex=f")
    {'age': '[18, 40)', 'sex': 'f'}
    """
    values: dict[str, str] = {}
    for part in SEPARATOR.split(text):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not (name and sign and value):
            raise InputError(f'ask: cannot parse {text!r}; write for instance --ask "light=night,rain=wet"')
        if name in values:
            raise InputError(f"ask: {name!r} occurs twice in {text!r}; give one value per attribute")
        values[name] = value
    return values


def answer(surface: Surface, asked: Sequence[dict[str, str]], mix: str | None, weight: str | None) -> SurfaceAnswers:
    """Answer every query of a surface, and estimate the accuracy on the mix if one is given."""
    found = [surface.query(values) for values in asked]
    answers = [(name_values(reading.values), reading) for reading in found]
    if mix is not None:
        try:
            answers.append((f"the mix of {mix}", surface.reweight(mix, weight)))
        except InputError as error:
            raise InputError(f"mix: {mix}: {str(error).removeprefix(f'{mix}: ')}") from None
    return SurfaceAnswers(surface, tuple(answers))
