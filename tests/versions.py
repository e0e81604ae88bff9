"""Do the lowest and the newest versions that pyproject.toml allows work, on every Python, with every extra?

Makes a virtual environment for each, in a temporary folder, installs fewlabels into it, runs `tests/smoke.py` there, and
prints a table; exit code 1 where something failed. Run from the root of the repository: python -m tests.versions
Lowest is the lowest version, of all packages that pyproject.toml names, that needs no compiler on that Python; what these
depend on is as new as they allow. It needs the Pythons (on the path, or installed by pyenv), and a package index as pip is set to; uv is installed into a
folder of its own. Spark needs Java, and postgres a PostgreSQL server's programs. All of it takes about half an hour.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.harness.main import ROWS
from bench.harness.page import join_paragraphs, show_table, text
from bench.harness.rows import Row, Rows, read_rows, write_rows

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.13")
RESOLUTIONS = {"lowest": "lowest-direct", "newest": "highest"}
EXTRAS = ("base", "demo", "simulate", "polars", "arviz", "mlflow", "postgres", "dask", "deep", "spark")
WITH_PYTEST = ("postgres", "dask", "spark")  # whose servers are started by what tests share
COMPILED = ("pydantic-core",)  # packages in other languages that are not named in pyproject.toml
WITHOUT_WHEELS = ("pyspark",)
SECONDS = 1800  # for one environment
NAME = re.compile(r"[A-Za-z0-9._-]+")


@dataclass(frozen=True)
class Environment:
    """What is installed, and where."""

    python: str
    versions: str
    extra: str
    folder: Path

    @property
    def program(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"

    def make(self, uv: Path) -> None:
        """Install what pyproject.toml asks for, then fewlabels itself."""
        extra = [] if self.extra == "base" else ["--extra", self.extra]
        wheels = [word for name in self.need_wheels() for word in ("--only-binary", name)]
        chosen = ["--resolution", RESOLUTIONS[self.versions], *wheels, "-r", str(ROOT / "pyproject.toml"), *extra]
        install = [str(uv), "pip", "install", "--quiet", "--python", str(self.program)]
        execute([str(uv), "venv", "--quiet", "--python", find_python(self.python), str(self.folder)])
        execute([*install, *chosen])
        execute([*install, "--no-deps", str(ROOT)])
        if self.extra in WITH_PYTEST:
            execute([*install, "pytest"])

    def need_wheels(self) -> list[str]:
        """Name the packages that are not to be compiled: all, but for Spark, which has no wheels."""
        named = [name for name in read_packages() if name not in WITHOUT_WHEELS]
        return [*named, *COMPILED] if self.extra == "spark" else [":all:"]

    def check(self) -> str:
        """Run the smoke test; return what failed."""
        return execute([str(self.program), str(ROOT / "tests" / "smoke.py"), self.extra])


class Failed(Exception):
    """A command ended with another exit code than 0."""


def read_packages() -> list[str]:
    """Name every package that pyproject.toml asks for to run."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    asked = [*project["dependencies"], *(line for name in EXTRAS[1:] for line in extras[name])]
    return sorted({NAME.match(line).group().lower() for line in asked})  # type: ignore[union-attr]


def execute(command: Sequence[str]) -> str:
    """Run a command; return what it printed, or raise what it said."""
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise Failed((done.stdout.strip() or done.stderr.strip())[-2000:])
    return done.stdout


def find_python(version: str) -> str:
    """Return an interpreter of this version: on the path, of pyenv, or what uv knows by that number."""
    name = f"python{version}"
    of_pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(name), *sorted(of_pyenv.glob(f"*/bin/{name}"))]
    return next((str(one) for one in found if one and _runs(str(one))), version)


def _runs(program: str) -> bool:
    return subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0


