"""A labelling page in a thread, for tests that need a real server."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from fewlabels.web import Desk, Door, Place, make_app
from fewlabels.web.connections import MOST
from fewlabels.web.pace import Pace
from fewlabels.web.server import Server


@contextmanager
def serving(desk: Desk, pace: Pace | None = None, most: int = MOST, **more: str) -> Iterator[str]:
    """Serve a desk on loopback, and give the address with its token."""
    with Place().listen() as taken:
        door = Door((f"127.0.0.1:{taken.getsockname()[1]}",))
        server = Server(make_app(desk, door, pace), desk.log, most=most, **more)
        thread = threading.Thread(target=server.run_on, args=(taken,), daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://{door.hosts[0]}/?token={door.token}"
        finally:
            server.should_exit = True
            thread.join()
            desk.close()
