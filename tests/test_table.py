"""Predictions come in many shapes and leave as the same numbers."""

from collections.abc import Callable
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather

import fewlabels as fl
from fewlabels.errors import InputError

FRAME = pd.DataFrame(
    {
        "id": [1, 2, 3, 4, 5],
        "predicted": ["cat", "dog", "cat", "dog", "cat"],
        "score": [0.9, 0.8, 0.7, 0.6, 0.5],
        "label": ["cat", "cat", None, "dog", None],
        "site": ["north", "south", "north", None, "south"],
    }
)


def write(kind: str) -> Callable[[Path], object]:
    def to(folder: Path) -> object:
        path = folder / f"preds.{kind}"
        if kind == "parquet":
            FRAME.to_parquet(path)
        elif kind.startswith("csv"):
            FRAME.to_csv(path, index=False)
        elif kind.startswith("jsonl"):
            FRAME.to_json(path, orient="records", lines=True)
        else:
            feather.write_feather(pa.Table.from_pandas(FRAME), str(path), compression="uncompressed")
        return path

    return to


def two_files(folder: Path) -> str:
    FRAME[:2].to_parquet(folder / "a.parquet")
    FRAME[2:].to_parquet(folder / "b.parquet")
    return str(folder / "*.parquet")


SOURCES: dict[str, Callable[[Path], object]] = {
    **{kind: write(kind) for kind in ("parquet", "csv", "csv.gz", "jsonl", "jsonl.gz", "arrow")},
    "glob": two_files,
    "pandas": lambda _: FRAME,
    "polars": lambda _: pl.from_pandas(FRAME),
    "polars lazy": lambda _: pl.from_pandas(FRAME).lazy(),
    "arrow table": lambda _: pa.Table.from_pandas(FRAME),
    "arrow reader": lambda _: pa.Table.from_pandas(FRAME).to_reader(),
    "duckdb relation": lambda _: duckdb.from_arrow(pa.Table.from_pandas(FRAME)),
    "arrays": lambda _: {name: FRAME[name].to_numpy() for name in FRAME},
    "lists": lambda _: {name: FRAME[name].tolist() for name in FRAME},
    "ibis": lambda folder: ibis.duckdb.connect().read_parquet(write("parquet")(folder)),
    "ibis in memory": lambda _: ibis.memtable(pa.Table.from_pandas(FRAME)),
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
def test_every_source_gives_the_same_numbers(make: Callable[[Path], object], tmp_path: Path) -> None:
    a = fl.assess(fl.Predictions.read(make(tmp_path)), by=fl.predicted)
    expected = fl.assess(fl.Predictions.read(FRAME), by=fl.predicted)
    assert a.to_dict() == expected.to_dict()
    assert (a.n_items, a.n_labels) == (5, 3)


@pytest.mark.parametrize(
    ("source", "kind"),
    [(FRAME, pd.DataFrame), (pl.from_pandas(FRAME), pl.DataFrame), (pa.Table.from_pandas(FRAME), pa.Table)],
)
def test_the_frame_that_went_in_comes_out(source: object, kind: type) -> None:
    assert isinstance(fl.assess(source).to_frame(), kind)
    assert isinstance(fl.assess(source).to_frame("polars"), pl.DataFrame)


class TestRoles:
    def test_are_recognised_by_name(self) -> None:
        pool = fl.Predictions.read(FRAME)
        assert pool.roles.used() == {"id": "id", "predicted": "predicted", "score": "score", "label": "label"}
        assert pool.attributes == ("site",)

    def test_common_other_names_serve_where_there_is_no_doubt(self) -> None:
        pool = fl.Predictions.read(FRAME.rename(columns={"predicted": "y_pred", "label": "y_true", "id": "ID"}))
        assert (pool.roles.predicted, pool.roles.label, pool.roles.id) == ("y_pred", "y_true", "ID")

    def test_two_candidates_are_refused(self) -> None:
        frame = FRAME.rename(columns={"label": "y_true"}).assign(true_label="cat")
        with pytest.raises(InputError, match="ambiguous.*'y_true' and 'true_label'.*--label"):
            fl.Predictions.read(frame)

    def test_a_column_that_is_not_there_is_refused_with_a_suggestion(self) -> None:
        with pytest.raises(InputError, match="no column 'scroe'; did you mean 'score'"):
            fl.Predictions.read(FRAME, score="scroe")

    def test_a_table_without_predictions_says_what_to_name(self) -> None:
        with pytest.raises(InputError, match="--positive-score s"):
            fl.Predictions.read({"s": [0.1], "label": [1]})

    def test_both_kinds_of_scores_are_refused(self) -> None:
        with pytest.raises(InputError, match="both scores and positive_score"):
            fl.Predictions.read({"p_a": [0.5], "p_b": [0.5], "s": [0.5]}, scores="p_", positive_score="s")

    def test_scores_that_are_one_column_are_explained(self) -> None:
        with pytest.raises(InputError, match="one number"):
            fl.Predictions.read({"s": [0.5], "predicted": ["a"]}, scores="s")

    def test_text_where_numbers_belong_is_refused(self) -> None:
        with pytest.raises(InputError, match="score: column 'site' holds string, not numbers"):
            fl.Predictions.read(FRAME, score="site")

    def test_threshold_must_be_a_probability(self) -> None:
        with pytest.raises(InputError, match="threshold is 50"):
            fl.Predictions.read({"s": [0.5], "label": [1]}, positive_score="s", threshold=50.0)


class TestDerivation:
    def test_predicted_and_score_come_from_class_probabilities(self) -> None:
        pool = fl.Predictions.read({"p_a": [0.2, 0.7], "p_b": [0.8, 0.3], "label": ["b", "b"]})
        found = pool.count_by({"predicted": pool.predicted}, {"score": pool.score.sum(), "right": pool.right().sum()})
        assert sorted(zip(*found.values(), strict=True)) == [("a", 1, 0.7, 0.0), ("b", 1, 0.8, 1.0)]

    def test_scores_may_be_one_list_column(self) -> None:
        pool = fl.Predictions.read(
            {"s": np.array([[0.1, 0.9], [0.6, 0.4]]), "label": np.array([1.0, np.nan])}, scores="s"
        )
        assert pool.classes == ("0", "1")
        assert fl.assess(pool, by=fl.everything).groups[0].mean == pytest.approx(2 / 3)

    def test_lists_of_different_length_are_refused(self) -> None:
        with pytest.raises(InputError, match="have 2 to 3 numbers"):
            fl.Predictions.read(pa.table({"s": [[0.1, 0.9], [0.2, 0.2, 0.6]]}), scores="s")

    @pytest.mark.parametrize(
        "labels", [[1, 0, None], [True, False, None], ["1", "0", None], np.array([1.0, 0.0, np.nan])]
    )
    def test_one_is_one_whatever_its_type(self, labels: object) -> None:
        pool = fl.Predictions.read({"s": [0.9, 0.8, 0.1], "label": labels}, positive_score="s")
        assert pool.n_labels == 2
        assert fl.assess(pool, by=fl.everything).groups[0].mean == pytest.approx(0.5)

    def test_booleans_on_both_sides_keep_their_names(self) -> None:
        pool = fl.Predictions.read({"predicted": [True, False], "label": [True, None]})
        assert (pool.classes, pool.positive) == (("False", "True"), "True")

    def test_a_binary_score_is_confidence_in_what_it_predicts(self) -> None:
        pool = fl.Predictions.read({"s": [0.9, 0.2], "label": ["yes", "no"]}, positive_score="s", positive="yes")
        found = pool.count_by({"predicted": pool.predicted}, {"score": pool.score.sum()})
        assert sorted(zip(found["predicted"], found["score"], strict=True)) == [("no", 0.8), ("yes", 0.9)]

    def test_a_binary_score_with_three_labels_is_refused(self) -> None:
        with pytest.raises(InputError, match="two classes"):
            fl.Predictions.read({"s": [0.9, 0.2, 0.1], "label": ["a", "b", "c"]}, positive_score="s", positive="a")

    def test_agreement_takes_the_place_of_labels(self) -> None:
        pool = fl.Predictions.read({"agreement": [0.5, 1.0, None], "system": ["a", "a", "b"]})
        a = fl.assess(pool, by=fl.column("system"))
        assert a.groups[0].mean == pytest.approx((1 + 1.5) / (2 + 2))
        with pytest.raises(InputError, match="metric recall needs a predicted column"):
            fl.assess(pool, by=fl.everything, metric=fl.recall)


class TestLabelsApart:
    PREDICTIONS = pd.DataFrame({"id": ["a", "b", "c"], "predicted": ["x", "y", "x"]})

    def test_are_joined_by_id_whatever_its_type(self, tmp_path: Path) -> None:
        (tmp_path / "labels.csv").write_text("id,label\n1,x\n3,y\n")
        frame = self.PREDICTIONS.assign(id=[1, 2, 3])
        pool = fl.Predictions.read(frame, labels=tmp_path / "labels.csv")
        assert (pool.n_items, pool.n_labels, pool.notes) == (3, 2, ())

    def test_win_over_labels_in_the_table(self) -> None:
        frame = self.PREDICTIONS.assign(label=["x", "x", None])
        pool = fl.Predictions.read(frame, labels={"id": ["b"], "label": ["y"]})
        assert pool.n_labels == 2
        assert fl.assess(pool, by=fl.everything, finite_pool=True).tally.right.sum() == 2

    def test_that_match_nothing_are_refused(self) -> None:
        with pytest.raises(InputError, match="none of the 2 labelled ids"):
            fl.Predictions.read(self.PREDICTIONS, labels={"id": ["q", "r"], "label": ["x", "y"]})

    def test_that_match_in_part_are_used_and_told(self) -> None:
        pool = fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a", "r"], "label": ["x", "y"]})
        assert pool.n_labels == 1
        assert "1 of 2 labels" in pool.notes[0]

    def test_that_contradict_themselves_are_refused(self) -> None:
        with pytest.raises(InputError, match="id 'a' 2 different answers"):
            fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a", "a"], "label": ["x", "y"]})

    def test_need_ids_on_both_sides(self) -> None:
        with pytest.raises(InputError, match="predictions have no id"):
            fl.Predictions.read({"predicted": ["x"]}, labels={"id": ["a"], "label": ["x"]})
        with pytest.raises(InputError, match="no column called label"):
            fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a"], "truth": ["x"]})

    def test_may_be_agreements(self) -> None:
        pool = fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a", "b"], "agreement": [0.25, 0.75]})
        assert fl.assess(pool, by=fl.everything).groups[0].mean == pytest.approx(0.5)

    def test_ids_may_have_any_name_on_both_sides(self) -> None:
        frame = self.PREDICTIONS.rename(columns={"id": "image"})
        pool = fl.Predictions.read(frame, id="image", labels={"image": ["a", "c"], "label": ["x", "y"]})
        assert pool.n_labels == 2

    def test_add_to_labels_under_another_name(self) -> None:
        frame = self.PREDICTIONS.assign(y_true=["x", None, None])
        assert fl.Predictions.read(frame, labels={"id": ["b"], "label": ["y"]}).n_labels == 2

    def test_flags_and_ones_are_the_same_across_files(self) -> None:
        frame = pd.DataFrame({"id": [1, 2], "predicted": [1, 0]})
        pool = fl.Predictions.read(frame, labels={"id": [1, 2], "label": [True, True]})
        assert fl.assess(pool, by=fl.everything, finite_pool=True).overall.mean == 0.5

    def test_leave_the_callers_words_alone(self) -> None:
        words = {"labels": {"id": ["a"], "label": ["x"]}}
        fl.Predictions.read(self.PREDICTIONS, **words)
        assert words == {"labels": {"id": ["a"], "label": ["x"]}}


class TestOddSources:
    def test_a_table_without_labels_is_fine(self) -> None:
        a = fl.assess({"id": [1, 2], "predicted": ["a", "b"]})
        assert (a.n_items, a.n_labels) == (2, 0)

    def test_words_that_look_like_flags_stay_words(self, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,label\n1,yes,yes\n2,no,\n")
        assert fl.Predictions.read(tmp_path / "p.csv").classes == ("no", "yes")

    def test_an_empty_score_column_plays_no_role(self, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,score,label\n1,a,,a\n2,b,,\n")
        assert not fl.Predictions.read(tmp_path / "p.csv").has("score")

    def test_a_hundred_probability_columns_make_a_query_of_their_length(self) -> None:
        chances = np.random.default_rng(0).dirichlet(np.ones(100), 20)
        table = {f"p_{i}": chances[:, i] for i in range(100)}
        pool = fl.Predictions.read(table)
        assert len(str(pool.engine.compile(pool.items))) < 40_000
        assert sorted(pool.pairs["predicted"]) == sorted({str(i) for i in chances.argmax(axis=1)})

    def test_something_else_is_refused(self) -> None:
        with pytest.raises(InputError, match="type int"):
            fl.Predictions.read(3)

    def test_arrays_of_different_length_are_refused(self) -> None:
        with pytest.raises(InputError, match="differ in length: predicted 2, label 1"):
            fl.Predictions.read({"predicted": ["a", "b"], "label": ["a"]})

    def test_a_column_twice_is_refused(self) -> None:
        with pytest.raises(InputError, match="'predicted' stands twice"):
            fl.Predictions.read(pd.DataFrame([["a", "b"]], columns=["predicted", "predicted"]))

    @pytest.mark.parametrize(
        "source", [pd.DataFrame({"id": [1, "b"], "predicted": ["a", "a"]}), {"id": np.array([1, "b"], dtype=object)}]
    )
    def test_mixed_types_name_column_and_row(self, source: object) -> None:
        with pytest.raises(InputError, match=r"column 'id' mixes types: int \(1\) in row 1, str \('b'\) in row 2"):
            fl.Predictions.read(source)

    def test_files_of_two_kinds_are_refused(self, tmp_path: Path) -> None:
        FRAME.to_csv(tmp_path / "a.csv")
        FRAME.to_parquet(tmp_path / "a.parquet")
        with pytest.raises(InputError, match="different kinds"):
            fl.Predictions.read(str(tmp_path / "a.*"))
