"""Evaluation logs of language models, written here line by line as the harnesses write them."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import Typed

import fewlabels as fl

Type = Callable[..., Typed]


def choose(doc_id: int, likelihoods: list[float], target: Any, right: float, **more: Any) -> dict[str, Any]:
    """A sample of lm-evaluation-harness with choices A to D: log-likelihoods are logged as text."""
    return {
        "doc_id": doc_id,
        "doc": {"question": f"q{doc_id}", "subject": "anatomy" if doc_id % 2 else "virology", "choices": ["w", "x"]},
        "target": str(target),
        "arguments": {
            f"gen_args_{i}": {"arg_0": f"q{doc_id}\nAnswer:", "arg_1": f" {name}"} for i, name in enumerate("ABCD")
        },
        "resps": [[[str(x), "False"]] for x in likelihoods],
        "filtered_resps": [[str(x), "False"] for x in likelihoods],
        "filter": "none",
        "metrics": ["acc"],
        "doc_hash": "0",
        "prompt_hash": "1",
        "target_hash": "2",
        "acc": right,
    } | more


def generate(doc_id: int, said: str, right: Any, filter: str = "strict-match") -> dict[str, Any]:
    """A sample of lm-evaluation-harness whose answer was generated."""
    return {
        "doc_id": doc_id,
        "doc": {"question": "6 times 7?", "answer": "#### 42", "label": 3, "level": doc_id % 2},
        "target": "42",
        "arguments": {"gen_args_0": {"arg_0": "6 times 7?", "arg_1": {"until": ["\n"]}}},
        "resps": [[f"it is {said}"]],
        "filtered_resps": [said],
        "filter": filter,
        "metrics": ["exact_match"],
        "exact_match": right,
    }


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


CHOSEN = [
    choose(0, [-1.0, -2.0, -3.0, -4.0], 0, 1.0),
    choose(1, [-1.0, -0.5, -3.0, -4.0], 2, 0.0),
    choose(2, [-9.0, -8.0, -7.0, -0.1], 3, 1.0),
]


class TestHarness:
    def test_choices_are_classes_with_probabilities(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "samples_mmlu_anatomy_2026-01-02T03-04-05.678.jsonl", CHOSEN)
        pool = fl.Predictions.read(path)
        assert (pool.n_items, pool.n_labels, pool.classes) == (3, 3, ("A", "B", "C", "D"))
        found = pool.fetch_columns(
            {"id": pool.id, "predicted": pool.predicted, "label": pool.label, "score": pool.score}
        )
        assert found["id"] == [f"mmlu_anatomy/{i}" for i in range(3)]
        assert (found["predicted"], found["label"]) == (["A", "B", "D"], ["A", "C", "D"])
        softmax = np.exp([-1.0, -2.0, -3.0, -4.0]) / np.exp([-1.0, -2.0, -3.0, -4.0]).sum()
        assert found["score"][0] == pytest.approx(softmax[0])
        assert [pool.fetch_columns({"p": p})["p"][0] for p in pool.probabilities] == pytest.approx(list(softmax))
        assert {"task", "subject", "acc", "question"} <= set(pool.attributes)
        assert not pool.notes

    def test_choices_that_differ_go_by_their_number_and_the_target_may_be_text(self, tmp_path: Path) -> None:
        rows = [
            choose(0, [-1.0, -2.0], "two", 0.0, arguments=[["q", " one"], ["q", " two"]]),
            choose(1, [-3.0, -2.0, -5.0], "1", 1.0, arguments=[["q", " x"], ["q", " y"], ["q", " z"]]),
        ]
        pool = fl.Predictions.read(write_lines(tmp_path / "samples_arc.jsonl", rows))
        found = pool.fetch_columns({"predicted": pool.predicted, "label": pool.label, "score": pool.score})
        assert (found["predicted"], found["label"]) == (["0", "1"], ["1", "1"])
        assert found["score"] == pytest.approx([1 / (1 + np.exp(-1)), 1 / (1 + np.exp(-1) + np.exp(-3))])

    def test_an_answer_more_than_there_are_choices_lets_all_go_by_number(self, tmp_path: Path) -> None:
        rows = [*CHOSEN, choose(3, [-9.0, -8.0, -7.0, -6.0, -1.0], 4, 1.0)]
        pool = fl.Predictions.read(write_lines(tmp_path / "samples_x.jsonl", rows))
        assert pool.fetch_columns({"predicted": pool.predicted})["predicted"] == ["0", "1", "3", "4"]

    def test_the_harness_has_the_last_word(self, tmp_path: Path) -> None:
        """Several answers may be right: then being right is not being equal, and the verdict is the agreement."""
        rows = [*CHOSEN, choose(3, [-1.0, -2.0, -3.0, -4.0], "[0, 1]", 1.0)]
        pool = fl.Predictions.read(write_lines(tmp_path / "samples_x.jsonl", rows))
        assert pool.fetch_columns({"right": pool.outcome()})["right"] == [1.0, 0.0, 1.0, 1.0]
        assert pool.notes == ("graded by the harness's own acc",)

    def test_mutual_information_asks_twice(self, tmp_path: Path) -> None:
        row = choose(0, [-1.0, -2.0, -0.1, -0.2], 0, 1.0, acc_mutual_info=0.0, metrics=["acc", "acc_mutual_info"])
        assert fl.Predictions.read(write_lines(tmp_path / "samples_x.jsonl", [row])).classes == ("A", "B")

    @pytest.mark.parametrize("name", ["samples_gsm8k_2026-01-02T03-04-05.6.jsonl", "gsm8k.jsonl.gz"])
    def test_what_was_generated_is_graded_once_per_question(self, tmp_path: Path, name: str) -> None:
        rows = [generate(i, said, right) for i, (said, right) in enumerate([("42", 1.0), ("41", 0.0), ("", None)])]
        rows += [generate(i, "42", 1.0, filter="flexible-extract") for i in range(3)]
        pool = fl.Predictions.read(write_lines(tmp_path / name, rows))
        assert (pool.n_items, pool.n_labels) == (3, 2)
        assert pool.fetch_columns({"said": pool.predicted, "right": pool.outcome(), "id": pool.id}) == {
            "said": ["42", "41", ""],
            "right": [1.0, 0.0, None],
            "id": ["gsm8k/0", "gsm8k/1", "gsm8k/2"],
        }
        assert pool.notes[0] == "answers as filter strict-match read them; 3 lines of others left out"
        assert "doc_label" in pool.attributes  # a field of the question is not the truth about the answer

    def test_tasks_of_a_glob_can_be_told_apart(self, tmp_path: Path, type_in: Type) -> None:
        for task in ("mmlu_a", "mmlu_b"):
            write_lines(tmp_path / f"samples_{task}_2026-01-02T03-04-05.6.jsonl", CHOSEN)
        found = json.loads(type_in("assess", tmp_path / "samples_*.jsonl", "--by", "task", "--json", "-").out)
        assert [(row["group"], row["n_labels"]) for row in found["groups"]] == [("mmlu_a", 3), ("mmlu_b", 3)]

    def test_tasks_of_different_kinds_are_all_graded_each_by_its_own_metric(self, tmp_path: Path) -> None:
        write_lines(tmp_path / "samples_a.jsonl", CHOSEN)
        write_lines(tmp_path / "samples_b.jsonl", [generate(0, "42", 1.0), generate(1, "41", 0.0)])
        pool = fl.Predictions.read(tmp_path / "samples_*.jsonl")
        assert pool.fetch_columns({"right": pool.outcome()})["right"] == [1.0, 0.0, 1.0, 1.0, 0.0]
        assert pool.notes == ("graded by the harness's own acc, exact_match",)

    def test_two_models_on_one_task_have_ids_of_their_own(self, tmp_path: Path) -> None:
        for model in ("one", "two"):
            (tmp_path / model).mkdir()
            write_lines(tmp_path / model / "samples_x.jsonl", CHOSEN)
        pool = fl.Predictions.read(tmp_path / "*" / "samples_x.jsonl")
        assert len(set(pool.fetch_columns({"id": pool.id})["id"])) == 6

    def test_a_log_without_a_verdict_says_so(self, tmp_path: Path, type_in: Type) -> None:
        row = generate(0, "42", None) | {"metrics": ["word_perplexity"], "word_perplexity": [-3.0, 7]}
        typed = type_in("assess", write_lines(tmp_path / "samples_wiki.jsonl", [row]))
        assert typed.code == 1
        assert "nothing to assess" in typed.err
        assert "word_perplexity" in typed.err

    def test_a_log_cut_short_says_where(self, tmp_path: Path, type_in: Type) -> None:
        path = write_lines(tmp_path / "samples_x.jsonl", CHOSEN)
        path.write_text(path.read_text()[:-30])
        assert "line 3: not JSON" in type_in("assess", path).err

    def test_other_json_lines_are_read_as_ever(self, tmp_path: Path) -> None:
        path = write_lines(tmp_path / "p.jsonl", [{"id": 1, "predicted": "a", "label": "a"}])
        assert fl.Predictions.read(path).classes == ("a",)


def ask(id: str, answer: str | None, value: Any, target: Any = "A", epoch: int = 1, **more: Any) -> dict[str, Any]:
    """A sample of Inspect."""
    return {
        "id": id, "epoch": epoch, "input": [{"role": "user", "content": f"question {id}"}], "target": target,
        "messages": [], "metadata": {"subject": "law", "tags": ["x"]},
        "output": {"model": "m", "choices": [{"message": {"role": "assistant", "content": [{"type": "text", "text": f"ANSWER: {answer}"}]}, "stop_reason": "stop"}]},
        "scores": {"choice": {"value": value, "answer": answer, "explanation": "because"}},
    } | more  # fmt: skip


def header(status: str = "success") -> dict[str, Any]:
    return {"version": 2, "status": status, "eval": {"task": "mmlu", "model": "mockllm/model"}, "plan": {}}


def write_log(path: Path, samples: list[dict[str, Any]], status: str = "success") -> Path:
    """Write a log in the format its ending tells."""
    if path.suffix == ".json":
        path.write_text(json.dumps(header(status) | {"samples": samples}, indent=2))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("_journal/start.json", json.dumps({"version": 2, "eval": header()["eval"]}))
        for sample in samples:
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("summaries.json", "[]")
        archive.writestr("header.json", json.dumps(header(status)))
    return path


def press(path: Path) -> Path:
    """Compress a log's members with Zstandard, which zipfile cannot write: store them so, and change what headers say."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, pa.compress(content, "zstd", asbytes=True))
    raw = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        start = raw.find(mark)
        while start >= 0:
            raw[start + at : start + at + 2] = (93).to_bytes(2, "little")
            start = raw.find(mark, start + 4)
    path.write_bytes(raw)
    return path


