"""Several sessions under one server: each has its own path, links and cookies."""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from starlette.testclient import TestClient

import fewlabels as fl
from fewlabels.cli.folder_server import find_predictions, find_sessions, open_sessions, serve_folder
from fewlabels.cli.options import Columns
from fewlabels.cli.page_options import ServerOptions
from fewlabels.errors import InputError, naming_options
from fewlabels.sessions.journal.errors import StorageError
from fewlabels.web.app import make_app
from fewlabels.web.client import Client
from fewlabels.web.security import SecurityPolicy
from fewlabels.web.service import LabellingRules, LabellingService
from fewlabels.web.session_router import SessionRouter

HOST = "127.0.0.1:8123"
NAMES = ("cats", "dogs & co")


def make_pool(name: str) -> dict[str, object]:
    return {"id": range(6), "predicted": ["yes", "no"] * 3, "text": [f"{name} {i}" for i in range(6)]}


def create_session(path: Path, *, kept: bool = True, **columns: object) -> None:
    """Start a session beside its predictions; unless `kept`, one that does not remember its columns, as before."""
    pool = fl.Predictions.read(path, **columns)
    pool = pool if kept else replace(pool, given_roles=None)
    fl.Session.create(path.with_suffix(".db"), pool, goal=fl.Estimate(), prior=fl.flat()).close()


def make_router(check=lambda: None):
    services = {
        name: LabellingService(fl.Session.create(None, make_pool(name), goal=fl.Estimate(), prior=fl.flat()))
        for name in NAMES
    }
    policies = {name: SecurityPolicy((HOST,), session=name) for name in NAMES}
    apps = {name: make_app(services[name], policies[name]) for name in NAMES}
    return SessionRouter(apps, check), policies, services


def test_each_session_has_its_own_path_links_and_cookies() -> None:
    router, policies, services = make_router()
    with TestClient(router, base_url=f"http://{HOST}") as browser:
        for name in NAMES:  # one browser signs in to both
            assert browser.get(f"/{name}/?token={policies[name].token}").status_code == 200
        assert len({policies[name].cookie for name in NAMES}) == 2
        for name in NAMES:
            asked = browser.post(f"/{name}/api/ask", json={"who": "ann"}, headers={"x-fewlabels": "owner:"})
            assert asked.status_code == 200
            assert asked.json()["items"][0]["fields"][0]["text"].startswith(name)
    with TestClient(router, base_url=f"http://{HOST}") as stranger:
        wrong = {"authorization": f"Bearer {policies['cats'].token}"}
        assert stranger.get("/cats/api/me", headers=wrong).status_code == 200
        assert stranger.get("/dogs & co/api/me", headers=wrong).status_code == 401
    for service in services.values():
        service.close()


def test_what_is_not_a_page_of_a_session() -> None:
    router, _, services = make_router()
    with TestClient(router, base_url=f"http://{HOST}", follow_redirects=False) as browser:
        moved = browser.get("/cats?token=x")
        assert (moved.status_code, moved.headers["location"]) == (307, "cats/?token=x")
        for path in ("/", "/birds/", "/birds/api/me", "/api/me"):
            found = browser.get(path)
            assert found.status_code == 404
            assert not any(name in found.text for name in NAMES)  # whoever has no link learns no names
        assert browser.get("/healthz").json() == {"status": "ok"}
    for service in services.values():
        service.close()


def test_probes_learn_that_a_session_cannot_be_read() -> None:
    def fail() -> None:
        raise StorageError("the disk is gone")

    router, _, services = make_router(fail)
    with TestClient(router, base_url=f"http://{HOST}") as browser:
        assert browser.get("/healthz").status_code == 503
    for service in services.values():
        service.close()


def test_folders_without_sessions_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no session in it"):
        find_sessions(str(tmp_path))
    with pytest.raises(InputError, match="there is no such folder"):
        find_sessions(str(tmp_path / "nowhere"))
    (tmp_path / "b.db").touch()
    (tmp_path / ".hidden.db").touch()
    (tmp_path / "a.db").touch()
    assert list(find_sessions(str(tmp_path))) == ["a", "b"]


def test_predictions_are_where_they_were_or_beside_the_session(tmp_path: Path) -> None:
    session, moved = tmp_path / "a.db", tmp_path / "p.csv"
    with pytest.raises(InputError, match="are neither here nor in"):
        find_predictions(session, "elsewhere/p.csv")
    moved.touch()
    assert find_predictions(session, "elsewhere/p.csv") == moved


