"""The address that the server listens on, its URL and the Host headers that it accepts.

Browsers normalize hosts (lower case, IPv6 compressed and in brackets) and omit the default port from the Host header.
Host names are normalized in the same way before they are printed or compared, so every printed URL opens as printed.
"""

import errno
import ipaddress
import os
import re
import socket
import ssl
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from fewlabels.errors import InputError, format_option

WILDCARD_HOSTS = ("0.0.0.0", "::")  # all interfaces
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
DEFAULT_PORTS = {"http": 80, "https": 443}
HOSTNAME = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)(\.(?!-)[a-z0-9_-]{1,63}(?<!-))*\.?")
PAGE_PATH = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~%-]+)*/?")  # no empty parts, and none that lead elsewhere
NUMERIC_LABEL = re.compile(r"(0x[0-9a-f]*|[0-9]+)\.?")
BLOCKED_PORTS = frozenset((
    1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103, 104, 109, 110, 111,
    113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548,
    554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665,
    6666, 6667, 6668, 6669, 6679, 6697, 10080,
))  # fmt: skip  # ports that browsers block (the "bad ports" of the Fetch standard)


class PublicUrl(NamedTuple):
    """The URL of a reverse proxy, in parts."""

    origin: str
    address: str  # with the path, without a slash at the end
    hosts: tuple[str, ...]  # as browsers and proxies write them


def _split_page_url(url: str) -> SplitResult:
    """Split the URL of the page's address into parts that a browser opens as they stand."""
    try:
        parts = urlsplit(url.strip())
        is_page = parts.scheme in DEFAULT_PORTS and parts.hostname and parts.port != 0
    except ValueError:  # the port, or brackets
        is_page = False
    if not is_page or parts.query or parts.fragment or parts.username or not PAGE_PATH.fullmatch(parts.path):
        raise InputError(f"public-url: {url!r} is not the URL of a page; write for instance https://label.example.org/")
    return parts


def split_public_url(url: str) -> PublicUrl:
    """Split the public URL of the address, at a reverse proxy; refuse one that no browser opens.

    >>> split_public_url("https://Label.example.org:443/team/")
    PublicUrl(origin='https://label.example.org', address='https://label.example.org/team', hosts=('label.example.org', 'label.example.org:443'))
    """
    parts = _split_page_url(url)
    name, usual = (
        normalize_host(parts.netloc.rpartition("@")[2].removesuffix(f":{parts.port}"), "public-url"),
        DEFAULT_PORTS[parts.scheme],
    )
    port = parts.port or usual
    hosts = (name, f"{name}:{port}") if port == usual else (f"{name}:{port}",)
    origin = f"{parts.scheme}://{hosts[0]}"
    return PublicUrl(origin, origin + parts.path.rstrip("/"), hosts)