OPTIONS = {"choices": ["right", "wrong"]}


class TestInspect:
    @pytest.mark.parametrize("kind", ["json", "eval", "eval with zstandard"])
    def test_choices_are_classes(self, tmp_path: Path, kind: str) -> None:
        samples = [ask("q1", "A", "C", **OPTIONS), ask("q2", "B", "I", **OPTIONS), ask("q3", None, "I", **OPTIONS)]
        path = write_log(tmp_path / f"log.{kind.split(maxsplit=1)[0]}", samples)
        pool = fl.Predictions.read(press(path) if "zstandard" in kind else path)
        found = pool.fetch_columns({"id": pool.id, "predicted": pool.predicted, "label": pool.label})
        assert found == {
            "id": ["mmlu/q1", "mmlu/q2", "mmlu/q3"], "predicted": ["A", "B", "(no answer)"], "label": ["A", "A", "A"],
        }  # fmt: skip
        assert {"task", "model", "subject", "input"} <= set(pool.attributes)
        assert "tags" not in pool.attributes

    def test_other_answers_are_graded_as_the_scorer_graded_them(self, tmp_path: Path) -> None:
        values = ["C", "I", "P", "N", 0.25, True, float("nan"), "0.75", "yes"]
        samples = [ask(f"q{i}", None, value, target="free text") for i, value in enumerate(values)]
        pool = fl.Predictions.read(write_log(tmp_path / "log.json", samples))
        found = pool.fetch_columns({"right": pool.outcome(), "said": pool.predicted})
        assert found["right"] == [1.0, 0.0, 0.5, 0.0, 0.25, 1.0, None, 0.75, 1.0]
        assert found["said"][0] == "ANSWER: None"

    def test_epochs_of_a_question_are_one_item(self, tmp_path: Path) -> None:
        samples = [
            ask(q, "A", value, epoch=e, **OPTIONS) for q, e, value in [("q1", 1, "C"), ("q1", 2, "I"), ("q2", 1, "C")]
        ]
        pool = fl.Predictions.read(write_log(tmp_path / "log.eval", samples))
        assert pool.fetch_columns({"id": pool.id, "right": pool.outcome()}) == {
            "id": ["mmlu/q1", "mmlu/q2"],
            "right": [0.5, 1.0],
        }
        assert "graded by the mean" in pool.notes[0]

    def test_a_sample_that_failed_is_not_judged(self, tmp_path: Path) -> None:
        failed = ask("q2", None, "C", **OPTIONS) | {"scores": None, "error": {"message": "timeout"}}
        pool = fl.Predictions.read(write_log(tmp_path / "log.json", [ask("q1", "A", "C", **OPTIONS), failed]))
        assert (pool.n_items, pool.n_labels) == (2, 1)

    @pytest.mark.parametrize("name", ["log.json", "log.eval"])
    def test_a_log_with_nothing_to_assess_says_so(self, tmp_path: Path, type_in: Type, name: str) -> None:
        typed = type_in("assess", write_log(tmp_path / name, [], status="error"))
        assert typed.code == 1
        assert "holds no samples (status: error)" in typed.err
        unscored = [ask("q1", "A", "C") | {"scores": None}]
        assert "score it first" in type_in("assess", write_log(tmp_path / name, unscored)).err

    def test_an_archive_that_unpacks_to_too_much_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("FEWLABELS_MAX_UNPACKED", "100")
        with pytest.raises(fl.InputError, match=r"log.eval: .* unpack to more than 0.0 MB, too much to be loaded"):
            fl.Predictions.read(write_log(tmp_path / "log.eval", [ask("q1", "A", "C", **OPTIONS)]))

    def test_a_broken_archive_gets_one_message(self, tmp_path: Path, type_in: Type) -> None:
        (tmp_path / "log.eval").write_bytes(b"PK not really")
        typed = type_in("assess", tmp_path / "log.eval")
        assert (typed.code, len(typed.err.splitlines())) == (1, 1)
        assert "cannot be read as a log of Inspect" in typed.err


