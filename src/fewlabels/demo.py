"""The main job on data that comes with scikit-learn: a weak model of handwritten digits, assessed with few labels."""

from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from fewlabels.assessment import assess
from fewlabels.errors import InputError
from fewlabels.files import write_whole
from fewlabels.priors import from_scores
from fewlabels.summary import Assessment
from fewlabels.table import Predictions

TRAINED_ON, LABELLED, SEED = 100, 150, 0


@dataclass(frozen=True)
class Demo:
    """What was done, and where it went."""

    assessment: Assessment
    report: Path
    predictions: Path
    story: str


def run_demo(folder: str | Path) -> Demo:
    """Train, predict, label a few, assess, and write predictions and report into a folder."""
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"out: {folder} cannot be made: {error.strerror}") from None
    table, accuracy = predict_digits()
    predictions = write_whole(folder / "digits.csv", _as_csv(table))
    result = assess(Predictions.read(predictions), prior=from_scores(), finite_pool=True, seed=SEED)
    report = result.report(folder / "report.html")
    worst = result.worst_first[0]
    story = (
        f"A model trained on {TRAINED_ON} digits predicts {result.n_items:,} others; {result.n_labels} of these are labelled.\n"
        f"It is right {result.overall.mean:.0%} of the time ({result.overall.low:.0%} to {result.overall.high:.0%}); "
        f"with every label it would be seen to be {accuracy:.1%}.\n"
        f"It is probably worst when it says '{worst.group}': {worst.mean:.0%} ({worst.low:.0%} to {worst.high:.0%}), "
        f"and the chance that no other digit is worse is {worst.p_worst:.0%}."
    )
    return Demo(result, report, predictions, story)


def predict_digits() -> tuple[dict[str, list[Any]], float]:
    """Return predictions of the digits with a few labels kept, and the accuracy all labels would show."""
    datasets, linear = _load("sklearn.datasets"), _load("sklearn.linear_model")
    images, truth = datasets.load_digits(return_X_y=True)
    rng = np.random.default_rng(SEED)
    order = rng.permutation(len(truth))
    train, rest = order[:TRAINED_ON], order[TRAINED_ON:]
    model = linear.LogisticRegression(max_iter=500).fit(images[train] / 16, truth[train])
    chances = model.predict_proba(images[rest] / 16)
    predicted = model.classes_[chances.argmax(axis=1)]
    labelled = rng.permutation(len(rest)) < LABELLED
    table: dict[str, list[Any]] = {
        "id": rest.tolist(),
        "predicted": predicted.tolist(),
        "score": chances.max(axis=1).round(4).tolist(),
        "label": [int(y) if known else "" for y, known in zip(truth[rest], labelled, strict=True)],
    }
    return table, float((predicted == truth[rest]).mean())


def _as_csv(table: dict[str, list[Any]]) -> str:
    rows = [",".join(map(str, row)) for row in zip(*table.values(), strict=True)]
    return "\n".join([",".join(table), *rows]) + "\n"


def _load(module: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise InputError("the demo needs scikit-learn for its digits: pip install 'fewlabels[demo]'") from None
