"""Labelling at a terminal: real keys through a real one, and the meaning of every key without."""

import fcntl
import io
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len
from rich.console import Console

import fewlabels as fl
from fewlabels.cli.items import print_item
from fewlabels.cli.session_files import OpenedSession
from fewlabels.cli.terminal.answers import Answer, Command
from fewlabels.cli.terminal.completion import complete, find_class, list_prefix_matches
from fewlabels.cli.terminal.keyboard import BACKSPACE, END, ENTER, ESCAPE, SPACE, TAB, Keyboard, cbreak_mode
from fewlabels.cli.terminal.keys import KeyAnswers
from fewlabels.cli.terminal.line_editor import LineEditor, _truncate_left
from fewlabels.cli.terminal.loop import LabellingLoop
from fewlabels.sessions.shortcuts import assign_shortcuts
from fewlabels.text import as_text, sanitize, sanitize_line, to_json_value

COMMAND = Path(sys.executable).parent / "fewlabels"
HOSTILE = "\x1b]0;owned\x07 \x1b[2J\x1b[31mred\x9b5m \u202egnorw\r gone"
TAMED = "␛]0;owned␇ ␛[2J␛[31mred\\u009b5m \\u202egnorw␍ gone"
PATIENCE = 60.0
LEGEND = "q stop"


class Screen:
    """The other end of a terminal: reads what is printed, presses keys."""

    def __init__(self, *words: object, width: int = 100) -> None:
        self.keyboard, self.line = pty.openpty()
        fcntl.ioctl(self.line, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        self.before = termios.tcgetattr(self.line)
        # A shell that opens the terminal by name makes it its own, so that Ctrl-C reaches the command.
        command = ("sh", "-c", 'exec "$@" <"$0" >"$0" 2>&1', os.ttyname(self.line), COMMAND, *map(str, words))
        size = ("COLUMNS", "LINES")  # of whatever runs the tests
        world = {name: value for name, value in os.environ.items() if name not in size} | {"TERM": "xterm-256color"}
        self.process = subprocess.Popen(command, start_new_session=True, env=world)
        self.seen, self.read_up_to = "", 0

    def wait_for(self, *texts: str) -> None:
        """Wait until these are printed, one after the other."""
        end = time.monotonic() + PATIENCE
        for text in texts:
            while text not in self.seen[self.read_up_to :]:
                assert time.monotonic() < end, f"waited in vain for {text!r}; seen: {self.seen[self.read_up_to :]!r}"
                assert self._take() or self.process.poll() is None, f"it ended before {text!r}; seen: {self.seen!r}"
            self.read_up_to = self.seen.index(text, self.read_up_to) + len(text)

    def press(self, keys: str) -> None:
        os.write(self.keyboard, keys.encode())

    def finish(self) -> int:
        """Wait for the end; return the exit code."""
        end = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, f"it does not end; seen: {self.seen!r}"
            self._take()
        while self._take():
            pass
        return self.process.returncode

    @property
    def is_as_before(self) -> bool:
        return termios.tcgetattr(self.line) == self.before

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.keyboard)
        os.close(self.line)

    def _take(self) -> bool:
        ready, _, _ = select.select([self.keyboard], [], [], 0.1)
        if ready:
            self.seen += os.read(self.keyboard, 65536).decode(errors="replace")
        return bool(ready)


