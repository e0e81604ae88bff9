"""Engines that tests may start: Spark in this process, a PostgreSQL server on loopback, and what needs no starting."""

import glob
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import ibis
import pytest
from ibis.backends import BaseBackend

SERVER = "postgres"  # who the server runs as: it refuses to be root
QUIET = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # half the time of a short run
}


@contextmanager
def start_spark() -> Iterator[BaseBackend]:
    """A cluster of two threads, without pages or progress bars."""
    spark = pytest.importorskip("pyspark.sql", reason="Spark is not installed: pip install '.[spark]'")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java 17, and there is none on this machine")
    with tempfile.TemporaryDirectory() as folder:
        builder = spark.SparkSession.builder.master("local[2]").config("spark.sql.warehouse.dir", folder)
        for name, value in QUIET.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        try:
            yield ibis.pyspark.connect(session)
        finally:
            session.stop()


@contextmanager
def start_postgres() -> Iterator[BaseBackend]:
    """A server of its own, in a folder of its own, that only this machine can reach."""
    pytest.importorskip("psycopg", reason="the PostgreSQL driver is not installed: pip install '.[postgres]'")
    programs = _find_programs()
    user = SERVER if os.getuid() == 0 else None
    with tempfile.TemporaryDirectory() as folder:
        if user:
            shutil.chown(folder, user)
        run = {"user": user, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.STDOUT}
        data, port = Path(folder) / "data", find_port()
        subprocess.run([programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8"], check=True, **run)  # fmt: skip
        options = ("listen_addresses=127.0.0.1", "unix_socket_directories=", "fsync=off", f"port={port}")
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, *(f"--{option}" for option in options)], **run
        )  # fmt: skip
        try:
            engine = _connect(server, port)
            try:
                yield engine
            finally:
                engine.disconnect()
        finally:
            server.send_signal(signal.SIGINT)  # at once: a polite request waits for every client to leave
            server.wait(timeout=30)


def _find_programs() -> Path:
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))  # noqa: PTH207 (Debian keeps them off the path)
    program = shutil.which("initdb") or (found[-1] if found else None)
    if program is None:
        pytest.skip("there is no PostgreSQL server on this machine: apt-get install postgresql")
    return Path(program).parent


def find_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _connect(server: subprocess.Popen[bytes], port: int) -> BaseBackend:
    for _ in range(300):
        try:
            return ibis.postgres.connect(host="127.0.0.1", port=port, user="tester", database="postgres")
        except Exception:
            if server.poll() is not None:
                raise
            time.sleep(0.1)
    raise TimeoutError("the PostgreSQL server did not start within half a minute")
