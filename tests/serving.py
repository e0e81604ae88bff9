"""A labelling page in a thread, for tests that need a real server."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fewlabels.web.app import make_app
from fewlabels.web.connections import MAX_CONNECTIONS
from fewlabels.web.credentials import CredentialStore, MemoryStore
from fewlabels.web.listen_address import ListenAddress
from fewlabels.web.one_time_codes import OneTimeCodes
from fewlabels.web.rate_limit import RateLimit
from fewlabels.web.security import SecurityPolicy
from fewlabels.web.server import Server
from fewlabels.web.service import LabellingService

LOCAL = ListenAddress()


@contextmanager
def serving(
    service: LabellingService,
    rate_limit: RateLimit | None = None,
    max_connections: int = MAX_CONNECTIONS,
    *,
    listen_address: ListenAddress = LOCAL,
    store: CredentialStore | None = None,
    codes: OneTimeCodes | None = None,
) -> Iterator[str]:
    """Serve a desk on loopback, and give the owner's link."""
    with listen_address.listen() as listening_socket:
        port = listening_socket.getsockname()[1]
        codes = codes or OneTimeCodes()
        security_policy = SecurityPolicy(
            listen_address.list_allowed_hosts(port), secure=listen_address.is_secure, store=store or MemoryStore(),
            codes=codes, public_origin=listen_address.public_origin,
        )  # fmt: skip
        server = Server(
            make_app(service, security_policy, rate_limit),
            service.log,
            max_connections=max_connections,
            ssl_certfile=listen_address.certificate,
            ssl_keyfile=listen_address.key,
        )
        thread = threading.Thread(target=server.run_on, args=(listening_socket,), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"{listen_address.format_url(port)}/?token={security_policy.token}"
        finally:
            server.should_exit = True
            thread.join()
            service.close()
