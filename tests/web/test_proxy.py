"""Behind a reverse proxy: a real nginx with TLS on loopback, at the root of a host and below a path."""

import io
import json
import re
import shlex
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, HTTPSHandler, OpenerDirector, Request, build_opener, urlopen

import pytest
from engines import find_port
from serving import serving

import fewlabels as fl
from fewlabels import InputError
from fewlabels.cli.app import app
from fewlabels.cli.page_setup import set_up_structured_log
from fewlabels.web.access_log import AccessLogMiddleware
from fewlabels.web.app import make_app
from fewlabels.web.client import Client
from fewlabels.web.error_log import FailureLog
from fewlabels.web.listen_address import ListenAddress, split_public_url
from fewlabels.web.security import SecurityPolicy
from fewlabels.web.service import LabellingService

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"
needs_nginx = pytest.mark.skipif(
    not (shutil.which("nginx") and shutil.which("openssl")), reason="there is no nginx, or no openssl"
)


def make_service() -> LabellingService:
    pool = {"id": range(8), "predicted": ["cat", "dog"] * 4, "text": [f"beast {i}" for i in range(8)]}
    return LabellingService(fl.Session.create(None, pool, goal=fl.Estimate(), prior=fl.flat()))


@contextmanager
def run_nginx(folder: Path, port: int, location: str) -> Iterator[Path]:
    """Run nginx with a certificate of its own and one location; give the certificate."""
    certificate, key = folder / "host.pem", folder / "host.key"
    words = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
    ]
    subprocess.run(["openssl", *words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    temporary = "".join(
        f"{name}_temp_path {folder}/{name}; " for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; {temporary}\n server {{ listen 127.0.0.1:{port} ssl; server_name localhost;\n"
        f"  ssl_certificate {certificate}; ssl_certificate_key {key};\n{location}\n}} }}\n"
    )
    with subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder], stderr=subprocess.PIPE) as nginx:
        try:
            wait_for(port, certificate, nginx)
            yield certificate
        finally:
            nginx.terminate()


def wait_for(port: int, certificate: Path, nginx: subprocess.Popen) -> None:
    for _ in range(300):
        assert nginx.poll() is None, nginx.stderr.read()
        try:
            urlopen(f"https://localhost:{port}/nothing", context=ssl.create_default_context(cafile=certificate))
        except HTTPError:
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("nginx does not answer")


def browse(certificate: Path) -> OpenerDirector:
    return build_opener(HTTPCookieProcessor(), HTTPSHandler(context=ssl.create_default_context(cafile=certificate)))


def read_location(path: str) -> str:
    """The location that the documentation proposes, for a page at this path."""
    blocks = re.findall(r"^ *location (\S+) \{.*?^ *\}", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
    assert blocks == ["/", "/label/"]
    return next(
        found[0]
        for found in re.finditer(r"^ *location (\S+) \{.*?^ *\}", PAGE.read_text(), flags=re.DOTALL | re.MULTILINE)
        if found[1] == path
    )


@needs_nginx
@pytest.mark.parametrize("path", ["/", "/label/"])
def test_a_page_behind_nginx_labels_and_keeps_strangers_out(path: str, tmp_path: Path) -> None:
    port, inner = find_port(), find_port()
    public = f"https://localhost:{port}{path}"
    service, location = make_service(), read_location(path).replace("127.0.0.1:8000", f"127.0.0.1:{inner}")
    with (
        serving(service, listen_address=ListenAddress(port=inner, public_url=public)) as link,
        run_nginx(tmp_path, port, location) as certificate,
    ):
        assert link.startswith(f"{public}?token=")
        browser = browse(certificate)
        with browser.open(link) as answer:
            cookie = answer.headers["set-cookie"]
            assert "Secure" in cookie
            assert "HttpOnly" in cookie
            assert b'href="./"' in answer.read()
        for name, words in (("", b'src="page.js"'), ("page.js", b"api/"), ("page.css", b"--ink")):
            with browser.open(public + name) as answer:
                assert words in answer.read()
        headers = {"x-fewlabels": "owner%3A", "content-type": "application/json", "origin": public.removesuffix(path)}
        with browser.open(Request(f"{public}api/ask", data=b'{"who": "ann"}', headers=headers)) as answer:
            [item] = json.load(answer)["items"]
        body = json.dumps({"who": "ann", "answers": [{"id": item["id"], "label": "cat"}]}).encode()
        with pytest.raises(HTTPError, match="403"):
            browser.open(
                Request(f"{public}api/tell", data=body, headers=headers | {"origin": "https://elsewhere.example"})
            )
        with browser.open(Request(f"{public}api/tell", data=body, headers=headers)) as answer:
            assert json.load(answer)["kept"] == 1
        with pytest.raises(HTTPError, match="401"):
            browse(certificate).open(f"{public}api/board")
        with browse(certificate).open(f"{public}healthz") as answer:
            assert json.load(answer) == {"status": "ok"}
        with browser.open(Request(f"{public}api/metrics")) as answer:
            assert "fewlabels_settled 0" in answer.read().decode()
    assert [row["label"] for row in service.session.answers()] == ["cat"]


@needs_nginx
@pytest.mark.parametrize("path", ["/", "/label/"])
def test_people_label_in_a_browser_behind_nginx(path: str, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("there is no chromium")
    port, inner = find_port(), find_port()
    public, service = f"https://localhost:{port}{path}", make_service()
    location = read_location(path).replace("127.0.0.1:8000", f"127.0.0.1:{inner}")
    with (
        serving(service, listen_address=ListenAddress(port=inner, public_url=public)) as link,
        run_nginx(tmp_path, port, location),
        playwright.sync_playwright() as play,
    ):
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_context(ignore_https_errors=True).new_page()
        page.set_default_timeout(60_000)
        page.goto(link)
        page.fill("#name", "ann")
        page.keyboard.press("Enter")
        page.wait_for_selector("#classes button")
        assert "token" not in page.url
        before = page.inner_text("#item")
        page.keyboard.press("1")
        page.wait_for_function("text => document.getElementById('item').innerText !== text", arg=before)
        browser.close()
    assert len(service.session.answers()) == 1


def test_the_unit_and_the_container_start_commands_that_exist() -> None:
    text = PAGE.read_text()
    [unit] = re.findall(r"^ExecStart=(.*)$", text, flags=re.MULTILINE)
    [entry] = re.findall(r"^ENTRYPOINT (.*)$", text, flags=re.MULTILINE)
    [more] = re.findall(r"^CMD (.*)$", text, flags=re.MULTILINE)
    for words in (shlex.split(unit), [*json.loads(entry), *json.loads(more)]):
        assert Path(words[0]).name == "fewlabels"
        app.parse_args(words[1:], exit_on_error=False, print_error=False)


def test_the_health_command_of_the_container_runs() -> None:
    [check] = re.findall(r"^HEALTHCHECK CMD (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    _, option, code = json.loads(check)
    with serving(make_service()) as link:
        port = re.search(r":(\d+)/", link)[1]
        done = subprocess.run([sys.executable, option, code.replace("8000", port)], check=False, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run(
        [sys.executable, option, code.replace("8000", "9")], check=False, capture_output=True
    ).returncode


def test_messages_of_the_server_can_be_lines_of_json(capsys: pytest.CaptureFixture[str]) -> None:
    with set_up_structured_log(enabled=True):
        FailureLog().note("GET /api/board", ValueError("a secret"))
    entry = json.loads(capsys.readouterr().err)
    assert entry["level"] == "error"
    assert entry["message"].startswith("GET /api/board: ValueError")
    assert "secret" not in entry["message"]


def test_clients_keep_the_path_of_a_link() -> None:
    with pytest.raises(InputError, match="does not answer"):
        Client("http://127.0.0.1:9/label/?token=x").status()


@pytest.mark.parametrize("url", ["label.example.org", "ftp://label.example.org", "https://", "https://x.org/?a=1", "https://u:p@x.org/", "https://x.org/#a"])  # fmt: skip
def test_public_urls_that_no_browser_opens_are_refused(url: str) -> None:
    with pytest.raises(InputError, match="public-url"):
        ListenAddress(public_url=url).check()


def test_a_public_url_is_printed_accepted_and_makes_cookies_secure() -> None:
    address = ListenAddress(public_url="https://Label.Example.org/team/")
    address.check()
    assert address.format_url(8000) == "https://label.example.org/team"
    assert {"127.0.0.1:8000", "label.example.org", "label.example.org:443"} <= set(address.list_allowed_hosts(8000))
    assert address.is_secure
    assert address.public_origin == "https://label.example.org"
    assert split_public_url("http://[::1]:8080").hosts == ("[::1]:8080",)


def test_the_access_log_has_names_and_no_tokens() -> None:
    from starlette.testclient import TestClient  # noqa: PLC0415

    said, policy = io.StringIO(), SecurityPolicy(("testserver",))
    app = make_app(make_service(), policy)
    app.add_middleware(AccessLogMiddleware, file=said)
    with TestClient(app) as client:
        client.get(f"/?token={policy.token}")
        client.get("/api/board", headers={"authorization": f"Bearer {policy.token}"})
        client.get("/api/board", headers={"authorization": "Bearer nonsense"})
    lines = [json.loads(line) for line in said.getvalue().splitlines()]
    assert [(line["path"], line["status"]) for line in lines][:2] == [("/", 200), ("/api/board", 200)]
    assert lines[1]["caller"] == "owner"
    assert policy.token not in said.getvalue()
    assert all(line["seconds"] >= 0 for line in lines)


@pytest.mark.parametrize(
    "url",
    [
        "https://x:99999/", "https://x:0/", "https://[x/", "https://x/<script>", "https://x/a;b", "https://x/../y", "https://x/a/./b", "https://x//",
        "https://x/a b", "https://x/é", "ftp://x", "https://", "https://u:p@x/", "https://x/?q=1", "https://x/#f", "javascript:alert(1)", "",
    ],
)  # fmt: skip
def test_what_no_browser_opens_as_it_stands_is_no_public_url(url: str) -> None:
    with pytest.raises(fl.InputError, match=r"is not the URL of a page"):
        split_public_url(url)


def test_paths_of_a_public_url_stay_as_they_are() -> None:
    for path in ("", "/team", "/a/b.c/d_e~f-g", "/%C3%A9", "/..a"):
        assert split_public_url(f"https://x{path}/").address == f"https://x{path}"
