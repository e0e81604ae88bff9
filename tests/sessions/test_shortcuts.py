"""A key records what it looks like, on the page as in the terminal."""

import re
import string
import subprocess
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

import fewlabels as fl
from fewlabels.cli.terminal.answers import Answer, Command
from fewlabels.cli.terminal.lines import LineAnswers
from fewlabels.sessions.shortcuts import (
    NUMBER_WORDS,
    PAGE_COMMANDS,
    ROMAN_NUMERALS,
    TERMINAL_COMMANDS,
    assign_shortcuts,
)
from fewlabels.web.messages import Shortcuts

NAMES = st.one_of(
    st.text(min_size=1, max_size=1),
    st.sampled_from([*string.printable.strip(), "10", "0.5", "-1", "two", "II", "3 stars", "yes", "No", "TRUE", " 2", "猫", "①", "１"]),
    st.text(min_size=1, max_size=12),
)  # fmt: skip
CLASSES = st.lists(NAMES, min_size=1, max_size=40, unique=True).map(tuple)


def has_digit(name: str) -> bool:
    return any(letter in string.digits for letter in unicodedata.normalize("NFKC", name))


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        ("0 1", "0 1"), ("0 1 2 3 4 5 6 7 8 9", "0 1 2 3 4 5 6 7 8 9"), ("cat dog", "1 2"), ("1 10 2", "1 a 2"), ("8 9 10 11", "8 9 a b"),
        ("Yes no", "y n"), ("Yes no Y", "1 n Y"), ("no No yes", "1 2 y"), ("a A b", "a A b"), ("A cat", "A 1"), ("False True", "f t"),
        ("skip undo note help", "1 2 3 4"), ("s u n l d q", "s u n l d q"), ("? ! / +", "? ! / +"), ("-1 0 1", "a 0 1"), ("0 0.5 1", "0 a 1"),
        ("one three two", "1 3 2"), ("I II III", "I 2 3"), ("p0 p1 p2", "0 1 2"), ("v1 w1 x", "v w x"), ("猫 犬", "1 2"), ("é e", "é e"),
    ],
)  # fmt: skip
def test_keys_of_usual_names(classes: str, keys: str) -> None:
    names = tuple(classes.split())
    assert assign_shortcuts(names).shown == dict(zip(names, keys.split(), strict=True))


def read_digits(name: str) -> str:
    """The digits of a name, and those that its English or Roman numbers stand for."""
    words = [digit for word, digit in NUMBER_WORDS.items() if word in name.lower()]
    bare = re.sub(r"[\W_]+$", "", name)
    return name + "".join(words + [digit for word, digit in ROMAN_NUMERALS.items() if bare.endswith(word)])


@given(CLASSES)
def test_a_key_records_what_it_looks_like(classes: tuple[str, ...]) -> None:
    found = assign_shortcuts(classes)
    assert found.shown.keys() in (set(), set(classes))
    assert len(set(found.shown.values())) == len(found.shown)
    assert all(found.typed[key] == name for name, key in found.shown.items())
    for key, name in found.typed.items():
        assert len(key) == 1
        assert key not in classes or key == name, "the name of another class"
        assert name == key or key.casefold() not in {other.casefold() for other in classes if other not in (name, key)}
        if key in string.digits and any(map(has_digit, classes)):
            assert key in read_digits(unicodedata.normalize("NFKC", name)), "a number that is not in the name"


@given(CLASSES)
def test_no_command_has_the_key_or_the_name_of_a_class(classes: tuple[str, ...]) -> None:
    found = assign_shortcuts(classes)
    for commands in (PAGE_COMMANDS, TERMINAL_COMMANDS):
        keys = [key for key in found.assign_commands(commands).values() if key]
        assert len(set(keys)) == len(keys)
        assert not {name.casefold() for name in classes} & set(keys)
        assert not found.typed.keys() & set(keys)


@given(CLASSES)
def test_the_page_is_sent_the_keys_of_the_terminal(classes: tuple[str, ...]) -> None:
    sent, here = Shortcuts.of(classes), assign_shortcuts(classes)
    assert (sent.shown, sent.typed) == (here.shown, here.typed)


def test_single_characters_have_their_keys_however_many() -> None:
    letters = tuple(string.ascii_letters + string.digits)
    assert assign_shortcuts(letters).shown == dict(zip(letters, letters, strict=True))


def test_there_are_none_where_words_are_too_many() -> None:
    words = tuple(f"k{letter}" for letter in string.ascii_lowercase + "éèê")
    assert len(assign_shortcuts(words).shown) == 29
    assert assign_shortcuts((*words, "more")).typed == {}
    assert assign_shortcuts((*words, "s")).assign_commands(PAGE_COMMANDS)["skip"] == "?"


def test_a_class_called_undo_is_a_class_where_answers_come_by_line() -> None:
    pool = {"text": "x"}
    out = Console(quiet=True)
    assert LineAnswers(out, iter(["undo\n"])).ask(1, pool, ("cat", "undo")) == Answer("undo")
    assert LineAnswers(out, iter(["undo\n"])).ask(1, pool, ("cat",)) is Command.UNDO
    with pytest.raises(fl.errors.InputError, match="'undo' is no class"):
        LineAnswers(out, iter(["undo\n"])).ask(1, pool, ("cat", "Undo"))


def test_the_rule_loads_no_server() -> None:
    code = "import sys, fewlabels.cli.terminal.keys; sys.exit('fastapi' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