def install_uv(folder: Path) -> Path:
    """Put uv into an environment of its own, by pip and the index that it is set to."""
    execute([sys.executable, "-m", "venv", str(folder)])
    execute([str(folder / "bin" / "pip"), "install", "--quiet", "uv"])
    return folder / "bin" / "uv"


def try_all(chosen: Sequence[tuple[str, str, str]], folder: Path) -> Iterator[tuple[str, str, str, str, float]]:
    """Give python, versions, extra, what failed and the seconds that it took, one after the other."""
    uv = install_uv(folder / "uv")
    for python, versions, extra in chosen:
        began = time.perf_counter()
        environment = Environment(python, versions, extra, folder / f"{python}-{versions}-{extra}")
        try:
            environment.make(uv)
            environment.check()
            problem = ""
        except (Failed, subprocess.TimeoutExpired) as error:
            problem = str(error)
        yield python, versions, extra, problem, time.perf_counter() - began


def describe(python: str, versions: str, extra: str, problem: str, seconds: float) -> Row:
    """Return what came of an environment as a row."""
    outcome = "failed" if problem else "ok"
    return {"table": "versions", "python": python, "versions": versions, "extra": extra, "outcome": outcome, "seconds": round(seconds), "problem": problem[-300:] or None}  # fmt: skip


def read_kept(page: Path | None) -> dict[tuple[str, str, str], Row]:
    """Return the rows beside a page by environment."""
    path = page and page.with_suffix(ROWS)
    rows = read_rows(path) if path and path.exists() else []
    return {(row["python"], row["versions"], row["extra"]): row for row in rows}


def write_page(page: Path | None, rows: Rows) -> None:
    """Write a page and its rows, if wanted."""
    if page:
        write_rows(page.with_suffix(ROWS), rows)
        page.write_text(join_paragraphs(render(rows)), encoding="utf-8")


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page: a line per extra, a column per Python and choice of versions."""
    yield "# Lowest and newest versions"
    yield "`python -m tests.versions --out bench/versions.md`"
    kinds = list(dict.fromkeys((row["python"], row["versions"]) for row in rows))
    found = {(row["extra"], row["python"], row["versions"]): row["outcome"] for row in rows}
    columns = [("extra", text("extra")), *((" ".join(kind), text(" ".join(kind))) for kind in kinds)]
    extras = dict.fromkeys(row["extra"] for row in rows)
    yield show_table(columns, [{"extra": extra, **{" ".join(kind): found.get((extra, *kind)) for kind in kinds}} for extra in extras])  # fmt: skip
    yield "\n".join(f"- {row['extra']}, {row['python']}, {row['versions']}: {row['problem']}" for row in rows if row["problem"]) or "Nothing failed."  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a row for each environment as it is done, and what failed on standard error."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.versions", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, values in (("pythons", PYTHONS), ("versions", tuple(RESOLUTIONS)), ("extras", EXTRAS)):
        parser.add_argument(
            f"--{name}", default=",".join(values), help="joined by commas; by default %(default)s", metavar="NAMES"
        )
    parser.add_argument("--out", type=Path, help="a page; rows of earlier runs beside it are kept, so parts may be run")
    words = parser.parse_args(arguments)
    chosen = [
        (python, versions, extra)
        for python in words.pythons.split(",")
        for versions in words.versions.split(",")
        for extra in words.extras.split(",")
    ]
    n_failed, kept = 0, read_kept(words.out)
    print("| python | versions | extra | outcome | seconds |\n|---|---|---|---|---:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for python, versions, extra, problem, seconds in try_all(chosen, Path(folder)):
            print(f"| {python} | {versions} | {extra} | {'failed' if problem else 'ok'} | {seconds:.0f} |", flush=True)
            kept[python, versions, extra] = describe(python, versions, extra, problem, seconds)
            write_page(words.out, list(kept.values()))
            if problem:
                print(problem, file=sys.stderr, flush=True)
                n_failed += 1
    raise SystemExit(1 if n_failed else 0)


if __name__ == "__main__":
    main()
