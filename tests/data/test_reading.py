"""Files and frames as people really have them: each is read as it is meant, or refused with the reason."""

import gzip
import json
import random
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import ClassVar

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fewlabels as fl
from fewlabels.data import compression as unpacking
from fewlabels.data.checks import check_pool
from fewlabels.data.conflicts import Finding
from fewlabels.errors import InputError

FRAME = pd.DataFrame(
    {"id": range(6), "predicted": list("aabbab"), "score": [0.9, 0.8, 0.7, 0.6, 0.9, 0.8], "label": list("abbbab")}
)


def write_arrow(
    path: Path, table: pa.Table, *, stream: bool = False, compression: str | None = None, polars: str | None = None
) -> Path:
    if polars:
        pl.from_arrow(table).write_ipc(path, compression=polars)
        return path
    make = pa.ipc.new_stream if stream else pa.ipc.new_file
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as file, make(file, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=50)
    return path


class TestNamesOfFiles:
    @pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
    def test_a_folder_called_like_a_column_adds_none(self, tmp_path: Path, ending: str) -> None:
        folder = tmp_path / "label=x" / "country=y"
        folder.mkdir(parents=True)
        path = folder / f"p.{ending}"
        write = {"csv": FRAME.to_csv, "parquet": FRAME.to_parquet}.get(ending)
        write(path, index=False) if write else FRAME.to_json(path, orient="records", lines=True)
        pool = fl.Predictions.read(path)
        assert (pool.classes, pool.attributes) == (("a", "b"), ())

    @pytest.mark.parametrize("name", ["d[1].csv", "s*.csv", "q?.csv", "a'b.csv", "[*].csv"])
    @pytest.mark.parametrize("place", ["f", "f[1]"])  # in the second, a pattern finds no other file
    def test_a_file_that_exists_is_that_file(self, tmp_path: Path, place: str, name: str) -> None:
        folder = tmp_path / place
        folder.mkdir()
        for other in ("d1.csv", "sX.csv", "qX.csv", "b.csv"):
            FRAME.head(2).to_csv(folder / other, index=False)
        FRAME.to_csv(folder / name, index=False)
        assert fl.Predictions.read(folder / name).n_items == 6

    def test_a_pattern_still_is_one(self, tmp_path: Path) -> None:
        for name in ("a[1].csv", "a2.csv"):
            FRAME.assign(id=[name + str(i) for i in range(6)]).to_csv(tmp_path / name, index=False)
        assert fl.Predictions.read(str(tmp_path / "a*.csv")).n_items == 12


