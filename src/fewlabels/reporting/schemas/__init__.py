"""JSON Schemas (draft 2020-12) of all JSON that the command line writes.

Each schema is a TypedDict; of the rest of fewlabels, this package imports only `errors`.
"""

from typing import Any

from pydantic import TypeAdapter

from fewlabels.errors import InputError, did_you_mean
from fewlabels.reporting.schemas import labelling, results

DIALECT = "https://json-schema.org/draft/2020-12/schema"
SCHEMAS: dict[str, type] = {
    "ask": labelling.Asked,
    "assess": results.Assessment,
    "compare": results.Comparison,
    "doctor": labelling.Diagnosis,
    "export": labelling.ExportedLine,
    "fairness": results.Fairness,
    "plan": labelling.Plan,
    "simulate": labelling.Simulation,
    "status": labelling.Status,
    "surface": results.Surface,
}


def schema(verb: str) -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of what a verb writes with `--json`.

    Parameters
    ----------
    verb
        assess, compare, fairness, surface, doctor, plan, simulate, ask, status, or export (one line of JSON lines).

    Examples
    --------
    >>> schema("assess")["properties"].get("n_items")
    {'minimum': 0, 'title': 'N Items', 'type': 'integer'}
    """
    if verb not in SCHEMAS:
        raise InputError(f"schema: {verb!r} writes no JSON of its own; {did_you_mean(verb, SCHEMAS)}")
    adapter: TypeAdapter[Any] = TypeAdapter(SCHEMAS[verb])
    return {"$schema": DIALECT, **adapter.json_schema()}
