"""Hypothesis strategies for tables and choices, as a Python program would hand them over."""

from typing import Any

from hypothesis import strategies as st

import fewlabels as fl

SCORES = st.one_of(st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5, 1e-300]))
CLASSES = st.sampled_from(["a", "b", "c", "", " ", "A", "1", "nan", "None", "é", "\x1f", "=1+1"])
LABELS = st.one_of(st.none(), CLASSES)


@st.composite
def tables(draw: st.DrawFn, most: int = 12) -> dict[str, list[Any]]:
    """Return predictions of a few items with scores, groups and some labels."""
    n = draw(st.integers(1, most))

    def column(values: st.SearchStrategy[Any]) -> list[Any]:
        return draw(st.lists(values, min_size=n, max_size=n))

    return {
        "id": list(range(n)), "predicted": column(CLASSES), "score": column(SCORES), "label": column(LABELS),
        "g": column(st.sampled_from(["x", "y", None, "z" * 300])),
    }  # fmt: skip


def choices() -> st.SearchStrategy[dict[str, Any]]:
    """Return what may be asked of predictions."""
    return st.fixed_dictionaries({
        "by": st.sampled_from([fl.everything, fl.predicted, fl.column("g"), fl.bins(3)]),
        "metric": st.sampled_from([fl.accuracy, fl.ece, fl.confusion, fl.precision, fl.f1, fl.balanced_accuracy, fl.mcc]),
        "prior": st.sampled_from([fl.flat(), fl.flat(1e-6), fl.flat(1e6), fl.from_scores()]),
        "level": st.sampled_from([0.5, 0.95, 0.999]), "finite_pool": st.booleans(), "seed": st.integers(0, 2**32),
        "n_draws": st.just(200),
    })  # fmt: skip
