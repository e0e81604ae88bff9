"""Import files of answers into a session: checked and recorded in one transaction, without repeating known answers.

A CSV or JSON lines file has one answer per item, which is compared with the session's current one. An export of Label
Studio contains all past annotations, so it is compared with the last answer of each annotator: a later correction made
elsewhere is kept.
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
    """How to interpret the answers in a file."""

    who: str = ""  # the annotator, if the file does not name one
    new_classes: bool = False  # accept labels that are not classes of the session yet
    cannot_tell: str = CANNOT_TELL  # the label of items that cannot be labelled


@dataclass(frozen=True)
class Answer:
    """An annotator's answer to an item; label None if it could not be labelled."""

    item: str
    who: str
    label: str | None

    @property
    def key(self) -> tuple[str, str]:
        """Item and annotator."""
        return self.item, self.who


@dataclass(frozen=True)
class Batch:
    """The answers of a file, the one that counts last for each item, and remarks on what was left out."""

    answers: tuple[Answer, ...]
    remarks: tuple[str, ...]
    has_history: bool = False  # contains all answers of each annotator


@dataclass(frozen=True)
class Taken:
    """The result of an import."""

    n_new: int
    n_changed: int
    n_unchanged: int
    n_unasked: int
    remarks: tuple[str, ...]

    def say(self, file: str) -> str:
        """Describe it in a sentence."""
        said = f"{file}: {count(self.n_new, 'new answer')}, {self.n_changed:,} changed, {self.n_unchanged:,} unchanged"
        unasked = f"; {self.n_unasked:,} of them not asked for: they count once their turn comes"
        return said + (unasked if self.n_unasked else "")


def take_in(session: Session, path: str, file: str, terms: Terms) -> Taken:
    """Import a file of answers into the session at this path, in one transaction."""
    with saying_nothing_kept():
        batch = read_batch(file, path, session.classes, terms, by_person=session.wanted > 1)
        if session.wanted > 1 and not all(answer.who for answer in batch.answers):
            raise InputError(f"{file}: this session has several annotators per item: say who answered, in a column who or with --as NAME")  # fmt: skip
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
    """Return the answers of a table; the first invalid one raises an error with its line and column."""
    items = find_items(path, [line.id for line in lines])
    found: dict[tuple[str, str], Line] = {}
    for line in lines:
        if line.id not in items:
            raise InputError(f"{file}, line {line.number}, column id: {explain_unknown([line.id])}; nothing was kept")
        first = found.setdefault((items[line.id], line.who or terms.who), line)
        if first.label != line.label:  # the same item under two spellings of its id
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
    for line in sorted(known, key=lambda line: line.at):  # stable: answers with the same time keep their order
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
    )  # labels after skips, so that a label counts
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
    """Return the earlier answers to compare with: of each annotator if the file names them, else the counted ones."""
    if session.wanted > 1:
        return {(str(row["id"]), row["who"]): row["label"] for row in session.votes() if not row["decided"]}
    if not batch.has_history:
        return {(str(row["id"]), terms.who): row["label"] for row in session.answers()}
    return session.last_answers()


def _group(news: Iterable[Answer]) -> list[tuple[str, dict[str, str | None]]]:
    """Return the new answers of each annotator."""
    found: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for answer in news:
        found[answer.who][answer.item] = answer.label
    return list(found.items())


def _take_turns(batch: Batch, news: Iterable[Answer]) -> list[tuple[str, dict[str, str | None]]]:
    """Return the new answers of each annotator, in an order that records the counting answer of each item last."""
    last = {answer.item: answer for answer in batch.answers}
    turns: tuple[defaultdict[str, dict[str, str | None]], ...] = (defaultdict(dict), defaultdict(dict))
    for answer in news:
        turns[0][answer.who][answer.item] = answer.label
        turns[1][last[answer.item].who][answer.item] = last[answer.item].label
    for who, labels in turns[1].items():
        for item in labels:
            turns[0][who].pop(item, None)
    return [(who, labels) for turn in turns for who, labels in turn.items() if labels]
