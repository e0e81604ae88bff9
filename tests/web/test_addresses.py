"""Every address that is printed opens as it is printed; what cannot be served is refused with one clear message."""

import os
import shutil
import ssl
import subprocess
import sys
from http.client import HTTPConnection
from urllib.request import urlopen

import pytest
from serving import serving
from test_web import make_pool

import fewlabels as fl
from fewlabels.active.goals.estimation import Estimate
from fewlabels.sessions.session import Session
from fewlabels.web.client import Client
from fewlabels.web.listen_address import ListenAddress, normalize_host
from fewlabels.web.service import LabellingRules, LabellingService

OPENSSL = shutil.which("openssl")
HAS_IPV6 = os.path.exists("/proc/net/if_inet6")  # noqa: PTH110
IS_ROOT = hasattr(os, "geteuid") and os.geteuid() == 0
needs_ipv6 = pytest.mark.skipif(not HAS_IPV6, reason="there is no IPv6 on this machine")
needs_root = pytest.mark.skipif(not IS_ROOT, reason="only root may listen on ports below 1024")
needs_openssl = pytest.mark.skipif(OPENSSL is None, reason="there is no openssl to make a certificate with")


def make_service():
    return LabellingService(Session.create(None, make_pool(), goal=Estimate(), prior=fl.flat()))


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """A certificate for this machine, and its key."""
    return make_pair(tmp_path_factory.mktemp("tls"), "host")


def make_pair(folder, name, *more):
    certificate, key = str(folder / f"{name}.pem"), str(folder / f"{name}.key")
    made = [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    subject = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1", "-keyout", key, "-out", certificate]
    subprocess.run([OPENSSL, *made, *subject, *(more or ["-nodes"])], check=True, capture_output=True)
    return certificate, key


PLACES = [
    (ListenAddress(), "http://127.0.0.1:"),
    (ListenAddress("localhost"), "http://localhost:"),
    (ListenAddress("LocalHost"), "http://localhost:"),
    (ListenAddress("127.1"), "http://127.0.0.1:"),
    (ListenAddress("127.0.0.2"), "http://127.0.0.2:"),
    (ListenAddress("0.0.0.0", names=("localhost",)), "http://localhost:"),
    (ListenAddress(names=("label.example.org",)), "http://127.0.0.1:"),
    pytest.param(ListenAddress("::1"), "http://[::1]:", marks=needs_ipv6),
    pytest.param(ListenAddress("[0:0::1]"), "http://[::1]:", marks=needs_ipv6),
    pytest.param(ListenAddress("::", names=("localhost",)), "http://localhost:", marks=needs_ipv6),
    pytest.param(ListenAddress("::", names=("127.0.0.1",)), "http://127.0.0.1:", marks=needs_ipv6),
    pytest.param(ListenAddress("::", names=("::1",)), "http://[::1]:", marks=needs_ipv6),
]


@pytest.mark.parametrize(("listen_address", "starts"), PLACES)
def test_a_printed_address_opens(listen_address, starts):
    listen_address.check()
    service = make_service()
    with serving(service, listen_address=listen_address) as link:
        assert link.startswith(starts)
        assert b"labelling page" in urlopen(link).read()
        assert Client(link).me()["role"] == "owner"
        assert Client(link).ask(1, who="bot")


@pytest.mark.parametrize(
    "words",
    [
        ["--host", "0.0.0.0", "--names", "localhost"],
        pytest.param(["--host", "::1"], marks=needs_ipv6),
        pytest.param(["--host", "::", "--names", "localhost"], marks=needs_ipv6),
    ],
    ids=lambda words: words[1],
)
def test_the_address_that_the_command_prints_opens(tmp_path, words):
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    code = "from fewlabels.cli.app import main; main()"
    said = ["label", "pool.csv", "--session", "s.db", "--prior", "flat", "--no-browser", *words]
    with subprocess.Popen(
        [sys.executable, "-c", code, *said], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONUNBUFFERED": "1"},
    ) as run:  # fmt: skip
        try:
            link = next(line.split()[-1] for line in run.stdout if "http" in line)
            assert link.startswith(("http://localhost:", "http://[::1]:"))  # as browsers write them
            assert urlopen(link, timeout=30).status == 200
        finally:
            run.terminate()


@needs_openssl
def test_a_printed_address_opens_over_tls(pair):
    with serving(make_service(), listen_address=ListenAddress("localhost", 0, *pair)) as link:
        assert link.startswith("https://localhost:")
        assert "Secure" in open_link(link, pair[0])


def open_link(link, certificate):
    with urlopen(link, context=ssl.create_default_context(cafile=certificate)) as answer:
        return answer.headers["set-cookie"]


@needs_root
@needs_openssl
def test_the_usual_port_may_be_left_out(pair):
    """In one test, because two at a time cannot have the same port."""
    for listen_address, starts in (
        (ListenAddress(port=80), "http://127.0.0.1/"), (ListenAddress(port=443), "http://127.0.0.1:443/"),
        (ListenAddress("localhost", 443, *pair), "https://localhost/"), (ListenAddress("localhost", 80, *pair), "https://localhost:80/"),
    ):  # fmt: skip
        try:
            listen_address.listen().close()
        except fl.InputError:
            pytest.skip(f"port {listen_address.port} is taken")
        with serving(make_service(), listen_address=listen_address) as link:
            assert link.startswith(starts)
            assert open_link(link, pair[0])
            if listen_address == ListenAddress(port=80):
                hosts = {
                    "127.0.0.1": 200,
                    "127.0.0.1:80": 200,
                    "LOCALHOST": 200,
                    "evil.example": 421,
                    "127.0.0.1:8080": 421,
                }
                assert {host: knock(link, host) for host in hosts} == hosts


def knock(link, host):
    line = HTTPConnection("127.0.0.1", 80, timeout=30)
    line.request("GET", f"/{link.rpartition('/')[2]}", headers={"host": host})
    status = line.getresponse().status
    line.close()
    return status


def test_names_come_first_where_the_host_is_not_this_machine_alone():
    assert ListenAddress("192.0.2.1", names=("label.example.org",)).format_url(80) == "http://label.example.org"
    assert ListenAddress("192.0.2.1", names=("b.example",)).list_allowed_hosts(81) == ("b.example:81", "192.0.2.1:81")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("Label.Example.ORG", "label.example.org"), ("münchen.example", "xn--mnchen-3ya.example"), ("::1", "[::1]"), ("[2001:DB8:0::1]", "[2001:db8::1]"), ("0x7f.1", "127.0.0.1"), ("my_host", "my_host")],
)  # fmt: skip
def test_names_are_written_as_browsers_write_them(said, meant):
    assert normalize_host(said, "names") == meant


