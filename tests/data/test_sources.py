"""Where predictions come from: standard input, addresses, several files; and what cannot be read says why."""

import gzip
import json
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.csv
import pytest
from engines import start_postgres

import fewlabels as fl
from fewlabels import InputError
from fewlabels.data.addresses import is_address

ROWS = "".join(f"{i},{'ab'[i % 2]},{'a' if i % 3 else ''}\n" for i in range(40))
HEADER = "id,predicted,label\n"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    """A web server on loopback that serves the folder of the test."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=str(tmp_path))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def run(*words: str, text: str = "", cwd: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).parent / "fewlabels"
    return subprocess.run([program, *words], input=text, capture_output=True, text=True, cwd=cwd, check=False)


def test_standard_input_is_read_like_a_file(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(HEADER + ROWS)
    words = ("--by", "all", "--json", "-", "--format", "csv")
    piped = run("assess", "-", *words, text=HEADER + ROWS, cwd=tmp_path)
    found, wanted = json.loads(piped.stdout), fl.assess(tmp_path / "pool.csv", by="all")
    assert found["overall"]["mean"] == wanted.overall.mean
    assert found["provenance"]["source"] == "standard input"
    assert "/tmp" not in piped.stdout + piped.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("assess", "-"), "say its format, for instance --format csv"),
        (("assess", "-", "--format", "parquet"), "standard input: cannot be read as parquet"),
        (("doctor", "-"), "save standard input to one"),
        (("ask", "-", "--session", "s.db", "--format", "csv"), "save it to a file"),
    ],
)
def test_what_standard_input_cannot_do_is_said(words: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = run(*words, text=HEADER + ROWS, cwd=tmp_path)
    assert done.returncode == 1
    assert said in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_file_at_an_address_is_downloaded(address: str, tmp_path: Path) -> None:
    (tmp_path / "pool.csv.gz").write_bytes(gzip.compress((HEADER + ROWS).encode()))
    (tmp_path / "bad.csv").write_text("id,predicted,label\n" + ROWS + "1,a\n")
    pool = fl.Predictions.read(f"{address}/pool.csv.gz?version=3")
    assert (pool.n_items, pool.source, pool.inputs) == (40, f"{address}/pool.csv.gz?version=3", ())
    with pytest.raises(InputError, match=rf"{address}/bad.csv: line 42 has 2 fields"):
        fl.assess(f"{address}/bad.csv")
    with pytest.raises(InputError, match=r"missing.csv: cannot be downloaded: "):
        fl.assess(f"{address}/missing.csv")


def test_addresses_that_are_not_read_say_what_to_do() -> None:
    with pytest.raises(InputError, match=r"aws s3 cp s3://bucket/a.parquet a.parquet"):
        fl.assess("s3://bucket/a.parquet")
    with pytest.raises(InputError, match=r"fl.assess\(ibis.connect\('snowflake://host/db'\).table\('NAME'\)\)"):
        fl.assess("snowflake://host/db")
    with pytest.raises(InputError, match=r"me:\*\*\*@h/db: which table\? Add \?table=NAME"):
        fl.assess("postgresql://me:secret@h/db")
    assert not is_address(Path("s3://x"))


def test_a_table_of_a_database_is_read_from_its_address(tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(HEADER + ROWS)
    with start_postgres() as engine:
        engine.create_table(
            "answers",
            pa.csv.read_csv(tmp_path / "pool.csv", convert_options=pa.csv.ConvertOptions(strings_can_be_null=True)),
        )
        info = engine.con.info
        address = f"postgresql://{info.user}@{info.host}:{info.port}/{info.dbname}"
        for table in ("answers", "public.answers"):
            found = run("assess", f"{address}?table={table}", "--by", "all", "--json", "-", cwd=tmp_path)
            assert found.returncode == 0, found.stderr
            wanted = fl.assess(tmp_path / "pool.csv", by="all").overall
            assert json.loads(found.stdout)["overall"]["mean"] == pytest.approx(wanted.mean, abs=1e-12)
        missing = run("assess", f"{address}?table=nothing", cwd=tmp_path)
        assert "nothing" in missing.stderr
        assert missing.stderr.count("\n") == 1


@pytest.mark.parametrize("ending", ["csv", "parquet", "jsonl"])
def test_rows_of_several_files_say_where_they_come_from(ending: str, tmp_path: Path) -> None:
    for i, folder in enumerate(("monday", "tuesday")):
        (tmp_path / folder).mkdir()
        frame = pd.DataFrame({"id": range(20 * i, 20 * i + 20), "predicted": ["a", "b"] * 10, "label": "a"})
        path = tmp_path / folder / f"part [{i}].{ending}"
        {"csv": lambda f, p: f.to_csv(p, index=False), "parquet": pd.DataFrame.to_parquet, "jsonl": lambda f, p: f.to_json(p, orient="records", lines=True)}[ending](frame, path)  # fmt: skip
    found = fl.assess(str(tmp_path / "*" / f"part*.{ending}"), by="filename")
    assert {row.group: row.n_items for row in found} == {f"monday/part [0].{ending}": 20, f"tuesday/part [1].{ending}": 20}  # fmt: skip
    assert "filename" not in fl.Predictions.read(str(path)).columns()


def test_a_column_called_filename_is_kept(tmp_path: Path) -> None:
    for i in range(2):
        (tmp_path / f"{i}.csv").write_text(f"id,predicted,label,filename\n{i},a,a,mine\n")
    assert [row.group for row in fl.assess(str(tmp_path / "*.csv"), by="filename")] == ["mine"]


@pytest.mark.parametrize("name", ["Results.xlsx", "old.XLS", "sheet.ods"])
def test_spreadsheets_are_to_be_saved_as_csv(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(InputError, match="save the sheet as CSV"):
        fl.assess(tmp_path / name)


@pytest.mark.parametrize("line", ["41,a,a,what,is this", "41,a", "41"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_a_ragged_line_is_named(line: str, ending: str, tmp_path: Path) -> None:
    path, text = tmp_path / f"pool.{ending}", (HEADER + ROWS + f"{line}\n42,b,b\n").encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    with pytest.raises(InputError, match=rf"line 42 has {len(line.split(','))} fields?, the header has 3"):
        fl.assess(path)


def test_what_spreadsheets_write_is_read(tmp_path: Path) -> None:
    rows = [(i, "a", 0.5 + i / 100, "a" if i % 3 else "b") for i in range(30)]
    texts = {
        "comma.csv": "id;predicted;score;label\n" + "".join(f"{i};{p};{s:.2f};{y}\n".replace(".", ",") for i, p, s, y in rows),
        "percent.csv": "id,predicted,score,label\n" + "".join(f"{i},{p},{s:.0%},{y}\n" for i, p, s, y in rows),
        "plain.csv": "id,predicted,score,label\n" + "".join(f"{i},{p},{s:.2f},{y}\n" for i, p, s, y in rows),
    }  # fmt: skip
    means = []
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        means.append(fl.assess(tmp_path / name, prior="scores").overall.mean)
    assert means == pytest.approx([means[-1]] * 3, abs=1e-12)
    (tmp_path / "latin.csv").write_bytes("id,predicted,label\n1,café,café\n".encode("latin-1"))
    with pytest.raises(InputError, match="the text is not UTF-8; save it as UTF-8"):
        fl.assess(tmp_path / "latin.csv")


class OddServer(BaseHTTPRequestHandler):
    """Answers that are cut, encoded, endless or no HTTP."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        body, kind = (HEADER + ROWS).encode(), self.path.strip("/").partition(".")[0].partition("?")[0]
        self.close_connection = True
        if kind == "garbage":
            self.wfile.write(b"garbage\r\n\r\n")
            return
        self.send_response(200)
        head = {"cut": ("Content-Length", f"{len(body) + 9}"), "chunks": ("Transfer-Encoding", "chunked"), "packed": ("Content-Encoding", "gzip")}  # fmt: skip
        self.send_header(*head.get(kind, ("Content-Length", f"{len(body)}")))
        self.end_headers()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(body), body) if kind == "chunks" else body)


