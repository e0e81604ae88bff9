"""Who may use the page: roles, links, the keys file, and the browser that is opened."""

import errno
import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote
from urllib.request import urlopen

import pytest
from serving import serving
from starlette.testclient import TestClient
from test_web import HOST, make_pool

import fewlabels as fl
from fewlabels.active.goals.identification import FindWorst
from fewlabels.sessions.session import Session
from fewlabels.web.app import make_app
from fewlabels.web.browser import opened_browser
from fewlabels.web.client import Client
from fewlabels.web.credentials import Credentials, MemoryStore
from fewlabels.web.keys_file import KeysFile, change_keys, get_keys_path, read_keys
from fewlabels.web.one_time_codes import OneTimeCodes
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.security import SecurityPolicy
from fewlabels.web.service import LabellingService

CLI = [sys.executable, "-c", "from fewlabels.cli.app import main; main()"]


def make_service(votes=1):
    return LabellingService(Session.create(None, make_pool(), goal=FindWorst(), prior=fl.flat(), votes=votes))


@pytest.fixture
def service():
    service = make_service()
    yield service
    service.close()


@pytest.fixture
def keys(tmp_path):
    path = tmp_path / "s.db.keys"
    change_keys(path, lambda known: known.invite(["ann", "bob"]))
    return path


def enter(service, keys):
    app = make_app(service, SecurityPolicy((HOST,), store=KeysFile(keys)), RateLimit(1e9, 1e9))
    return TestClient(app, base_url=f"http://{HOST}")


@pytest.fixture
def client(service, keys):
    with enter(service, keys) as client:
        yield client


@pytest.fixture
def team(keys):
    """A page where two people answer each item."""
    service = make_service(votes=2)
    with enter(service, keys) as client:
        yield client
    service.close()


def bearer(keys, name=""):
    known = read_keys(keys)
    found = known.find_annotator(name) if name else known.owner
    return {"authorization": f"Bearer {found.token}"}


def post(client, what, headers, who="", *answers):
    body = {"who": who} | ({"answers": [{"id": item, "label": label} for item, label in answers]} if answers else {})
    return client.post(f"/api/{what}", json=body, headers=headers)


def vote(client, keys):
    """Let ann and bob disagree on an item."""
    item = post(client, "ask", bearer(keys, "ann")).json()["items"][0]["id"]
    for name, label in (("ann", "cat"), ("bob", "dog")):
        assert post(client, "tell", bearer(keys, name), "", (item, label)).status_code == 200
    return item


# -- roles ----------------------------------------------------------------------------------------------------


ROUTES = [  # and what the owner and an annotator are answered
    ("GET", "/", 200, 200), ("GET", "/page.js", 200, 200), ("GET", "/api/me", 200, 200), ("GET", "/api/board", 200, 200),
    ("GET", "/api/status", 200, 403), ("GET", "/api/assessment", 200, 403), ("GET", "/api/disputes", 200, 403),
    ("GET", "/api/report", 200, 403), ("GET", "/api/metrics", 200, 403), ("GET", "/api/answers", 200, 403),
    ("GET", "/overview", 200, 200), ("GET", "/overview.js", 200, 200), ("GET", "/api/overview", 200, 403),
    ("POST", "/api/ask", 200, 200), ("POST", "/api/tell", 200, 200), ("POST", "/api/undo", 200, 200), ("GET", "/api/last", 200, 200), ("POST", "/api/decide", 200, 403),
]  # fmt: skip


def test_annotators_answer_and_the_rest_is_the_owners(team, keys):
    item = vote(team, keys)
    for method, path, *expected in ROUTES:
        found = []
        for headers, who in ((bearer(keys), "kim"), (bearer(keys, "ann"), "")):
            body = {"who": who, "answers": [{"id": item, "label": "cat"}]} if method == "POST" else None
            found.append(team.request(method, path, headers=headers, json=body).status_code)
        assert found == expected, path
        assert team.request(method, path, json={}).status_code == 401, path
    described = team.get("/api/openapi.json", headers=bearer(keys)).json()["paths"]
    assert set(described) == {path for _, path, *_ in ROUTES if path.startswith("/api/")}  # each says whose it is
    board = team.get("/api/board", headers=bearer(keys)).json()
    assert board["team"] is not None


