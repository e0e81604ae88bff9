"""Writes the notebook of the tutorial, with its outputs: python docs/notebook.py. The tests run its cells."""

import ast
import json
import tempfile
from contextlib import chdir
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from fewlabels.reporting.plots.figure import render_svg

NOTEBOOK = Path(__file__).parent.absolute() / "tutorial.ipynb"
CELLS: tuple[tuple[str, str], ...] = (
    ("markdown", "# From a file to an answer\n\nHow good is a classifier on your data, per group, when only a few predictions have been checked? Run the cells from top to bottom; nothing is loaded from the network."),
    ("code", "import fewlabels as fl\nfrom fewlabels.cli.demo import run_demo\n\nfile = str(run_demo(\"demo\").predictions)  # 1,697 predicted digits, 150 of them labelled\nfl.diagnose(file)"),
    ("markdown", "`diagnose` says what is in a table and what can be assessed. Now the accuracy of every predicted digit, with an interval each. `P(worst)` is the probability that no other group is worse."),
    ("code", "a = fl.assess(file, by=\"predicted\")\na"),
    ("code", "a.overall"),
    ("code", "worst = a.worst_first[0]\nprint(f\"{worst.group}: {worst.mean:.2f}, between {worst.low:.2f} and {worst.high:.2f}, from {worst.n_labels} labels\")"),
    ("markdown", "A result is a value: look a group up, iterate, or take it as a data frame."),
    ("code", "a[\"1\"], len(a), a.to_frame().shape"),
    ("markdown", "Is the model calibrated? Points above the diagonal: it is more often right than its scores say."),
    ("code", "a.reliability().plot().figure"),
    ("markdown", "Does a difference matter? State the largest difference that would not (`rope`), then ask. Below a probability of 0.95 the answer is \"not settled\"."),
    ("code", "fl.compare(file, groups=(\"1\", \"0\"), rope=0.05)"),
    ("markdown", "What should be labelled next? A session chooses items for a goal, keeps the answers, and says when you can stop. Here a file with all labels answers in place of a person."),
    ("code", "import pandas as pd\n\ntruth = pd.read_csv(\"demo/truth.csv\", dtype=str).set_index(\"id\")[\"label\"]\nwith fl.Session.create(None, file, goal=fl.FindWorst(rope=0.02), by=\"predicted\", seed=0) as session:\n    for _ in range(10):\n        items = session.ask(10)\n        session.tell({i: truth[str(i)] for i in items})\n    status = session.status()\nprint(status[\"n_labels\"], \"labels:\", status[\"answer\"][\"sentence\"])"),
    ("markdown", "One file to forward, with everything above and where it comes from:"),
    ("code", "a.report(\"report.html\").name"),
)  # fmt: skip
Output = dict[str, Any]


def run_cell(code: str, names: dict[str, Any]) -> list[Output]:
    """Run a cell as a notebook does, and return its outputs; what is printed comes first."""
    tree, said = ast.parse(code), []
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    names["print"] = lambda *words: said.append(" ".join(map(str, words)))
    exec(compile(tree, "cell", "exec"), names)
    value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
    shown = [] if value is None else [{"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": show(value)}]  # fmt: skip
    return [*({"output_type": "stream", "name": "stdout", "text": f"{line}\n"} for line in said), *shown]


def show(value: Any) -> dict[str, str]:
    """Return what a notebook shows of a value, by media type."""
    if isinstance(value, Figure):
        return {"text/plain": "<Figure>", "image/svg+xml": render_svg(value.axes[0])}
    html = getattr(value, "_repr_html_", None)
    return {"text/plain": repr(value), **({} if html is None else {"text/html": html()})}


def make_notebook() -> dict[str, Any]:
    """Run all cells in a folder of their own, and return the notebook."""
    names: dict[str, Any] = {}
    cells = []
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for i, (kind, text) in enumerate(CELLS):
            cell: dict[str, Any] = {"cell_type": kind, "id": f"cell-{i}", "metadata": {}, "source": text}
            if kind == "code":
                cell |= {"execution_count": None, "outputs": run_cell(text, names)}
            cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


if __name__ == "__main__":
    NOTEBOOK.write_text(json.dumps(make_notebook(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