@pytest.fixture
def odd() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), OddServer)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cut.csv", r"cannot be downloaded: it ended early, after [\d,]+ of [\d,]+ bytes"),
        ("chunks.csv", "cannot be downloaded: IncompleteRead"), ("garbage.csv", "cannot be downloaded: garbage"),
        ("packed.csv", "in the encoding 'gzip', which was not asked for"), ("..", "unknown file extension"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("read", [fl.assess, lambda one: fl.rate(one, grade="score")], ids=["assess", "rate"])
def test_a_download_that_is_not_whole_is_refused(odd: str, name: str, said: str, read: Callable) -> None:
    with pytest.raises(InputError, match=said) as refused:
        read(f"{odd}/{name}")
    assert "/tmp" not in str(refused.value)


@pytest.mark.parametrize("name", ["a b.csv", "é.csv", "a%00.csv", f"{'x' * 300}.csv", "a.csv?x=é y", "a.csv#b"])
def test_addresses_are_escaped_as_browsers_do(odd: str, name: str) -> None:
    assert fl.Predictions.read(f"{odd}/{name}").n_items == 40


def test_downloads_are_bounded_and_leave_no_file(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FEWLABELS_MAX_UNPACKED", "100")
    with pytest.raises(InputError, match="larger than 100 bytes; set FEWLABELS_MAX_UNPACKED"):
        fl.assess(f"{odd}/bounded.csv")
    assert not list(Path(tempfile.gettempdir()).glob("fewlabels-*/*/bounded.csv"))


@pytest.mark.parametrize(
    "address", ["http://[::1/x.csv", "postgresql://[x", "http://", "https:///x.csv", "http://h:port/x.csv"]
)
def test_what_is_no_address_is_refused(address: str) -> None:
    with pytest.raises(InputError, match=r"(this is no address|cannot be downloaded|which table)"):
        fl.assess(address)


def test_labels_and_further_models_may_be_at_addresses(odd: str, tmp_path: Path) -> None:
    bare = {"id": range(40), "predicted": ["b", "a"] * 20}
    assert fl.assess(fl.Predictions.read(bare, labels=f"{odd}/labels.csv")).n_labels > 0
    found = fl.compare_models({"old": bare, "new": f"{odd}/new.csv"})
    assert (found.n_items, found.provenance.source) == (40, f"the table, {odd}/new.csv")


@pytest.mark.parametrize("words", [("rate", "-"), ("compare", "-", "b.csv", "--format", "csv")])
def test_verbs_that_read_no_standard_input_say_so(words: tuple[str, ...], tmp_path: Path) -> None:
    done = run(*words, text=HEADER + ROWS, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "save standard input to one" in done.stderr
