"""Small valid documents of every kind that fewlabels reads, made by the tests themselves."""

import csv
import gzip
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import feather

import fewlabels as fl
from fewlabels.web.keys_file import change_keys, get_keys_path

Rows = list[dict[str, Any]]
N_ROWS = 24


def make_rows() -> Rows:
    """Two classes, a score, two attributes, and labels for most items."""
    rng = Random(7)
    rows = []
    for i in range(N_ROWS):
        truth, said = rng.choice("ab"), rng.choice("aab")
        score = round(rng.uniform(0.3, 0.99), 2)
        known = truth if rng.random() < 0.7 else None
        row = {"id": i, "predicted": said, "score": score, "label": known, "sex": rng.choice("fm")}
        rows.append(
            row
            | {
                "age": rng.choice([9, 10, 30]),
                "p1": round(rng.random(), 3),
                "text": f"item, no. {i}",
                "chance": (0.2, 0.5, 0.9)[i % 3],
            }
        )
    return rows


def turn(rows: Rows) -> dict[str, list[Any]]:
    """Return the columns of rows."""
    return {name: [row[name] for row in rows] for name in rows[0]}


def compress_zstd(raw: bytes) -> bytes:
    """Compress with Zstandard."""
    return bytes(pa.compress(raw, codec="zstd", asbytes=True))


def write_csv(rows: Rows, between: str = ",") -> bytes:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]), delimiter=between, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def write_lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def write_table(write: Callable[[pa.Table, Any], None], rows: Rows) -> bytes:
    sink = io.BytesIO()
    write(pa.Table.from_pylist(rows), sink)
    return sink.getvalue()


def _write_arrow(table: pa.Table, sink: Any) -> None:
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)


def make_choices() -> Rows:
    """Samples of lm-evaluation-harness with choices."""
    rng = Random(1)
    found = []
    for i in range(8):
        likelihoods, target = [round(rng.uniform(-5, 0), 2) for _ in range(3)], rng.randrange(3)
        said = max(range(3), key=likelihoods.__getitem__)
        found.append({
            "doc_id": i, "doc": {"question": f"q{i}", "subject": rng.choice(["law", "art"])}, "target": str(target),
            "arguments": {f"gen_args_{k}": {"arg_0": "q", "arg_1": f" {name}"} for k, name in enumerate("ABC")},
            "resps": [[[str(x), "False"]] for x in likelihoods], "filtered_resps": [[str(x), "False"] for x in likelihoods],
            "filter": "none", "metrics": ["acc"], "doc_hash": "0", "acc": float(said == target),
        })  # fmt: skip
    return found


def make_generated() -> Rows:
    """Samples of lm-evaluation-harness whose answers were generated."""
    return [
        {
            "doc_id": i, "doc": {"question": "6 times 7?", "level": i % 2}, "target": "42",
            "arguments": {"gen_args_0": {"arg_0": "6 times 7?", "arg_1": {"until": ["\n"]}}},
            "resps": [["it is 42"]], "filtered_resps": ["42"], "filter": "strict", "metrics": ["exact_match"],
            "exact_match": float(i % 3 > 0),
        }
        for i in range(8)
    ]  # fmt: skip


def make_inspect() -> dict[str, Any]:
    """A log of Inspect."""
    samples = [
        {
            "id": f"q{i}", "epoch": 1 + i // 6, "input": [{"role": "user", "content": "question"}], "target": "A",
            "choices": ["right", "wrong"], "metadata": {"subject": "law", "tags": ["x"], "n": i},
            "output": {"model": "m", "choices": [{"message": {"content": [{"type": "text", "text": "A"}]}}]},
            "scores": {"choice": {"value": "CIPN"[i % 4], "answer": "AB"[i % 2], "explanation": "because"}},
        }
        for i in range(8)
    ]  # fmt: skip
    about = {"task": "mmlu", "model": "mockllm/model"}
    return {"version": 2, "status": "success", "eval": about, "plan": {}, "samples": samples}


