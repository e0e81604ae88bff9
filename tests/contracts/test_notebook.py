"""The notebook of the tutorial runs from top to bottom, and shows what its cells give."""

import json
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
import notebook


def describe(outputs: list[dict]) -> list[tuple[str, ...]]:
    """What outputs are, without digits, which depend on versions of other packages."""
    return [
        (one["output_type"], *sorted(one.get("data", {})), re.sub(r"[\d.]+", "#", one.get("text", "")[:12]))
        for one in outputs
    ]


def test_the_notebook_runs_and_is_current() -> None:
    kept = json.loads(notebook.NOTEBOOK.read_text(encoding="utf-8"))
    assert [(one["cell_type"], one["source"]) for one in kept["cells"]] == list(notebook.CELLS), (
        "run: python docs/notebook.py"
    )
    made = notebook.make_notebook()
    for before, now in zip(kept["cells"], made["cells"], strict=True):
        assert describe(before.get("outputs", [])) == describe(now.get("outputs", [])), now["source"]
    shown = [one["data"] for cell in made["cells"] for one in cell.get("outputs", []) if "data" in one]
    assert sum("text/html" in data for data in shown) >= 3  # results are tables with intervals, not 3,000 characters
    assert all(len(data["text/plain"]) < 3000 for data in shown)
    assert "/tmp" not in json.dumps(kept)
