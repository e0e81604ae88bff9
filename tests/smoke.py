"""A short run of everything that other packages take part in: verbs, frames, plots, the page, and each extra.

It needs nothing but fewlabels and the extra that is named, so that `versions` can run it in environments of its own:
python tests/smoke.py base
"""

import json
import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

import fewlabels as fl
from fewlabels.reporting.plots.assessment import KINDS
from fewlabels.reporting.plots.fairness import plot_gap_densities, plot_gaps, plot_group_curves
from fewlabels.reporting.plots.figure import render_svg
from fewlabels.reporting.plots.surface import SURFACE_KINDS
from fewlabels.web.client import Client

SECONDS = 300  # for one command
ASSESSED = ("--json", "out.json", "--html", "out.html", "--markdown", "out.md")
GOAL = ("--goal", "find-worst", "--prior", "flat")
FILES = ("pool.parquet", "pool.csv", "pool.csv.gz", "pool.jsonl", "pool.arrow")
VERBS: dict[str, tuple[str, ...]] = {
    **{f"doctor {name}": ("doctor", name) for name in FILES},
    "assess": ("assess", "pool.parquet", *ASSESSED),
    "assess confusion": ("assess", "pool.parquet", "--metric", "confusion", *ASSESSED),
    "assess ece": ("assess", "pool.parquet", "--by", "bins", "--metric", "ece", *ASSESSED),
    "compare": ("compare", "pool.parquet", "--by", "sex", "--groups", "f,m", *ASSESSED),
    "fairness": ("fairness", "pool.parquet", "--positive-score", "chance", "--label", "y", "--by", "sex", *ASSESSED),
    "surface": ("surface", "pool.parquet", "--attributes", "sex,age", "--save", "kept.surface", *ASSESSED),
    "surface again": ("surface", "kept.surface", "--ask", "sex=f"),
    "rate": ("rate", "pool.parquet", "--grade", "y", "--judge", "chance", "--by", "sex", *ASSESSED),
    "plan": ("plan", "pool.parquet", "--target-width", "0.3", "--runs", "2"),
    "ask": ("ask", "pool.parquet", "--hide-labels", "--session", "s.db", *GOAL, "--out", "sheet.csv"),
    "status": ("status", "--session", "s.db"),
    "export": ("export", "--session", "s.db", "--pending", "--out", "tasks.json"),
    "watch": ("watch", "arriving", "--session", "s.db", "--once"),
}  # fmt: skip


def make_files(folder: Path) -> pd.DataFrame:
    """Write predictions in every format, most of them without a label; return them."""
    rng, n = np.random.default_rng(0), 400
    truth, chance = rng.choice(list("abc"), n), rng.uniform(0.01, 0.99, n)
    frame = pd.DataFrame({
        "id": range(n), "predicted": np.where(rng.random(n) < 0.8, truth, rng.choice(list("abc"), n)),
        "score": rng.uniform(0.4, 1, n).round(3), "label": truth, "sex": rng.choice(["f", "m"], n), "age": rng.choice([10, 30, 50], n),
        "chance": chance.round(3), "y": (rng.random(n) < chance).astype(int),
    })  # fmt: skip
    frame.to_parquet(folder / "full.parquet")
    frame.loc[rng.random(n) < 0.6, ["label", "y"]] = None
    frame.to_parquet(folder / "pool.parquet")
    frame.to_csv(folder / "pool.csv", index=False)
    frame.to_csv(folder / "pool.csv.gz", index=False)
    frame.to_json(folder / "pool.jsonl", orient="records", lines=True)
    with pa.OSFile(str(folder / "pool.arrow"), "wb") as sink:
        table = pa.Table.from_pandas(frame, preserve_index=False)
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    return frame


def run(*words: str) -> str:
    """Run fewlabels here; return what it printed."""
    program = Path(sys.executable).with_name("fewlabels")
    done = subprocess.run([program, *words], capture_output=True, text=True, timeout=SECONDS, check=False)
    assert done.returncode == 0, f"exit {done.returncode}: {done.stderr or done.stdout}"
    assert "Warning" not in done.stderr, done.stderr
    return done.stdout


# -- what is checked: a function per name ---------------------------------------------------------------------


