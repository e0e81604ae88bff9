"""What every test may use: the pools, where they are, and a command line to type on."""

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from pkgutil import resolve_name

import pytest
from engines import start_postgres
from shape_checks import install, start_test
from threadpoolctl import threadpool_limits

install("fewlabels")  # before anything of it is imported
sys.modules["conftest"] = sys.modules[__name__]  # one module, whichever name tests import it by

from fewlabels.cli.app import main  # noqa: E402

POOLS = Path(__file__).parents[2] / "shared" / "pools"
FIRST = (  # files that start first: the slowest tests, and those that compile kernels, which other workers then find on disk
    "test_simulation.py", "test_kernels.py", "test_experiments.py", "test_clusters.py", "test_engines.py", "test_faults.py",
    "test_fuzz.py", "test_page.py", "test_service.py", "test_annotators.py", "test_deep.py", "test_calibration_curves.py", "test_label_studio.py",
    "test_active_coverage.py", "test_architecture.py", "test_calibrated.py", "test_docs.py",
)  # fmt: skip


def pytest_configure() -> None:
    """Multiply matrices in one thread, here and in what is started: more threads than cores wait for each other, busily."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    threadpool_limits(1, "blas")  # of libraries that were loaded before


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Start slow files first, so that no worker is left with one of them at the end."""
    items.sort(key=lambda item: FIRST.index(item.path.name) if item.path.name in FIRST else len(FIRST))


def pytest_runtest_setup() -> None:
    """Check the shapes of the first calls of every function in every test."""
    start_test()


@pytest.fixture(autouse=True)
def _fixed_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """Results are made at one and the same time, so that two of them can be compared."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")


@pytest.fixture
def pools() -> Path:
    """The folder with real models' predictions, kept outside the project."""
    if not POOLS.is_dir():
        pytest.skip("the pools of real predictions are not on this machine")
    return POOLS


@dataclass(frozen=True)
class Typed:
    """What a command line answered."""

    code: int
    out: str
    err: str


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Callable[..., Typed]:
    """Type a command line, and get back exit code, output and errors."""

    def run(*words: object) -> Typed:
        monkeypatch.setattr(sys, "argv", ["fewlabels", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        said = capsys.readouterr()
        code = stop.value.code
        return Typed(code if isinstance(code, int) else 0, said.out, said.err)

    return run


NUMBER = count()  # of sessions in the database


@pytest.fixture(scope="session")
def database() -> Iterator[str]:
    """The address of a database."""
    with start_postgres() as engine:
        yield f"postgresql://tester@127.0.0.1:{engine.con.info.port}/postgres"


@pytest.fixture
def session_url(database: str) -> str:
    """The address of a session that is not there yet."""
    return f"{database}?session=pilot-{next(NUMBER)}"


@pytest.fixture
def create_in_database(database: str):
    """Create a journal with a new name."""
    journal = resolve_name("fewlabels.sessions.journal.postgres:PostgresJournal")
    return lambda *content: journal.create(f"{database}?session=pilot-{next(NUMBER)}", *content)
