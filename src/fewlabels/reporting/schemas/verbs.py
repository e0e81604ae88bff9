"""The JSON Schema of every verb of the command line that writes JSON."""

from typing import Any

from pydantic import TypeAdapter

from fewlabels.errors import InputError, did_you_mean
from fewlabels.reporting.schemas import labelling, models, rating, results

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, Any] = {
    "ask": labelling.Asked,
    "assess": results.Assessment,
    "compare": results.Comparison | models.ModelComparison,  # of two groups, or of several models
    "compare-models": models.ModelComparison,
    "doctor": labelling.Diagnosis,
    "export": labelling.ExportedLine,
    "fairness": results.Fairness,
    "plan": labelling.Plan,
    "rate": rating.Rating,
    "simulate": labelling.Simulation,
    "status": labelling.Status,
    "surface": results.Surface,
}


def schema(verb: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what a verb writes with `--json`.

    Parameters
    ----------
    verb
        assess, compare (of two groups, or of several models: compare-models alone), rate, fairness, surface, doctor, plan, simulate, ask, status, or export (one line of JSON lines).

    Examples
    --------
    >>> schema("assess")["properties"].get("n_items")
    {'minimum': 0, 'title': 'N Items', 'type': 'integer'}
    """
    if verb not in SCHEMAS:
        raise InputError(f"schema: {verb!r} writes no JSON of its own; {did_you_mean(verb, SCHEMAS)}")
    adapter: TypeAdapter[Any] = TypeAdapter(SCHEMAS[verb])
    return {"$schema": DIALECT, **adapter.json_schema()}
