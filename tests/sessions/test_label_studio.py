"""Label Studio: tasks out, exports back, as its own SDK reads and writes them (where that is installed)."""

import json
import shutil
import time
from collections.abc import Callable
from operator import add
from pathlib import Path
from string import ascii_lowercase
from typing import Any
from xml.etree import ElementTree as Xml

import numpy as np
import pandas as pd
import pytest
from conftest import Typed
from hypothesis import given, settings
from hypothesis import strategies as st

import fewlabels as fl
from fewlabels.errors import InputError
from fewlabels.sessions.exchange.importer import ImportSettings, import_file
from fewlabels.sessions.exchange.label_studio_export import name_annotator, read_export
from fewlabels.sessions.exchange.label_studio_tasks import CONTROL, ID, LabelingForm, ModelPrediction, render_tasks
from fewlabels.sessions.journal import write_ahead_log as log
from fewlabels.sessions.journal.sqlite import SqliteJournal

Type = Callable[..., Typed]
LONG = 40.0  # seconds: machines may be busy
EVIL = '<script>alert("x")</script> &amp; $text ]]> \' "'


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Predictions of three classes, and a session in which six items were asked."""
    folder = tmp_path_factory.mktemp("originals")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"id": range(60), "predicted": rng.choice(["cat", "dog", "emu"], 60)})
    frame["score"] = rng.uniform(0.5, 1, 60).round(3)
    frame["text"] = [f"animal {i} {EVIL}" for i in range(60)]
    frame["photo of it"] = [f"https://example.org/{i}.jpg" for i in range(60)]
    frame.to_parquet(folder / "preds.parquet")
    with fl.Session.create(folder / "s.db", folder / "preds.parquet", goal=fl.FindWorst(), prior=fl.flat()) as session:
        session.ask(6)
    return folder


@pytest.fixture
def file(originals: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(originals / "preds.parquet", tmp_path))


@pytest.fixture
def db(originals: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(originals / "s.db", tmp_path))


def pending(db: Path) -> list[Any]:
    with fl.Session.open(db, read_only=True) as session:
        return session.pending


def answers(db: Path) -> dict[Any, tuple[Any, str]]:
    with fl.Session.open(db, read_only=True) as session:
        return {row["id"]: (row["label"], row["who"]) for row in session.answers()}


def annotate(label: Any, who: Any = 1, at: int = 0, **more: Any) -> dict[str, Any]:
    """An annotation the way Label Studio stores it; without a label it is a skip."""
    value = {"choices": [label]} if isinstance(label, str) else {"number": label}
    kind = "choices" if isinstance(label, str) else "number"
    result = {"id": "Dx9", "from_name": CONTROL, "to_name": "text", "type": kind, "origin": "manual", "value": value}
    return {
        "id": 1000 + at, "completed_by": who, "result": [] if label is None else [result], "was_cancelled": label is None,
        "ground_truth": False, "created_at": f"2026-03-01T10:00:{at:02}.513742Z", "updated_at": f"2026-03-01T10:00:{at:02}.6Z",
        "lead_time": 4.2, "result_count": 0, **more,
    }  # fmt: skip


def store(id: object, *annotations: dict[str, Any], number: int = 77) -> dict[str, Any]:
    """A task the way Label Studio exports it."""
    data = {ID: str(id), "text": "x", "column_1": "https://example.org/1.jpg"}
    return {"id": number, "data": data, "annotations": list(annotations), "predictions": [], "drafts": [], "meta": {}}


def shorten(id: object, label: Any, who: Any = 1, at: int = 0) -> dict[str, Any]:
    """A line of JSON-MIN."""
    return {
        ID: str(id), "text": "x", "id": 77, CONTROL: label, "annotator": who, "annotation_id": 5,
        "created_at": f"2026-03-01T10:00:{at:02}Z", "updated_at": f"2026-03-01T10:00:{at:02}Z", "lead_time": 1.0,
    }  # fmt: skip


def save(path: Path, tasks: Any) -> Path:
    path.write_text(json.dumps(tasks), encoding="utf-8")
    return path


class TestTasks:
    def test_tasks_hold_the_id_what_there_is_to_see_and_no_prediction(
        self, type_in: Type, file: Path, db: Path, tmp_path: Path
    ) -> None:
        out, config = tmp_path / "tasks.json", tmp_path / "config.xml"
        typed = type_in("ask", file, "--session", db, "-n", 6, "--out", out, "--config", config)
        assert typed.code == 0, typed.err
        assert f"fewlabels import EXPORT.json --session {db}" in typed.out
        tasks = json.loads(out.read_text())
        assert [task["data"][ID] for task in tasks] == [str(i) for i in pending(db)]
        assert all(set(task) == {"data"} and set(task["data"]) == {ID, "text", "column_1"} for task in tasks)
        assert tasks[0]["data"]["text"].endswith(EVIL)  # as it is: Label Studio shows it as text
        view = Xml.fromstring(config.read_text())
        assert [tag.get("value") for tag in view.iter("Choice")] == ["cat", "dog", "emu"]
        assert [(tag.tag, tag.get("value")) for tag in view if tag.get("name")][:2] == [
            ("Text", "$text"),
            ("Image", "$column_1"),
        ]
        assert [tag.get("value") for tag in view.iter("Header")] == ["text", "photo of it"]

    def test_predictions_only_where_they_are_asked_for(
        self, type_in: Type, file: Path, db: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "tasks.json"
        words = ("ask", file, "--session", db, "-n", 6, "--out", out, "--show-prediction", "before")
        assert type_in(*words).code == 0
        frame = pd.read_parquet(file).set_index("id")
        for task in json.loads(out.read_text()):
            [guess] = task["predictions"]
            row = frame.loc[int(task["data"][ID])]
            assert guess["result"][0]["value"]["choices"] == [row["predicted"]]
            assert (guess["score"], guess["model_version"]) == (pytest.approx(row["score"]), "preds")

    def test_pending_items_go_out_without_the_predictions(self, type_in: Type, db: Path, tmp_path: Path) -> None:
        out = tmp_path / "tasks.json"
        assert type_in("export", "--session", db, "--pending", "--out", out).code == 0
        assert json.loads(out.read_text()) == [{"data": {ID: str(i)}} for i in pending(db)]
        typed = type_in("export", "--session", db, "--out", tmp_path / "answers.json")
        assert (typed.code, "answers are written as .csv or .jsonl" in typed.err) == (1, True)

    def test_options_of_tasks_need_tasks(self, type_in: Type, file: Path, db: Path, tmp_path: Path) -> None:
        for words in (("--config", tmp_path / "c.xml"), ("--show-prediction", "before", "--out", tmp_path / "a.csv")):
            assert "needs Label Studio tasks" in type_in("ask", file, "--session", db, *words).err
        typed = type_in("ask", "--session", db, "--out", tmp_path / "a.json", "--show-prediction", "before")
        assert "needs the predictions" in typed.err

    def test_nothing_of_worth_is_written_over(self, type_in: Type, file: Path, db: Path, tmp_path: Path) -> None:
        out, config = tmp_path / "tasks.json", tmp_path / "config.xml"
        words = ("ask", file, "--session", db, "--out", out, "--config", config)
        assert [type_in(*words).code for _ in range(2)] == [0, 0]
        config.write_text("<View/>")
        assert "exists with different content" in type_in(*words).err
        one, two, *_ = pending(db)
        save(out, [store(one, annotate("cat")), store(two, annotate(None))])
        assert "2 answers not in the session yet" in type_in(*words[:-2]).err
        for foreign in ([{"data": {"text": "x"}}], {"metric": "accuracy"}, [store(999)]):
            save(out, foreign)
            assert type_in(*words[:-2]).code == 1
            assert json.loads(out.read_text()) == foreign

    def test_what_a_config_cannot_hold_is_said(self) -> None:
        with pytest.raises(InputError, match="cannot hold"):
            LabelingForm.fit({}, ["a\x00b"])

    def test_columns_called_like_label_studios_keep_out_of_the_way(self) -> None:
        row = dict.fromkeys(("id", "label", ID, "annotator", "column_1", "a b", "ü", "text"), "x")
        form = LabelingForm.fit({7: row}, ["a"])
        data = form.to_task(7, row)["data"]
        assert data[ID] == "7"
        assert len(data) == 9
        assert not set(data) & {"id", "label", "annotator"}

    def test_only_addresses_of_images_are_shown_as_images(self) -> None:
        kinds = {
            "Image": ["https://a.org/x.PNG", "s3://b/x.jpg", "/data/upload/1/x.webp?y=1", "data:image/png;base64,AA"],
            "Text": ["x.png", "see https://a.org/x.png now", "https://a.org/x.html", "javascript:x.png", 3],
        }
        for kind, values in kinds.items():
            for value in values:
                assert LabelingForm.fit({1: {"a": value}, 2: {"a": None}}, ["x"]).fields[0].kind == kind, value
        assert LabelingForm.fit({1: {"a": None}}, ["x"]).fields[0].kind == "Text"


class TestImports:
    @pytest.mark.parametrize("short", [False, True], ids=["json", "json-min"])
    def test_answers_come_back_with_who_gave_them(self, type_in: Type, db: Path, tmp_path: Path, short: bool) -> None:
        a, b, c, d, *_ = pending(db)
        people = {a: 7, b: "kim@example.org", c: {"id": 9, "email": "lee@example.org", "first_name": "Lee"}}
        tasks = [shorten(i, "dog", who) if short else store(i, annotate("dog", who)) for i, who in people.items()]
        if not short:
            tasks.append(store(d, annotate(None, 7)))
        export = save(tmp_path / "export.json", tasks)
        typed = type_in("import", export, "--session", db)
        assert f"{len(tasks)} new answers, 0 changed, 0 unchanged" in typed.out, typed.err
        found = answers(db)
        assert [found[i] for i in (a, b, c)] == [
            ("dog", "user 7"),
            ("dog", "kim@example.org"),
            ("dog", "lee@example.org"),
        ]
        assert short or found[d] == (None, "user 7")
        n_events = count_events(db)
        assert f"0 new answers, 0 changed, {len(tasks)} unchanged" in type_in("import", export, "--session", db).out
        assert count_events(db) == n_events

    def test_the_last_word_counts_whoever_spoke_and_stays_the_last(
        self, type_in: Type, db: Path, tmp_path: Path
    ) -> None:
        a, b, c, d, *_ = pending(db)
        tasks = [
            store(a, annotate("dog", 2, at=9), annotate("cat", 1, at=3)),  # not in the order of time
            store(b, annotate("dog", 1, at=1), annotate("emu", 2, at=2), annotate(None, 3, at=8)),  # a skip is no word
            store(c, annotate("cat", 1, at=1), annotate("dog", 1, at=5)),  # one person, twice
            store(d, annotate("emu", 2, at=1)), store(d, annotate("cat", 1, at=5), number=78),  # two tasks
        ]  # fmt: skip
        export = save(tmp_path / "export.json", tasks)
        assert type_in("import", export, "--session", db).code == 0
        first = {a: ("dog", "user 2"), b: ("emu", "user 2"), c: ("dog", "user 1"), d: ("cat", "user 1")}
        assert answers(db) == first
        n_events = count_events(db)
        assert "0 new answers, 0 changed" in type_in("import", export, "--session", db).out
        assert (answers(db), count_events(db)) == (first, n_events)
        tasks[0]["annotations"].insert(0, annotate("emu", 3, at=5))  # an older word comes late
        assert "1 new answer, 0 changed" in type_in("import", save(export, tasks), "--session", db).out
        assert answers(db) == first
        tasks[0]["annotations"].append(annotate("cat", 3, at=20))
        assert "0 new answers, 1 changed" in type_in("import", save(export, tasks), "--session", db).out
        assert answers(db)[a] == ("cat", "user 3")

    def test_what_was_corrected_elsewhere_stays_corrected(self, type_in: Type, db: Path, tmp_path: Path) -> None:
        a, b, *_ = pending(db)
        export = save(tmp_path / "export.json", [store(a, annotate("dog", 1))])
        type_in("import", export, "--session", db)
        type_in("tell", "--session", db, f"{a}=emu", "--as", "kim")
        save(export, [store(a, annotate("dog", 1)), store(b, annotate("dog", 1))])
        assert "1 new answer, 0 changed, 1 unchanged" in type_in("import", export, "--session", db).out
        assert answers(db) == {a: ("emu", "kim"), b: ("dog", "user 1")}

    def test_what_is_not_ours_is_counted_and_left_out(self, type_in: Type, db: Path, tmp_path: Path) -> None:
        a, b, c, *_ = pending(db)
        empty = annotate("cat") | {"result": []}
        beside = annotate("cat")
        beside["result"].insert(0, {"from_name": "why", "type": "textarea", "value": {"text": ["dark"]}})
        beside["result"].insert(0, {"from_name": "mood", "type": "choices", "value": {"choices": ["good", "bad"]}})
        tasks = [
            store(a, beside), store(b, empty), store(c), store("x9", annotate("cat")), store("x9", annotate("yak")),
            {"id": 1, "data": {"text": "theirs"}, "annotations": [annotate("yak")]}, {"id": 2, "text": "theirs", "mood": "good"},
        ]  # fmt: skip
        said = type_in("import", save(tmp_path / "e.json", tasks), "--session", db).out
        assert "1 new answer, 0 changed, 0 unchanged" in said
        assert "2 items without an answer: left out" in said
        assert "1 task left out: no item that could be asked about is called 'x9'" in said
        assert "2 tasks of other projects: left out" in said
        assert answers(db) == {a: ("cat", "user 1")}

    def test_a_control_of_another_name_will_do(self, db: Path, tmp_path: Path) -> None:
        renamed = annotate("cat")
        renamed["result"][0]["from_name"] = "kind"
        assert read_export(str(save(tmp_path / "e.json", [store(1, renamed)]))).rows[0].label == "cat"

    @pytest.mark.parametrize(
        ("tasks", "says"),
        [
            ([("a", "cat"), ("b", "giraffe")], "task 2, item '{b}': 'giraffe' is no class"),
            ([("a", "cat"), ("b", ["cat", "dog"])], "task 2, item '{b}': 2 choices, 'cat', 'dog'"),
            ({"a": 1}, "a list of objects"),
            ([1], "a list of objects"),
            ("{", "line 1: not JSON"),
            ("[" * 100_000, "nested too deeply"),
            ([{"data": {ID: "999"}, "annotations": []}], "no task in it is an item of this session"),
            ([{"data": {ID: 1}, "annotations": [12, 13]}], "its annotations are not there in full"),
            ([{"data": {ID: 1}, "annotations": [{"result": "cat"}]}], "its result is no list of objects"),
            ([{"data": {ID: 1}, "annotations": [{"result": [{"type": "choices"}]}]}], "without choices"),
            (
                [{"data": {ID: 1}, "annotations": [{"result": [
                    {"type": "choices", "from_name": n, "value": {"choices": ["cat"]}} for n in "ab"]}]}],
                "answers in a, b; call the one that is meant label",
            ),
            ([{ID: 1, "label": {"choices": [["cat"]]}}], "neither a class nor a number"),
        ],
    )  # fmt: skip
    def test_a_bad_export_is_refused_whole(
        self, type_in: Type, db: Path, tmp_path: Path, tasks: Any, says: str
    ) -> None:
        names = dict(zip("ab", pending(db), strict=False))
        if isinstance(tasks, list) and tasks and isinstance(tasks[0], tuple):
            for short in (False, True):
                made = [make(names[n], label, short) for n, label in tasks]
                check_refused(type_in, db, save(tmp_path / "e.json", made), says.format(**names))
        else:
            export = tmp_path / "e.json"
            export.write_text(tasks if isinstance(tasks, str) else json.dumps(tasks))
            check_refused(type_in, db, export, says)

    def test_new_classes_and_a_word_for_cannot_tell(self, type_in: Type, db: Path, tmp_path: Path) -> None:
        a, b, *_ = pending(db)
        export = save(tmp_path / "e.json", [store(a, annotate("yak")), store(b, annotate("unclear"))])
        words = ("import", export, "--session", db, "--cannot-tell", "unclear", "--as", "kim")
        assert type_in(*words).code == 1
        assert type_in(*words, "--new-classes").code == 0
        assert answers(db) == {a: ("yak", "user 1"), b: (None, "user 1")}

    def test_who_where_the_file_does_not_say(self, type_in: Type, db: Path, tmp_path: Path) -> None:
        a, *_ = pending(db)
        export = save(tmp_path / "e.json", [store(a, annotate("cat", None))])
        type_in("import", export, "--session", db, "--as", "kim")
        assert answers(db) == {a: ("cat", "kim")}
        assert [name_annotator(who) for who in ({}, None, "None", True, {"username": "kim"}, {"id": 3}, [])] == [
            "", "", "", "", "kim", "user 3", "",
        ]  # fmt: skip

    def test_the_csv_of_label_studio_is_not_taken_for_ours(self, type_in: Type, db: Path, tmp_path: Path) -> None:
        (tmp_path / "e.csv").write_text(f"annotation_id,annotator,{ID},id,label\n1,1,{pending(db)[0]},3,cat\n")
        typed = type_in("import", tmp_path / "e.csv", "--session", db)
        assert (typed.code, "is Label Studio's CSV" in typed.err, answers(db)) == (1, True, {})

    def test_an_import_does_not_wait_for_its_own_transaction(
        self, type_in: Type, db: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(log, "CLOSE_TIMEOUT", LONG)  # how long closing the file waits for another writer
        export = save(tmp_path / "e.json", [store(pending(db)[0], annotate("cat"))])
        began = time.monotonic()
        assert type_in("import", export, "--session", db).code == 0
        assert time.monotonic() - began < LONG

    @pytest.mark.parametrize("short", [False, True])
    def test_grades(self, type_in: Type, tmp_path: Path, short: bool) -> None:
        pool, db, out, config = (tmp_path / name for name in ("g.parquet", "g.db", "t.json", "c.xml"))
        frame = pd.DataFrame({"id": range(6), "predicted": "t", "agreement": pd.array([None] * 6, dtype="Float64")})
        frame.to_parquet(pool)
        words = ("ask", pool, "--session", db, "--by", "all", "--out", out)
        assert type_in(*words, "--config", config).code == 0
        assert Xml.fromstring(config.read_text()).find("Number").attrib["max"] == "1"
        a, b, *_ = pending(db)
        tasks = [shorten(a, [{"number": 0.25}]) if short else store(a, annotate(0.25)), store(b, annotate(3))]
        check_refused(type_in, db, save(tmp_path / "e.json", tasks), "'3' is no grade")
        assert type_in("import", save(tmp_path / "e.json", tasks[:1]), "--session", db).code == 0
        assert answers(db) == {a: ("0.25", "user 1")}
        assert "no predicted classes" in type_in(*words, "--show-prediction", "before").err


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        (("0", "1"), ["0", "1"]), (("cat", "dog"), ["1", "2"]), (("1", "10", "2"), ["1", "a", "2"]),
        (("a", "A", "b"), [None, None, "b"]), (("+", "B"), [None, "b"]),
    ],
)  # fmt: skip
def test_choices_have_the_keys_of_our_page(classes: tuple[str, ...], keys: list[str | None]) -> None:
    """By itself, Label Studio gives the first class the key 1, though it be called 0."""
    view = Xml.fromstring(LabelingForm.fit({}, classes).render_config())
    assert [tag.get("hotkey") for tag in view.iter("Choice")] == keys


def make(id: object, label: Any, short: bool) -> dict[str, Any]:
    if short:
        return shorten(id, {"choices": label} if isinstance(label, list) else label)
    made = annotate("x")
    made["result"][0]["value"]["choices"] = label if isinstance(label, list) else [label]
    return store(id, made)


def check_refused(type_in: Type, db: Path, export: Path, says: str) -> None:
    n_events = count_events(db)
    typed = type_in("import", export, "--session", db)
    assert (typed.code, len(typed.err.splitlines())) == (1, 1)
    assert str(export) in typed.err
    assert says in typed.err
    assert count_events(db) == n_events


def count_events(db: Path) -> int:
    journal = SqliteJournal.open(db, read_only=True)
    try:
        return len(journal.read())
    finally:
        journal.close()


IDS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=12).filter(str.strip),
    st.builds(add, st.sampled_from(["", "0", "000"]), st.text("0123456789", min_size=1, max_size=20)),
    st.builds('{},{};"{}"'.format, *2 * [st.sampled_from(ascii_lowercase)], st.integers(0, 9)),
)  # fmt: skip
NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Co", "Cn"]), min_size=1, max_size=8).filter(
    lambda name: name.strip() == name and name != "?"
)


@given(st.lists(IDS, min_size=1, max_size=8, unique=True), st.lists(NAMES, min_size=1, max_size=4, unique=True))
@settings(max_examples=25, deadline=None)
def test_every_id_and_class_survives_the_round_trip(
    tmp_path_factory: pytest.TempPathFactory, ids: list[str], classes: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("round")
    predicted = [classes[i % len(classes)] for i in range(len(ids))]
    pool = pd.DataFrame({"id": pd.Series(ids, dtype="str"), "predicted": pd.Series(predicted, dtype="str")})
    db = folder / "s.db"
    with fl.Session.create(db, pool, goal=fl.Estimate(), prior=fl.flat()) as session:
        asked = session.ask(len(ids))
        form = LabelingForm.fit({i: {} for i in asked}, session.classes)
        tasks = json.loads(render_tasks(form, {i: {} for i in asked}))
        offered = [tag.get("value") for tag in Xml.fromstring(form.render_config()).iter("Choice")]
        assert offered == list(session.classes)
        truth = {str(i): offered[n % len(offered)] for n, i in enumerate(asked)}
        done = [{"id": n, **task, "annotations": [annotate(truth[task["data"][ID]])]} for n, task in enumerate(tasks)]
        export = save(folder / "e.json", done)
        taken = import_file(session, str(db), str(export), ImportSettings())
        assert (taken.n_new, taken.notes) == (len(ids), ())
        assert {str(row["id"]): row["label"] for row in session.answers()} == truth
        assert import_file(session, str(db), str(export), ImportSettings()).n_unchanged == len(ids)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of its own use of pydantic
class TestAgainstTheSdk:
    """What the SDK of Label Studio says of our tasks, and what we make of its own."""

    @pytest.fixture(autouse=True)
    def sdk(self) -> None:
        pytest.importorskip("label_studio_sdk", reason="pip install label-studio-sdk: some 280 MB, so not by default")

    @pytest.fixture
    def form(self) -> LabelingForm:
        row = {"text": EVIL, "photo of it": "https://example.org/1.jpg", "id": 3, "empty": None}
        return LabelingForm.fit({1: row}, ["cat", EVIL, "a\nb", "ü", *map(str, range(40))])

    def test_it_accepts_our_config_tasks_and_predictions(self, form: LabelingForm) -> None:
        from label_studio_sdk.label_interface import LabelInterface  # noqa: PLC0415
        from label_studio_sdk.label_interface.objects import TaskValue  # noqa: PLC0415

        interface = LabelInterface(form.render_config())
        interface.validate()
        assert list(interface.get_control(CONTROL).labels) == list(form.classes)
        row = {field.column: "https://example.org/1.jpg" for field in form.fields} | {"empty": None}
        for label in form.classes[:4]:
            task = form.to_task("007", row, ModelPrediction(label, 0.7, "mine"))
            TaskValue(**task)
            assert interface.validate_task({"data": task["data"]})  # with predictions this method of theirs fails
            assert interface.validate_prediction(task["predictions"][0], return_errors=True) == []
        wrong = form.to_task("007", row, ModelPrediction("giraffe", 0.7, "mine"))["predictions"][0]
        assert interface.validate_prediction(wrong, return_errors=True)  # it does look

    def test_it_accepts_our_grades(self) -> None:
        from label_studio_sdk.label_interface import LabelInterface  # noqa: PLC0415

        form = LabelingForm.fit({1: {"text": "x"}}, [])
        interface = LabelInterface(form.render_config())
        interface.validate()
        result = annotate(0.25)["result"][0]
        assert interface.validate_prediction({"result": [result]}, return_errors=True) == []

    def test_annotations_of_its_own_making_come_back(self, type_in: Type, file: Path, db: Path, tmp_path: Path) -> None:
        from label_studio_sdk.converter import Converter  # noqa: PLC0415
        from label_studio_sdk.label_interface import LabelInterface  # noqa: PLC0415

        out, config = tmp_path / "tasks.json", tmp_path / "config.xml"
        type_in("ask", file, "--session", db, "-n", 6, "--out", out, "--config", config)
        interface = LabelInterface(config.read_text())
        tasks, truth = json.loads(out.read_text()), {}
        for number, task in enumerate(tasks):
            annotation = interface.generate_sample_annotation()
            assert interface.validate_annotation(annotation)
            truth[int(task["data"][ID])] = annotation["result"][0]["value"]["choices"][0]
            stored = annotate("x", 7) | {"result": annotation["result"]}
            task |= {"id": 100 + number, "annotations": [stored]}
        tasks[5]["annotations"] = [annotate(None, 7)]
        full = save(tmp_path / "full.json", tasks)
        folder = tmp_path / "min"
        Converter(config.read_text(), str(tmp_path), download_resources=False).convert_to_json_min(
            str(full), str(folder), is_dir=False
        )
        short = folder / "result.json"
        skipped = int(tasks[5]["data"][ID])
        assert "5 new answers" in type_in("import", short, "--session", db).out  # JSON-MIN leaves skips out
        assert answers(db) == {i: (label, "user 7") for i, label in truth.items() if i != skipped}
        assert "1 new answer, 0 changed, 5 unchanged" in type_in("import", full, "--session", db).out
        assert answers(db)[skipped] == (None, "user 7")

    def test_its_models_of_stored_annotations_come_back(self, db: Path, tmp_path: Path) -> None:
        from label_studio_sdk.types import Annotation, Prediction  # noqa: PLC0415

        made = annotate("cat", 7)
        kept = json.loads(Annotation(**made).model_dump_json())
        rows = read_export(str(save(tmp_path / "e.json", [store(1, kept)]))).rows
        assert [(line.id, line.label, line.who) for line in rows] == [("1", "cat", "user 7")]
        guess = LabelingForm.fit({1: {"text": "x"}}, ["cat"]).to_task(
            1, {"text": "x"}, ModelPrediction("cat", 0.7, "m")
        )["predictions"][0]
        assert Prediction(task=1, **guess).result == guess["result"]