ODD_HOSTS = [
    "",
    " ",
    "a b",
    "a/b",
    "http://a",
    "a:80",
    "-a",
    "a..b",
    "fe80::1%eth0",
    "1.2.3.4.5",
    "999.1.1.1",
    "a\x00b",
    "x" * 300,
    "ä" * 70,
]


@pytest.mark.parametrize("name", ODD_HOSTS)
def test_odd_names_are_refused(name):
    for listen_address in (ListenAddress(name), ListenAddress("0.0.0.0", names=(name,))):
        with pytest.raises(fl.InputError, match="is not a valid host name") as said:
            listen_address.check()
        assert len(str(said.value)) < 500


@pytest.mark.parametrize("port", [-1, 65536, 10**12, 22, 6000, 6667])
def test_ports_that_no_browser_opens_are_refused(port):
    with pytest.raises(fl.InputError, match="port: "):
        ListenAddress(port=port).check()


@pytest.mark.parametrize("host", ["192.0.2.1", "no-such-machine.invalid"])
def test_a_host_that_is_not_this_machine_is_said(host):
    with pytest.raises(fl.InputError, match="cannot listen on"):
        ListenAddress(host).listen()


@pytest.mark.parametrize("lease", [float("inf"), float("nan"), -1.0, 0.0, 1e300])
def test_leases_that_never_begin_or_never_end_are_refused(lease):
    session = Session.create(None, make_pool(), goal=Estimate(), prior=fl.flat())
    for call in (lambda: LabellingRules(lease), lambda: session.ask(1, lease=lease)):
        with pytest.raises(fl.InputError, match="lease: must be more than 0"):
            call()


@needs_openssl
def test_certificates_that_cannot_be_used_are_refused(tmp_path, pair):
    (tmp_path / "nonsense.pem").write_text("nonsense")
    (tmp_path / "empty.pem").touch()
    certificate, key = pair
    _, other = make_pair(tmp_path, "other")
    _, locked = make_pair(tmp_path, "locked", "-passout", "pass:secret")
    for bad, says in (
        ((str(tmp_path / "missing.pem"), key), "certificate: .* there is no such file"),
        ((certificate, str(tmp_path / "missing.key")), "key: .* there is no such file"),
        ((str(tmp_path), key), "there is no such file"),
        ((str(tmp_path / "nonsense.pem"), key), "cannot be used together"),
        ((str(tmp_path / "empty.pem"), key), "cannot be used together"),
        ((certificate, str(tmp_path / "nonsense.pem")), "cannot be used together"),
        ((certificate, other), "cannot be used together: key values mismatch"),
        ((certificate, locked), "has a passphrase"),
        ((certificate, None), "go together"),
    ):
        with pytest.raises(fl.InputError, match=says):
            ListenAddress("127.0.0.1", 0, *bad).check()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--lease", "inf"], "lease: must be"), (["--lease", "nan"], "lease: must be"), (["--lease", "-3"], "lease: must be"),
        (["--port", "99999"], "port: must be between"), (["--port", "-1"], "port: must be between"),
        (["--host", "::"], "say which: --names"), (["--host", "::", "--names", "a b"], "is not a valid host name"),
        (["--certificate", "no.pem", "--key", "no.key"], "certificate: no.pem: there is no such file"),
        (["--invite", "a\x1bb"], "cannot be shown"), (["--media-from", "https://a;b"], "is not an origin"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_said_before_a_session_is_made(type_in, tmp_path, words, says):
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    said = type_in("label", tmp_path / "pool.csv", "--session", tmp_path / "s.db", "--prior", "flat", *words)
    assert (said.code, len(said.err.splitlines())) == (1, 1)
    assert says in said.err
    assert "bug" not in said.err
    assert [file.name for file in tmp_path.iterdir()] == ["pool.csv"]


def test_a_keys_file_that_is_refused_is_said_before_a_session_is_made(type_in, tmp_path):
    make_pool().to_csv(tmp_path / "pool.csv", index=False)
    (tmp_path / "s.db.keys").touch(0o600)
    (tmp_path / "s.db.keys").write_text('{"port": 1, "token": "", "visit": ""}')
    said = type_in("label", tmp_path / "pool.csv", "--session", tmp_path / "s.db", "--prior", "flat", "--no-browser")
    assert (said.code, said.out) == (1, "")
    assert "is not a keys file: credentials.0.token: String should have at least 40 characters" in said.err
    assert not (tmp_path / "s.db").exists()
