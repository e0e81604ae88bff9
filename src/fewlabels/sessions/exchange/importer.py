"""Files of answers into a session: checked as a whole, told as a whole, and nothing told twice.

A sheet has one answer per item, and what it says is compared with what the session holds. An export of Label Studio
holds everything anybody ever said there, so it is compared with what each person said last: what was corrected
elsewhere in the meantime stays corrected.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fewlabels.data.joins import CANNOT_TELL
from fewlabels.data.names import spell
from fewlabels.errors import InputError, count
from fewlabels.sessions.exchange.label_studio_export import Export, read_export
from fewlabels.sessions.exchange.names import (
    explain_unknown,
    find_items,
    is_mark,
    match_class,
    read_grade,
    require_class,
    saying_nothing_kept,
)
from fewlabels.sessions.exchange.sheet_reader import Line, read_sheet
from fewlabels.sessions.exchange.sheets import STUDIO, kind_of
from fewlabels.sessions.session import Session

Said = Mapping[tuple[str, str], str | None]  # (item, who) -> label


@dataclass(frozen=True)
class Terms:
    """How answers in files are to be taken."""

    who: str = ""  # who answered, where the file does not say
    new_classes: bool = False  # accept labels that are no class of the session yet
    cannot_tell: str = CANNOT_TELL  # the label of items that cannot be labelled


@dataclass(frozen=True)
class Answer:
    """What a person says of an item; without a label, that nobody can tell."""

    item: str
    who: str
    label: str | None

    @property
    def key(self) -> tuple[str, str]:
        """Whose answer to what."""
        return self.item, self.who


@dataclass(frozen=True)
class Batch:
    """What a file says: the word that counts comes last for its item, and remarks on what was left out."""

    answers: tuple[Answer, ...]
    remarks: tuple[str, ...]
    has_history: bool = False  # it holds all that each person said


@dataclass(frozen=True)
class Taken:
    """What became of a file of answers."""

    n_new: int
    n_changed: int
    n_unchanged: int
    n_unasked: int
    remarks: tuple[str, ...]

    def say(self, file: str) -> str:
        """Say it in a sentence."""
        said = f"{file}: {count(self.n_new, 'new answer')}, {self.n_changed:,} changed, {self.n_unchanged:,} unchanged"
        unasked = f"; {self.n_unasked:,} of them not asked for: they count once their turn comes"
        return said + (unasked if self.n_unasked else "")


def take_in(session: Session, path: str, file: str, terms: Terms) -> Taken:
    """Read a file of answers into a session at this path: all of them or none, in one transaction."""
    with saying_nothing_kept():
        batch = read_batch(file, path, session.classes, terms, by_person=session.wanted > 1)
        if session.wanted > 1 and not all(answer.who for answer in batch.answers):
            raise InputError(f"{file}: every item is answered by several people here: say who answered, in a column who or with --as NAME")  # fmt: skip
        with session.together():
            before = _recall(session, batch, terms)
            news = [
                answer for answer in batch.answers if answer.key not in before or before[answer.key] != answer.label
            ]
            for who, labels in _group(news) if session.wanted > 1 else _take_turns(batch, news):
                session.tell(labels, who=who, new_classes=terms.new_classes)
    return _count(session, batch, n_new=sum(answer.key not in before for answer in news), n_told=len(news))


def _count(session: Session, batch: Batch, *, n_new: int, n_told: int) -> Taken:
    asked = {str(row["id"]) for row in session.answers() if row["asked"]}
    unasked = {answer.item for answer in batch.answers} - asked
    return Taken(n_new, n_told - n_new, len(batch.answers) - n_told, len(unasked), batch.remarks)


def read_batch(file: str, path: str, classes: Sequence[str], terms: Terms, *, by_person: bool = False) -> Batch:
    """Read a file of answers, and check it against the items and classes of a session."""
    if kind_of(file) == STUDIO:
        return _read_studio(file, path, read_export(file), classes, terms)
    lines = read_sheet(file, by_person=by_person)
    told = [line for line in lines if line.is_answer]
    answers = _match_lines(file, path, told, classes, terms)
    n_open = len(lines) - len(told)
    remark = f"{count(n_open, 'row')} without a label: not answered yet, and left out"
    return Batch(answers, (remark,) if n_open else ())


def _match_lines(file: str, path: str, lines: list[Line], classes: Sequence[str], terms: Terms) -> tuple[Answer, ...]:
    """Return the answers by item; the first that cannot be kept is named by line and column."""
    items = find_items(path, [line.id for line in lines])
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        if line.id not in items:
            raise InputError(f"{file}, line {line.number}, column id: {explain_unknown([line.id])}; nothing was kept")
        first = found.setdefault((items[line.id], line.who or terms.who), line)
        if first.label != line.label:  # the same item in two spellings
            raise InputError(
                f"{file}, lines {first.number} and {line.number}, column label: item {items[line.id]!r} has two "
                f"answers, {first.label!r} and {line.label!r}; keep one"
            )
    return tuple(
        Answer(item, who, _read_label(line, f"{file}, line {line.number}, column label: ", classes, terms))
        for (item, who), line in found.items()
    )


def _read_studio(file: str, path: str, export: Export, classes: Sequence[str], terms: Terms) -> Batch:
    items = find_items(path, [line.id for line in export.lines])
    known = [line for line in export.lines if line.id in items]
    strange = list(dict.fromkeys(line.id for line in export.lines if line.id not in items))
    if not known and (strange or export.n_others):
        raise InputError(f"{file}: no task in it is an item of this session; is it the export of another project?")
    answers: dict[tuple[str, str], Answer] = {}
    for line in sorted(known, key=lambda line: line.at):  # as many as were given at one time stay in their order
        if line.is_answer:
            where = f"{file}, task {line.number}, item {line.id!r}: "
            answer = Answer(items[line.id], line.who or terms.who, _read_label(line, where, classes, terms))
            answers.pop(answer.key, None)
            answers[answer.key] = answer
    n_open = len({items[line.id] for line in known} - {answer.item for answer in answers.values()})
    remarks = {
        f"{count(n_open, 'item')} without an answer: left out": n_open,
        f"{count(len(strange), 'task')} left out: {explain_unknown(strange)}": len(strange),
        f"{count(export.n_others, 'task')} of other projects: left out": export.n_others,
    }
    in_order = sorted(
        answers.values(), key=lambda answer: answer.label is not None
    )  # a label is worth more than a skip
    return Batch(tuple(in_order), tuple(text for text, n in remarks.items() if n), has_history=True)


def _read_label(line: Line, where: str, classes: Sequence[str], terms: Terms) -> str | None:
    label = spell(line.label)
    if line.is_skipped or is_mark(label, classes, terms.cannot_tell):
        return None
    if not classes:
        return read_grade(label, about=where, kept="nothing was kept")
    label = match_class(label, classes)
    if not terms.new_classes:
        require_class(label, classes, about=where, kept="Nothing was kept")
    return label


def _recall(session: Session, batch: Batch, terms: Terms) -> Said:
    """Return what was said before: by each person where the file holds that, else by anyone."""
    if session.wanted > 1:
        return {(str(row["id"]), row["who"]): row["label"] for row in session.votes() if not row["decided"]}
    if not batch.has_history:
        return {(str(row["id"]), terms.who): row["label"] for row in session.answers()}
    return session.last_answers()


def _group(news: Iterable[Answer]) -> list[tuple[str, dict[str, str | None]]]:
    """Return what each person is to tell."""
    found: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for answer in news:
        found[answer.who][answer.item] = answer.label
    return list(found.items())


def _take_turns(batch: Batch, news: Iterable[Answer]) -> list[tuple[str, dict[str, str | None]]]:
    """Return what each person is to tell, so that the word that counts is the last one about its item."""
    last = {answer.item: answer for answer in batch.answers}
    turns: tuple[defaultdict[str, dict[str, str | None]], ...] = (defaultdict(dict), defaultdict(dict))
    for answer in news:
        turns[0][answer.who][answer.item] = answer.label
        turns[1][last[answer.item].who][answer.item] = last[answer.item].label
    for who, labels in turns[1].items():
        for item in labels:
            turns[0][who].pop(item, None)
    return [(who, labels) for turn in turns for who, labels in turn.items() if labels]