def test_annotators_see_no_results(client, keys):
    mine = client.get("/api/board", headers=bearer(keys, "ann")).json()
    answers = [post(client, what, bearer(keys, "ann")).json() for what in ("ask", "undo")]
    for board in (mine, *(answer["board"] for answer in answers)):
        assert (board["groups"], board["team"], board["sentence"], board["obstacle"]) == ([], None, "", None)
    assert len(client.get("/api/board", headers=bearer(keys)).json()["groups"]) == 2


@pytest.mark.parametrize("what", ["ask", "tell", "undo"])
@pytest.mark.parametrize(
    ("link", "who", "status"),
    [("ann", "", 200), ("ann", " ann ", 200), ("ann", "bob", 403), ("ann", "Ann", 403), ("ann", "kim", 403), ("", "ann", 403), ("", " ANN", 403), ("", "kim", 200)],
)  # fmt: skip
def test_nobody_answers_in_the_name_of_an_annotator(client, service, keys, what, link, who, status):
    item = service.session.ask(1, who="ann", lease=600.0)[0]
    before = service.session.votes()
    found = post(client, what, bearer(keys, link), who, *([(item, "cat")] if what == "tell" else []))
    assert found.status_code == status, found.text
    after = service.session.votes()
    assert {row["who"] for row in after} <= {"ann" if link else "kim"}
    assert status == 200 or after == before


def test_annotators_leave_other_peoples_answers_alone(client, service, keys):
    first = post(client, "ask", bearer(keys, "ann")).json()["items"][0]["id"]
    for label in ("cat", "dog"):  # one's own answer may be corrected
        assert post(client, "tell", bearer(keys, "ann"), "", (first, label)).status_code == 200
    second = service.session.ask(1, who="bob", lease=600.0)[0]
    refused = post(client, "tell", bearer(keys, "bob"), "", (first, "cat"), (second, "cat"))
    assert (refused.status_code, str(first) in refused.json()["error"]) == (409, True)
    assert post(client, "undo", bearer(keys, "bob")).json()["id"] is None
    assert [(row["id"], row["label"], row["who"]) for row in service.session.answers()] == [(first, "dog", "ann")]
    assert post(client, "tell", bearer(keys), "kim", (first, "cat")).status_code == 200  # the owner may
    assert post(client, "tell", bearer(keys, "ann"), "", (first, "dog")).status_code == 409


def test_an_item_whose_lease_ran_out_belongs_to_who_answers_it(client, service, keys):
    item = service.session.ask(1, who="ann", lease=600.0)[0]
    assert service.session.ask(1, who="bob", lease=1e-9) == [item]
    assert post(client, "tell", bearer(keys, "ann"), "", (item, "cat")).status_code == 200  # late, but the first
    assert post(client, "tell", bearer(keys, "bob"), "", (item, "dog")).status_code == 409


def test_annotators_do_not_take_back_what_the_owner_decided(keys):
    service = make_service(votes=2)
    with enter(service, keys) as team:
        item = vote(team, keys)
        service.session.decide({item: "cat"}, who="ann")  # under the name of a later annotator
        assert team.get("/api/last", headers=bearer(keys, "ann")).json()["id"] is None
        assert post(team, "undo", bearer(keys, "ann")).json()["id"] is None
        assert service.session.list_disputes() == []
        assert post(team, "undo", bearer(keys, "bob")).json()["id"] == item
    service.close()


