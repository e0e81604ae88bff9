"""A labelling page in a thread, for tests that need a real server."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from fewlabels.web import CredentialStore, Desk, Door, MemoryStore, Place, make_app
from fewlabels.web.opening import OneTimeCodes
from fewlabels.web.pace import Pace

LOCAL = Place()


@contextmanager
def serving(
    desk: Desk,
    pace: Pace | None = None,
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
        config = uvicorn.Config(
            make_app(desk, door, pace), log_level="critical", access_log=False, ssl_certfile=place.certificate, ssl_keyfile=place.key
        )  # fmt: skip
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"{place.spell_address(port)}/?token={door.token}"
        finally:
            server.should_exit = True
            thread.join()
            desk.close()
