"""The demo: a weak classifier of scikit-learn's handwritten digits, assessed with few labels."""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from fewlabels.analyses.assess import assess
from fewlabels.analyses.assessment import Assessment
from fewlabels.data.predictions import Predictions
from fewlabels.errors import InputError
from fewlabels.files import check_outputs, write_atomic
from fewlabels.text import format_probability

N_TRAINING, N_LABELLED, SEED = 100, 150, 0
SHADES = " .:-=+*#%@"
Table = dict[str, list[Any]]


@dataclass(frozen=True)
class Demo:
    """The result of the demo and the files it wrote."""

    assessment: Assessment
    report: Path
    predictions: Path
    summary: str


def run_demo(folder: str | Path) -> Demo:
    """Train a model, predict, label a few items, assess, and write predictions and report to a folder."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out: cannot create folder {folder}: {error.strerror}") from None
    table, truth = predict_digits()
    accuracy = float(np.mean([said == true for said, true in zip(table["predicted"], truth["label"], strict=True)]))
    texts = {
        folder / "digits.csv": _as_csv(table),
        folder / "truth.csv": _as_csv(truth),
    }  # all labels, to try out labelling
    _refuse_overwrite(folder / "report.html", texts)
    predictions, _ = (write_atomic(path, text) for path, text in texts.items())
    result = assess(Predictions.read(predictions), finite_pool=True, seed=SEED)
    report = result.report(folder / "report.html")
    worst = result.worst_first[0]
    summary = (
        f"A model trained on {N_TRAINING} digits predicts {result.n_items:,} others; {result.n_labels} of these are labelled.\n"
        f"Its estimated accuracy is {result.overall.mean:.0%} ({result.overall.low:.0%} to {result.overall.high:.0%}); "
        f"the true accuracy, from all labels, is {accuracy:.1%}.\n"
        f"It is probably worst when it predicts '{worst.group}': {worst.mean:.0%} ({worst.low:.0%} to {worst.high:.0%}); "
        f"the probability that no other digit is worse is {format_probability(worst.p_worst)}."
    )
    return Demo(result, report, predictions, summary)


def _refuse_overwrite(report: Path, texts: Mapping[Path, str]) -> None:
    """Refuse to replace files that an earlier demo did not write."""
    check_outputs({path.name: str(path) for path in (report, *texts)})
    others = [path for path, text in texts.items() if path.is_file() and path.read_bytes() != text.encode()]
    if report.exists() and not all(path.exists() for path in texts):
        others.append(report)
    if others:
        raise InputError(f"out: {others[0]} exists and was not written by this demo; name another folder with --out")


def predict_digits() -> tuple[Table, Table]:
    """Return the predictions of the demo with a few labels, and a table of all labels."""
    datasets, linear = _import_demo_extra("sklearn.datasets"), _import_demo_extra("sklearn.linear_model")
    images, truth = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(truth))
    train, rest = order[:N_TRAINING], order[N_TRAINING:]
    model = linear.LogisticRegression(max_iter=500).fit(images[train] / 16, truth[train])
    probabilities = model.predict_proba(images[rest] / 16)
    predicted = model.classes_[probabilities.argmax(axis=1)]
    labelled = rng.permutation(len(rest)) < N_LABELLED
    table: Table = {
        "id": rest.tolist(),
        "predicted": predicted.tolist(),
        "score": probabilities.max(axis=1).round(4).tolist(),
        "label": [int(y) if known else "" for y, known in zip(truth[rest], labelled, strict=True)],
        "image": [render_digit(image) for image in images[rest]],
    }
    return table, {"id": rest.tolist(), "label": truth[rest].tolist()}


def render_digit(image: Float[np.ndarray, " pixel"]) -> str:
    """Render an image of the demo, 8 by 8 pixels, as text, for labelling in a terminal."""
    lines = image.reshape(8, 8).astype(int) * (len(SHADES) - 1) // 16
    return "\n".join("".join(2 * SHADES[pixel] for pixel in line) for line in lines)


def _as_csv(table: Table) -> str:
    """Return a table of the demo as CSV."""
    file = StringIO()
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(table)
    rows.writerows(zip(*table.values(), strict=True))
    return file.getvalue()


def _import_demo_extra(module: str) -> Any:
    """Import a module that only the demo needs, from its extra."""
    try:
        return import_module(module)
    except ImportError:
        raise InputError("the demo needs scikit-learn for its data: pip install 'fewlabels[demo]'") from None