def test_invited_names_are_spelled_as_in_the_session(tmp_path):
    session = Session.create(tmp_path / "s.db", make_pool(), goal=FindWorst(), prior=fl.flat(), votes=2)
    session.tell({session.ask(1, who="ann")[0]: "cat"}, who="ann")
    session.close()
    subprocess.run([*CLI, "access", "--session", "s.db", "--invite", "Ann,Bob"], cwd=tmp_path, check=True)
    assert [one.name for one in read_keys(tmp_path / "s.db.keys").annotators] == ["ann", "Bob"]


def test_a_client_works_with_an_annotators_link():
    known = Credentials.create().invite(["ann"])
    service = make_service()
    with serving(service, store=MemoryStore(known)) as owner:
        ann = Client(known.find_annotator("ann").link(owner.partition("/?")[0]))
        (item,) = ann.ask()
        assert ann.tell({item["id"]: "cat"}) == 1
        assert [row["who"] for row in service.session.answers()] == ["ann"]
        assert (ann.me(), Client(owner).me()["role"]) == ({"role": "annotator", "name": "ann"}, "owner")
        for call in (ann.status, ann.assessment, ann.disputes, lambda: ann.decide({item["id"]: "dog"}, who="ann")):
            with pytest.raises(fl.InputError, match="only the owner"):
                call()
        with pytest.raises(fl.InputError, match="this link is ann's"):
            ann.undo(who="bob")
        assert Client(owner).status()["n_labels"] == 1


# -- invitations and revocations ------------------------------------------------------------------------------


def test_a_revoked_link_and_its_open_page_are_refused_at_once(client, service, keys):
    item = post(client, "ask", bearer(keys, "bob")).json()["items"][0]["id"]
    assert post(client, "tell", bearer(keys, "bob"), "", (item, "dog")).status_code == 200
    headers, page = bearer(keys, "bob"), TestClient(client.app, base_url=f"http://{HOST}")
    page.get("/", params={"token": headers["authorization"].split()[1]})
    assert page.get("/api/me").json()["name"] == "bob"
    change_keys(keys, lambda known: known.revoke(["bob"]))
    assert page.get("/api/me").status_code == page.get("/").status_code == 401
    assert post(client, "tell", headers, "", (item, "cat")).status_code == 401
    assert page.get("/", params={"token": headers["authorization"].split()[1]}).status_code == 401
    assert {(row["who"], row["label"]) for row in service.session.votes()} == {("bob", "dog")}
    change_keys(keys, lambda known: known.invite(["bob"]))
    assert bearer(keys, "bob") != headers
    assert client.get("/api/me", headers=headers).status_code == 401
    assert client.get("/api/me", headers=bearer(keys, "bob")).json()["name"] == "bob"


def test_a_page_whose_cookie_was_replaced_by_another_link_is_refused(client, service, keys):
    change_keys(keys, lambda known: known.invite(["Zoë <b>"]))
    names = {"owner:": read_keys(keys).owner, "annotator:Zoë <b>": read_keys(keys).find_annotator("Zoë <b>")}
    for opened, credential in names.items():
        client.get("/", params={"token": credential.token})
        for page in names:
            headers = {"x-fewlabels": quote(page, safe="")}
            found = [client.get("/api/me", headers=headers), client.post("/api/ask", json={}, headers=headers)]
            assert {one.status_code for one in found} == {200 if page == opened else 401}
            assert page == opened or "Reload this page" in found[0].json()["error"]


def test_a_keys_file_that_is_gone_or_unsafe_lets_nobody_in(client, keys, caplog):
    headers = bearer(keys)
    keys.chmod(0o622)
    assert client.get("/api/me", headers=headers).status_code == 401
    assert "other users may read or write it" in caplog.text
    keys.chmod(0o600)
    assert client.get("/api/me", headers=headers).status_code == 200
    keys.unlink()
    assert client.get("/api/me", headers=headers).status_code == client.get("/").status_code == 401


def test_a_keys_file_that_cannot_be_read_for_a_moment_is_read_again(client, keys, monkeypatch):
    headers = bearer(keys)
    change_keys(keys, lambda known: known.invite(["cleo"]))

    def fail(*_, **__):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr("fewlabels.web.keys_file.os.open", fail)
        busy = client.get("/api/me", headers=headers)
        with pytest.raises(fl.InputError, match="Too many open files; try again$"):
            read_keys(keys)
    assert (busy.status_code, "delete" in busy.text) == (503, False)
    assert client.get("/api/me", headers=headers).status_code == 200


