"""Clusters that tests may start: two workers of Dask or of Ray, which only this machine can reach."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory

import pytest


@contextmanager
def start_dask() -> Iterator[None]:
    """Two processes; no port is fixed, since somebody else may have it."""
    dask = pytest.importorskip("distributed", reason="Dask is not installed: pip install '.[dask]'")
    with TemporaryDirectory() as folder:
        choices = {"host": "127.0.0.1", "dashboard_address": "127.0.0.1:0", "local_directory": folder}
        with dask.LocalCluster(n_workers=2, threads_per_worker=1, **choices) as cluster, dask.Client(cluster):
            yield


@contextmanager
def start_ray() -> Iterator[None]:
    """Two processes, without pages; nothing is left behind."""
    # A folder of its own, and not pytest's: the names of sockets in it may not be long.
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        # Unless told before it is imported, Ray listens to the whole network, whatever the address it is given.
        patch.setenv("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
        patch.setenv("RAY_AUTH_TOKEN", secrets.token_hex(32))  # else it writes one into the home folder
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray = pytest.importorskip("ray", reason="Ray is not installed: pip install ray")
        pytest.importorskip("ray.util.joblib").register_ray()
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        try:
            assert ray.nodes()[0]["NodeManagerAddress"] == "127.0.0.1"
            yield
        finally:
            ray.shutdown()