@pytest.fixture
def screen() -> Iterator[Callable[..., Screen]]:
    """Type a command at a terminal of its own."""
    opened: list[Screen] = []

    def start(*words: object, width: int = 100) -> Screen:
        opened.append(Screen(*words, width=width))
        return opened[-1]

    yield start
    for one in opened:
        one.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Items whose text would take over a terminal that obeys it."""
    n = 40
    predicted = np.random.default_rng(0).choice(["cat", "dog", "emu"], n)
    frame = pd.DataFrame({"id": [f"{i:03d}" for i in range(n)], "predicted": predicted, "score_b": 0.5})
    frame["text"] = [f"animal {i} {HOSTILE}" for i in range(n)]
    frame.to_parquet(tmp_path / "p.parquet")
    return tmp_path / "p.parquet"


def labels(path: Path) -> list[str | None]:
    with fl.Session.open(path, read_only=True) as session:
        return [row["label"] for row in session.answers()]


class TestAtARealTerminal:
    def test_keys_answer_skip_name_undo_and_stop(self, screen, file: Path, tmp_path: Path) -> None:
        db = tmp_path / "s.db"
        s = screen("label", file, "--session", db, "--goal", "find-worst", "--terminal", "--as", "kim")
        s.wait_for("hidden to avoid bias: score_b", "item ", LEGEND)
        for keys, said in (("2", "dog"), (" ", "cannot tell"), ("/em\r", "emu"), ("\x1b[A1", "cat")):
            s.press(keys)
            s.wait_for(f"→ {said}", "the worst by accuracy is", "item ", LEGEND)
        assert labels(db) == ["dog", None, "emu", "cat"]
        assert "  3 labels; accuracy of " in s.seen
        s.press("\x7f")
        s.wait_for("undone: ", LEGEND)
        assert labels(db) == ["dog", None, "emu"]
        s.press("q")
        assert s.finish() == 0
        assert s.is_as_before
        seen = s.seen.replace("\r\n", "")
        assert f"fewlabels label {file} --session {db} --as kim --terminal" in seen
        assert TAMED in seen
        assert not any(bad in seen for bad in ("\x1b]", "\x1b[2J", "\x1b[31mred", "\x9b", "\u202e", "\x07", "\r gone"))
        with fl.Session.open(db) as session:
            assert {row["who"] for row in session.answers()} == {"kim"}

    def test_keys_typed_ahead_are_ignored_and_that_is_said(self, screen, file: Path, tmp_path: Path) -> None:
        s = screen("label", file, "--session", tmp_path / "s.db", "--terminal")
        s.press("1")  # long before anything is on the screen
        s.wait_for(LEGEND, "keys typed before the item was shown are ignored")
        s.press("111")
        s.wait_for("→ cat", LEGEND, "keys typed before the item was shown are ignored")
        s.press("2")
        s.wait_for("→ dog", LEGEND)
        assert labels(tmp_path / "s.db") == ["cat", "dog"]
        s.press("q")
        assert s.finish() == 0
        assert s.seen.count("keys typed before") == 2

    def test_a_narrow_screen_breaks_lines_between_words(self, screen, file: Path, tmp_path: Path) -> None:
        s = screen("label", file, "--session", tmp_path / "s.db", "--goal", "find-worst", "--terminal", width=40)
        s.wait_for(LEGEND)
        s.press("1")
        s.wait_for("→ cat", "probability", LEGEND)
        begin = s.seen.index("→ cat")
        said = s.seen[begin : s.seen.index("probability", begin)]
        assert all(cell_len(line) <= 40 for line in said.splitlines())
        assert "the worst by accuracy is" in " ".join(said.split())
        s.press("q")
        assert s.finish() == 0

    def test_ctrl_c_stops_and_gives_the_terminal_back(self, screen, file: Path, tmp_path: Path) -> None:
        s = screen("label", file, "--session", tmp_path / "s.db", "--terminal")
        s.wait_for(LEGEND)
        assert not s.is_as_before
        s.press("1")
        s.wait_for("→ cat", LEGEND)
        s.press("\x03")
        assert s.finish() == 0
        assert s.is_as_before
        assert "1 answer kept" in s.seen
        assert "Traceback" not in s.seen

    def test_many_classes_are_typed_and_being_ended_gives_the_terminal_back(self, screen, tmp_path: Path) -> None:
        names = [f"kind {i:02d}" for i in range(40)]
        pd.DataFrame({"id": range(40), "predicted": names}).to_csv(tmp_path / "p.csv", index=False)
        s = screen("label", tmp_path / "p.csv", "--session", tmp_path / "s.db", "--terminal")
        s.wait_for("only ids are shown", "esc stop")
        s.press("k\t1")
        s.wait_for("kind 10, kind 11")
        s.press("\r")
        s.wait_for("10 classes have this prefix")
        s.press("7\r")
        s.wait_for("→ kind 17", "esc stop")
        s.process.send_signal(signal.SIGTERM)
        assert s.finish() == 143
        assert s.is_as_before
        assert labels(tmp_path / "s.db") == ["kind 17"]


class TestKeys:
    @pytest.mark.parametrize(
        ("sent", "keys"),
        [
            ("a", ["a"]), ("é", ["é"]), ("東", ["東"]), ("\r", [ENTER]), ("\n", [ENTER]), ("\x08", [BACKSPACE]),
            ("\x1b[A1", ["", "1"]), ("\x1b[3~1", ["", "1"]), ("\x1bOP1", ["", "1"]), ("\x1bx1", ["", "1"]), ("\x1b", [ESCAPE]),
            ("\x1b[\x04", [END]), ("\x1b[1;\x7f", [BACKSPACE]), ("\x1b[é", ["é"]), ("\x1b[\x1b[A1", ["", "1"]), ("\x1bO", [""]),
        ],
    )  # fmt: skip
    def test_reads_characters_and_skips_arrows(self, sent: str, keys: list[str]) -> None:
        far, near = pty.openpty()
        before = termios.tcgetattr(near)
        with cbreak_mode(near) as keyboard:
            os.write(far, sent.encode())
            assert [keyboard.read() for _ in keys] == keys
            assert termios.tcgetattr(near) != before
        assert termios.tcgetattr(near) == before
        os.close(far)
        assert Keyboard(near).read() == END  # whoever hung up wants to stop
        os.close(near)

    def test_a_hang_up_within_a_sequence_is_the_end(self) -> None:
        read_end, write_end = os.pipe()
        os.write(write_end, b"\x1b[1")
        os.close(write_end)
        assert Keyboard(read_end).read() == END  # it waited for the end of the sequence for ever
        os.close(read_end)

    def test_forgets_what_was_typed_too_early(self) -> None:
        far, near = pty.openpty()
        with cbreak_mode(near) as keyboard:
            assert not keyboard.discard_pending()
            os.write(far, b"early")
            time.sleep(0.05)
            assert keyboard.discard_pending()
            os.write(far, b"x")
            assert keyboard.read() == "x"
        os.close(far)
        os.close(near)


class Typist(Keyboard):
    """Keys that were decided on before."""

    def __init__(self, keys: list[str]) -> None:
        self._keys = iter(keys)

    def read(self) -> str:
        return next(self._keys)

    def discard_pending(self) -> bool:
        return False


def hear(keys: list[str], classes: tuple[str, ...], width: int = 80, **options: bool) -> tuple[Answer | Command, str]:
    out = io.StringIO()
    heard = KeyAnswers(Console(file=out, width=width, height=20), Typist(keys), **options).ask(
        1, {"text": "t " * 2000}, classes
    )
    return heard, out.getvalue()


NINE = tuple(f"kind {i}" for i in range(9))
MANY = tuple(f"class {i}" for i in range(50))


class TestWhatKeysMean:
    @pytest.mark.parametrize(
        ("keys", "classes", "heard"),
        [
            (["1"], ("cat", "dog"), Answer("cat")),
            (["2"], ("cat", "dog"), Answer("dog")),
            (["7"], tuple("0123456789"), Answer("7")),  # a class that is a key is its own
            (["7"], NINE, Answer("kind 7")),  # and so is the one number in a name
            (["1"], ("1", "10", "2"), Answer("1")),
            (["a"], ("1", "10", "2"), Answer("10")),
            (["3", "2"], ("1", "10", "2"), Answer("2")),  # three is none of them
            (["G"], (*NINE, "gnu"), Answer("gnu")),
            (["a"], ("A", "b"), Answer("A")),
            (["a"], ("A", "a"), Answer("a")),
            (["A"], ("A", "a"), Answer("A")),
            (["/"], ("/", "+", "cat"), Answer("/")),  # commands give way
            (["+"], ("/", "+", "cat"), Answer("+")),
            ([":", "c", ENTER], ("/", "+", "cat"), Answer("cat")),
            (["*", SPACE], ("/", "+", "cat"), Answer(None)),
            (["+", "1", ENTER], (*MANY, "+1"), Answer("+1")),
            (["x", "+", "", "1"], ("cat", "dog"), Answer("cat")),
            ([SPACE], ("cat", "dog"), Answer(None)),
            ([BACKSPACE], ("cat", "dog"), Command.UNDO),
            (["s"], ("cat", "dog"), Answer(None)),  # as on the page
            (["u"], ("cat", "dog"), Command.UNDO),
            (["s"], ("s", "u"), Answer("s")),  # a class has that key
            (["u"], ("s", "u"), Answer("u")),
            (["?"], ("s", "u"), Answer(None)),
            ([ESCAPE], ("cat", "dog"), Command.STOP),
            ([END], ("cat", "dog"), Command.STOP),
            (["q"], ("cat", "dog"), Command.STOP),
            (["q"], ("q", "dog"), Answer("q")),
            (["y"], ("no", "yes"), Answer("yes")),
            (["N"], ("No", "Yes", "maybe"), Answer("No")),
            (["1"], ("No", "Yes", "maybe"), Answer("maybe")),
            (["n"], ("n", "no"), Answer("n")),  # a name of one letter comes first
            (["f"], ("False", "True"), Answer("False")),
            (["/", "d", ENTER], ("cat", "dog"), Answer("dog")),
            (["/", "x", ENTER, BACKSPACE, BACKSPACE, "1"], ("cat", "dog"), Answer("cat")),
            (["/", "d", ESCAPE, SPACE], ("cat", "dog"), Answer(None)),
            (["c", TAB, "4", "2", ENTER], MANY, Answer("class 42")),
            (["c", TAB, "4", ENTER], MANY, Answer("class 4")),  # a whole name wins over longer ones
            ([SPACE], MANY, Answer(None)),
            (["q", ESCAPE, ESCAPE], MANY, Command.STOP),
            (["0", ".", "5", ENTER], (), Answer("0.5")),
            (["2", ENTER, BACKSPACE, "1", ENTER], (), Answer("1")),
            (["x", ENTER, BACKSPACE, "0", ENTER], (), Answer("0")),
        ],
    )  # fmt: skip
    def test_a_key(self, keys: list[str], classes: tuple[str, ...], heard: Answer | Command) -> None:
        assert hear(keys, classes)[0] == heard

    def test_the_legend_names_the_keys(self) -> None:
        _, said = hear([SPACE], ("cat", "dog"))
        assert "1 cat   2 dog" in said
        assert "+ show all" in said
        assert "esc stop" in hear([ESCAPE], ("q",))[1]
        assert "a number from 0 to 1" in hear([ESCAPE], ())[1]

    def test_plus_shows_all_of_it(self) -> None:
        _, said = hear(["+", SPACE], ("cat",))
        assert said.count("t t") > 900 > hear([SPACE], ("cat",))[1].count("t t")

    def test_a_new_class_is_typed_where_that_is_allowed(self) -> None:
        assert hear(["/", "y", "k", ENTER, ESCAPE, SPACE], ("cat",))[0] == Answer(None)
        assert hear(["/", "y", "k", ENTER], ("cat",), new_classes=True)[0] == Answer("yk")

    def test_a_wrong_key_is_told_the_right_ones(self) -> None:
        said = " ".join(hear(["x", SPACE], ("cat", "dog"))[1].split())
        assert "no class has the key x: keys are 1, 2; / finds a class by name" in said
        assert "keys are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, a, b and 8 more;" in hear(["%", SPACE], MANY[:20], 200)[1]

    @pytest.mark.parametrize("width", [24, 40, 60])
    def test_no_key_is_parted_from_its_class(self, width: int) -> None:
        classes = tuple(f"kind of {i}" for i in range(20))
        _, said = hear([SPACE], classes, width)
        lines = [line.strip() for line in said.splitlines()]
        for part in (
            *(f"{key} {name}" for name, key in assign_shortcuts(classes).shown.items()),
            "backspace undo",
            "q stop",
        ):
            assert any(part in line for line in lines), part
        assert all(cell_len(line) <= width for line in lines)

    def test_a_long_legend_leaves_less_room_for_the_item(self) -> None:
        few, many = (hear([SPACE], MANY[:n], 30)[1].count("t t") for n in (2, 8))
        assert few > many

    def test_names_are_found_and_completed(self) -> None:
        classes = ["car", "cat", "Cairo", "dog", "dogs"]
        assert find_class("dog", classes) == ["dog"]
        assert find_class("CA", classes) == ["car", "cat", "Cairo"]
        assert list_prefix_matches("dog", classes) == ["dog", "dogs"]
        assert complete("c", classes) == "ca"
        assert complete("D", classes) == "dog"
        assert complete("x", classes) == "x"

    def type(
        self, keys: list[str], classes: list[str], width: int = 60, **options: bool
    ) -> tuple[str | None, list[str]]:
        out = io.StringIO()
        got = LineEditor(Console(file=out, width=width), Typist(keys), classes, **options).read()
        return got, out.getvalue().split("\r\x1b[K")

    def test_longer_names_are_shown_beside_the_one_that_is_typed(self) -> None:
        got, lines = self.type(["d", "o", "g", ENTER], ["cat", "dogs", "dog"])
        assert got == "dog"
        assert lines[2:5] == ["class: d_   dogs, dog   (tab completes)", "class: do_   dogs, dog   (tab completes)",
                              "class: dog_   dog, dogs"]  # fmt: skip

    def test_a_beginning_of_nothing_is_said_while_typing(self) -> None:
        assert self.type(["x", ESCAPE], ["cat"])[1][2] == "class: x_   no class has this prefix"
        assert self.type(["x", ESCAPE], ["cat"], new_classes=True)[1][2] == "class: x_   a new class"

    def test_what_is_wrong_is_said_whole_on_a_narrow_screen(self) -> None:
        got, lines = self.type(["7", ENTER, BACKSPACE, "1", ENTER], [], width=30)
        assert got == "1"
        assert "a grade is a number between 0 and 1" in " ".join(lines[3].split())

    def test_the_end_of_a_long_line_is_seen(self) -> None:
        name = "a name that is far too long for so narrow a screen"
        assert self.type([*name, ESCAPE], [name], width=30)[1][-2] == "class: …r so narrow a screen_"

    def test_a_long_paste_is_drawn_at_once(self) -> None:
        begin = time.process_time()
        assert _truncate_left("x" * 20_000, 30) == f"…{'x' * 29}"
        assert time.process_time() - begin < 1.0

    def test_the_line_fits_the_screen(self) -> None:
        out = io.StringIO()
        LineEditor(Console(file=out, width=30), Typist([ENTER, "東", ESCAPE, END]), ["東京" * 40, HOSTILE]).read("東")
        assert all(len(part) <= 30 for part in out.getvalue().split("\r\x1b[K"))


class TestItems:
    @pytest.mark.parametrize("lines", [1, 3, 10, None])
    def test_short_values_are_whole_and_long_ones_share_the_room(self, lines: int | None) -> None:
        out = io.StringIO()
        row = {"short": "one line", "long": "word " * 1000, "missing": None, "numbers": [1, 2], "image": b"12345"}
        is_truncated = print_item(Console(file=out, width=60), 7, row, max_lines=lines)
        said = out.getvalue()
        assert is_truncated == (lines is not None)
        assert all(text in said for text in ("item 7", "one line", "[1, 2]", "(5 bytes)"))
        assert all(len(line) <= 60 for line in said.splitlines())
        assert len(said.splitlines()) <= 8 if lines == 1 else True

    def test_text_is_tamed(self) -> None:
        assert sanitize(HOSTILE) == TAMED
        assert sanitize("a\tb\nc") == "a\tb\nc"
        assert sanitize_line("a\tb\nc\x7f") == "a␉b␊c␡"
        assert sanitize("\ud800 fine") == "\\ud800 fine"

    def test_values_become_text_and_json(self) -> None:
        values = [None, float("nan"), 1, 1.5, True, "x", b"xx", {"a": "ü"}, float("inf")]
        assert [as_text(v) for v in values] == ["", "", "1", "1.5", "True", "x", "(2 bytes)", '{"a": "ü"}', "inf"]
        assert [to_json_value(v) for v in values] == [None, None, 1, 1.5, True, "x", "(2 bytes)", '{"a": "ü"}', None]


class TestTheLoop:
    def work(self, keys: list[str], who: str = "", **options: object) -> tuple[fl.Session, str]:
        pool = fl.Predictions.read({"id": [1, 2, 3], "predicted": ["a", "b", "b"], "text": ["x", "y", "z"]})
        session = fl.Session.create(None, pool, goal=fl.FindWorst())
        session.tell({session.ask(1, who="lee")[0]: "a"}, who="lee")
        out = io.StringIO()
        screen = Console(file=out, width=100)
        LabellingLoop(OpenedSession(session, pool), screen, who, **options).run(KeyAnswers(screen, Typist(keys)))
        return session, out.getvalue()

    def test_nobody_takes_back_what_another_said(self) -> None:
        session, said = self.work([BACKSPACE, "q"], who="kim")
        assert "no answer of 'kim' to undo" in said
        assert len(session.answers()) == 1

    def test_the_end_is_said(self) -> None:
        session, said = self.work(["a", "b"], reveals=True)
        assert "(predicted: " in said
        assert "nothing is left to ask" in said
        assert [row["label"] for row in session.answers()] == ["a", "a", "b"]

    def test_slow_reckoning_does_not_hold_people_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("fewlabels.cli.terminal.loop.SLOW", -1.0)
        monkeypatch.setattr("fewlabels.cli.terminal.loop.SHARE", 1e9)
        said = self.work(["a", "b"])[1]
        assert said.count("the worst by accuracy") == 1
        assert "  3 labels\n" in said
