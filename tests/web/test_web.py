"""The HTTP API and its door: what may come in, what is kept, and what browsers are told."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http.client import HTTPConnection
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import numpy as np
import pandas as pd
import pytest
from serving import serving
from starlette.testclient import TestClient

import fewlabels as fl
from fewlabels.active.goals.estimation import Estimate
from fewlabels.active.goals.identification import FindBest, FindWorst
from fewlabels.cli.page_options import PageOptions
from fewlabels.cli.page_server import check_page, run_page
from fewlabels.cli.session_files import OpenedSession
from fewlabels.sessions.session import Session
from fewlabels.web.app import make_app
from fewlabels.web.background import BackgroundWorker
from fewlabels.web.client import Client
from fewlabels.web.conditional_get import ReadThrottle
from fewlabels.web.credentials import Credentials, MemoryStore
from fewlabels.web.item_view import show_item
from fewlabels.web.keys_file import change_keys
from fewlabels.web.listen_address import ListenAddress
from fewlabels.web.media import MediaFolder
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.row_cache import RowCache
from fewlabels.web.security import SecurityMiddleware, SecurityPolicy
from fewlabels.web.server import open_listener, serve
from fewlabels.web.service import LabellingRules, LabellingService

HOST = "127.0.0.1:8000"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
PIXEL = bytes.fromhex("89504e470d0a1a0a0000000d494844520000000100000001080600000 01f15c4890000000d49444154789c6360000002000154a24f5d0000000049454e44ae426082".replace(" ", ""))  # fmt: skip


def make_pool(n=60, **more):
    rng = np.random.default_rng(0)
    predicted = rng.choice(["cat", "dog"], n)
    return pd.DataFrame({"id": range(n), "predicted": predicted, "text": [f"a beast, number {i}" for i in range(n)], **more})  # fmt: skip


@pytest.fixture
def service():
    session = Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat())
    service = LabellingService(session)
    yield service
    service.close()


@pytest.fixture
def security_policy():
    return SecurityPolicy((HOST,))


@pytest.fixture
def people(service, security_policy):
    """Whoever has the cookie."""
    with TestClient(make_app(service, security_policy, RateLimit(1e9, 1e9)), base_url=f"http://{HOST}") as client:
        client.get("/", params={"token": security_policy.token})
        client.headers["x-fewlabels"] = "1"
        yield client


@pytest.fixture
def strangers(service, security_policy):
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}") as client:
        yield client


# -- the loop -------------------------------------------------------------------------------------------------


def test_items_are_asked_told_and_taken_back(people):
    found = people.post("/api/ask", json={"who": "ann", "n": 2}).json()
    first, second = (item["id"] for item in found["items"])
    assert found["classes"] == ["cat", "dog"]
    assert found["items"][0]["fields"] == [{"name": "text", "kind": "text", "text": f"a beast, number {first}", "source": "", "n_more": 0}]  # fmt: skip
    assert people.post("/api/ask", json={"who": "ann", "n": 2}).json()["items"] == found["items"]
    told = people.post("/api/tell", json={"who": "ann", "answers": [{"id": first, "label": "cat", "note": "sure"}, {"id": second, "label": None}]})  # fmt: skip
    assert told.json()["kept"] == 2
    status = people.get("/api/status").json()
    assert (status["n_labels"], status["n_skipped"]) == (1, 1)
    assert people.post("/api/undo", json={"who": "ann"}).json()["id"] == second
    assert people.post("/api/undo", json={"who": "bob"}).json()["id"] is None
    assert people.get("/api/assessment").json()["metric"] == "accuracy"


def test_a_named_undo_that_is_sent_twice_takes_back_one_answer(people, service):
    first, second = (item["id"] for item in people.post("/api/ask", json={"who": "ann", "n": 2}).json()["items"])
    for item in (first, second):
        people.post("/api/tell", json={"who": "ann", "answers": [{"id": item, "label": "cat"}]})
    last = people.get("/api/last", params={"who": "ann"}).json()
    assert last == {"id": second, "decided": False}
    undone = [people.post("/api/undo", json={"who": "ann", **last}).json()["id"] for _ in range(2)]
    assert undone == [second, second]
    service.session.tell({second: "dog"}, who="bob")  # now it is another person's
    assert people.post("/api/undo", json={"who": "ann", **last}).json()["id"] is None
    assert [row["who"] for row in service.session.answers()] == ["ann", "bob"]


def test_the_same_answer_twice_counts_once(people):
    item = people.post("/api/ask", json={"who": "ann"}).json()["items"][0]["id"]
    for _ in range(3):
        people.post("/api/tell", json={"who": "ann", "answers": [{"id": item, "label": "cat"}]})
    assert people.get("/api/status").json()["n_labels"] == 1


def test_an_item_is_out_to_one_person_at_a_time(people):
    ids = {who: people.post("/api/ask", json={"who": who, "n": 5}).json()["items"] for who in ("ann", "bob")}
    assert not {item["id"] for item in ids["ann"]} & {item["id"] for item in ids["bob"]}


def test_the_picture_follows_the_labels(people, service):
    items = people.post("/api/ask", json={"n": 20}).json()["items"]
    people.post("/api/tell", json={"answers": [{"id": item["id"], "label": "cat"} for item in items]})
    end = time.monotonic() + 30
    while service.board.n_labels < 20 and time.monotonic() < end:
        time.sleep(0.05)
    board = people.get("/api/board").json()
    assert board["n_labels"] == 20
    assert board["groups"][0]["group"] == "dog"
    assert sum(row["p_sought"] for row in board["groups"]) == pytest.approx(1)


def test_the_best_are_first_where_they_are_sought():
    session = Session.create(None, make_pool(), goal=FindBest(), prior=fl.flat())
    session.tell(dict.fromkeys(session.ask(20), "cat"))
    service = LabellingService(session)
    assert service.board.groups[0].group == "cat"
    service.close()


@pytest.mark.parametrize(
    ("path", "body", "status", "said"),
    [
        ("/api/tell", {"answers": [{"id": 10**9, "label": "cat"}]}, 400, "no item that could be asked about"),
        ("/api/tell", {"answers": [{"id": 0, "label": "cow"}]}, 400, "no class of this session"),
        ("/api/tell", {"answers": []}, 422, "answers"),
        ("/api/tell", {"answers": [{"id": [], "label": "cat"}]}, 422, "answers.0.id"),
        ("/api/ask", {"n": 0}, 422, "n: "),
        ("/api/ask", {"who": 81 * "x"}, 400, "too long"),
        ("/api/nothing", {}, 404, "Not Found"),
    ],
)
def test_wrong_requests_are_explained_and_nothing_is_kept(people, path, body, status, said):
    found = people.post(path, json=body)
    assert found.status_code == status
    assert said in found.json()["error"]
    assert people.get("/api/status").json()["n_labels"] == 0


def test_grades_are_asked_for_where_there_are_no_classes():
    pool = pd.DataFrame(
        {"id": range(30), "output": ["…"] * 30, "agreement": [None] * 29 + [0.5], "topic": ["a", "b"] * 15}
    )
    session = Session.create(None, pool, goal=Estimate(), by=fl.column("topic"), prior=fl.flat())
    service, security_policy = LabellingService(session), SecurityPolicy((HOST,))
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}", headers={"authorization": f"Bearer {security_policy.token}"}) as client:  # fmt: skip
        found = client.post("/api/ask", json={}).json()
        assert found["classes"] == []
        item = found["items"][0]["id"]
        assert client.post("/api/tell", json={"answers": [{"id": item, "label": "0.75"}]}).json()["kept"] == 1
        assert client.post("/api/tell", json={"answers": [{"id": item, "label": "2"}]}).status_code == 400
    service.close()


def test_what_the_model_said_is_told_afterwards_if_at_all(people):
    item = people.post("/api/ask", json={}).json()["items"][0]["id"]
    assert people.post("/api/tell", json={"answers": [{"id": item, "label": "cat"}]}).json()["predicted"] == {}
    session = Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat())
    service = LabellingService(session, LabellingRules(reveals=True), predicted=lambda item: f"dog\u202e {item}")
    assert service.tell("", [(service.ask("")[0].id, "cat", "")]).popitem()[1].startswith("dog\\u202e")
    service.close()


# -- many at once ---------------------------------------------------------------------------------------------


def test_many_may_look_at_items_at_the_same_moment():
    """An engine that is busy refuses whoever comes second, unless they wait for each other."""
    pool = fl.Predictions.read(make_pool())
    with ThreadPoolExecutor(8) as crowd:
        found = list(crowd.map(lambda i: pool.show([str(i)]), range(60)))
    assert [rows[str(i)]["text"] for i, rows in enumerate(found)] == [f"a beast, number {i}" for i in range(60)]


def test_items_are_read_ahead(service, monkeypatch):
    asked = []
    show = service.session.show
    monkeypatch.setattr(service._row_cache, "_fetch", lambda ids: asked.append(len(ids)) or show(ids))
    for _ in range(20):
        (card,) = service.ask("ann")
        assert card.fields[0].text == f"a beast, number {card.id}"
        service.tell("ann", [(card.id, "cat", "")])
    assert len(asked) == 1


def test_what_is_very_long_is_read_when_it_is_shown(monkeypatch):
    session = Session.create(None, make_pool(9, story=["x" * 200_000] * 9), goal=Estimate(), prior=fl.flat())
    shelf = RowCache(session.show, session.foresee)
    item = session.ask(1)[0]
    assert len(shelf.show([item])[item]["story"]) == 200_000
    assert not shelf._rows


# -- a team ---------------------------------------------------------------------------------------------------


@pytest.fixture
def team(security_policy):
    """A desk where two people answer each item."""
    service = LabellingService(Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat(), votes=2))
    headers = {"authorization": f"Bearer {security_policy.token}"}
    with TestClient(
        make_app(service, security_policy, RateLimit(1e9, 1e9)), base_url=f"http://{HOST}", headers=headers
    ) as client:
        yield client
    service.close()


def say(client, who, item, label, note="", how="tell"):
    answers = [{"id": item, "label": label, "note": note}]
    return client.post(f"/api/{how}", json={"who": who, "answers": answers})


def disagree(client):
    item = client.post("/api/ask", json={"who": "ann"}).json()["items"][0]["id"]
    say(client, "ann", item, "cat")
    assert client.post("/api/ask", json={"who": "bob"}).json()["items"][0]["id"] == item
    say(client, "bob", item, "dog", "the ears\u202e")
    return item


def test_people_disagree_and_somebody_decides(team):
    item = disagree(team)
    (found,) = team.get("/api/disputes").json()["items"]
    assert found["item"]["id"] == item
    assert found["votes"] == [
        {"who": "ann", "label": "cat", "note": ""},
        {"who": "bob", "label": "dog", "note": "the ears\\u202e"},
    ]
    assert say(team, "kim", item, "cat", how="decide").json()["kept"] == 1
    assert team.get("/api/disputes").json()["items"] == []
    status = team.get("/api/status").json()
    assert (status["n_labels"], status["votes"]["n_votes"], status["votes"]["n_disputed"]) == (1, 2, 0)
    assert team.get("/api/assessment").json()["annotators"]["n_shared"] == 1
    assert team.post("/api/undo", json={"who": "kim"}).json()["id"] == item
    assert len(team.get("/api/disputes").json()["items"]) == 1


def test_the_board_shows_the_team(team, service):
    assert service.board.team is None
    disagree(team)
    end = time.monotonic() + 30
    while not (board := team.get("/api/board").json()["team"])["n_disputed"] and time.monotonic() < end:
        time.sleep(0.05)
    assert (board["wanted"], board["n_votes"], board["n_disputed"]) == (2, 2, 1)
    assert board["agreement"] == ""  # one item says nothing about agreement
    assert {row["who"] for row in board["people"]} == {"ann", "bob"}


def test_a_team_has_names(team):
    assert "say who you are" in team.post("/api/ask", json={}).json()["error"]
    assert say(team, " ", 0, "cat").status_code == 400
    assert say(team, "", 0, "cat", how="decide").status_code == 400


def test_where_one_answers_nothing_is_decided(people):
    assert "use tell instead" in say(people, "kim", 0, "cat", how="decide").json()["error"]
    assert people.get("/api/disputes").json()["items"] == []


def test_answers_with_different_notes_are_kept_all_or_none(people):
    answers = [{"id": 0, "label": "cat", "note": "a"}, {"id": 1, "label": "cow", "note": "b"}]
    assert people.post("/api/tell", json={"answers": answers}).status_code == 400
    assert people.get("/api/status").json()["n_not_asked"] == 0


@pytest.mark.parametrize("how", ["tell", "decide"])
@pytest.mark.parametrize("second", [{"id": 0, "label": "dog"}, {"id": "0", "label": "cat"}, {"id": 0, "label": "cat", "note": "b"}])  # fmt: skip
def test_two_answers_to_one_item_in_one_request_are_refused(people, team, how, second):
    client = people if how == "tell" else team
    found = client.post(f"/api/{how}", json={"who": "kim", "answers": [{"id": 0, "label": "cat", "note": "a"}, second]})
    assert (found.status_code, found.json()["error"]) == (400, "answers: more than one for 0; send one for each item")
    assert client.get("/api/status").json()["n_not_asked"] == 0


def test_errors_name_no_path_of_the_server(tmp_path, security_policy):
    make_pool(3000).to_parquet(tmp_path / "pool.parquet")
    session = Session.create(tmp_path / "s.db", str(tmp_path / "pool.parquet"), goal=Estimate(), prior=fl.flat())
    service = LabellingService(session)
    headers = {"authorization": f"Bearer {security_policy.token}", "content-type": "application/json"}
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}", headers=headers) as client:
        half = client.post("/api/tell", content=b'{"answers": [{"id": "\\ud800", "label": "cat"}]}')
        (tmp_path / "pool.parquet").unlink()
        gone = client.post("/api/ask", json={"n": 100})
    service.close()
    session.close()
    for answer in (half, gone):
        assert answer.status_code >= 400
        assert "the session" in answer.text or "the predictions" in answer.text
        assert str(tmp_path) not in answer.text


# -- the door -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path",
    ["/api/status", "/api/assessment", "/api/board", "/api/openapi.json", "/page.js", "/media?item=0&column=text"],
)
def test_strangers_see_nothing(strangers, path):
    assert strangers.get(path).status_code == 401
    assert strangers.post("/api/ask", json={}).status_code == 401


def test_the_first_visit_exchanges_the_token_for_a_cookie(strangers, security_policy):
    assert strangers.get("/", params={"token": "wrong"}).status_code == 401
    assert strangers.get("/").status_code == 401
    found = strangers.get("/", params={"token": security_policy.token})
    cookie = found.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert security_policy.token not in cookie + found.text
    assert strangers.get("/").status_code == 200
    assert security_policy.token not in strangers.get("/").text


def test_programs_send_the_token(strangers, security_policy):
    for said, status in (
        (f"Bearer {security_policy.token}", 200),
        ("Bearer wrong", 401),
        (security_policy.token, 401),
        ("Bearer ünknown", 401),
    ):
        assert strangers.get("/api/board", headers={"authorization": said.encode()}).status_code == status


def test_nobody_else_reaches_it_unless_asked_for():
    with ListenAddress().listen() as listening_socket:
        assert listening_socket.getsockname()[0] == PageOptions().host == "127.0.0.1"
    assert not ListenAddress("192.0.2.1").is_loopback
    one, other = SecurityPolicy((HOST,)), SecurityPolicy((HOST,))
    assert one.token != other.token
    assert len(one.token) >= 43  # 256 random bits


def test_behind_tls_the_cookie_goes_nowhere_else(service):
    for secure in (True, False):
        security_policy = SecurityPolicy((HOST,), secure=secure)
        with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}") as client:
            assert (
                "Secure" in client.get("/", params={"token": security_policy.token}).headers["set-cookie"]
            ) == secure


@pytest.mark.parametrize(
    ("page", "warns"),
    [
        (PageOptions(), False),
        (PageOptions(host="label.example.org"), True),
        (PageOptions("192.0.2.1", certificate="c", key="k"), False),
    ],
    ids=["this machine", "elsewhere", "elsewhere with TLS"],
)
def test_other_addresses_without_tls_are_warned_of(tmp_path, monkeypatch, capsys, page, warns):
    made_to = {}
    monkeypatch.setattr(
        "fewlabels.cli.page_server.serve",
        lambda service, _, listen_address, **more: made_to.update(listen_address=listen_address, service=service),
    )
    session = Session.create(None, make_pool(), goal=Estimate(), prior=fl.flat())
    run_page(
        OpenedSession(session),
        str(tmp_path / "pool.csv"),
        str(tmp_path / "s.db"),
        page,
        new_classes=False,
        reveals=False,
    )
    made_to["service"].close()
    assert ("anyone on the network can read tokens and labels" in capsys.readouterr().err) == warns
    assert made_to["listen_address"].host == page.host


def test_the_log_holds_no_secret(tmp_path):
    """The address is printed once; of who comes, and with which token, nothing is said."""
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    words = ["label", "pool.csv", "--session", "s.db", "--prior", "flat", "--no-browser"]
    run = subprocess.Popen([sys.executable, "-c", "from fewlabels.cli.app import main; main()", *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})  # fmt: skip
    address = next(line.split()[-1] for line in run.stdout if "http" in line)
    token = address.partition("token=")[2]
    for where in (address, address.replace(token, "wrong"), address.partition("?")[0] + "api/board"):
        with suppress(HTTPError):
            urlopen(where).close()
    Client(address).status()
    run.send_signal(signal.SIGINT)
    out, err = run.communicate(timeout=60)
    assert run.returncode == 0
    assert token not in out + err
    assert "GET" not in out + err


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8000.evil.example", ""])
def test_other_names_are_refused(people, host):
    assert people.get("/api/board", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"origin": "null"}, {"origin": "http://127.0.0.1:9000"}]
)
def test_other_pages_change_nothing(people, headers):
    assert people.post("/api/ask", json={}, headers=headers).status_code == 403
    assert people.post("/api/ask", json={}, headers={"origin": f"http://{HOST}"}).status_code == 200
    del people.headers["x-fewlabels"]
    assert people.post("/api/ask", json={}).status_code == 403


def test_every_answer_tells_browsers_to_fetch_and_run_nothing_else(people, strangers):
    for answer in (people.get("/"), people.get("/api/board"), people.get("/api/nothing"), strangers.get("/")):
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cache-control"] == "no-store"


def test_the_page_holds_nothing_inline_and_names_nothing_elsewhere():
    here = Path(fl.__file__).parent / "web"
    page = (here / "page.html").read_text()
    assert "<script>" not in page
    assert "style=" not in page
    assert "onclick=" not in page
    for name in ("page.html", "page.js", "page.css"):
        text = (here / name).read_text().replace("http://www.w3.org/2000/svg", "")
        assert "http" not in text
        assert "innerHTML" not in text


def test_requests_are_bounded(people):
    assert people.post("/api/tell", content=b"x" * 1_100_000).status_code == 413
    assert people.post("/api/tell", content=b"{}", headers={"content-length": "-1"}).status_code == 413

    def stream(n):
        yield b'{"n": 1'
        for _ in range(n):
            yield b" " * 100_000
        yield b"}"

    kind = {"content-type": "application/json"}
    assert people.post("/api/ask", content=stream(1), headers=kind).status_code == 200
    assert people.post("/api/ask", content=stream(20), headers=kind).status_code == 413  # nor unannounced


def test_a_long_request_that_does_not_announce_itself_is_told_so(served):
    """By a real server, which would otherwise hang up without a word."""
    client, _ = served
    address, _, token = client.address.partition("/?token=")
    line = HTTPConnection(address.removeprefix("http://"), timeout=30)
    body = (b" " * 100_000 for _ in range(30))
    line.request("POST", "/api/tell", body, {"authorization": f"Bearer {token}"}, encode_chunked=True)
    answer = line.getresponse()
    assert answer.status == 413
    assert "at most 1,000,000 bytes" in answer.read().decode()
    line.close()


def test_credentials_that_come_and_go_cost_no_memory():
    rate_limit = RateLimit()
    for i in range(20_100):
        assert rate_limit.allows(f"token {i}")
    assert len(rate_limit._buckets) <= 10_000


def test_the_rate_limit_is_of_the_credential_whatever_the_name():
    known = Credentials.create().invite(["ann", "bob"])
    service, security_policy = LabellingService(Session.create(None, make_pool(), goal=Estimate(), prior=fl.flat())), SecurityPolicy((HOST,), store=MemoryStore(known))  # fmt: skip
    with TestClient(make_app(service, security_policy, RateLimit(1e-9, 3.0)), base_url=f"http://{HOST}") as client:
        for one in known.credentials:
            headers = {"authorization": f"Bearer {one.token}"}
            found = [client.post("/api/ask", json={"who": f"name {i}" if one.is_owner else ""}, headers=headers) for i in range(5)]  # fmt: skip
            assert [answer.status_code for answer in found] == [200] * 3 + [429] * 2
    service.close()


def test_requests_of_every_kind_have_a_rate_limit(service, security_policy):
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}", headers={"authorization": f"Bearer {security_policy.token}"}) as client:  # fmt: skip
        with_limit = SecurityMiddleware(client.app, security_policy, RateLimit(1e-9, 2.0))
        limited = TestClient(with_limit, base_url=f"http://{HOST}", headers=client.headers)
        assert [limited.get(path).status_code for path in ("/api/me", "/media?item=x&column=text", "/api/me")] == [200, 404, 429]  # fmt: skip


def test_the_engine_is_not_asked_about_unknown_items(service, monkeypatch):
    monkeypatch.setattr(service._row_cache, "_fetch", lambda _: 1 / 0)
    assert service.find_media("no such item", "text") is None


def fetch_at_once(link, paths):
    """Send requests at the same time; return status and Retry-After of each."""
    address, token = link.split("/?token=")

    def fetch(path):
        request = Request(f"{address}{path}", headers={"authorization": f"Bearer {token}"})
        try:
            with urlopen(request, timeout=60) as answer:
                return answer.status, None
        except HTTPError as error:
            return error.code, error.headers["retry-after"]

    with ThreadPoolExecutor(len(paths)) as threads:
        return list(threads.map(fetch, paths))


def test_requests_that_wait_for_their_turn_are_bounded(service, monkeypatch):
    monkeypatch.setattr("fewlabels.web.app.ReadThrottle", lambda **_: ReadThrottle(rate=1.0, burst=2.0, max_waiting=2))
    with serving(service) as link:
        found = Counter(fetch_at_once(link, ["/api/board"] * 12))
    assert set(found) == {(200, None), (503, "3")}
    assert found[200, None] >= 5


def test_requests_that_wait_for_figures_are_bounded(service, monkeypatch):
    monkeypatch.setattr("fewlabels.web.background.MAX_WAITING", 3)
    monkeypatch.setattr(service._background, "_run_pending", lambda pending: (time.sleep(0.5), BackgroundWorker._run_pending(service._background, pending)))  # fmt: skip
    with serving(service) as link:
        found = Counter(status for status, _ in fetch_at_once(link, ["/api/status"] * 12))
    assert set(found) == {200, 503}


def test_files_of_many_items_ask_the_engine_a_bounded_number_of_times(monkeypatch):
    session = Session.create(None, make_pool(3000), goal=Estimate(), prior=fl.flat())
    service, reads, show = LabellingService(session), [], session.show
    service.ask("ann", 1)
    monkeypatch.setattr(service._row_cache, "_fetch", lambda ids: (reads.append(ids), show(ids))[1])
    others = [i for i in range(3000) if service.needs_engine(str(i))][:50]
    with serving(service) as link:
        found = Counter(fetch_at_once(link, [f"/media?item={i}&column=text" for i in others]))
        [card] = Client(link).ask(1, who="bob")
        assert fetch_at_once(link, [f"/media?item={card['id']}&column=text"]) == [(404, None)]  # its row is in memory
    assert found[503, "3"] > 0
    assert found[404, None] == len(reads) < 50


# -- what items hold ------------------------------------------------------------------------------------------


def test_what_items_hold_is_text(people, service):
    row = {"html": "<script>alert(1)</script>", "turned": "\u202eabc", "bell": "\x07\x00", "bytes": b"\x00\x01", "long": "x" * 30_000, "n": 3, "list": ["a"], "none": None}  # fmt: skip
    card = show_item(1, row, None)
    found = {field.name: field for field in card.fields}
    assert {field.kind for field in card.fields} == {"text"}
    assert found["html"].text == "<script>alert(1)</script>"
    assert found["turned"].text == "\\u202eabc"
    assert found["bell"].text == "␇␀"
    assert found["bytes"].text == "(2 bytes)"
    assert (len(found["long"].text), found["long"].n_more) == (20_000, 10_000)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a b.png").write_bytes(PIXEL)
    (tmp_path / "in" / "evil.svg").write_text("<svg onload='alert(1)'/>")
    (tmp_path / "in" / "page.html").write_text("<script>alert(1)</script>")
    (tmp_path / "secret.png").write_bytes(b"secret")
    (tmp_path / "in" / "link.png").symlink_to(tmp_path / "secret.png")
    (tmp_path / "in" / "dir.png").mkdir()
    return tmp_path / "in"


NAMES = ["a b.png", "../secret.png", "link.png", "evil.svg", "page.html", "dir.png", "missing.png", "/etc/passwd", "..%2fsecret.png", "a\x00.png", "a" * 5000 + ".png", "https://elsewhere.example/a.png"]  # fmt: skip


def test_files_come_from_the_folder_alone(folder, security_policy):
    pool = make_pool(len(NAMES), picture=NAMES)
    session = Session.create(None, pool, goal=Estimate(), prior=fl.flat())
    service = LabellingService(session, folder=MediaFolder(folder))
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}", headers={"authorization": f"Bearer {security_policy.token}"}) as client:  # fmt: skip
        found = [client.get("/media", params={"item": i, "column": "picture"}) for i in range(len(NAMES))]
        assert [answer.status_code for answer in found] == [200] + [404] * (len(NAMES) - 1)
        assert found[0].content == PIXEL
        assert found[0].headers["content-type"] == "image/png"
        assert "sandbox" in found[0].headers["content-security-policy"]
        assert client.get("/media", params={"item": 0, "column": "predicted"}).status_code == 404
        assert client.get("/media", params={"item": "x", "column": "picture"}).status_code == 404
        views = client.post("/api/ask", json={"n": len(NAMES)}).json()["items"]
    kinds = {card["id"]: card["fields"][1]["kind"] for card in views}
    assert kinds == {i: "image" if i == 0 else "text" for i in range(len(NAMES))}
    service.close()


def test_pictures_come_from_elsewhere_only_if_allowed():
    address = "https://elsewhere.example/a.png?size=3"
    assert show_item(1, {"p": address}, None).fields[0].kind == "text"
    assert show_item(1, {"p": address}, None, ("https://elsewhere.example",)).fields[0].source == address
    assert show_item(1, {"p": "https://elsewhere.example.evil/a.png"}, None, ("https://elsewhere.example",)).fields[0].kind == "text"  # fmt: skip
    assert "https://elsewhere.example" in SecurityPolicy((HOST,), origins=("https://elsewhere.example",)).headers["content-security-policy"]  # fmt: skip


# -- serving --------------------------------------------------------------------------------------------------


def test_a_port_that_is_taken_is_said_and_another_is_found(tmp_path):
    with ListenAddress().listen() as listening_socket:
        port = listening_socket.getsockname()[1]
        with pytest.raises(fl.InputError, match=f"port {port} on 127.0.0.1 is in use .* port=([0-9]+)$") as said:
            ListenAddress(port=port).listen()
        with ListenAddress(port=int(str(said.value).rpartition("=")[2])).listen():  # the one that is proposed is free
            pass
        change_keys(tmp_path / "s.db.keys", lambda known: known.served_at("http://127.0.0.1", port))
        with open_listener(ListenAddress(), tmp_path / "s.db.keys") as other:
            assert other.getsockname()[1] != port


def test_a_port_that_is_taken_leaves_no_file_and_one_line(tmp_path):
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    with ListenAddress().listen() as listening_socket:
        words = ["label", "pool.csv", "--session", "s.db", "--prior", "flat", "--no-browser", "--port", str(listening_socket.getsockname()[1])]  # fmt: skip
        done = subprocess.run([sys.executable, "-c", "from fewlabels.cli.app import main; main()", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1), done.stderr
    assert "is in use by another program" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["pool.csv"]


def test_a_server_that_cannot_start_stops_its_thread(tmp_path):
    """Where a thread still computes when Python ends, the engine complains of objects that were leaked."""
    service = LabellingService(Session.create(None, make_pool(), goal=Estimate(), prior=fl.flat()))
    with ListenAddress().listen() as listening_socket, pytest.raises(fl.InputError, match="in use"):
        serve(service, make_app, ListenAddress(port=listening_socket.getsockname()[1]))
    assert not service._background._thread.is_alive()


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (PageOptions(certificate="a.pem"), "go together"),
        (PageOptions(lease=0.0), "lease"),
        (PageOptions(host="0.0.0.0"), "say which: names="),
        (PageOptions(media_from=("elsewhere.example",)), "not an origin"),
        (PageOptions(media_from=("https://elsewhere.example/pictures",)), "not an origin"),
    ],
)
def test_options_that_make_no_sense_are_refused(page, said):
    with pytest.raises(fl.InputError, match=said):
        check_page(page, "no such session")


# -- programs -------------------------------------------------------------------------------------------------


@pytest.fixture
def served(service):
    pool = make_pool()
    truth = dict(zip(pool["id"], pool["predicted"], strict=True))
    with serving(service, RateLimit(1e9, 1e9)) as address:
        yield Client(address), truth


def test_a_client_is_the_same_calls(served):
    client, truth = served
    items = client.ask(3, who="bot")
    assert client.tell({item["id"]: truth[item["id"]] for item in items}, who="bot", note="by rule") == 3
    assert client.undo(who="bot") == items[-1]["id"]
    assert client.status()["n_labels"] == 2
    assert client.assessment()["n_labels"] == 2
    with pytest.raises(fl.InputError, match="no class of this session"):
        client.tell({items[0]["id"]: "cow"})
    with pytest.raises(fl.InputError, match="credentials missing or invalid"):
        Client(client.address.partition("?")[0]).status()
    with pytest.raises(fl.InputError, match="does not answer"):
        Client("http://127.0.0.1:9").status()


@pytest.mark.parametrize(
    "reply",
    [b"", b"HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{\"ke", b"HTTP/1.1 200 OK\r\n\r\n{\"ke", b"nonsense\r\n", b"HTTP/1.1 500 Oh\r\n\r\nnot JSON"],
    ids=["nothing", "half", "half and no length", "nonsense", "no JSON"],
)  # fmt: skip
def test_a_server_that_dies_in_the_middle_of_a_word_is_one_that_does_not_answer(reply):
    with ListenAddress().listen() as listening_socket:
        host, port = listening_socket.getsockname()

        def die():
            line, _ = listening_socket.accept()
            line.recv(10_000)
            line.sendall(reply)
            line.close()

        dying = threading.Thread(target=die)
        dying.start()
        with pytest.raises(fl.InputError, match="does not answer|Oh"):
            Client(f"http://{host}:{port}").status()
        dying.join()


def test_the_api_keeps_its_word(served, tmp_path):
    """Whatever schemathesis makes of the OpenAPI document, nothing falls over and every answer is as described."""
    client, _ = served
    address, _, token = client.address.partition("?token=")
    words = ["run", f"{address}api/openapi.json", "--header", f"Authorization: Bearer {token}", "--checks", CHECKS, "--max-examples", "25", "--seed", "1", "--phases", "fuzzing", "--no-color"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "schemathesis.cli", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
