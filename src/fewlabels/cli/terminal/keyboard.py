"""Read single keys from a terminal, and restore its mode afterwards."""

import codecs
import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

try:
    import termios
    import tty
except ImportError:  # Windows: answers are read line by line
    HAS_KEYS = False
else:
    HAS_KEYS = True

ENTER, BACKSPACE, SPACE, TAB, ESCAPE, END = "\n", "\x7f", " ", "\t", "\x1b", "\x04"
ALIASES = {"\r": ENTER, "\x08": BACKSPACE, "": END}
ESCAPE_TIMEOUT = 0.1  # seconds to wait for the rest of an escape sequence, enough for a slow connection


class Keyboard:
    """Reads one key at a time."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def read(self) -> str:
        """Wait for a key and return its character or one of the constants above; empty for escape sequences."""
        key: str | None = self._read_character()
        while key == ESCAPE and self._has_pending():
            key = self._skip_sequence()
        return "" if key is None else ALIASES.get(key, key)

    def discard_pending(self) -> bool:
        """Discard pending input; return whether there was any."""
        was_typed = self._has_pending(0.0)
        termios.tcflush(self._handle, termios.TCIFLUSH)
        return was_typed

    def _read_character(self) -> str:
        """Read one character from the keyboard, which may have several bytes."""
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        while True:
            try:
                byte = os.read(self._handle, 1)
            except OSError:  # the terminal was closed
                return END
            text = decode(byte, final=not byte)
            if text or not byte:
                return text

    def _has_pending(self, timeout: float = ESCAPE_TIMEOUT) -> bool:
        """Is there input from the keyboard within this time?"""
        return bool(select.select([self._handle], [], [], timeout)[0])

    def _skip_sequence(self) -> str | None:
        """Read the rest of an escape sequence (arrow, function or Alt key); return the character that interrupts it, if any.

        Sequences that start with a bracket have characters from space to "?" until one from "@" to "~". Any other
        character, or the end of input, is no part of them: waiting for the last character would never end.
        """
        start = self._read_character()
        if start == "O" and self._has_pending():
            self._read_character()
        while start == "[" and self._has_pending():
            key = self._read_character()
            if not " " <= key <= "~":
                return key
            if key >= "@":
                break
        return None


@contextmanager
def cbreak_mode(handle: int) -> Iterator[Keyboard]:
    """Read single keys of the keyboard without echo (cbreak mode), and always restore the terminal."""
    before = termios.tcgetattr(handle)
    previous_handler = signal.signal(signal.SIGTERM, _stop)
    try:
        tty.setcbreak(handle, termios.TCSADRAIN)  # TCSADRAIN keeps pending input, to be discarded and reported later
        yield Keyboard(handle)
    finally:
        termios.tcsetattr(handle, termios.TCSADRAIN, before)
        signal.signal(signal.SIGTERM, previous_handler)


def _stop(number: int, _: FrameType | None) -> None:
    """End the program on a signal, so that the keyboard's mode is restored."""
    sys.exit(128 + number)
