"""A labelling page in a thread, for tests that need a real server."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fewlabels.web.addresses import Place
from fewlabels.web.app import make_app
from fewlabels.web.browser import OneTimeCodes
from fewlabels.web.connections import MOST
from fewlabels.web.credentials import CredentialStore, MemoryStore
from fewlabels.web.rate_limit import Pace
from fewlabels.web.security import Door
from fewlabels.web.server import Server
from fewlabels.web.service import Desk

LOCAL = Place()


@contextmanager
def serving(
    desk: Desk,
    pace: Pace | None = None,
    most: int = MOST,
    *,
    place: Place = LOCAL,
    store: CredentialStore | None = None,
    codes: OneTimeCodes | None = None,
) -> Iterator[str]:
    """Serve a desk on loopback, and give the owner's link."""
    with place.listen() as taken:
        port = taken.getsockname()[1]
        secure, codes = place.scheme == "https", codes or OneTimeCodes()
        door = Door(place.list_hosts(port), secure=secure, store=store or MemoryStore(), codes=codes)
        server = Server(
            make_app(desk, door, pace), desk.log, most=most, ssl_certfile=place.certificate, ssl_keyfile=place.key
        )
        thread = threading.Thread(target=server.run_on, args=(taken,), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"{place.spell_address(port)}/?token={door.token}"
        finally:
            server.should_exit = True
            thread.join()
            desk.close()