def write_archive() -> bytes:
    """The same log as an archive."""
    log, out = make_inspect(), io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for sample in log.pop("samples"):
            archive.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        archive.writestr("header.json", json.dumps(log))
    return out.getvalue()


def make_tasks() -> Rows:
    """An export of Label Studio, in full."""
    return [
        {
            "id": 100 + i, "data": {"fewlabels_id": str(i), "text": f"item {i}"},
            "annotations": [{
                "completed_by": {"id": 3, "email": "kim@example.org"} if i % 2 else 3, "was_cancelled": i == 2,
                "created_at": f"2026-01-0{1 + i}T10:00:00Z", "updated_at": f"2026-01-0{1 + i}T11:00:00Z",
                "result": [{"from_name": "label", "to_name": "text", "type": "choices", "value": {"choices": ["ab"[i % 2]]}}],
            }] if i else [],
        }
        for i in range(6)
    ]  # fmt: skip


def make_short_tasks() -> Rows:
    """The same as JSON-MIN."""
    return [
        {"id": 100 + i, "fewlabels_id": str(i), "label": "ab"[i % 2], "annotator": 3, "created_at": "2026-01-01T10:00:00Z"}
        for i in range(6)
    ]  # fmt: skip


def make_models() -> tuple[Rows, Rows]:
    """Predictions of two models on the same items, some of them labelled beside the first."""
    rng = Random(11)
    old, new = [], []
    for i in range(N_ROWS):
        truth, sex = rng.choice("ab"), rng.choice("fm")
        one, two = (truth if rng.random() < right else rng.choice("ab") for right in (0.6, 0.8))
        known = truth if rng.random() < 0.6 else None
        old.append({"id": i, "predicted": one, "score": round(rng.uniform(0.5, 0.99), 2), "label": known, "sex": sex})
        new.append({"id": i, "predicted": two, "score": round(rng.uniform(0.5, 0.99), 2)})
    return old, new


def make_judged() -> Rows:
    """Outputs that people and two judges graded from 1 to 5."""
    rng = Random(12)
    rows = []
    for i in range(N_ROWS):
        grade = rng.randint(1, 5)
        judged = {f"judge{name}": min(5, max(1, grade + rng.randint(-1, 1))) for name in ("", "_b")}
        rows.append({"id": i, "human": grade if i % 2 else None, **judged, "slice": "xy"[i % 3 > 0]})
    return rows


def make_preferences() -> Rows:
    """Which of two outputs people and a judge prefer."""
    rng = Random(13)
    rows = [{"id": i, "judge": rng.choice(["A", "B", "tie"]), "slice": "xy"[i % 2]} for i in range(N_ROWS)]
    return [row | {"human": rng.choice(["A", "B", row["judge"]]) if i % 2 else None} for i, row in enumerate(rows)]


def make_costs() -> bytes:
    return b",a,b\na,0,1\nb,5,0\n"


