"""Output files: whole or not at all, through links, pipes and terminals, and never over an input."""

import errno
import os
import pty
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from fewlabels import files
from fewlabels.errors import InputError
from fewlabels.files import check_outputs, write_atomic


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_link_stays_and_its_target_is_written(tmp_path):
    (tmp_path / "kept").mkdir()
    target, link = tmp_path / "kept" / "report.html", tmp_path / "report.html"
    target.write_text("old")
    link.symlink_to(target)
    write_atomic(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert names(tmp_path / "kept") == ["report.html"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    link = tmp_path / "link.json"
    link.symlink_to("target.json")
    write_atomic(link, "{}")
    assert link.is_symlink()
    assert (tmp_path / "target.json").read_text() == "{}"


def test_a_pipe_is_written_through(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    heard: list[bytes] = []
    reader = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    reader.start()
    content = "ä" * 100_000  # more than a pipe holds
    write_atomic(pipe, content)
    reader.join(10)
    assert heard == [content.encode()]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert names(tmp_path) == ["pipe"]


def test_a_terminal_is_written_through_also_behind_a_link(tmp_path):
    ours, theirs = pty.openpty()
    try:
        link = tmp_path / "screen"
        link.symlink_to(os.ttyname(theirs))
        write_atomic(link, "hello")
        assert os.read(ours, 100) == b"hello"
        assert stat.S_ISCHR(link.stat().st_mode)
    finally:
        os.close(ours)
        os.close(theirs)


def test_an_open_file_of_ours_is_appended_to(tmp_path):
    code = "from fewlabels.files import write_atomic\nprint('before')\nwrite_atomic('/dev/stdout', 'after')\n"
    with (tmp_path / "out").open("wb") as out:
        subprocess.run([sys.executable, "-c", code], stdout=out, check=True)
    assert (tmp_path / "out").read_text() == "before\nafter"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_a_file_that_is_replaced_leaves_its_mode(tmp_path, mode):
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(mode)
    write_atomic(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert path.read_text() == "new"


def test_a_new_file_has_the_mode_of_any_new_file(tmp_path):
    (tmp_path / "usual").write_text("")
    write_atomic(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_rights_of_a_group_that_cannot_be_kept_are_dropped(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EPERM, "no")

    path = tmp_path / "a"
    path.write_text("")
    path.chmod(0o660)
    before = os.stat_result((*path.stat()[:5], path.stat().st_gid + 1, *path.stat()[6:]))
    monkeypatch.setattr(os, "chown", refuse)
    with path.open("r+b") as file:
        files._copy_permissions(file.fileno(), before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def make_same(tmp_path: Path, how: str) -> Path:
    data, other = tmp_path / "data.csv", tmp_path / "other.csv"
    if how == "link":
        other.symlink_to(data)
    elif how == "hard link":
        other.hardlink_to(data)
    return data if how == "name" else other


@pytest.mark.parametrize("how", ["name", "link", "hard link"])
@pytest.mark.parametrize("pattern", ["data.csv", "d*.csv"])
def test_an_input_is_never_written(tmp_path, how, pattern):
    (tmp_path / "data.csv").write_text("id\n")
    same = make_same(tmp_path, how)
    with pytest.raises(InputError, match="is what is being read"):
        write_atomic(same, "x", inputs=["no.csv", None, str(tmp_path / pattern)])
    assert (tmp_path / "data.csv").read_text() == "id\n"


@pytest.mark.parametrize("existing", [False, True])
def test_two_outputs_are_two_files(tmp_path, existing):
    path, link = tmp_path / "a", tmp_path / "b"
    if existing:
        path.write_text("")
    link.symlink_to(path)
    with pytest.raises(InputError, match="--json and --html cannot both go to"):
        check_outputs({"--json": str(path), "--markdown": None, "--html": str(link)})
    with pytest.raises(InputError, match="cannot both go to standard output"):
        check_outputs({"--json": "-", "--out": "-"})
    check_outputs({"--json": str(path), "--html": str(tmp_path / "c"), "--out": "-"})


def make_loop(folder: Path) -> Path:
    (folder / "loop").symlink_to("loop")
    return folder / "loop"


def make_database(folder: Path) -> Path:
    (folder / "s.db").write_bytes(b"SQLite format 3\0 and so on")
    return folder / "s.db"


REFUSED = {
    "is a folder": lambda folder: folder,
    "no such folder": lambda folder: folder / "no" / "file",
    "too many levels of symbolic links": make_loop,
    "too long": lambda folder: folder / ("x" * 300),
    "null": lambda folder: f"{folder}/a\0b",
    "is a database": make_database,
}


@pytest.mark.parametrize("reason", REFUSED)
def test_what_cannot_be_written_is_refused_before_and_when_writing(tmp_path, reason):
    path = str(REFUSED[reason](tmp_path))
    before = names(tmp_path)
    with pytest.raises(InputError, match=reason):
        check_outputs({"--json": path})
    with pytest.raises(InputError, match=reason):
        write_atomic(path, "x")
    assert names(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_refused(tmp_path):
    (tmp_path / "a").write_text("old")
    (tmp_path / "a").chmod(0o444)
    with pytest.raises(InputError, match="permission denied"):
        check_outputs({"--json": str(tmp_path / "a")})


FULL = """
import resource, signal, sys
from fewlabels.errors import InputError
from fewlabels.files import write_atomic
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    write_atomic(sys.argv[1], "x" * 100_000)
except InputError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.html"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=True)
    assert "cannot be written: file too large" in done.stdout
    assert path.read_text() == "old"
    assert names(tmp_path) == ["a.html"]


@pytest.mark.parametrize("ending", [KeyboardInterrupt, SystemExit, MemoryError])
def test_whatever_ends_the_writing_nothing_stays_behind(tmp_path, monkeypatch, ending):
    def stop(_):
        raise ending

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(ending):
        write_atomic(tmp_path / "a.html", "new")
    assert names(tmp_path) == []


def test_half_characters_do_not_stop_a_file(tmp_path):
    assert write_atomic(tmp_path / "a", "x\udcff").read_text() == "x?"