def check_verbs(_: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every verb, and what it wrote."""
    Path("arriving").mkdir()
    Path("arriving/none.csv").write_text("id,label\n")
    for name, words in VERBS.items():
        yield name, lambda words=words: run(*words)
    yield "tell and import", tell_and_import
    yield "page", label_over_http


def check_simulate(_: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """Replays in compiled kernels."""
    words = ("full.parquet", "--budget", "20", "--runs", "2", "--plot", "curves.png", "--json", "out.json")
    yield "simulate", lambda: run("simulate", *words)


def tell_and_import() -> None:
    items = [row.split(",")[0] for row in Path("sheet.csv").read_text().split()[1:]]
    run("tell", "--session", "s.db", f"{items[0]}=a")
    Path("filled.csv").write_text("id,label\n" + "".join(f"{item},b\n" for item in items[1:]))
    run("import", "filled.csv", "--session", "s.db")
    run("export", "--session", "s.db", "--out", "answers.csv")
    assert len(Path("answers.csv").read_text().splitlines()) == 1 + len(items)
    assert json.loads(run("status", "--session", "s.db", "--json", "-"))["n_labels"] == len(items)


def label_over_http() -> None:
    with serving() as address:
        client = Client(address)
        [item] = client.ask(1, who="ann")
        assert client.tell({item["id"]: "a"}, who="ann") == 1
        assert client.assessment()["n_labels"] >= 1


@contextmanager
def serving() -> Iterator[str]:
    """Serve the page, and give its address."""
    program = Path(sys.executable).with_name("fewlabels")
    words = ("label", "pool.parquet", "--hide-labels", "--session", "page.db", *GOAL, "--no-browser")
    settings = os.environ | {"PYTHONUNBUFFERED": "1"}
    server = subprocess.Popen([program, *words], stdout=subprocess.PIPE, text=True, env=settings)
    try:
        assert server.stdout is not None
        yield next(word for line in server.stdout for word in line.split() if word.startswith("http"))
    finally:
        server.terminate()
        server.wait(30)


def check_frames(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """The same figures from every kind of frame, and the same kind back."""
    expected = assess(frame).to_dict()["groups"]
    for name, (other, home) in {"pandas": (frame, "pandas"), "arrow": (pa.table(frame), "pyarrow")}.items():
        yield f"frame {name}", lambda other=other, home=home: compare_frames(other, home, expected)
    yield "arrays", lambda: assess({name: frame[name].to_numpy() for name in ("predicted", "score", "label")})


def compare_frames(frame: object, home: str, expected: object) -> None:
    assert assess(frame).to_dict()["groups"] == expected
    assert type(assess(frame).to_frame()).__module__.startswith(home)


def assess(frame: Any, **choices: Any) -> fl.Assessment:
    return fl.assess(fl.Predictions.read(frame), seed=0, **choices)


def check_plots(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """Every kind of plot."""
    one = assess(frame)
    for kind in KINDS:
        yield f"plot {kind}", lambda kind=kind: render_svg(one.plot(kind))
    yield "display", lambda: fl.IntervalsDisplay.from_assessment(one).figure_.savefig("display.png")
    surface = fl.surface(fl.Predictions.read(frame), attributes=("sex", "age"), seed=0)
    for kind in SURFACE_KINDS:
        yield f"plot surface {kind}", lambda kind=kind: render_svg(surface.plot(kind))
    binary = frame.drop(columns=["predicted", "score", "label"]).dropna()
    pool = fl.Predictions.read(binary, positive_score="chance", label="y")
    gaps = fl.fairness(pool, by=fl.column("sex"), seed=0)
    for plot in (plot_gaps, plot_gap_densities, plot_group_curves):
        yield plot.__name__, lambda plot=plot: render_svg(plot(gaps))
    difference = fl.compare(fl.Predictions.read(frame), by=fl.column("sex"), groups=("f", "m"), seed=0)
    yield "plot comparison", lambda: render_svg(difference.plot())


def check_demo(_: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """The verb that needs scikit-learn."""
    yield "demo", lambda: run("demo", "--out", "demo")


def check_polars(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """Frames of Polars, eager and lazy."""
    import polars as pl  # noqa: PLC0415

    expected = assess(frame).to_dict()["groups"]
    yield "frame polars", lambda: compare_frames(pl.read_parquet("pool.parquet"), "polars", expected)
    yield "lazy frame polars", lambda: compare_frames(pl.scan_parquet("pool.parquet"), "polars", expected)


def check_arviz(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """Draws for ArviZ."""
    import arviz  # noqa: PLC0415

    yield "arviz", lambda: arviz.summary(assess(frame).to_inference_data())


def check_mlflow(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """An assessment logged to a run in this folder."""
    import mlflow  # noqa: PLC0415

    os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"  # newer versions ask for a database otherwise
    mlflow.set_tracking_uri(Path("runs").absolute().as_uri())
    yield "mlflow", lambda: fl.log_assessment(assess(frame))
    yield "mlflow artifacts", lambda: next(Path("runs").rglob("report.html"))


def check_deep(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """The surfaces that JAX fits."""
    yield "deep", lambda: run("surface", "pool.parquet", "--attributes", "sex,age", "--model", "bern-gp", *ASSESSED)


def check_dask(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """A simulation spread over two workers."""
    yield "dask", lambda: simulate_on_dask(frame)


def simulate_on_dask(frame: pd.DataFrame) -> None:
    from clusters import start_dask  # noqa: PLC0415
    from joblib import parallel_config  # noqa: PLC0415

    choices: dict[str, Any] = {"goal": fl.FindWorst(), "policies": (fl.thompson,), "priors": (fl.flat(),), "runs": 2}
    pool = fl.Predictions.read("full.parquet")
    with start_dask(), parallel_config(backend="dask"):
        spread = fl.simulate(pool, budget=5, **choices).to_dict()
    assert spread == fl.simulate(pool, budget=5, n_jobs=1, **choices).to_dict()


def check_postgres(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """A table in a PostgreSQL server of its own."""
    from engines import start_postgres  # noqa: PLC0415

    table = pa.Table.from_pandas(frame, preserve_index=False)
    yield "postgres", lambda: assess_in(start_postgres, lambda engine: engine.create_table("pool", table), frame)


def check_spark(frame: pd.DataFrame) -> Iterator[tuple[str, Callable[[], object]]]:
    """A table in Spark."""
    from engines import start_spark  # noqa: PLC0415

    path = Path("pool.parquet").absolute()
    yield "spark", lambda: assess_in(start_spark, lambda engine: engine.read_parquet(path), frame)


def assess_in(start: Callable[[], Any], read: Callable[[Any], Any], frame: pd.DataFrame) -> None:
    with start() as engine:
        found = assess(read(engine)).to_dict()["groups"]
    expected = assess(frame).to_dict()["groups"]
    assert [row["n_labels"] for row in found] == [row["n_labels"] for row in expected]
    assert np.allclose([row["mean"] for row in found], [row["mean"] for row in expected])


CHECKS = {
    "base": (check_verbs, check_frames, check_plots), "demo": (check_demo,), "simulate": (check_simulate,), "polars": (check_polars,), "arviz": (check_arviz,),
    "mlflow": (check_mlflow,), "deep": (check_deep,), "dask": (check_dask,), "postgres": (check_postgres,), "spark": (check_spark,),
}  # fmt: skip


def check_all(name: str) -> list[str]:
    """Run what belongs to an extra in an empty folder; return what failed, a line each."""
    os.environ["SOURCE_DATE_EPOCH"] = "1700000000"  # results are compared, with their dates
    failed: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        frame = make_files(Path(folder))
        for check in CHECKS[name]:
            try:
                for what, work in check(frame):
                    failed += _try(what, work)
            except Exception as error:
                failed.append(_describe(check.__name__, error))
        os.chdir(tempfile.gettempdir())
    return failed


def _try(what: str, work: Callable[[], object]) -> list[str]:
    try:
        work()
    except Exception as error:
        return [_describe(what, error)]
    return []


def _describe(what: str, error: Exception) -> str:
    return f"{what}: {' '.join(traceback.format_exception_only(error)[-1].split())[-1000:]}"


if __name__ == "__main__":
    problems = check_all(sys.argv[1])
    print("\n".join(problems))
    raise SystemExit(1 if problems else 0)
