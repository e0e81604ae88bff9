"""The server under strain: many readers, slow and idle clients, full disks, locks, failures inside, and other processes."""

import asyncio
import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pandas as pd
import pytest
from serving import serving
from starlette.exceptions import HTTPException

import fewlabels as fl
from fewlabels.active.goals.identification import FindWorst
from fewlabels.sessions.session import Session
from fewlabels.web.client import Client
from fewlabels.web.conditional_get import ReadThrottle
from fewlabels.web.connections import STATE_TIMEOUTS
from fewlabels.web.error_log import INTERNAL_ERROR, STOP_LABELLING, UNAVAILABLE, FailureLog
from fewlabels.web.listen_address import ListenAddress
from fewlabels.web.media import MediaFolder
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.service import LabellingRules, LabellingService

SOON = 60.0  # seconds: machines may be busy
LARGE = 40_000_000  # bytes: more than the system buffers
NO_RATE_LIMIT = RateLimit(1e9, 1e9)


def make_pool(n=400, **more):
    return pd.DataFrame({"id": range(n), "predicted": ["cat", "dog"] * (n // 2), "text": ["a secret"] * n, **more})


def make_service(path=None, log=None, **more):
    return LabellingService(Session.create(path, make_pool(), goal=FindWorst(), prior=fl.flat()), log=log, **more)


def send(address, what, body=None, **headers):
    """Return status, headers and body, whatever they are."""
    base, _, token = address.partition("?token=")
    data = None if body is None else json.dumps(body).encode()
    headers = {"authorization": f"Bearer {token}", "content-type": "application/json", **headers}
    try:
        with urlopen(Request(f"{base}{what}", data, headers), timeout=SOON) as answer:
            return answer.status, answer.headers, answer.read()
    except HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def wait_until(is_so):
    end = time.monotonic() + SOON
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)
    return is_so()


def tell_one(client, who="ann"):
    (item,) = client.ask(1, who=who)
    client.tell({item["id"]: "cat"}, who=who)


# -- readers --------------------------------------------------------------------------------------------------


def test_many_readers_cost_one_computation_and_nobody_waits_to_ask(monkeypatch):
    service, computed = make_service(), []
    assess = service.session.assess
    monkeypatch.setattr(service.session, "assess", lambda: computed.append(time.sleep(3)) or assess())
    with serving(service, NO_RATE_LIMIT) as address, ThreadPoolExecutor(60) as readers:
        client = Client(address)
        tell_one(client)
        reading = [readers.submit(send, address, "api/assessment") for _ in range(60)]
        time.sleep(0.5)
        began = time.monotonic()
        client.ask(1, who="bob")
        assert time.monotonic() - began < 2
        found = [one.result() for one in reading]
    assert {status for status, _, _ in found} == {200}
    assert len({body for _, _, body in found}) == 1
    assert len(computed) <= 3


def test_figures_are_new_after_an_answer_and_not_sent_twice():
    service = make_service()
    with serving(service, NO_RATE_LIMIT) as address:
        client = Client(address)
        for n in range(3):
            assert client.status()["n_labels"] == client.assessment()["n_labels"] == n
            tell_one(client)
        for what in ("status", "assessment"):
            _, headers, body = send(address, f"api/{what}")
            assert json.loads(body)["n_labels"] == 3
            tag = headers["etag"]
            assert send(address, f"api/{what}", **{"if-none-match": f'"x", W/{tag}'})[0] == 304
            tell_one(client)
            status, headers, _ = send(address, f"api/{what}", **{"if-none-match": tag})
            assert (status, headers["etag"] == tag) == (200, False)
            client.undo(who="ann")


async def read_throttled(throttle, n):
    for _ in range(n):
        await throttle.wait()


def test_reads_beyond_the_rate_wait_and_beyond_a_long_queue_are_sent_away():
    began = time.monotonic()
    asyncio.run(read_throttled(ReadThrottle(rate=100.0, burst=10.0), 31))
    assert time.monotonic() - began >= 0.2
    with pytest.raises(HTTPException, match="too many clients are reading") as refused:
        asyncio.run(read_throttled(ReadThrottle(rate=0.01, burst=1.0, max_waiting=0), 3))
    assert (refused.value.status_code, refused.value.headers) == (503, {"retry-after": "100"})


def test_the_board_follows_answers_of_another_process(tmp_path):
    service = make_service(tmp_path / "s.db")
    with serving(service), Session.open(tmp_path / "s.db") as other:
        other.tell(dict.fromkeys(other.ask(5), "cat"))
        assert wait_until(lambda: service.board.n_labels == 5)


# -- slow and idle clients ------------------------------------------------------------------------------------


def connect(address):
    host, _, port = address.split("/")[2].partition(":")
    return socket.create_connection((host, int(port)), timeout=SOON)


def read_to_the_end(client):
    """Read until the server ends the connection, and count what came."""
    n = 0
    with suppress(ConnectionError):
        while some := client.recv(65_536):
            n += len(some)
    return n


def test_idle_connections_make_room_for_others():
    service = make_service()
    with serving(service, NO_RATE_LIMIT, max_connections=20) as address:
        idle = [connect(address) for _ in range(60)]
        assert Client(address).status()["n_labels"] == 0
        assert read_to_the_end(idle[0]) == 0
        for one in idle:
            one.close()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="there is no openssl to make a certificate")
def test_connections_that_never_begin_tls_make_room_too(tmp_path):
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "certificate.pem")
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=x", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", *words], check=True, capture_output=True)
    with serving(
        make_service(), max_connections=20, listen_address=ListenAddress(certificate=certificate, key=key)
    ) as address:
        idle = [connect(address) for _ in range(60)]
        trusting = ssl._create_unverified_context()
        with pytest.raises(HTTPError, match="401"):
            urlopen(address.partition("?")[0], timeout=SOON, context=trusting)
        assert read_to_the_end(idle[0]) == 0
        for one in idle:
            one.close()


