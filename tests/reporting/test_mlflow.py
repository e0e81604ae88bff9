"""A real MLflow store in a folder holds what the assessment says."""

import json
from pathlib import Path

import pytest

import fewlabels as fl
from fewlabels.analyses.assessment import Assessment

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of runs in a folder of its own."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    mlflow.set_experiment("audit")
    return tmp_path


def assess(predicted: list[str]) -> Assessment:
    return fl.assess({"predicted": predicted, "label": [*predicted[:-1], "other"]}, prior=fl.flat())


def test_a_run_holds_numbers_with_intervals_choices_and_the_report(store: Path) -> None:
    a = assess(["cat", "cat", "dog", "dog"])
    run = mlflow.get_run(fl.log_assessment(a))
    assert run.info.status == "FINISHED"
    logged = {
        "accuracy": a.overall,
        "accuracy by predicted/cat": a.row("cat"),
        "accuracy by predicted/dog": a.row("dog"),
    }
    assert run.data.metrics == {
        name + end: getattr(row, part)
        for name, row in logged.items()
        for end, part in (("", "mean"), (".low", "low"), (".high", "high"))
    }
    assert run.data.params["accuracy.by"] == "predicted"
    assert run.data.params["accuracy.n_labels"] == "4"
    kept = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, dst_path=str(store / "kept"))
    place = Path(kept) / "fewlabels" / "accuracy"
    assert json.loads((place / "assessment.json").read_text()) == json.loads(a.to_json())
    assert "<html" in (place / "report.html").read_text()


def test_it_joins_the_active_run_and_a_second_one_has_its_own_name(store: Path) -> None:
    a = assess(["cat", "cat", "dog"])
    with mlflow.start_run() as run:
        assert fl.log_assessment(a) == run.info.run_id
        assert fl.log_assessment(a.merged(fl.accuracy), name="accuracy of all") == run.info.run_id
        assert mlflow.active_run() is not None
    found = mlflow.get_run(run.info.run_id).data
    assert {"accuracy by predicted/cat.low", "accuracy of all.low"} <= set(found.metrics)
    assert (found.params["accuracy.by"], found.params["accuracy of all.by"]) == ("predicted", "all")


def test_any_name_of_a_group_can_be_logged(store: Path) -> None:
    names = ["a/b", "a|b", "..", "", "x" * 400, "名", "<b>", "a_b"]
    a = assess([*names, "z"])
    found = mlflow.get_run(fl.log_assessment(a)).data.metrics
    assert len(found) == 3 * (len(a.groups) + 1)
    assert {f"accuracy by predicted/{name}" for name in ("a_b", "a_b 2", "a_b 3", "名", "z")} <= set(found)


def test_a_run_that_fails_is_not_left_open(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mlflow, "log_params", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        fl.log_assessment(assess(["cat", "dog"]))
    assert mlflow.active_run() is None


def test_without_mlflow_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("fewlabels.reporting.mlflow.import_module", refuse)
    with pytest.raises(fl.InputError, match=r"pip install 'fewlabels\[mlflow\]'"):
        fl.log_assessment(assess(["cat", "dog"]))