@dataclass(frozen=True)
class ListenAddress:
    """The host, port and certificate to serve with; the default is the loopback address and any free port.

    Parameters
    ----------
    host: str
        Address or host name to listen on; 0.0.0.0 or :: for all interfaces.
    port: int
        Port to listen on; 0 for any free port.
    certificate, key: str
        Files with a TLS certificate and its private key.
    names: tuple of str
        Host names that browsers use for this machine, if `host` is not one of them.
    public_url: str
        The URL under which browsers reach a reverse proxy in front of this server: `https://host/` or `https://host/path/`.
    """

    host: str = "127.0.0.1"
    port: int = 0
    certificate: str | None = None
    key: str | None = None
    names: tuple[str, ...] = ()
    public_url: str = ""

    def check(self) -> None:
        """Refuse an address that cannot be served, or that browsers block."""
        if not 0 <= self.port <= 65535:
            raise InputError(f"port: must be between 0 and 65535, got {self.port}")
        if self.port in BLOCKED_PORTS:
            raise InputError(
                f"port: browsers block port {self.port}, which is reserved for another service; choose another"
            )
        if self.public_url:
            split_public_url(self.public_url)
        if self.bind_host in WILDCARD_HOSTS and not self.names and not self.public_url:
            raise InputError(
                f"host: browsers do not open {self.host}, but a host name of this machine; say which: {format_option('names')}"
            )
        if (self.certificate is None) != (self.key is None):
            raise InputError(f"{format_option('certificate')} and {format_option('key')} go together")
        self.list_allowed_hosts(self.port)  # refuses invalid host names
        if self.certificate is not None and self.key is not None:
            check_certificate(self.certificate, self.key)

    @cached_property
    def bind_host(self) -> str:
        """The host as the operating system expects it: without brackets."""
        host = self.host.strip().lower()
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect: the host is a loopback address."""
        return self.bind_host == "localhost" or _is_loopback(self.bind_host)

    @property
    def scheme(self) -> str:
        """The URL scheme: https if there is a certificate."""
        return "http" if self.certificate is None else "https"

    @cached_property
    def hostnames(self) -> tuple[str, ...]:
        """The normalized host names of this server; the first one is printed."""
        own = () if self.bind_host in WILDCARD_HOSTS else (normalize_host(self.bind_host, "host"),)
        named = tuple(normalize_host(name, "names") for name in self.names)
        if self.is_loopback:  # the loopback address always works on this machine
            return tuple(dict.fromkeys((*own, *named, *LOOPBACK)))
        return tuple(dict.fromkeys((*named, *own, *(LOOPBACK if self.bind_host in WILDCARD_HOSTS else ()))))

    def list_allowed_hosts(self, port: int) -> tuple[str, ...]:
        """Return the accepted Host headers; on the default port with and without the port."""
        full = tuple(f"{name}:{port}" for name in self.hostnames)
        own = (*full, *self.hostnames) if port == DEFAULT_PORTS[self.scheme] else full
        return (*own, *split_public_url(self.public_url).hosts) if self.public_url else own

    @property
    def is_secure(self) -> bool:
        """Whether browsers connect to the address with TLS: to this server, or to the proxy in front of it."""
        return self.scheme == "https" or self.public_url.lower().startswith("https:")

    @property
    def public_origin(self) -> str:
        """The origin of the page behind a proxy; empty without one."""
        return split_public_url(self.public_url).origin if self.public_url else ""

    def format_url(self, port: int) -> str:
        """Return the URL to open, without a slash at the end."""
        if self.public_url:
            return split_public_url(self.public_url).address
        usual = port == DEFAULT_PORTS[self.scheme]
        return f"{self.scheme}://{self.hostnames[0]}{'' if usual else f':{port}'}"

    def listen(self) -> socket.socket:
        """Return a socket that listens on the first address of the host that can be bound."""
        try:
            found = socket.getaddrinfo(self.bind_host, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            return _bind_first([(family, address) for family, *_, address in found])
        except (OSError, OverflowError, UnicodeError, ValueError) as error:
            raise InputError(self._explain(error)) from None

    def _explain(self, error: Exception) -> str:
        """Say why the port cannot be bound, and propose a free one."""
        if getattr(error, "errno", None) == errno.EADDRINUSE and self.port:
            with replace(self, port=0).listen() as free:
                other = free.getsockname()[1]
            return f"port {self.port} on {self.host} is in use by another program; choose another, for instance {format_option('port', other)}"
        reason = getattr(error, "strerror", None) or error
        return f"cannot listen on {self.host}:{self.port}: {reason}; choose another {format_option('port')} or {format_option('host')}"


def normalize_host(name: str, option: str) -> str:
    """Normalize the host name of an address as browsers do.

    >>> normalize_host("Label.Example.ORG", "names"), normalize_host("0:0::1", "host"), normalize_host("127.1", "host")
    ('label.example.org', '[::1]', '127.0.0.1')
    """
    bare = name.strip().removeprefix("[").removesuffix("]")
    try:
        if ":" in bare:
            return f"[{_check_zone(ipaddress.IPv6Address(bare)).compressed}]"
        if NUMERIC_LABEL.fullmatch(bare.rpartition(".")[2]):
            return socket.inet_ntoa(socket.inet_aton(bare))
        found = bare.encode("idna").decode().lower()
    except (ValueError, OSError):
        found = ""
    if not HOSTNAME.fullmatch(found):
        raise InputError(
            f"{option}: {name!r} is not a valid host name; write for instance label.example.org or 192.0.2.1"
        )
    return found


def check_certificate(certificate: str, key: str) -> None:
    """Refuse a certificate and a private key for the address that cannot be loaded together."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    for option, file in (("certificate", certificate), ("key", key)):
        _check_readable(option, file)
    try:
        context.load_cert_chain(certificate, key, password=_refuse_passphrase)
    except ssl.SSLError as error:
        reason = (error.reason or "no PEM data").lower().replace("_", " ")
        raise InputError(f"certificate: {certificate} and {key} cannot be used together: {reason}; both must be PEM files, and the key must belong to the certificate") from None  # fmt: skip


def _check_readable(option: str, file: str) -> None:
    """Refuse a certificate or key for the listen address that is missing or cannot be read."""
    try:
        if not Path(file).is_file():
            raise InputError(f"{option}: {file}: there is no such file")
        Path(file).open("rb").close()
    except OSError as error:
        raise InputError(f"{option}: {file} cannot be read: {error.strerror}") from None


def _refuse_passphrase() -> str:
    """Refuse a private key for the listen address that has a passphrase."""
    raise InputError("key: the private key has a passphrase; write it without one to a file that only you can read")


def _check_zone(address: ipaddress.IPv6Address) -> ipaddress.IPv6Address:
    """Refuse an IPv6 address to listen on that has a zone."""
    if address.scope_id is not None:
        raise ValueError("browsers do not open addresses with a zone")
    return address


def _is_loopback(host: str) -> bool:
    """Is the host of an address this machine alone?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bind_first(found: list[tuple[socket.AddressFamily, tuple[Any, ...]]]) -> socket.socket:
    """Listen on the first address of a host that can be bound."""
    problem: OSError = OSError("no such address")
    for family, address in found:
        try:
            return _listen_on(family, address)
        except OSError as error:
            problem = error
    raise problem


def _listen_on(family: socket.AddressFamily, address: tuple[Any, ...]) -> socket.socket:
    """Return a socket that listens on this address."""
    listening_socket = socket.socket(family, socket.SOCK_STREAM)
    try:
        if os.name == "posix":  # on Windows it would let two servers listen on one port
            listening_socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6 and address[0] == "::":
            listening_socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)  # dual stack: accept IPv4 too
        listening_socket.bind(address)
        listening_socket.listen()
    except BaseException:
        listening_socket.close()
        raise
    return listening_socket