def begin_request(address, *lines):
    host, _, token = address.partition("?token=")
    head = [*lines, f"host: {host.split('/')[2]}", f"authorization: Bearer {token}"]
    client = connect(address)
    client.sendall("\r\n".join(head).encode())
    return client


@pytest.mark.parametrize("kind", ["silent", "slow head", "slow body", "slow reader"])
def test_clients_that_take_too_long_are_dropped(kind, tmp_path, monkeypatch):
    for state in STATE_TIMEOUTS:
        monkeypatch.setitem(STATE_TIMEOUTS, state, 0.5)
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(LARGE)
    session = Session.create(None, make_pool(picture=["a.png"] * 400), goal=FindWorst(), prior=fl.flat())
    with serving(LabellingService(session, folder=MediaFolder(tmp_path))) as address:
        if kind == "silent":
            client = connect(address)
        elif kind == "slow head":
            client = begin_request(address, "GET /api/board HTTP/1.1")
        elif kind == "slow body":
            client = begin_request(address, "POST /api/ask HTTP/1.1", "content-length: 99", "content-type: application/json")  # fmt: skip
            client.sendall(b"\r\n\r\n{")
        else:
            client = begin_request(address, "GET /media?item=0&column=picture HTTP/1.1")
            client.sendall(b"\r\n\r\n")
            time.sleep(3)
        with client:
            n = read_to_the_end(client)
            assert 100_000 < n < LARGE if kind == "slow reader" else n == 0
        assert Client(address).status()["n_labels"] == 0


@contextmanager
def running(folder, n_files):
    """The page in a process of its own that may open only so many files."""
    make_pool().to_csv(folder / "pool.csv", index=False)
    words = ["label", "pool.csv", "--session", "s.db", "--prior", "flat", "--no-browser"]
    with (folder / "stderr").open("w") as errors, subprocess.Popen(
        [sys.executable, "-c", "from fewlabels.cli.app import main; main()", *words], cwd=folder,
        stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (n_files, n_files)),  # noqa: PLW1509
    ) as run:  # fmt: skip
        try:
            yield next(line.split()[-1] for line in run.stdout if "http" in line)
        finally:
            run.send_signal(signal.SIGINT)
            run.wait(SOON)


def test_more_idle_connections_than_files_stall_nobody_and_are_not_logged_for_ever(tmp_path):
    with running(tmp_path, 160) as address:
        idle = [connect(address) for _ in range(300)]
        client = Client(address)
        for _ in range(3):
            tell_one(client)
        assert client.status()["n_labels"] == 3
        for one in idle:
            one.close()
    assert (tmp_path / "stderr").stat().st_size < 10_000


# -- disks and locks ------------------------------------------------------------------------------------------