def test_kinds_of_logs_are_not_mixed(tmp_path: Path, type_in: Type) -> None:
    write_lines(tmp_path / "a.jsonl", CHOSEN)
    write_lines(tmp_path / "b.jsonl", [{"id": 1, "predicted": "a"}])
    typed = type_in("assess", tmp_path / "*.jsonl")
    assert typed.code == 1
    assert "is a log of lm-evaluation-harness" in typed.err


def test_a_log_is_assessed_without_a_word_about_columns(tmp_path: Path, type_in: Type) -> None:
    path = write_lines(tmp_path / "samples_gsm8k.jsonl", [generate(i, str(i), float(i < 30)) for i in range(40)])
    typed = type_in("assess", path)
    assert typed.code == 0, typed.err
    assert "40 items, 40 labelled" in typed.out
    assert len(typed.out.splitlines()) == 2  # outputs are no classes: the whole is one group
    assert "graded by the harness's own exact_match" in typed.err
    assert "samples_gsm8k.jsonl --by level" in type_in("doctor", path).out


def test_outputs_without_an_answer_are_a_group_of_their_own(tmp_path: Path, type_in: Type) -> None:
    rows = [generate(0, "42", 1.0), generate(1, "41", 0.0), generate(2, "42", 1.0) | {"filtered_resps": []}]
    path = write_lines(tmp_path / "samples_x.jsonl", rows)
    found = json.loads(type_in("assess", path, "--by", "predicted", "--prior", "flat", "--json", "-").out)
    assert [row["group"] for row in found["groups"]] == ["41", "42", "(missing)"]


def test_doctor_does_not_propose_to_group_by_the_result(tmp_path: Path) -> None:
    rows = [generate(i, str(40 + i % 3), float(i % 3 == 2)) for i in range(40)]
    for i, row in enumerate(rows):
        row["doc"] = {"question": f"Question {i}", "copy": bool(i % 3 == 2), "level": i % 4}
        row["target"] = str(i % 4)
    found = fl.diagnose(write_lines(tmp_path / "samples_gsm8k.jsonl", rows))
    assert set(found.attributes) == {"level"}
    assert any("--by level" in line for line in found.next)


def test_doctor_does_not_propose_to_group_by_the_true_choice(tmp_path: Path) -> None:
    rows = [
        choose(i, [-1.0, -2.0 + i % 2 * 1.5, -3.0, -4.0], i % 3 % 2, float((i % 2) == (i % 3 % 2))) for i in range(40)
    ]
    found = fl.diagnose(write_lines(tmp_path / "samples_mmlu.jsonl", rows))
    assert set(found.attributes) == {"subject"}
