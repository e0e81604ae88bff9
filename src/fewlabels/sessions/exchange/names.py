"""Match ids and labels as people type them with the items and classes of a session."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from fewlabels.data.label_join import CANNOT_TELL
from fewlabels.errors import InputError, choose_words, did_you_mean, end_sentence, join_names, quote_name
from fewlabels.sessions.answers import BOOLEAN_SPELLINGS
from fewlabels.sessions.journal.storage import open_stored

WHOLE_NUMBER = re.compile(r"([-+]?\d{1,20})\.0*")
NOTHING_KEPT = "nothing was kept"


@contextmanager
def adding_nothing_kept() -> Iterator[None]:
    """Add "nothing was kept" to every InputError about names in the block, unless it says so."""
    try:
        yield
    except InputError as error:
        said = str(error)
        raise InputError(said if NOTHING_KEPT in said.lower() else f"{said}; {NOTHING_KEPT}") from None


def find_items(path: str, ids: Iterable[str]) -> dict[str, str]:
    """Return the item whose name each id matches, without ids that match none."""
    ids = list(ids)
    journal = open_stored(path, read_only=True)
    try:
        known = journal.find({spelling for id in ids for spelling in _list_spellings(id)})
    finally:
        journal.close()
    return {
        id: next(name for name in _list_spellings(id) if name in known)
        for id in ids
        if known.keys() & set(_list_spellings(id))
    }


def explain_unknown(ids: Iterable[str]) -> str:
    """Say that these names of items match none."""
    names = join_names(map(repr, ids))
    return f"no item that could be asked about is called {names} (unknown, or labelled from the start)"


def is_cannot_tell(label: str, classes: Sequence[str], mark: str = CANNOT_TELL) -> bool:
    """Whether a label is the mark for "cannot be labelled" and no class has that name."""
    return label.strip() == mark and label not in classes


def match_class(label: str, classes: Sequence[str]) -> str:
    """Return the class whose name a label matches, else the label; booleans may have any spelling.

    >>> match_class(" cat", ["cat", "dog"]), match_class("true", ["False", "True"]), match_class("TRUE", ["0", "1"])
    ('cat', 'True', '1')
    """
    plain = label.strip()
    tries = [label, plain, BOOLEAN_SPELLINGS.get(plain, plain), *_list_spellings(plain)]
    if plain.capitalize() in ("True", "False"):
        tries += [plain.lower(), plain.capitalize(), plain.upper(), BOOLEAN_SPELLINGS[plain.capitalize()]]
    return next((name for name in tries if name in classes), plain)


def require_class(label: str, classes: Sequence[str], *, about: str = "", kept: str) -> None:
    """Refuse a label that is not the name of a class; `kept` says whether other answers were saved."""
    if label not in classes:
        raise InputError(
            f"{about}{quote_name(label)} is no class of this session; {end_sentence(did_you_mean(label, classes))} "
            f"If it is a true class that the model never predicts, add {choose_words('--new-classes', 'new_classes=True')}. {kept}"
        )


def is_grade(text: str) -> bool:
    """Whether the text typed for a label, where there are no names of classes, is a number between 0 and 1."""
    try:
        return 0 <= float(text) <= 1
    except ValueError:
        return False


def read_grade(text: str, *, about: str = "", kept: str) -> str:
    """Return the grade that was typed in place of a class name, or refuse it; `kept`: whether others were saved."""
    if not is_grade(text):
        raise InputError(f"{about}{quote_name(text)} is no grade between 0 and 1; {kept}")
    return repr(float(text))


def _list_spellings(name: str) -> tuple[str, ...]:
    """Return a name and, for a number such as 2.0, its integer spelling: a table may write id 2 as 2.0."""
    found = WHOLE_NUMBER.fullmatch(name)
    return (name, str(int(found[1]))) if found else (name,)