def test_sessions_that_cannot_be_served_are_named_and_left_out(tmp_path: Path) -> None:
    plain, own = tmp_path / "plain.csv", tmp_path / "own.csv"
    pd.DataFrame(make_pool("plain")).to_csv(plain, index=False)
    pd.DataFrame(make_pool("own")).rename(columns={"predicted": "machine"}).to_csv(own, index=False)
    for path, columns in ((plain, {}), (own, {"predicted": "machine"})):
        create_session(path, kept=False, **columns)
    (tmp_path / "a_note.db").write_text("milk, eggs")
    (tmp_path / "empty.db").touch()
    with ExitStack() as stack:
        sessions, reasons = open_sessions(find_sessions(str(tmp_path)), LabellingRules(), Columns(), stack)
        assert list(sessions) == ["plain"]
        sessions["plain"].service.close()
    assert len(reasons) == 3
    assert "a_note.db is not served: not a session" in reasons[0]
    assert "empty.db is not served: not a session" in reasons[1]
    assert f"--session {own.with_suffix('.db')}" in reasons[2]
    assert "no predictions found" in reasons[2]


def test_a_session_of_other_columns_than_those_recognised_says_how_to_serve_it(tmp_path: Path) -> None:
    """The file has a column `predicted` too, so it can be read, but not as the predictions of this session."""
    path = tmp_path / "two.csv"
    pd.DataFrame(make_pool("two")).assign(machine=["no", "yes", "yes"] * 2).to_csv(path, index=False)
    create_session(path, kept=False, predicted="machine")
    with ExitStack() as stack:
        sessions, (reason,) = open_sessions(find_sessions(str(tmp_path)), LabellingRules(), Columns(), stack)
    assert not sessions
    assert "was made from other predictions" in reason
    assert (
        f"serve this session alone with: fewlabels label FILE --session {path.with_suffix('.db')} and these options"
        in reason
    )


def test_sessions_are_served_with_the_columns_that_each_was_created_with(tmp_path: Path) -> None:
    for name, columns in (("one", {"predicted": "machine"}), ("two", {"predicted": "said", "show": ["more"]})):
        frame = pd.DataFrame(make_pool(name)).rename(columns={"predicted": columns["predicted"]})
        frame.assign(more=name.upper()).to_csv(tmp_path / f"{name}.csv", index=False)
        create_session(tmp_path / f"{name}.csv", **columns)
    shown = {"one": {"text", "more"}, "two": {"more"}}
    with ExitStack() as stack:
        sessions, reasons = open_sessions(find_sessions(str(tmp_path)), LabellingRules(), Columns(), stack)
        assert reasons == ()
        for name, served in sessions.items():
            (item,) = served.service.ask("ann")
            assert {field.name for field in item.fields} == shown[name]
            served.service.close()
    assert set(sessions) == {"one", "two"}


def test_column_options_of_the_folder_that_a_session_was_not_created_with_are_named(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    pd.DataFrame(make_pool("two")).assign(machine=["no", "yes", "yes"] * 2).to_csv(path, index=False)
    create_session(path, predicted="machine")
    with ExitStack() as stack, naming_options():
        columns = Columns(predicted="predicted")
        sessions, (reason,) = open_sessions(find_sessions(str(tmp_path)), LabellingRules(), columns, stack)
    assert not sessions
    assert "--predicted predicted is not what it was created with: start serve without it, or serve this session alone" in reason  # fmt: skip


def test_a_folder_in_which_no_session_can_be_served_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "note.db").write_text("milk, eggs")
    with pytest.raises(InputError, match="none of its sessions can be served"):
        serve_folder(str(tmp_path), ServerOptions(), Columns())


def test_the_verb_serves_all_sessions_of_a_folder(tmp_path: Path) -> None:
    for name in NAMES:
        pd.DataFrame(make_pool(name)).to_csv(tmp_path / f"{name}.csv", index=False)
        pool = fl.Predictions.read(tmp_path / f"{name}.csv")
        with fl.Session.create(tmp_path / f"{name}.db", pool, goal=fl.Estimate(), prior=fl.flat()):
            pass
    command = [
        sys.executable,
        "-c",
        "from fewlabels.cli.app import main; main()",
        "serve",
        str(tmp_path),
        "--access-log",
        str(tmp_path / "log.jsonl"),
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"NO_COLOR": "1"}) as running:
        assert running.stdout is not None
        said = "".join(iter(running.stdout.readline, "stop with Ctrl-C; every answer is saved at once\n"))
        links = re.findall(r"label here: (\S+)", said)
        try:
            for name, link in zip(NAMES, links, strict=True):
                client = Client(link)
                (item,) = client.ask(1, who="bot")
                assert item["fields"][0]["text"].startswith(name)
                client.tell({item["id"]: "yes"}, who="bot")
        finally:
            running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    for name in NAMES:
        with fl.Session.open(tmp_path / f"{name}.db", read_only=True) as session:
            assert session.status()["n_labels"] == 1
    logged = [json.loads(line)["session"] for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert set(logged) == set(NAMES)
