"""Do the wheel and the source archive install, and does the command start quickly? python -m tests.archives

Builds both, installs each into an environment of its own for every Python that is found, assesses a small file there, and
prints the size of the environment and the processor seconds of two commands. Exit code 1 where something failed.
"""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.versions import find_python

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
ROWS = "id,predicted,label\n" + "".join(f"{i},{'ab'[i % 2]},{'a' if i % 3 else ''}\n" for i in range(1700))
COMMANDS = (("--help",), ("assess", "pool.csv"), ("assess", "pool.csv", "--html", "report.html"))


def main() -> int:
    """Print a table; return 1 if anything failed."""
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for archive in build(folder / "dist"):
            for python in PYTHONS:
                try:
                    print(
                        f"{archive.suffix:8} {python:5} {try_archive(folder / f'{archive.suffix}{python}', archive, python)}"
                    )
                except (subprocess.CalledProcessError, OSError) as error:
                    failed = 1
                    print(f"{archive.suffix:8} {python:5} FAILED: {getattr(error, 'stderr', b'') or error}")
    return failed


def build(folder: Path) -> list[Path]:
    """Build the source archive, and the wheel from it, as an index would get them."""
    script = f"import hatchling.build as b; print(b.build_sdist({str(folder)!r}))"
    folder.mkdir()
    tools = folder.parent / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    subprocess.run([tools / "bin/pip", "install", "-q", "hatchling"], check=True, capture_output=True)
    subprocess.run([tools / "bin/python", "-c", script], check=True, capture_output=True, cwd=ROOT)
    [source] = folder.glob("*.tar.gz")
    subprocess.run(
        [tools / "bin/pip", "wheel", "-q", "--no-deps", "-w", folder, source], check=True, capture_output=True
    )
    return [*folder.glob("*.whl"), source]


def try_archive(folder: Path, archive: Path, python: str) -> str:
    """Install an archive, run the commands, and describe size and time."""
    subprocess.run([find_python(python), "-m", "venv", folder], check=True, capture_output=True)
    subprocess.run([folder / "bin/pip", "install", "-q", archive], check=True, capture_output=True)
    (folder / "pool.csv").write_text(ROWS)
    size = sum(path.lstat().st_blocks * 512 for path in folder.rglob("*")) / 2**20
    seconds = [f"{' '.join(words)}: {measure(folder, words):.2f} s" for words in COMMANDS]
    return f"{size:.0f} MB; {'; '.join(seconds)}"


def measure(folder: Path, words: tuple[str, ...]) -> float:
    """Return the least processor seconds of three runs; refuse output on standard error."""
    best = float("inf")
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [folder / "bin/fewlabels", *words], check=True, capture_output=True, text=True, cwd=folder
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        best = min(best, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        if "nanobind" in done.stderr or "Traceback" in done.stderr:
            raise OSError(done.stderr[:300])
    return best


if __name__ == "__main__":
    sys.exit(main())