def test_pages_go_on_after_a_restart(service, keys):
    with enter(service, keys) as page:
        page.get("/", params={"token": read_keys(keys).find_annotator("ann").token})
        cookies = page.cookies
    with enter(service, keys) as page:
        page.cookies = cookies
        assert page.get("/api/me").json() == {"role": "annotator", "name": "ann"}


def test_invitations_of_several_processes_are_all_kept(tmp_path):
    path = tmp_path / "s.db.keys"
    with ThreadPoolExecutor(8) as crowd:
        list(crowd.map(lambda i: change_keys(path, lambda known: known.invite([f"person {i}"])), range(40)))
    assert len(read_keys(path).annotators) == 40
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("name", ["", "  ", "x" * 81, "a\u202eb", "a\x1bb"])
def test_odd_names_are_not_invited(name):
    with pytest.raises(fl.InputError, match="name"):
        Credentials.create().invite([name])


def test_names_that_differ_in_case_are_one_annotator():
    known = Credentials.create().invite(["Ann"])
    assert known.invite(["ann", " ANN "]) == known
    assert known.revoke(["aNN"]).annotators == ()
    with pytest.raises(fl.InputError, match="did you mean 'Ann'"):
        known.revoke(["Anna"])


# -- the keys file --------------------------------------------------------------------------------------------

GOOD, OTHER = "a" * 43, "b" * 43
OWNER = {"role": "owner", "token": GOOD}


def entry(**changes):
    return {"role": "annotator", "name": "ann", "token": OTHER} | changes


@pytest.mark.parametrize(
    "found",
    [
        "", "{", "[]", "null", "{}", '{"port": 1, "token": "", "visit": ""}', '{"port": 1, "token": "abc", "visit": "abc"}',
        {"credentials": []}, {"credentials": [entry()]}, {"credentials": [OWNER, OWNER]}, {"credentials": [{"role": "owner", "token": ""}]},
        {"credentials": [OWNER, entry(token="")]}, {"credentials": [OWNER, entry(token="short")]}, {"credentials": [OWNER, entry(token=None)]},
        {"credentials": [OWNER, entry(token=GOOD)]}, {"credentials": [OWNER, entry(name="")]}, {"credentials": [OWNER, entry(), entry(name="ANN", token="c" * 43)]},
        {"credentials": [OWNER, entry(role="admin")]}, {"credentials": [OWNER], "port": 70000}, {"credentials": [OWNER], "more": 1}, " " * 2_000_000,
    ],
)  # fmt: skip
def test_keys_that_let_strangers_in_are_refused(tmp_path, found):
    path = tmp_path / "s.db.keys"
    path.write_text(found if isinstance(found, str) else json.dumps(found))
    path.chmod(0o600)
    with pytest.raises(
        fl.InputError, match=r"s\.db\.keys is not a keys file: .*; delete it to make new links$"
    ) as said:
        read_keys(path)
    assert GOOD not in str(said.value)
    assert len(str(said.value)) < 300
    assert KeysFile(path).read() is None


@pytest.mark.parametrize("mode", [0o602, 0o620, 0o640, 0o604, 0o666])
def test_keys_that_others_may_read_or_write_are_refused(keys, mode):
    keys.chmod(mode)
    with pytest.raises(fl.InputError, match=f"other users may read or write it .mode {mode:o}"):
        change_keys(keys, lambda known: known)


def test_keys_that_are_no_file_of_ones_own_are_refused(keys, tmp_path):
    keys.rename(tmp_path / "elsewhere")
    keys.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(fl.InputError, match="is a symbolic link"):
        read_keys(keys)
    keys.unlink()
    os.mkfifo(keys, 0o600)
    with pytest.raises(fl.InputError, match="not a regular file"):
        read_keys(keys)
    keys.unlink()
    keys.mkdir()
    with pytest.raises(fl.InputError, match="not a regular file|cannot be read"):
        read_keys(keys)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give a file away")