class TestJson:
    DOCUMENTS: ClassVar[dict[str, Callable[[], str]]] = {
        "lists": lambda: json.dumps(FRAME.to_dict("list")),
        "pandas": FRAME.to_json,
        "indented": lambda: json.dumps(FRAME.to_dict("list"), indent=1),
        "records": lambda: FRAME.to_json(orient="records"),
        "lines": lambda: FRAME.to_json(orient="records", lines=True),
        "lines that begin with a list": lambda: "".join(
            json.dumps({"x": [i, 2], **row}) + "\n" for i, row in enumerate(FRAME.to_dict("records"))
        ),
    }

    @pytest.mark.parametrize("make", DOCUMENTS.values(), ids=DOCUMENTS.keys())
    @pytest.mark.parametrize("ending", ["json", "json.gz"])
    def test_is_read_by_rows_or_by_columns(self, make: Callable[[], str], ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"p.{ending}"
        data = make().encode()
        path.write_bytes(gzip.compress(data) if ending.endswith("gz") else data)
        assert (fl.Predictions.read(path).n_items, fl.Predictions.read(path).n_labels) == (6, 6)

    def test_may_hold_other_things_beside_columns(self, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text(json.dumps({"model": "x", **FRAME.to_dict("list"), "classes": ["a", "b"]}))
        pool = fl.Predictions.read(tmp_path / "p.json")
        assert (pool.n_items, pool.n_labels) == (6, 6)
        assert "left out is 'model', 'classes'" in pool.notes[0]

    def test_lists_and_records_are_no_classes(self) -> None:
        for value in (["a", "b"], {"a": 1}):
            with pytest.raises(InputError, match=r"predicted: column 'predicted' holds (lists|records)"):
                fl.Predictions.read({"predicted": [value], "label": ["a"]})

    @pytest.mark.parametrize(
        ("text", "reason"),
        [
            (FRAME.to_json(orient="split"), "holds its rows in 'data'; write one object per row"),
            (FRAME.to_json(orient="table"), "holds its rows in 'data'"),
            ('{"predicted": ["a", "b"], "label": ["a"]}', "differ in length: predicted 2, label 1"),
            ('{"predicted": {"0": "a"}, "label": {"1": "a"}}', "rows have different names"),
        ],
    )
    def test_that_is_no_table_is_refused(self, text: str, reason: str, tmp_path: Path) -> None:
        (tmp_path / "p.json").write_text(text)
        with pytest.raises(InputError, match=reason):
            fl.Predictions.read(tmp_path / "p.json")


class TestSeries:
    SHUFFLED = FRAME.set_index("id").sample(frac=1, random_state=0)

    def test_are_matched_by_their_index(self) -> None:
        pool = fl.Predictions.read({"predicted": FRAME["predicted"], "label": self.SHUFFLED["label"]})
        assert fl.assess(pool, by=fl.everything, finite_pool=True).overall.mean == pytest.approx(5 / 6)

    def test_of_one_index_go_with_arrays(self) -> None:
        part = self.SHUFFLED
        pool = fl.Predictions.read({"predicted": part["predicted"].to_numpy(), "label": part["label"]})
        assert fl.assess(pool, by=fl.everything, finite_pool=True).overall.mean == pytest.approx(5 / 6)

    def test_that_cannot_be_matched_are_refused(self) -> None:
        with pytest.raises(InputError, match="indexes of 'predicted' and 'label' name different rows"):
            fl.Predictions.read({"predicted": FRAME["predicted"], "label": FRAME["label"].set_axis(range(1, 7))})
        with pytest.raises(InputError, match="'score' has none to be matched by"):
            fl.Predictions.read(
                {"predicted": FRAME["predicted"], "label": self.SHUFFLED["label"], "score": FRAME["score"].to_list()}
            )


class TestSpellings:
    @pytest.mark.parametrize(
        ("predicted", "score", "label"),
        [
            ("predicted", "score", "label"),
            ("prediction", "confidence", "y_true"),
            ("pred", "proba", "target"),
            ("y_pred", "prob", "gold"),
            ("Pred", "Proba", "Gold"),
        ],
    )
    def test_of_columns_are_recognised(self, predicted: str, score: str, label: str) -> None:
        frame = FRAME.rename(columns={"score": score, "predicted": predicted, "label": label})
        assert fl.Predictions.read(frame).roles.used() == {
            "id": "id", "predicted": predicted, "score": score, "label": label,
        }  # fmt: skip

    @pytest.mark.parametrize("prefix", ["p_", "prob_", "proba_", "Prob_"])
    def test_of_probabilities_are_recognised(self, prefix: str) -> None:
        table = {f"{prefix}{i}": [0.1 * (i == 3) + 0.09] * 2 for i in range(10)}
        assert fl.Predictions.read(table).pairs["predicted"] == ["3"]

    def test_a_target_is_no_label_where_outputs_are_graded(self) -> None:
        pool = fl.Predictions.read({"id": [1, 2], "target": ["x", "y"], "agreement": [0.5, None]})
        assert (pool.roles.label, pool.attributes) == (None, ("target",))

    @pytest.mark.parametrize(
        ("frame", "note"),
        [
            (FRAME.rename(columns={"score": "probability"}), "no scores are used.*'probability'"),
            (FRAME.rename(columns={"score": "p_a"}), "no scores are used.*'p_a'"),
            (FRAME.rename(columns={"label": "truth"}), "no labels are used.*'truth'.*label="),
            (FRAME.assign(score="high"), "column 'score' is not used: row 1 has 'high', which is no number"),
            (FRAME.assign(agreement=0.5), "column 'label' is not used: outputs are graded"),
        ],
        ids=["probability", "one p_", "truth", "words", "grades"],
    )
    def test_like_known_ones_are_named_if_not_used(self, frame: pd.DataFrame, note: str) -> None:
        assert any(pd.Series([text]).str.contains(note).item() for text in fl.assess(frame).warnings)


class TestNumerals:
    @pytest.mark.parametrize("write", ["{:.0%}", "{:.1f}", " {:.1f} "])
    @pytest.mark.parametrize("mark", [".", ","])
    def test_in_text_are_numbers(self, write: str, mark: str) -> None:
        frame = FRAME.assign(score=[write.format(s).replace(".", mark) for s in FRAME["score"]])
        pool = fl.Predictions.read(frame)
        assert pool.measure({"s": pool.score.sum()})["s"] == pytest.approx(4.7)
        assert "text read as numbers" in fl.assess(pool).warnings[0]

    def test_in_a_sheet_with_semicolons(self, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text("id;predicted;score;label\n1;a;0,938;a\n2;b;0,5;b\n")
        assert fl.Predictions.read(tmp_path / "p.csv").has("score")

    def test_of_every_class(self) -> None:
        pool = fl.Predictions.read({"p_a": ["93%", "0%"], "p_b": ["7%", "100%"]})
        assert sorted(pool.pairs["predicted"]) == ["a", "b"]

    def test_that_are_none_are_refused_where_asked_for(self) -> None:
        with pytest.raises(InputError, match=r"score: column 'site' holds string, not numbers \(row 2 has 'x'\)"):
            fl.Predictions.read({"predicted": ["a", "b"], "site": ["0.5", "x"]}, score="site")


class TestNamesOfColumns:
    INNER: ClassVar[list[str]] = ["__id", "__row", "__hit", "__name", "__known", "__chance", "__key", "__answer", "__ids", "__filled",
             "n", "value", "row", "name", "c0", "g0_n", "bin", "slot", "right", "n_labels", "key", "x", "low"]  # fmt: skip

    def test_like_our_own_work(self) -> None:
        frame = FRAME.assign(label=["a", "b", None, "b", None, None])
        names = {name: [f"{name} {side}" for side in "xyxyxy"] for name in self.INNER}
        pool = fl.Predictions.read(frame.assign(**names))
        assert pool.show(["3"]) == {"3": {name: f"{name} y" for name in self.INNER}}
        keys = {f"k{i}": pool.attribute(name) for i, name in enumerate(self.INNER)}
        values = {f"k{i}": [f"{name} x"] * 2 + [f"{name} y"] for i, name in enumerate(self.INNER)}
        assert pool.list_unlabelled(keys) == {"name": ["2", "4", "5"], **values}
        found = pool.find(pool.attribute("__name") == "__name y", **keys)
        assert found == {"row": [2], **{f"k{i}": [f"{name} y"] for i, name in enumerate(self.INNER)}}
        joined = fl.Predictions.read(frame.assign(**names), labels={"id": [2], "label": ["a"]})
        assert (joined.n_labels, joined.attributes) == (4, tuple(self.INNER))

    @pytest.mark.parametrize("name", ["n", "__ids", "right", "g0_n", "bin"])
    def test_like_our_own_can_be_grouped_by(self, name: str) -> None:
        a = fl.assess(FRAME.assign(**{name: list("xyxyxy")}), by=fl.column(name), prior=fl.flat())
        assert [(row.group, row.n_items, row.n_labels) for row in a.groups] == [("x", 3, 3), ("y", 3, 3)]

    def test_that_begin_like_those_we_add_are_refused(self) -> None:
        with pytest.raises(
            InputError, match="column '__FL_label': names that begin with __fl_ are reserved for fewlabels"
        ):
            fl.Predictions.read(FRAME.assign(__FL_label="x"))

    CASES: ClassVar[dict[str, Callable[[Path], object]]] = {
        "pandas": lambda _: FRAME.assign(Label="b"),
        "arrow": lambda _: pa.Table.from_pandas(FRAME.assign(Label="b")),
        "dict": lambda _: {"predicted": ["a"], "label": ["a"], "Label": ["b"]},
        "csv": lambda folder: FRAME.assign(Label="b").to_csv(folder / "p.csv", index=False) or folder / "p.csv",
        "csv twice": lambda folder: (folder / "p.csv").write_text("id,label,predicted,label\n1,a,a,b\n")
        and folder / "p.csv",
        "parquet": lambda folder: FRAME.assign(Label="b").to_parquet(folder / "p.parquet") or folder / "p.parquet",
        "feather": lambda folder: write_arrow(folder / "p.arrow", pa.Table.from_pandas(FRAME.assign(Label="b"))),
        "jsonl": lambda folder: (folder / "p.jsonl").write_text('{"predicted": "a", "label": "a", "Label": "b"}\n')
        and folder / "p.jsonl",
    }  # fmt: skip

    @pytest.mark.parametrize("make", CASES.values(), ids=CASES.keys())
    def test_that_differ_only_in_case_are_refused(self, make: Callable[[Path], object], tmp_path: Path) -> None:
        with pytest.raises(InputError, match=r"(?i)'label'.*(case|twice)"):
            fl.Predictions.read(make(tmp_path))

    def test_that_only_look_renamed_are_fine(self, tmp_path: Path) -> None:
        FRAME.assign(label_1="x").to_csv(tmp_path / "p.csv", index=False)
        assert fl.Predictions.read(tmp_path / "p.csv").attributes == ("label_1",)

    @pytest.mark.parametrize("ending", ["parquet", "arrow", "csv", ""])
    def test_that_are_empty_are_named(self, ending: str, tmp_path: Path) -> None:
        frame = pl.DataFrame({"": range(2), "predicted": ["a", "b"]})
        path = tmp_path / f"p.{ending}"
        write = {"parquet": frame.write_parquet, "arrow": frame.write_ipc, "csv": frame.write_csv}.get(ending)
        pool = fl.Predictions.read(path if write and not write(path) else frame)
        assert pool.attributes == ("column0",)
        assert ending == "csv" or pool.notes == ("a column without a name is called column0",)

    def test_that_are_escaped_in_a_file_are_fine(self, tmp_path: Path) -> None:
        frame = FRAME.assign(**{"gr\u00f6\u00dfe": 1, "gr\u00f6\u00dfe_1": 2, 'a "b"': 3, 'a "b"_1': 4})
        frame.to_json(tmp_path / "p.jsonl", orient="records", lines=True)
        frame.to_csv(tmp_path / "p.csv", index=False)
        assert len(fl.Predictions.read(tmp_path / "p.jsonl").attributes) == 4
        assert len(fl.Predictions.read(tmp_path / "p.csv").attributes) == 4


class TestLinesBeforeTheHeader:
    TEXT = FRAME.to_csv(index=False)

    @pytest.mark.parametrize("before", ["sep=,", "Predictions of model A", "", "\n", "Model A, of May", "# a\n# b"])
    def test_are_left_out_and_noted(self, before: str, tmp_path: Path) -> None:
        (tmp_path / "p.csv").write_text(f"{before}\n{self.TEXT}")
        pool = fl.Predictions.read(tmp_path / "p.csv")
        assert (pool.n_items, pool.n_labels) == (6, 6)
        assert bool(pool.notes) == bool(before.strip())

    @pytest.mark.parametrize("header", ["id,predicted,label", "id,predicted,score,label,site"])
    def test_a_header_of_another_length_is_not_lost(self, header: str, tmp_path: Path) -> None:
        rows = "".join(f"{i},cat,0.9,dog\n" for i in range(50))
        (tmp_path / "p.csv").write_text(f"{header}\n{rows}")
        try:
            pool = fl.Predictions.read(tmp_path / "p.csv")
        except InputError:
            return
        assert pool.n_items == 50


class TestDamage:
    TABLE = pa.table(
        {
            "id": range(200),
            "predicted": pa.array(["cat", "dog"] * 100).dictionary_encode(),
            "score": np.linspace(0.5, 1, 200),
            "label": pa.array([None, "cat", "dog", "dog"] * 50),
            "tags": pa.array([["x", "y"], []] * 100),
        }
    )
    KINDS: ClassVar[dict[str, dict]] = {
        "file": {},
        "stream": {"stream": True},
        "lz4": {"compression": "lz4"},
        "zstd": {"compression": "zstd"},
        "polars": {"polars": "uncompressed"},
        "polars lz4": {"polars": "lz4"},
        "polars zstd": {"polars": "zstd"},
    }
    READ = """
import sys, duckdb, ibis
from fewlabels.errors import InputError
from fewlabels.data.scan import open_files
engine = ibis.duckdb.connect()
for path in sys.argv[1:]:
    try:
        name = open_files(path, engine).table.get_name()
        engine.con.execute(f'SELECT predicted, label, max(score), any_value(tags) FROM "{name}" GROUP BY ALL').fetchall()
    except (InputError, duckdb.Error) as error:  # a damaged name of a column is another name
        assert 0 < len(str(error)) < 1000, error
"""

    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("name", ["p.feather", "p.arrow"])
    def test_sound_arrow_files_are_read(self, kind: str, name: str, tmp_path: Path) -> None:
        path = write_arrow(tmp_path / name, self.TABLE, **self.KINDS[kind])
        assert (fl.Predictions.read(path).n_items, fl.Predictions.read(path).n_labels) == (200, 150)

    def test_of_arrow_files_never_ends_the_process(self, tmp_path: Path) -> None:
        rng = random.Random(0)
        paths = []
        for kind, words in self.KINDS.items():
            sound = write_arrow(tmp_path / "p.arrow", self.TABLE, **words).read_bytes()
            for i in range(40):
                data = bytearray(sound)
                for _ in range(rng.choice([1, 2, 8])):
                    data[rng.randrange(len(data))] = rng.randrange(256)
                paths.append(tmp_path / f"{kind}{i}.arrow")
                paths[-1].write_bytes(data[: rng.randrange(len(data))] if i % 8 == 0 else data)
        done = subprocess.run(
            [sys.executable, "-c", self.READ, *map(str, paths)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr[-2000:]

    @pytest.mark.parametrize("ending", ["csv.gz", "jsonl.gz", "csv.zst"])
    def test_a_stream_that_ends_early_is_named(self, ending: str, tmp_path: Path) -> None:
        path = tmp_path / f"p.{ending}"
        frame = pd.DataFrame({"id": range(9999), "predicted": "a", "score": np.random.default_rng(0).random(9999)})
        text = frame.to_json(orient="records", lines=True) if "json" in ending else frame.to_csv(index=False)
        with pa.CompressedOutputStream(str(path), "zstd" if ending.endswith("zst") else "gzip") as file:
            file.write(text.encode())
        path.write_bytes(path.read_bytes()[:-1000])
        with pytest.raises(InputError, match=r"the compressed stream (ends early|is damaged)"):
            fl.Predictions.read(path)

    def test_a_stream_with_other_bytes_is_named(self, tmp_path: Path) -> None:
        data = bytearray(gzip.compress(FRAME.to_csv(index=False).encode()))
        data[len(data) // 2] ^= 255
        (tmp_path / "p.csv.gz").write_bytes(data)
        with pytest.raises(InputError, match="the compressed stream is damaged"):
            fl.Predictions.read(tmp_path / "p.csv.gz")


class TestBombs:
    """What unpacks to far more than it takes is refused before it is loaded; here the limit is lower than in use."""

    @pytest.fixture(autouse=True)
    def low(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(unpacking, "MAX_BYTES", 1_000_000)
        monkeypatch.setattr(unpacking, "MAX_RATIO", 5)

    def test_of_text_are_refused(self, tmp_path: Path) -> None:
        for name, row in (("p.csv.gz", "a" * 50), ("p.jsonl.gz", '{"predicted": "a"}')):
            (tmp_path / name).write_bytes(gzip.compress(f"{row}\n".encode() * 200_000))
            with pytest.raises(InputError, match=r"unpack to more than .* FEWLABELS_MAX_UNPACKED"):
                fl.Predictions.read(tmp_path / name)

    def test_of_arrow_are_refused(self, tmp_path: Path) -> None:
        table = pa.table({"predicted": ["a" * 1000] * 20_000})
        for compression in ("zstd", "lz4"):
            path = write_arrow(tmp_path / "p.feather", table, compression=compression)
            with pytest.raises(InputError, match="unpack to more than"):
                fl.Predictions.read(path)

    def test_of_parquet_are_refused(self, tmp_path: Path) -> None:
        """A page that compresses well, and a list whose elements are all the same."""
        long = pa.table({"predicted": ["a" * 1000] * 20_000})
        pq.write_table(long, tmp_path / "p.parquet", compression="zstd", use_dictionary=False)
        lists = pa.table({"predicted": ["a"], "scores": [np.zeros(500_000)]})
        pq.write_table(lists, tmp_path / "q.parquet")
        for name in ("p.parquet", "q.parquet", "*.parquet"):
            with pytest.raises(InputError, match=r"unpack to more than .* FEWLABELS_MAX_UNPACKED"):
                fl.Predictions.read(tmp_path / name)

    def test_repeated_values_that_stay_encoded_are_read(self, tmp_path: Path) -> None:
        table = pa.table({"id": range(5_000), "predicted": ["a" * 1000] * 5_000})
        pq.write_table(table, tmp_path / "p.parquet", compression="zstd")
        assert fl.Predictions.read(tmp_path / "p.parquet").n_items == 5_000

    def test_the_limit_can_be_raised(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = write_arrow(tmp_path / "p.feather", pa.table({"predicted": ["a" * 99] * 50_000}), compression="zstd")
        monkeypatch.setenv("FEWLABELS_MAX_UNPACKED", "100000000")
        assert fl.Predictions.read(path).n_items == 50_000
        monkeypatch.setenv("FEWLABELS_MAX_UNPACKED", "much")
        with pytest.raises(InputError, match="FEWLABELS_MAX_UNPACKED is 'much'"):
            fl.Predictions.read(path)


class TestConflicts:
    """Columns that contradict each other: which one is used, and in how many rows they differ, is said."""

    N = 40
    TWO = pd.DataFrame({"id": range(N), "risk": [0.1, 0.4, 0.6, 0.9] * (N // 4), "predicted": ["0", "1", "1", "1"] * (N // 4),
                        "label": ["0", "0", "1", "1"] * (N // 4)})  # fmt: skip

    def said(self, pool: fl.Predictions) -> str:
        return "\n".join(finding.message for finding in check_pool(pool))

    def test_a_predicted_column_beats_a_probability(self) -> None:
        pool = fl.Predictions.read(self.TWO, positive_score="risk")
        assert sorted(zip(pool.pairs["predicted"], pool.pairs["n"], strict=True)) == [("0", 10), ("1", 10), ("1", 20)]
        assert "column 'predicted' is used, and differs in 10 of 40 rows" in self.said(pool)
        assert any("threshold=0.5" in text for text in fl.assess(pool).warnings)

    def test_a_threshold_that_is_given_beats_a_recognised_column(self) -> None:
        pool = fl.Predictions.read(self.TWO, positive_score="risk", threshold=0.5)
        assert fl.assess(pool, by=fl.everything, finite_pool=True).overall.mean == 1.0
        assert "column 'predicted' is not used" in self.said(pool)
        assert "in 10 of 40 rows" in self.said(pool)

    def test_nothing_is_said_where_both_agree(self) -> None:
        pool = fl.Predictions.read(self.TWO, positive_score="risk", threshold=0.3)
        assert self.said(pool) == ""
        frame = self.TWO.assign(predicted=["0", "0", "1", "1"] * 10)
        assert self.said(fl.Predictions.read(frame, positive_score="risk")) == ""
        flags = self.TWO.assign(predicted=[False, False, True, True] * 10)
        assert self.said(fl.Predictions.read(flags, positive_score="risk", threshold=0.5)) == ""

    def test_words_that_contradict_each_other_are_refused(self) -> None:
        with pytest.raises(InputError, match="both predicted and threshold are given"):
            fl.Predictions.read(self.TWO, positive_score="risk", predicted="predicted", threshold=0.5)
        with pytest.raises(InputError, match="threshold goes with positive_score"):
            fl.Predictions.read(self.TWO, threshold=0.5)

    @pytest.mark.parametrize("words", [{}, {"scores": "p_"}])
    def test_a_predicted_column_beats_the_largest_probability(self, words: dict[str, str]) -> None:
        frame = self.TWO.assign(p_0=1 - self.TWO["risk"], p_1=self.TWO["risk"])
        pool = fl.Predictions.read(frame, **words)
        assert pool.roles.predicted == "predicted"
        assert "differs in 10 of 40 rows from the class with the largest probability" in self.said(pool)

    def test_a_score_beside_probabilities_is_compared(self) -> None:
        frame = self.TWO.assign(p_0=1 - self.TWO["risk"], p_1=self.TWO["risk"], score=0.9)
        assert "column 'score' is used, and differs in 20 of 40 rows" in self.said(fl.Predictions.read(frame))
        pool = fl.Predictions.read(frame, scores="p_")
        assert "column 'score' is not used: the score comes from" in self.said(pool)

    def test_other_class_names_than_one_come_from_predictions_too(self) -> None:
        frame = self.TWO.replace({"predicted": {"0": "no", "1": "yes"}}).drop(columns="label")
        pool = fl.Predictions.read(frame, positive_score="risk", positive="yes")
        assert pool.classes == ("no", "yes")


class TestConfidence:
    """A score that is no confidence in the predicted class is seen by values that a confidence cannot have."""

    def warn(self, **columns: object) -> list[Finding]:
        return [f for f in check_pool(fl.Predictions.read({"id": range(400), **columns})) if "'score'" in f.message]

    def test_probabilities_of_class_one_are_seen(self) -> None:
        p = np.random.default_rng(0).random(400)
        table = {"id": range(400), "predicted": (p > 0.5).astype(int), "score": p, "label": (p > 0.4).astype(int)}
        [finding] = self.warn(**{k: v for k, v in table.items() if k != "id"})
        assert "it looks like the probability of class '1'; if so, say positive_score='score'" in finding.message
        assert finding.options == {"positive_score": "score"}
        assert finding.message in fl.assess(table, metric=fl.ece, by=fl.everything).warnings
        assert check_pool(fl.Predictions.read(table, positive_score="score")) == ()

    @pytest.mark.parametrize("threshold", [0.2, 0.8])
    def test_whatever_the_threshold(self, threshold: float) -> None:
        p = np.random.default_rng(1).beta(0.6, 0.6, 400)
        [finding] = self.warn(predicted=np.where(p > threshold, "yes", "no"), score=p)
        assert "positive" in finding.message.replace("positive_score='score'", "")

    def test_probabilities_of_class_zero_are_seen(self) -> None:
        p = np.random.default_rng(0).random(400)
        [finding] = self.warn(predicted=(p < 0.5).astype(int), score=p)
        assert finding.options == {"positive_score": "score", "positive": "0"}

    def test_probabilities_of_being_wrong_are_seen(self) -> None:
        p = np.random.default_rng(0).random(400) / 2
        [finding] = self.warn(predicted=np.arange(400) % 2, score=p)
        assert "1 minus the score" in finding.message

    def test_scores_below_one_in_so_many_classes_are_seen(self) -> None:
        p = np.random.default_rng(0).random(400) / 20
        assert "below 1/10 in 400 of 400 rows" in self.warn(predicted=np.arange(400) % 10, score=p)[0].message

    @pytest.mark.parametrize("k", [2, 3, 10])
    def test_confidence_is_let_alone(self, k: int) -> None:
        p = np.random.default_rng(0).uniform(1 / k, 1, 400)
        assert self.warn(predicted=np.arange(400) % k, score=p) == []

    @pytest.mark.parametrize(
        ("score", "advice"),
        [([1, 5, 3], r"grades: .*\(x - 1\) / 4"), ([3.0, 99.0, 50.0], "percent"), ([-3.0, -0.1, -1.0], "logarithms")],
    )
    def test_numbers_that_are_no_probabilities_are_called_what_they_are(self, score: list[float], advice: str) -> None:
        with pytest.raises(InputError, match=advice):
            fl.assess({"id": range(3), "predicted": list("aab"), "score": score})


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("id,predicted\n1,caf\xe9\n".encode("latin-1"), "the text is not UTF-8"),
        (b"id,predicted,label\n1,a,a\n2,b\n3,a,b,extra\n4,a,b,extra\n", "line 3 has 2 fields, the header has 3"),
    ],
    ids=["latin-1", "ragged"],
)
def test_sheets_that_cannot_be_read_say_why(data: bytes, reason: str, tmp_path: Path) -> None:
    (tmp_path / "p.csv").write_bytes(data)
    with pytest.raises(InputError, match=reason):
        fl.Predictions.read(tmp_path / "p.csv")


def test_a_parquet_file_whose_pages_are_damaged_is_refused_when_they_are_read(tmp_path):
    path = tmp_path / "damaged.parquet"
    table = pa.table({"p1": [0.2, 0.9, 0.7], "label": ["a", "b", "a"]})
    pq.write_table(table, path, use_dictionary=False, compression="none")
    data = bytearray(path.read_bytes())
    for i in range(2):
        data[pq.read_metadata(path).row_group(0).column(i).data_page_offset] = 0x0D  # no type of a page's header
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"damaged.parquet: the engine could not read it: \S"):
        fl.assess(fl.Predictions.read(str(path), positive_score="p1", positive="a"), by=fl.everything, metric=fl.tpr)


class TestAttributes:
    """A column with a name that attributes have, too, plays a role only where nothing else does and its values fit."""

    N = 60
    POOL = pd.DataFrame({"id": range(N), "predicted": ["cat", "dog"] * 30, "score": 0.9})
    LABELS = pd.DataFrame({"id": range(20), "label": ["cat"] * 20})

    @pytest.mark.parametrize(("name", "values"), [("target", ["dog", "cat"]), ("gold", ["yes", "no"])])
    def test_are_not_merged_with_labels_kept_apart(self, name: str, values: list[str]) -> None:
        pool = fl.Predictions.read(self.POOL.assign(**{name: values * 30}), labels=self.LABELS)
        assert (pool.n_labels, pool.attributes) == (20, (name,))
        assert bool(pool.notes) == (name == "target")

    def test_labels_of_two_sources_are_counted(self) -> None:
        pool = fl.Predictions.read(self.POOL.assign(y_true="dog"), labels=self.LABELS)
        contradiction, sources = pool.notes
        assert contradiction.startswith("20 of 20 items that have a label in column 'y_true' of the predictions too")
        assert sources == "labels come from two sources: 20 from the labels that were given, 40 from column 'y_true' of the predictions"  # fmt: skip

    def test_labels_kept_apart_may_be_called_gold(self) -> None:
        pool = fl.Predictions.read(self.POOL, labels=self.LABELS.rename(columns={"label": "gold"}))
        assert (pool.n_labels, pool.attributes) == (20, ())

    RANDOM = np.random.default_rng(0).random(N)

    @pytest.mark.parametrize(
        "more",
        [
            {"prob_default": RANDOM, "prob_churn": RANDOM},
            {"y_true": "cat", "target": "men"},
            {"y_true": "cat", "gold": "dog"},
            {"ground_truth": "cat", "target": 1},
            {"target": "men"},
            {"gold": RANDOM},
            {"prob": RANDOM},
            {"p_zip": "01234", "p_code": "007"},
        ],
        ids="+".join,
    )
    def test_stay_attributes(self, more: dict[str, object]) -> None:
        pool = fl.Predictions.read(self.POOL.assign(**more))
        names = tuple(name for name in more if name not in ("y_true", "ground_truth"))
        assert (pool.attributes, pool.roles.score) == (names, "score")
        fl.assess(pool)

    @pytest.mark.parametrize("more", [{"prob_rain": RANDOM, "prob_snow": RANDOM}, {"prob_cat": RANDOM, "prob_dog": RANDOM}, {"proba": 60}])  # fmt: skip
    def test_that_do_not_fit_are_noted(self, more: dict[str, object]) -> None:
        warnings = fl.assess(self.POOL.drop(columns="score").assign(**more)).warnings
        assert any("not used as" in text for text in warnings)

    def test_text_stays_text(self) -> None:
        a = fl.assess(self.POOL.assign(p_zip=["01234", "1234"] * 30), by=fl.column("p_zip"))
        assert [row.group for row in a.groups] == ["01234", "1234"]
        assert not any("text read" in text for text in a.warnings)

    NAMES = ("reference_id", "true_color", "gold_member", "actual_price", "label_source", "annotation_date", "p_value")

    @pytest.mark.parametrize("name", NAMES)
    def test_are_not_named_where_their_values_do_not_fit(self, name: str) -> None:
        assert fl.Predictions.read(self.POOL.drop(columns="score").assign(**{name: self.RANDOM})).notes == ()

    @pytest.mark.parametrize("predicted", [RANDOM, ["yes", "no"] * 30, ["0", "1", "2"] * 20])
    def test_beside_a_positive_score_are_set_aside(self, predicted: object) -> None:
        frame = pd.DataFrame({"id": range(self.N), "pred": predicted, "risk": self.RANDOM, "label": ["0", "1"] * 30})
        pool = fl.Predictions.read(frame, positive_score="risk")
        assert (pool.roles.predicted, pool.classes) == (None, ("0", "1"))
        assert "column 'pred' is not used" in pool.notes[0]
        with pytest.raises(InputError, match="say threshold=0.5 instead of predicted="):
            fl.Predictions.read(frame, positive_score="risk", predicted="pred")

    @pytest.mark.parametrize("words", [{}, {"positive_score": "p_-", "positive": "-"}])
    def test_exported_labels_are_read_back(self, words: dict[str, str]) -> None:
        frame = pd.DataFrame({"id": [1, 2], "p_+": [0.9, 0.2], "p_-": [0.1, 0.8]})
        exported = {"id": [1, 2], "label": ["'+", "'-"], "asked": [True, True], "who": "", "note": "", "at": ""}
        pool = fl.Predictions.read(frame, labels=pd.DataFrame(exported), **words)
        assert set(pool.classes) == {"+", "-"}


def test_a_note_on_a_score_that_is_text_is_short(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(f"id,predicted,score\n1,a,0.5\n2,b,{'A' * 5000}\n")
    notes = fl.Predictions.read(path).notes
    assert any("which is no number" in note for note in notes)
    assert max(map(len, notes)) < 200


HOLED = [float("nan") if i == 3 else 0.5 + i / 200 for i in range(60)]


class TestNanInParquet:
    """The statistics of a Parquet file leave NaN out, and DuckDB concludes that there is none."""

    def write(self, path: Path, **columns: object) -> Path:
        usual = {"id": range(60), "predicted": ["a", "b"] * 30, "label": ["a", "b", None] * 20}
        pq.write_table(pa.table({name: pa.array(values) for name, values in (usual | columns).items()}), path)
        return path

    @pytest.mark.parametrize(
        ("columns", "roles", "said"),
        [
            ({"score": HOLED}, {}, "the score is missing or NaN in 1 row, the first is row 4"),
            ({"score": HOLED}, {"positive_score": "score", "positive": "a"}, "missing or NaN in 1 row"),
            ({"p_a": HOLED, "p_b": [1 - x for x in HOLED]}, {}, "missing or NaN in row 4"),
            ({"l": [[x, 1 - x] for x in HOLED], "label": [1, 0, None] * 20, "predicted": [0, 1] * 30}, {"scores": "l"}, "missing or NaN in row 4"),
            ({"id": [*range(59), float("nan")]}, {}, "1 id is missing, the first in row 60"),
            ({"predicted": [float("nan"), *[1.0, 0.0] * 29, 1.0], "label": [1, 0, None] * 20}, {}, "the prediction is missing in 1 row"),
        ],
    )  # fmt: skip
    def test_it_is_missing_in_columns_that_need_it(self, tmp_path, columns, roles, said):
        path = self.write(tmp_path / "x.parquet", **columns)
        with pytest.raises(InputError, match=said):
            fl.assess(fl.Predictions.read(path, **roles))

    def test_a_label_that_is_nan_is_no_label(self, tmp_path):
        path = self.write(tmp_path / "x.parquet", predicted=[1, 0] * 30, label=[1.0, 0.0, float("nan")] * 20)
        assert fl.assess(path).n_labels == 40
        assert fl.assess(ibis.duckdb.connect().read_parquet(path)).n_labels == 40

    def test_it_is_a_missing_group_beside_infinite_ones(self, tmp_path):
        path = self.write(tmp_path / "x.parquet", g=[float("nan"), float("inf"), -1e300] * 20)
        found = fl.assess(path, by="g", prior="flat")
        assert sorted(row.group for row in found.groups) == ["(missing)", "-1e+300", "inf"]

    def test_it_is_a_missing_grade(self, tmp_path):
        path = self.write(tmp_path / "x.parquet", human=[1.0, 2.0, float("nan")] * 20, judge=[*HOLED[:59], 0.9])
        assert fl.rate(path, grade="human", judge="judge").n_grades == 40


class TestIdsOfOddTypes:
    """Ids are one and the same item, or another one, whatever type they are stored in."""

    def count(self, tmp_path: Path, ids: pa.Array, names: list[object]) -> int:
        pq.write_table(pa.table({"id": ids, "predicted": ["a", "b"] * (len(ids) // 2)}), path := tmp_path / "x.parquet")
        labels = {"id": names, "label": ["a"] * len(names)}
        return fl.assess(fl.Predictions.read(path, labels=labels), by=fl.everything).n_labels

    @pytest.mark.parametrize("scale", [0, 3])
    def test_decimals_of_more_than_15_digits_stay_apart(self, tmp_path, scale):
        numbers = [2**53 + i for i in range(4)]
        ids = pa.array(list(map(Decimal, numbers)), pa.decimal128(38, scale))
        assert self.count(tmp_path, ids, numbers) == 4
        assert self.count(tmp_path, ids, numbers[:1]) == 1

    def test_decimals_lose_the_zeros_of_their_scale_only(self, tmp_path):
        ids = pa.array(list(map(Decimal, ("10", "100", "1.5", "0"))), pa.decimal128(10, 3))
        assert self.count(tmp_path, ids, ["10", "100", "1.5", "0"]) == 4

    def test_unsigned_ids_beyond_signed_ones_are_joined(self, tmp_path):
        ids = pa.array([2**63 + i for i in range(6)], pa.uint64())
        one = {"id": ids, "predicted": list("aabbab"), "label": list("aabbaa")}
        two = {"id": ids, "predicted": list("bbabab")}
        for name, table in (("one", one), ("two", two)):
            pq.write_table(pa.table(table), tmp_path / f"{name}.parquet")
        files = {name: tmp_path / f"{name}.parquet" for name in ("one", "two")}
        assert fl.compare_models(files).n_items == 6


def test_a_score_of_single_precision_is_shown_as_at_most_1(tmp_path):
    score = pa.array(np.full(40, 1.0000001, dtype=np.float32))
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"id": range(40), "predicted": ["a"] * 40, "score": score, "label": ["a"] * 40}), path)
    plain = fl.assess(path).to_dict()
    assert plain["groups"][0]["score"] == 1.0
    assert plain["evidence"][0]["score"] == 1.0
