"""Data that look right and give wrong figures: they are read rightly, refused, or named in a warning."""

from pathlib import Path

import ibis
import numpy as np
import pandas as pd
import pytest

import fewlabels as fl

N = 40
PREDICTED = np.array(["cat", "dog"] * (N // 2))
TRUTH = np.where(np.arange(N) % 5 == 0, PREDICTED[::-1], PREDICTED).astype(object)
POOL = pd.DataFrame({"id": np.arange(N), "predicted": PREDICTED})
TRUE_OR_NOT = [*TRUTH[:30], *[None] * (N - 30)]
LABELS = pd.DataFrame({"id": np.arange(N), "label": TRUTH})


def list_warnings(pool: object, **roles: object) -> str:
    return "\n".join(fl.assess(fl.Predictions.read(pool, **roles), by="all", prior="flat").warnings)


class TestLabels:
    def test_masked_values_are_not_labels(self) -> None:
        mask = np.arange(N) >= 10
        for truth in (TRUTH.astype(str), (TRUTH == "cat").astype(int)):
            masked = np.ma.MaskedArray(truth, mask)
            predicted = PREDICTED if truth.dtype.kind == "U" else (PREDICTED == "cat").astype(int)
            assert fl.Predictions.from_arrays(y_pred=predicted, y_true=masked).n_labels == 10
            assert fl.Predictions.read({"predicted": predicted, "label": masked}).n_labels == 10

    def test_masked_probabilities_are_refused(self) -> None:
        scores = np.ma.MaskedArray(np.full((N, 2), 0.5), np.tile((np.arange(N) > 3)[:, None], (1, 2)))
        with pytest.raises(fl.InputError, match="is masked in some places"):
            fl.Predictions.from_arrays(y_score=scores, classes=["cat", "dog"])

    def test_given_labels_that_contradict_those_of_the_predictions_are_counted(self) -> None:
        other = LABELS.assign(label=np.where(np.arange(N) < 3, "emu", TRUTH))
        pool = POOL.assign(label=TRUTH)
        assert "3 of 40 items that have a label in column 'label'" in list_warnings(pool, labels=other)
        assert "another one there" not in list_warnings(pool, labels=LABELS)

    def test_flags_and_their_numbers_do_not_contradict(self) -> None:
        pool = POOL.assign(predicted=PREDICTED == "cat", label=TRUTH == "cat")
        found = list_warnings(pool, labels=LABELS.assign(label=(TRUTH == "cat").astype(int)))
        assert "another one there" not in found

    @pytest.mark.parametrize("column", ["predicted", "text"])
    def test_columns_that_labels_repeat_must_be_the_same(self, column: str) -> None:
        pool = POOL.assign(text=[f"text {i}" for i in range(N)])
        other = LABELS.assign(**{column: pool[column].to_numpy()[::-1]})
        assert f"column '{column}' of the labels differs" in list_warnings(pool, labels=other)
        assert "of the labels differs" not in list_warnings(pool, labels=pool.assign(label=TRUTH))

    def test_sheets_escape_formulas_in_what_they_repeat(self) -> None:
        pool = POOL.assign(text=[f"=SUM({i})\n" for i in range(N)])
        sheet = LABELS.assign(text=[f"'=SUM({i})" for i in range(N)])
        assert "of the labels differs" not in list_warnings(pool, labels=sheet)


class TestClasses:
    @pytest.mark.parametrize(
        ("name", "shown"),
        [("cat ", "'cat '"), ("cat\u200b", r"'cat\u200b'"), ("cat\u00a0", r"'cat\xa0'"), ("Cat", "'Cat'")],
    )
    def test_names_that_look_alike_are_named(self, name: str, shown: str) -> None:
        said = PREDICTED.astype(object)
        said[:2] = name  # far too few labels to notice that it is never a label
        found = list_warnings(POOL.assign(predicted=said, label=[*TRUTH[:4], *[None] * (N - 4)]))
        assert "only in case, spaces or invisible characters" in found
        assert shown in found

    def test_letters_in_both_cases_are_classes(self) -> None:
        pool = pd.DataFrame({"id": range(4), "predicted": list("aAaA"), "label": list("aAAa")})
        assert "only in case" not in list_warnings(pool)

    def test_models_whose_classes_look_alike_are_named(self) -> None:
        pool = POOL.assign(label=TRUTH)
        other = POOL.assign(predicted=np.where(PREDICTED == "cat", "cat ", "dog"))
        found = fl.compare_models({"old": pool, "new": other}, by="all").warnings
        assert "'cat' and 'cat '" in "\n".join(found)

    def test_the_positive_class_of_two_numbers_is_said(self) -> None:
        pool = pd.DataFrame({"id": range(4), "risk": [0.2, 0.9, 0.4, 0.7], "label": [1, 2, 1, 2]})
        assert "class '1' is taken as the positive one" in list_warnings(pool, positive_score="risk")
        assert "taken as the positive" not in list_warnings(pool, positive_score="risk", positive="2")
        assert "taken as the positive" not in list_warnings(pool.assign(label=[1, 0, 1, 0]), positive_score="risk")

    def test_a_lone_class_is_not_taken_as_negative(self) -> None:
        pool = pd.DataFrame({"id": range(4), "risk": [0.2, 0.9, 0.4, 0.7], "label": ["yes", None, None, "yes"]})
        with pytest.raises(fl.InputError, match="Say which is positive"):
            fl.Predictions.read(pool, positive_score="risk")


class TestGroups:
    def test_names_that_look_alike_are_named(self) -> None:
        pool = POOL.assign(site=["US", "US ", "CA", "us"] * (N // 4), label=TRUE_OR_NOT)
        found = "\n".join(fl.assess(pool, by="site", prior="flat").warnings)
        assert "groups of 'site' whose names differ only in spaces or invisible characters" in found
        assert "'US' and 'US '; if" in found
        assert "groups of" not in "\n".join(fl.assess(pool, by="predicted", prior="flat").warnings)

    def test_empty_text_beside_missing_values_is_named(self) -> None:
        pool = POOL.assign(site=["US", "", None, "CA"] * (N // 4), label=TRUE_OR_NOT)
        assert "empty text and missing values" in "\n".join(fl.assess(pool, by="site", prior="flat").warnings)


class TestFiles:
    @pytest.mark.parametrize("first", [2**63, 2**53, 10**40])
    def test_large_integers_of_csv_files_stay_exact(self, tmp_path: Path, first: int) -> None:
        ids = [first * (1 + (i > 1)) + i for i in range(4)]
        tail = ".0" if first == 2**53 else ""  # one float makes the column a float's
        (tmp_path / "p.csv").write_text("id,predicted\n" + "".join(f"{i}{tail},a\n" for i in ids))
        pool = fl.Predictions.read(str(tmp_path / "p.csv"))
        assert pool.find(pool.id.notnull(), most=4, name=pool.name)["name"] == [f"{i}{tail}" for i in ids]

    def test_large_measurements_stay_numbers(self, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id,predicted,amount\n1,a,1e20\n2,b,0.5\n")
        pool = fl.Predictions.read(str(tmp_path / "p.csv"))
        assert pool.is_number("amount")

    def test_quoted_names_after_a_byte_order_mark_are_read(self, tmp_path: Path) -> None:
        text = POOL.to_csv(index=False).replace("id,", '"id",', 1)
        (tmp_path / "p.csv").write_text(text, encoding="utf-8-sig")
        assert fl.Predictions.read(str(tmp_path / "p.csv")).roles.id == "id"

    @pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl"])
    def test_names_of_folders_and_files_are_literal(self, tmp_path: Path, kind: str) -> None:
        write = {"csv": "to_csv", "parquet": "to_parquet", "jsonl": "to_json"}[kind]
        more = {"orient": "records", "lines": True} if kind == "jsonl" else {"index": False}
        (tmp_path / "label=dog").mkdir()
        for name, n in (("label=dog/p", N), ("d[1]", N), ("d1", 4), ("s*", N), ("sx", 4)):
            getattr(POOL.assign(label=TRUTH)[:n], write)(tmp_path / f"{name}.{kind}", **more)
        for name in ("label=dog/p", "d[1]", "s*"):
            pool = fl.Predictions.read(str(tmp_path / f"{name}.{kind}"))
            assert (pool.n_items, pool.classes) == (N, ("cat", "dog"))
            assert pool.find(pool.label == "cat", most=N)["row"] != []

    def test_integers_that_no_column_can_hold_are_refused(self) -> None:
        with pytest.raises(fl.InputError, match="convert it to text"):
            fl.Predictions.read(POOL.assign(id=[10**30 + i for i in range(N)]))


def test_averages_over_classes_are_not_taken_for_rates_of_the_positive_class() -> None:
    pool = POOL.assign(site=["a", "a", "b", "b"] * (N // 4), label=TRUTH)
    found = fl.fairness(pool.assign(predicted=PREDICTED == "cat", label=TRUTH == "cat"), by="site", metrics=("precision", "ppv"), method="beta-binomial")  # fmt: skip
    assert [w for w in found.warnings if "macro" in w] == [
        "precision is the mean over both classes (macro average), whatever the positive class is; of class 'True' alone it is called ppv"
    ]


@pytest.mark.parametrize(("name", "values", "is_said"), [("weight", 2.0, True), ("Sample_Weight", 2.0, True), ("weight", "heavy", False), ("weights_kg", 2.0, False)])  # fmt: skip
def test_columns_named_like_weights_are_not_ignored_without_a_word(name: str, values: object, is_said: bool) -> None:
    found = fl.assess(POOL.assign(label=TRUTH, **{name: values}), by="all", prior="flat").warnings
    assert any(f"column {name!r} is not used: every item counts alike" in said for said in found) == is_said
    if is_said:
        pool = fl.Predictions.read(POOL.assign(label=TRUTH, **{name: 0.5}), propensity=name)
        used = fl.assess(pool, by="all", prior="flat").warnings
        assert not any("every item counts alike" in said for said in used)


@pytest.mark.filterwarnings("ignore:The .future.infer_string. option is deprecated")
def test_tables_of_sqlite_without_ids_start_sessions() -> None:
    table = ibis.sqlite.connect()
    table.raw_sql("CREATE TABLE p (predicted TEXT, label TEXT)")
    table.raw_sql("INSERT INTO p VALUES ('a', 'a'), ('b', NULL), ('b', 'b'), ('a', NULL)")
    with fl.Session.create(None, fl.Predictions.read(table.table("p")), goal="estimate", prior="flat") as session:
        assert len(session.ask(2)) == 2