def test_keys_of_another_user_are_refused(keys):
    os.chown(keys, 12345, 12345)
    with pytest.raises(fl.InputError, match="belongs to another user"):
        read_keys(keys)


def test_keys_are_for_their_owner_alone_and_hold_what_links_need(keys):
    known = read_keys(keys)
    assert keys.stat().st_mode & 0o777 == 0o600
    again = change_keys(keys, lambda found: found.served_at("http://127.0.0.1:8000", 8000).invite(["cleo"]))
    assert keys.stat().st_mode & 0o777 == 0o600
    assert again.credentials[:3] == known.credentials
    assert known.owner.token not in repr(known)
    assert known.owner.cookie not in (known.owner.token, known.find_annotator("ann").cookie)


def test_the_token_that_everybody_had_is_replaced_once_and_that_is_said(tmp_path, caplog):
    path = tmp_path / "s.db.keys"
    path.touch(0o600)
    path.write_text(json.dumps({"port": 8123, "token": GOOD, "visit": OTHER}))
    known = change_keys(path, lambda found: found)
    assert GOOD not in path.read_text()
    assert (known.port, read_keys(path).owner) == (8123, known.owner)
    assert change_keys(path, lambda found: found).owner == known.owner
    assert caplog.text.count("which no longer works") == 1


# -- the browser ----------------------------------------------------------------------------------------------


def test_a_code_is_used_once_and_soon():
    codes = OneTimeCodes(seconds=0.05)
    late = codes.issue()
    codes.wait_until_used(late)
    assert not codes.redeem(late)


def test_a_one_time_link_opens_the_page_as_the_owner(service):
    security_policy = SecurityPolicy((HOST,))
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}") as client:
        code = security_policy.codes.issue()
        assert client.head("/", params={"code": code}).status_code == 401  # looking at it uses nothing up
        assert client.get("/", params={"code": code}).status_code == 200
        assert client.get("/api/me").json()["role"] == "owner"
    with TestClient(make_app(service, security_policy), base_url=f"http://{HOST}") as client:
        assert client.get("/", params={"code": code}).status_code == 401


def test_a_browser_that_never_comes_leaves_nothing_behind(tmp_path, monkeypatch):
    opened = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    with opened_browser("http://127.0.0.1:8000", OneTimeCodes(), tmp_path / "s.db.keys"):
        (file,) = tmp_path.iterdir()
        wait_for(lambda: opened)
        assert opened == [file.as_uri()]
        assert file.stat().st_mode & 0o777 == 0o600
    assert list(tmp_path.iterdir()) == []


def test_files_of_killed_servers_are_removed_at_the_next_start(tmp_path, monkeypatch):
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    old, young, other = (
        tmp_path / name for name in ("s.db.keys.0123abcd.html", "s.db.keys.0123abce.html", "report.html")
    )
    for file in (old, young, other):
        file.touch()
    for file in (old, other):
        os.utime(file, (0, 0))
    with opened_browser("http://127.0.0.1:8000", OneTimeCodes(), tmp_path / "s.db.keys"):
        pass
    assert set(tmp_path.iterdir()) == {young, other}


