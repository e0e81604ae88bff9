"""A labelling page in a thread, for tests that need a real server."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from fewlabels.web import Desk, Door, Place, make_app
from fewlabels.web.pace import Pace


@contextmanager
def serving(desk: Desk, pace: Pace | None = None) -> Iterator[str]:
    """Serve a desk on loopback, and give the address with its token."""
    with Place().listen() as taken:
        door = Door((f"127.0.0.1:{taken.getsockname()[1]}",))
        server = uvicorn.Server(uvicorn.Config(make_app(desk, door, pace), log_level="critical", access_log=False))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://{door.hosts[0]}/?token={door.token}"
        finally:
            server.should_exit = True
            thread.join()
            desk.close()