@contextmanager
def held(path):
    """Another process writes to the session and takes its time."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("ROLLBACK")


@contextmanager
def full(service):
    """No room for another page."""
    connection = service.session._store.journal._connection
    connection.execute("PRAGMA max_page_count = 1")
    yield
    connection.execute("PRAGMA max_page_count = 1000000")


@pytest.mark.parametrize("what", ["lock", "disk"])
def test_a_file_that_cannot_be_written_just_now_is_a_503(what, tmp_path):
    said = []
    service = make_service(tmp_path / "s.db", FailureLog(said.append))
    with serving(service, NO_RATE_LIMIT) as address:
        (item,) = Client(address).ask(1, who="ann")
        body = {"who": "ann", "answers": [{"id": item["id"], "label": "cat", "note": "x" * 9000}]}
        with held(tmp_path / "s.db") if what == "lock" else full(service):
            status, headers, answer = send(address, "api/tell", body)
            assert (status, int(headers["retry-after"]) > 0) == (503, True)
            assert json.loads(answer) == {"error": UNAVAILABLE}
            assert send(address, "api/board")[0] == 200
        assert send(address, "api/tell", body)[0] == 200
        assert [row["label"] for row in service.session.answers()] == ["cat"]
    assert len(said) == 1
    assert "POST /api/tell: " in said[0]


@pytest.mark.parametrize("what", ["damaged", "readonly"])
def test_a_file_that_stays_unusable_is_a_500_that_says_so(what, tmp_path):
    said = []
    service = make_service(tmp_path / "s.db", FailureLog(said.append))
    with serving(service, NO_RATE_LIMIT) as address:
        (item,) = Client(address).ask(1, who="ann")
        if what == "readonly":
            service.session._store.journal._connection.execute("PRAGMA query_only = ON")
        else:
            with closing(sqlite3.connect(tmp_path / "s.db")) as other:
                other.execute("ALTER TABLE events RENAME TO lost")
        body = {"who": "ann", "answers": [{"id": item["id"], "label": "cat"}]}
        status, _, answer = send(address, "api/tell", body)
        service.session._store.journal._connection.execute("PRAGMA query_only = OFF")
    assert (status, STOP_LABELLING in json.loads(answer)["error"]) == (500, True)
    assert what in json.loads(answer)["error"]
    assert str(tmp_path) not in answer.decode()


def test_requests_that_wait_for_a_lock_do_not_wait_for_each_other_in_turn(tmp_path):
    service = make_service(tmp_path / "s.db")
    with serving(service, NO_RATE_LIMIT) as address, held(tmp_path / "s.db"), ThreadPoolExecutor(20) as people:
        began = time.monotonic()
        found = list(people.map(lambda i: send(address, "api/ask", {"who": f"person {i}"})[0], range(20)))
        assert set(found) == {503}
        assert time.monotonic() - began < 20


# -- failures inside ------------------------------------------------------------------------------------------


def fail(*_, **__):
    raise KeyError("a secret")


def test_a_failure_inside_is_logged_and_says_nothing_of_the_inside(monkeypatch):
    said = []
    service = make_service(log=FailureLog(said.append))
    with serving(service, NO_RATE_LIMIT) as address:
        monkeypatch.setattr(service, "ask", fail)
        for _ in range(3):
            status, headers, body = send(address, "api/ask?token=secret", {"who": "ann"})
            assert (status, json.loads(body)) == (500, {"error": INTERNAL_ERROR})
            assert "default-src 'none'" in headers["content-security-policy"]
    assert len(said) == 1
    assert said[0].startswith("POST /api/ask: KeyError\n  File")
    assert "in fail" in said[0]
    assert "secret" not in said[0].replace('raise KeyError("a secret")', "")  # the line of code, not the value


def test_an_answer_that_is_saved_is_not_reported_as_a_failure():
    said = []
    service = make_service(log=FailureLog(said.append), rules=LabellingRules(reveals=True), predicted=fail)
    with serving(service, NO_RATE_LIMIT) as address:
        tell_one(Client(address))
        assert len(service.session.answers()) == 1
    assert said[0].startswith("reading predictions: KeyError")


def test_a_computation_that_fails_is_shown_as_stale_and_tried_again(monkeypatch):
    said = []
    service = make_service(log=FailureLog(said.append))
    with serving(service, NO_RATE_LIMIT) as address:
        client = Client(address)
        with monkeypatch.context() as patch:
            patch.setattr("fewlabels.web.service.compute_board", fail)
            tell_one(client)
            assert wait_until(lambda: json.loads(send(address, "api/board")[2])["stale"])
        tell_one(client)
        assert wait_until(lambda: not service.board.stale and service.board.n_labels == 2)
    assert said[0].startswith("computing the board: KeyError")