BROWSER = """#!/bin/sh
printf '%s' "$*" > seen.txt
file="${1#file://}"
stat -c %a "$file" >> mode.txt
url=$(sed -n 's/.*url=\\([^"]*\\)".*/\\1/p' "$file")
"$PYTHON" -c "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).status)" "$url" > status.txt
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the browser here is a shell script")
def test_no_token_stands_on_a_command_line(tmp_path):
    """A browser that writes down its command line still gets in, and what it was given is of no use to others."""
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    browser = tmp_path / "browser"
    browser.write_text(BROWSER)
    browser.chmod(0o700)
    words = [*CLI, "label", "pool.csv", "--session", "s.db", "--prior", "flat", "--invite", "ann"]
    env = os.environ | {"PYTHONUNBUFFERED": "1", "BROWSER": str(browser), "PYTHON": sys.executable}
    run = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    try:
        link = next(line.split()[-1] for line in run.stdout if "label here" in line)
        wait_for(lambda: (tmp_path / "status.txt").exists() and (tmp_path / "status.txt").read_text().strip())
        assert (tmp_path / "status.txt").read_text().strip() == "200"
        wait_for(lambda: not list(tmp_path.glob("*.html")))
        tokens = [one.token for one in read_keys(get_keys_path(tmp_path / "s.db")).credentials]
        seen = (tmp_path / "seen.txt").read_text() + read_process(run.pid)
        assert seen.startswith("file://")
        assert not any(token in seen for token in tokens)
        assert (tmp_path / "mode.txt").read_text().strip() == "600"
        assert Client(link).me()["role"] == "owner"
    finally:
        run.terminate()
        run.communicate(timeout=60)


def wait_for(is_so, seconds=60):
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.05)


def read_process(pid):
    """What other users, and its own, can see of a process."""
    return "".join(Path(f"/proc/{pid}/{name}").read_bytes().decode(errors="replace") for name in ("cmdline", "comm", "environ"))  # fmt: skip


# -- the command line -----------------------------------------------------------------------------------------


def test_links_are_made_printed_again_and_revoked_while_the_page_is_served(type_in, tmp_path):
    pool, db = tmp_path / "pool.csv", tmp_path / "s.db"
    make_pool().to_csv(pool, index=False)
    words = [*CLI, "label", str(pool), "--session", str(db), "--prior", "flat", "--no-browser", "--invite", "ann,bob", "--host", "::1"]  # fmt: skip
    run = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONUNBUFFERED": "1"})  # fmt: skip
    try:
        links = [next(run.stdout).split()[-1] for _ in range(3)]
        assert all(link.startswith("http://[::1]:") for link in links)
        assert [Client(link).me()["name"] for link in links] == ["", "ann", "bob"]
        assert urlopen(links[1]).status == 200
        printed = type_in("access", "--session", db, "--invite", "cleo", "--revoke", "bob").out.splitlines()
        assert printed[:3] == ["revoked: bob", f"owner: {links[0]}", f"ann: {links[1]}"]
        assert Client(printed[3].split()[-1]).me()["name"] == "cleo"
        with pytest.raises(fl.InputError, match="credentials missing or invalid"):
            Client(links[2]).ask()
    finally:
        run.terminate()
        run.communicate(timeout=60)


def test_who_is_invited_before_the_page_is_served_is_told_so(type_in, tmp_path):
    Session.create(tmp_path / "s.db", make_pool(), goal=FindWorst(), prior=fl.flat()).close()
    said = type_in("access", "--session", tmp_path / "s.db", "--invite", "ann")
    assert said.code == 0
    assert "invited: ann" in said.out
    assert "serves the page and prints the links" in said.out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--session", "{db}", "--revoke", "ann"], "no annotator is called ann; no annotator was invited"),
        (["--session", "{db}", "--invite", "ann", "--revoke", "ANN"], "cannot be invited and revoked in one command"),
        (["--session", "{missing}", "--invite", "ann"], "no such session"),
        (["--session", "{pool}", "--invite", "ann"], "not a session of fewlabels"),
        (["--session", "{db}", "--invite", "a" * 81], "too long"),
    ],
)
def test_what_cannot_be_done_is_said(type_in, tmp_path, words, says):
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    Session.create(tmp_path / "s.db", make_pool(), goal=FindWorst(), prior=fl.flat()).close()
    names = {"db": tmp_path / "s.db", "missing": tmp_path / "no.db", "pool": tmp_path / "pool.csv"}
    said = type_in("access", *(word.format(**names) for word in words))
    assert (said.code, said.out) == (1, "")
    assert says in said.err
