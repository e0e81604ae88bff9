"""Predictions come in many shapes and leave as the same numbers."""

import json
from collections.abc import Callable
from pathlib import Path

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from makers import drop_provenance
from pyarrow import feather
from scipy.stats import kstest

import fewlabels as fl
from fewlabels.data import fingerprint as fingerprints
from fewlabels.data import sampling as samples
from fewlabels.data.candidates import PRIME, allocate_candidates, priority_expression
from fewlabels.data.fingerprint import fingerprint
from fewlabels.errors import InputError
from fewlabels.sessions.pool_fingerprint import describe_difference

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
    assert drop_provenance(a.to_dict()) == drop_provenance(expected.to_dict())
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
        with pytest.raises(InputError, match="ambiguous.*'y_true' and 'true_label'.*label="):
            fl.Predictions.read(frame)

    def test_a_column_that_is_not_there_is_refused_with_a_suggestion(self) -> None:
        with pytest.raises(InputError, match="no column 'scroe'; did you mean 'score'"):
            fl.Predictions.read(FRAME, score="scroe")

    def test_a_table_without_predictions_says_what_to_name(self) -> None:
        with pytest.raises(InputError, match="positive_score='s'"):
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
        found = pool.count_by({"predicted": pool.predicted}, {"score": pool.score.sum(), "right": pool.outcome().sum()})
        assert sorted(zip(*found.values(), strict=True)) == [("a", 1, 0.7, 0.0), ("b", 1, 0.8, 1.0)]

    def test_scores_may_be_one_list_column(self) -> None:
        pool = fl.Predictions.read(
            {"s": np.array([[0.1, 0.9], [0.6, 0.4]]), "label": np.array([1.0, np.nan])}, scores="s"
        )
        assert pool.classes == ("0", "1")
        assert fl.assess(pool, by=fl.everything, prior=fl.flat()).groups[0].mean == pytest.approx(2 / 3)

    def test_lists_of_different_length_are_refused(self) -> None:
        with pytest.raises(InputError, match="have 2 to 3 numbers"):
            fl.Predictions.read(pa.table({"s": [[0.1, 0.9], [0.2, 0.2, 0.6]]}), scores="s")

    @pytest.mark.parametrize(
        "labels", [[1, 0, None], [True, False, None], ["1", "0", None], np.array([1.0, 0.0, np.nan])]
    )
    def test_one_is_one_whatever_its_type(self, labels: object) -> None:
        pool = fl.Predictions.read({"s": [0.9, 0.8, 0.1], "label": labels}, positive_score="s")
        assert pool.n_labels == 2
        assert fl.assess(pool, by=fl.everything, prior=fl.flat()).groups[0].mean == pytest.approx(0.5)

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

    def test_agreement_may_be_all_empty_in_a_text_file(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text("id,predicted,agreement\n1,a,\n2,b,\n")
        assert fl.Predictions.read(path, agreement="agreement").has("agreement")

    def test_agreement_in_words_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "grades.csv"
        path.write_text("id,predicted,agreement\n1,a,good\n2,b,\n")
        with pytest.raises(fl.InputError, match="not numbers"):
            fl.Predictions.read(path, agreement="agreement")

    def test_agreement_takes_the_place_of_labels(self) -> None:
        pool = fl.Predictions.read({"agreement": [0.5, 1.0, None], "system": ["a", "a", "b"]})
        a = fl.assess(pool, by=fl.column("system"), prior=fl.flat())
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
        assert fl.assess(pool, by=fl.everything, prior=fl.flat()).groups[0].mean == pytest.approx(0.5)

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

    @pytest.mark.parametrize("asked", [[True, False, None], ["true", "false", ""], ["TRUE", "FALSE", None]])
    def test_that_were_not_asked_for_are_left_out_and_told(self, asked: list[object]) -> None:
        labels = pd.DataFrame({"id": ["a", "b", "c"], "label": ["x", "y", "x"], "asked": asked})
        pool = fl.Predictions.read(self.PREDICTIONS, labels=labels)
        assert pool.n_labels == 2
        assert pool.notes[0].startswith("labels that were not asked for: 1; they are left out of every estimate")
        assert fl.assess(pool, by=fl.everything).warnings[0] == pool.notes[0]

    def test_a_column_called_asked_that_says_something_else_is_left_alone(self) -> None:
        labels = {"id": ["a", "b"], "label": ["x", "y"], "asked": ["false", "in March"]}
        assert fl.Predictions.read(self.PREDICTIONS, labels=labels).n_labels == 2

    def test_that_nobody_could_tell_are_no_labels(self) -> None:
        pool = fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a", "b"], "label": ["x", "?"]})
        assert (pool.n_labels, pool.classes) == (1, ("x", "y"))
        assert "items answered with cannot tell: 1;" in pool.notes[0]
        graded = fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a", "b"], "agreement": ["0.25", "?"]})
        assert (graded.n_labels, fl.assess(graded, by=fl.everything, finite_pool=True).tally.right.sum()) == (1, 0.25)
        named = {"id": ["a", "b"], "label": ["x", "y"], "grade": ["0.25", "?"]}
        assert fl.Predictions.read(self.PREDICTIONS, labels=named, agreement="grade").n_labels == 1

    def test_a_class_may_be_called_like_the_mark(self) -> None:
        frame = self.PREDICTIONS.assign(predicted=["x", "?", "x"])
        assert fl.Predictions.read(frame, labels={"id": ["a", "b"], "label": ["x", "?"]}).n_labels == 2
        wide = pd.DataFrame({"id": ["a", "b"], "p_x": [0.5, 0.5], "p_?": [0.5, 0.5]})
        assert fl.Predictions.read(wide, labels={"id": ["a", "b"], "label": ["x", "?"]}).n_labels == 2

    def test_words_that_are_no_grades_are_refused(self) -> None:
        with pytest.raises(InputError, match="column 'agreement' holds 'good', which is no grade"):
            fl.Predictions.read(self.PREDICTIONS, labels={"id": ["a", "b"], "agreement": ["0.25", "good"]})

    def test_flags_stay_flags_beside_labels_in_the_table_and_in_words(self) -> None:
        frame = pd.DataFrame({"id": [1, 2, 3], "predicted": [True, False, True], "label": [True, None, None]})
        for label in ([False], ["False"], ["false"]):
            pool = fl.Predictions.read(frame, labels={"id": [2], "label": label})
            assert pool.classes == ("False", "True")
            assert fl.assess(pool, by=fl.everything, finite_pool=True).tally.right.sum() == 2

    def test_one_is_counted_as_one(self) -> None:
        with pytest.raises(InputError, match="the only labelled id is not among the predictions"):
            fl.Predictions.read(self.PREDICTIONS, labels={"id": ["q"], "label": ["x"]})

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
        with pytest.raises(InputError, match="'predicted' occurs twice"):
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


class TestOneItem:
    """Items by name: what a session needs of a table."""

    def test_is_called_by_its_id_as_text(self) -> None:
        for ids, names in (([1, 20], ["1", "20"]), ([1.0, 2.5], ["1", "2.5"]), (["01", "ü"], ["01", "ü"])):
            pool = fl.Predictions.read({"id": ids, "predicted": ["a", "b"]})
            assert pool.find(pool.predicted.notnull(), most=2, name=pool.name)["name"] == names

    def test_without_an_id_is_called_by_its_row(self) -> None:
        pool = fl.Predictions.read({"predicted": ["a", "b", "a"]})
        assert pool.find(pool.predicted == "a", most=2, name=pool.name)["name"] == ["1", "3"]

    @pytest.mark.parametrize(
        ("ids", "whole"),
        [
            ([1, 2], True),
            (np.array([1, 2], dtype=np.uint8), True),
            (["1", "2"], False),
            ([1.0, 2.0], False),
            (None, True),
        ],
    )
    def test_has_a_whole_number_for_an_id_or_not(self, ids: object, whole: bool) -> None:
        table = {"predicted": ["a", "b"]} | ({} if ids is None else {"id": ids})
        assert fl.Predictions.read(table).has_integer_ids == whole

    def test_is_fetched_with_what_one_asks_for(self) -> None:
        pool = fl.Predictions.read(FRAME)
        found = pool.fetch(["4", "2", "77"], {"site": pool.items["site"], "odd name, even": pool.score * 2})
        assert found == {"2": {"site": "south", "odd name, even": 1.6}, "4": {"site": None, "odd name, even": 1.2}}
        assert pool.fetch([], {"site": pool.items["site"]}) == {}

    @pytest.mark.parametrize("name", ["07", "7.0", "", "seven", "9" * 30, "٧"])
    def test_is_not_found_by_another_spelling_of_its_id(self, name: str) -> None:
        pool = fl.Predictions.read({"id": [7, -8], "predicted": ["a", "b"]})
        assert pool.fetch([name, "-8"], {"said": pool.predicted}) == {"-8": {"said": "b"}}

    def test_without_an_id_is_fetched_by_its_row(self) -> None:
        pool = fl.Predictions.read(FRAME.drop(columns="id"))
        assert pool.fetch(["2", "3"], {"site": pool.items["site"]}) == {"2": {"site": "south"}, "3": {"site": "north"}}

    def test_is_shown_with_the_columns_named_for_it(self) -> None:
        pool = fl.Predictions.read(FRAME, show=["score", "site"])
        assert pool.show(["1"]) == {"1": {"score": 0.9, "site": "north"}}

    def test_is_shown_with_what_plays_no_role_and_never_with_its_label(self) -> None:
        assert fl.Predictions.read(FRAME).show(["1", "4"]) == {"1": {"site": "north"}, "4": {"site": None}}
        frame = FRAME.rename(columns={"label": "y_true"}).assign(p_cat=0.5, p_dog=0.5)
        assert fl.Predictions.read(frame).show(["1"]) == {"1": {"site": "north"}}

    def test_is_not_shown_what_a_model_said_unless_somebody_insists(self) -> None:
        frame = FRAME.assign(score_mlp=0.5, other_label="x", labels="cat", gold=1, text="hello", person=1)
        pool = fl.Predictions.read(frame)
        assert pool.withheld == ("score_mlp", "labels", "gold")
        assert pool.shown == tuple(pool.show(["1"])["1"]) == ("site", "other_label", "text", "person")
        named = fl.Predictions.read(frame, show=["gold", "text"])
        assert (named.withheld, named.shown) == ((), ("gold", "text"))

    def test_is_shown_with_the_output_where_that_is_graded(self) -> None:
        pool = fl.Predictions.read({"id": [1], "predicted": ["an answer"], "question": ["why?"], "agreement": [0.5]})
        assert pool.show(["1"]) == {"1": {"predicted": "an answer", "question": "why?"}}


class TestHiding:
    def test_leaves_predictions_without_labels(self) -> None:
        pool = fl.Predictions.read(FRAME.assign(label=["cat", "cat", "emu", "dog", None]))
        hidden = pool.hide_labels()
        assert (hidden.n_items, hidden.n_labels, pool.n_labels) == (5, 0, 4)
        assert (hidden.classes, pool.classes) == (("cat", "dog"), ("cat", "dog", "emu"))
        assert fl.assess(hidden).to_dict() == fl.assess(FRAME.drop(columns="label")).to_dict()

    def test_leaves_what_was_learned_of_two_classes(self) -> None:
        pool = fl.Predictions.read({"s": [0.9, 0.2], "label": ["yes", "no"]}, positive_score="s", positive="yes")
        assert (pool.hide_labels().classes, pool.hide_labels().positive) == (("no", "yes"), "yes")

    def test_hides_agreement_too(self) -> None:
        hidden = fl.Predictions.read({"agreement": [0.5, 1.0], "system": ["a", "b"]}).hide_labels()
        assert (hidden.n_labels, hidden.has("agreement")) == (0, True)
        assert fl.assess(hidden, by=fl.column("system"), prior=fl.flat()).overall.mean == 0.5

    def test_does_not_make_labels_something_to_show_or_to_group_by(self) -> None:
        hidden = fl.Predictions.read(FRAME).hide_labels()
        assert hidden.show(["1"]) == {"1": {"site": "north"}}
        with pytest.raises(InputError, match="'label' holds the labels"):
            fl.assess(hidden, by=fl.column("label"))


class TestLine:
    def line(self, pool: fl.Predictions, most: int = 100, seed: int = 0, within: tuple[str, ...] = ("said",)) -> list:
        keys = {"said": pool.predicted, "site": pool.attribute("site")}
        counts = pool.count_by({k: keys[k] for k in within}, {"known": pool.is_labelled().ifelse(1, 0).sum()})
        left = [n - known for n, known in zip(counts["n"], counts["known"], strict=True)]
        groups = zip(*(counts[k] for k in within), strict=True) if within else [()]
        sizes = {group: n for group, n in zip(groups, left, strict=True) if n}
        if sum(sizes.values()) <= most:
            found = pool.list_unlabelled(keys)
        else:
            found = pool.draw_unlabelled(keys, sizes, allocate_candidates(sizes, most), within=list(within), seed=seed)
        return sorted(zip(found["name"], found["said"], found["site"], strict=True))

    def test_holds_the_unlabelled_items_and_their_keys(self) -> None:
        assert self.line(fl.Predictions.read(FRAME)) == [("3", "cat", "north"), ("5", "cat", "south")]
        hidden = fl.Predictions.read(FRAME).hide_labels()
        assert [name for name, *_ in self.line(hidden)] == ["1", "2", "3", "4", "5"]
        assert self.line(hidden)[3] == ("4", "dog", None)

    def test_numbers_rows_before_it_leaves_any_out(self) -> None:
        assert [name for name, *_ in self.line(fl.Predictions.read(FRAME.drop(columns="id")))] == ["3", "5"]

    def test_holds_items_that_were_not_judged_yet(self) -> None:
        pool = fl.Predictions.read({"id": [7, 8, 9], "agreement": [0.5, None, 0.0]})
        assert pool.list_unlabelled({}) == {"name": ["8"]}

    @pytest.mark.parametrize(("within", "n"), [(("said",), {"a": 15, "b": 10, "c": 4}), ((), None)])
    def test_holds_a_random_few_of_every_group_where_there_are_too_many(
        self, within: tuple[str, ...], n: dict[str, int] | None
    ) -> None:
        said = ["a"] * 200 + ["b"] * 96 + ["c"] * 4
        pool = fl.Predictions.read({"id": range(300), "predicted": said, "site": ["x"] * 300})
        line = self.line(pool, most=30, within=within)
        assert all(said[int(name)] == group for name, group, _ in line)
        if n is None:
            assert len(line) == 30
        else:
            assert {g: sum(group == g for _, group, _ in line) for g in n} == n
        assert line == self.line(pool, most=30, within=within)
        assert line != self.line(pool, most=30, within=within, seed=1)

    def test_is_whole_where_it_fits_exactly(self) -> None:
        assert len(self.line(fl.Predictions.read(FRAME).hide_labels(), most=5)) == 5


@pytest.mark.parametrize("rename", [int, "item {}".format], ids=["whole", "text"])
def test_every_item_has_the_same_chance_and_neighbours_do_not_share_it(rename: Callable) -> None:
    n = 20_000
    pool = fl.Predictions.read({"id": [rename(i) for i in range(n)], "predicted": ["a"] * n})
    for seed in range(3):
        chance = np.array(pool.fetch_columns({"c": priority_expression(pool.id, pool.engine, seed)})["c"]) / PRIME
        assert chance.min() >= 0
        assert chance.max() < 1
        assert kstest(chance, "uniform").pvalue > 1e-4
        assert all(abs(np.corrcoef(chance[k:], chance[:-k])[0, 1]) < 5 / np.sqrt(n) for k in (1, 2, 3, 10))


class TestFingerprint:
    @pytest.mark.parametrize("change", [{"predicted": "dog"}, {"id": 8_000}, {"score": 0.1}], ids=str)
    def test_of_a_large_table_sees_what_changed_in_its_part(
        self, change: dict, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(samples, "MIN_SAMPLED_POOL", 100)
        monkeypatch.setattr(fingerprints, "SUBSET_SIZE", 100)
        frame = pd.DataFrame({"id": range(400), "predicted": "cat", "score": 0.5})
        other = frame.copy()
        other.loc[40, list(change)] = list(change.values())  # one of those that are looked at
        one, same, two = (fingerprint(fl.Predictions.read(f)) for f in (frame, frame[::-1], other))
        assert describe_difference(one, same) is None
        assert describe_difference(one, two) == "which items get which prediction, score or group"

    @pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES.keys())
    def test_is_the_same_from_every_source(self, make: Callable[[Path], object], tmp_path: Path) -> None:
        found = fingerprint(fl.Predictions.read(make(tmp_path)))
        assert found.pop("score") == pytest.approx(3.5, abs=1e-12)
        assert set(found.pop("said")) == {"cat", "dog"}
        assert found == {"n_items": 5, "first": "1", "last": "5", "length": 5, "predicted": {"cat": 3, "dog": 2}}

    def test_is_the_same_in_any_order_and_with_any_labels(self) -> None:
        pool = fl.Predictions.read(FRAME)
        other = fl.Predictions.read(FRAME[::-1].assign(label="dog"))
        assert describe_difference(fingerprint(pool), fingerprint(other)) is None
        assert describe_difference(fingerprint(pool), fingerprint(pool.hide_labels())) is None

    @pytest.mark.parametrize(
        "change",
        [
            {"id": [1, 2, 3, 4, 6]},
            {"id": [1, 2, 3, 44, 5]},
            {"predicted": ["cat"] * 5},
            {"score": [0.9, 0.8, 0.7, 0.6, 0.4]},
            {"predicted": ["dog", "cat", "cat", "dog", "cat"]},
        ],
        ids=str,
    )
    def test_is_another_for_other_predictions(self, change: dict[str, list]) -> None:
        assert fingerprint(fl.Predictions.read(FRAME.assign(**change))) != fingerprint(fl.Predictions.read(FRAME))

    def test_fits_into_a_file(self) -> None:
        found = fingerprint(fl.Predictions.read(FRAME))
        assert json.loads(json.dumps(found)) == found

    def test_needs_neither_ids_nor_scores(self) -> None:
        found = fingerprint(fl.Predictions.read({"predicted": ["b", "a"]}))
        assert found == {"n_items": 2, "predicted": {"a": 1, "b": 1}, "rows": found["rows"]}

    @pytest.mark.parametrize("role", ["predicted", "score", "text"])
    def test_notices_moved_rows_if_their_numbers_serve_as_ids(self, role: str) -> None:
        frame = pd.DataFrame({"predicted": ["a", "b"] * 20, "score": [0.7, 0.8] * 20, "text": ["one", "two"] * 20})
        moved = frame.assign(**{role: frame[role].to_numpy()[::-1]})
        made, now = (fingerprint(fl.Predictions.read(one)) for one in (frame, moved))
        assert "row number alone" in str(describe_difference(made, now))
        assert describe_difference(made, fingerprint(fl.Predictions.read(frame.assign(site="new")))) is None
        made, now = (fingerprint(fl.Predictions.read(one.assign(id=frame.index))) for one in (frame, moved))
        assert (describe_difference(made, now) is None) == (role != "predicted")  # with ids, texts may be corrected

    def test_does_not_hold_the_outputs_themselves(self) -> None:
        pool = fl.Predictions.read({"id": [1, 2], "predicted": ["a long text", "another"], "agreement": [0.5, None]})
        assert "a long text" not in str(fingerprint(pool))

    def test_does_not_depend_on_the_labels_of_flags(self) -> None:
        table = {"id": [1, 2], "predicted": [True, False]}
        bare = fingerprint(fl.Predictions.read(table))
        for labels in ([None, None], [True, None], [1, 0]):
            assert fingerprint(fl.Predictions.read(table | {"label": labels})) == bare

    def test_does_not_depend_on_the_labels_of_two_classes(self) -> None:
        table = {"id": [1, 2], "s": [0.9, 0.2], "label": [None, None]}
        bare, more = (
            fl.Predictions.read(table | {"label": labels}, positive_score="s", positive="yes")
            for labels in ([None, None], ["no", None])
        )
        assert fingerprint(bare) == fingerprint(more)


def test_nothing_need_be_judged_yet() -> None:
    pool = fl.Predictions.read({"id": [1, 2], "agreement": [None, None]}, agreement="agreement")
    assert (pool.n_items, pool.n_labels, pool.has("agreement")) == (2, 0, True)


@pytest.mark.parametrize(
    ("name", "values", "is_noted"),
    [
        ("correct", [1, 0, 1, None], True),
        ("Is_Correct", [1.0, 0.5, 1.0, 0.0], True),
        ("right", [3, 4, 5, 6], False),
        ("correct", ["a", "b", "a", "b"], False),
        ("error", [1, 0, 1, 0], False),
    ],
)
def test_a_column_that_says_who_was_right_is_proposed_where_there_is_no_label(name, values, is_noted):
    """All numbers came from the prior alone, and nothing said that the answers were there under another name."""
    table = {"predicted": ["a", "b", "a", "b"], name: values}
    noted = [note for note in fl.Predictions.read(table).notes if "says whether each prediction is right" in note]
    assert [note.endswith(f"say agreement={name!r}") for note in noted] == [True] * is_noted
    assert not any("is right" in note for note in fl.Predictions.read(table | {"label": list("abab")}).notes)
    if is_noted:
        assert fl.assess(fl.Predictions.read(table, agreement=name), by=fl.everything).overall.mean > 0.4