def build(folder: Path) -> dict[str, Path]:
    """Write one document of every kind, and return where each lies."""
    rows, sheet = make_rows(), [{"id": i, "label": "ab"[i % 2]} for i in range(6)]
    plain = {
        "table.csv": write_csv(rows), "table.csv.gz": gzip.compress(write_csv(rows), mtime=0),
        "table.jsonl": write_lines(rows), "table.jsonl.gz": gzip.compress(write_lines(rows), mtime=0),
        "table.csv.zst": compress_zstd(write_csv(rows)), "table.tsv": write_csv(rows, "\t"), "table.ndjson": write_lines(rows),
        "table.tsv.gz": gzip.compress(write_csv(rows, "\t"), mtime=0), "table.json.gz": gzip.compress(json.dumps(rows).encode(), mtime=0),
        "table.json": json.dumps(rows, indent=1).encode(), "columns.json": json.dumps(turn(rows)).encode(),
        "table.parquet": write_table(pq.write_table, rows), "table.arrow": write_table(_write_arrow, rows),
        "table.ipc": write_table(_write_arrow, rows), "table.feather": write_table(feather.write_feather, rows),
        "samples_choices.jsonl": write_lines(make_choices()), "samples_generated.jsonl": write_lines(make_generated()),
        "samples_packed.jsonl.gz": gzip.compress(write_lines(make_choices()), mtime=0),
        "inspect.json": json.dumps(make_inspect(), indent=2).encode(), "inspect.eval": write_archive(),
        "tasks.json": json.dumps(make_tasks()).encode(), "short_tasks.json": json.dumps(make_short_tasks()).encode(),
        "sheet.csv": write_csv(sheet), "sheet.jsonl": write_lines(sheet), "costs.csv": make_costs(),
        "labels.csv": write_csv(sheet), "labels.jsonl": write_lines(sheet), "labels.parquet": write_table(pq.write_table, sheet), "mix.csv": b"sex,age,n\nf,9,2\nm,30,1\nf,10,3\n",
    } | _write_models() | _write_judged()  # fmt: skip
    for name, content in plain.items():
        (folder / name).write_bytes(content)
    _fit(folder)
    return {path.name: path for path in sorted(folder.iterdir())}


def _write_models() -> dict[str, bytes]:
    old, new = make_models()
    wide = [one | {f"{role}_{name}": row[role] for name, row in (("old", one), ("new", two)) for role in ("predicted", "score")} for one, two in zip(old, new, strict=True)]  # fmt: skip
    wide = [{name: value for name, value in row.items() if name not in ("predicted", "score")} for row in wide]
    shared = [{"label": row["label"], "sex": row["sex"]} for row in old]
    long = [{"model": name} | row | more for name, rows in (("old", old), ("new", new)) for row, more in zip(rows, shared, strict=True)]  # fmt: skip
    return {"old.csv": write_csv(old), "new.parquet": write_table(pq.write_table, new), "wide.csv": write_csv(wide), "long.csv": write_csv([{key: row[key] for key in long[0]} for row in long])}  # fmt: skip


def _write_judged() -> dict[str, bytes]:
    judged = make_judged()
    return {
        "judged.csv": write_csv(judged), "judged.parquet": write_table(pq.write_table, judged), "preferences.csv": write_csv(make_preferences()),
        "grades.csv": write_csv([{"id": i, "grade": 1 + i % 5} for i in range(6)]),
    }  # fmt: skip


def _fit(folder: Path) -> None:
    """Write what fewlabels itself keeps: a surface, an earlier assessment, and sessions."""
    table = str(folder / "table.csv")
    fl.surface(table, attributes=("sex", "age")).save(folder / "kept.surface")
    fl.assess(table, by=fl.column("sex"), prior=fl.flat()).to_json(folder / "earlier.json")
    fl.assess(table, by=fl.predicted, metric=fl.confusion, prior=fl.flat()).to_json(folder / "earlier_classes.json")
    for name, votes in (("session.db", 1), ("votes.db", 2)):
        pool = fl.Predictions.read(table).hide_labels()
        with fl.Session.create(folder / name, pool, goal=fl.FindWorst(fl.accuracy), by=fl.column("sex"), prior=fl.flat(), votes=votes) as s:  # fmt: skip
            for who in ("kim", "lee")[:votes]:
                asked = s.ask(6, who=who)
                s.tell({i: "ab"[int(i) % 2] for i in asked[:4]} | {asked[4]: None}, who=who)
    files = {name: folder / file for name, file in (("old", "old.csv"), ("new", "new.parquet"))}
    with fl.Session.create(folder / "models.db", files, goal=fl.BestModel(rope=0.05)) as s:
        s.tell({i: "ab"[int(i) % 2] for i in s.ask(3, who="kim")[:2]}, who="kim")
    change_keys(get_keys_path(folder / "session.db"), lambda found: found.invite(("kim", "sam"), ()))
