"""Import files of answers into a session: checked and recorded in one transaction, without repeating known answers.

A CSV or JSON lines file has one answer per item, which is compared with the session's current one. An export of Label
Studio contains all past annotations, so it is compared with the last answer of each annotator: a later correction made
elsewhere is kept.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fewlabels.data.label_join import CANNOT_TELL
from fewlabels.data.names import to_name
from fewlabels.errors import InputError, choose_words, count, quote_name
from fewlabels.sessions.exchange.label_studio_export import Export, read_export
from fewlabels.sessions.exchange.names import (
    adding_nothing_kept,
    explain_unknown,
    find_items,
    is_cannot_tell,
    match_class,
    read_grade,
    require_class,
)
from fewlabels.sessions.exchange.sheet_reader import AnswerRow, read_sheet
from fewlabels.sessions.exchange.sheets import LABEL_STUDIO, file_format
from fewlabels.sessions.session import Session

AnswersByAnnotator = Mapping[tuple[str, str], str | None]  # (item, who) -> label


@dataclass(frozen=True)
class ImportSettings:
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
        """Item and annotator of an imported answer."""
        return self.item, self.who


@dataclass(frozen=True)
class Batch:
    """The answers of a file, the one that counts last for each item, and remarks on what was left out."""

    answers: tuple[Answer, ...]
    notes: tuple[str, ...]
    has_history: bool = False  # contains all answers of each annotator


@dataclass(frozen=True)
class ImportResult:
    """The result of an import."""

    n_new: int
    n_changed: int
    n_unchanged: int
    n_unasked: int
    notes: tuple[str, ...]

    def say(self, file: str) -> str:
        """Describe the import in a sentence."""
        said = f"{file}: {count(self.n_new, 'new answer')}, {self.n_changed:,} changed, {self.n_unchanged:,} unchanged"
        unasked = f"; {self.n_unasked:,} of them not asked for: they count once their turn comes"
        return said + (unasked if self.n_unasked else "")


def import_file(session: Session, path: str, file: str, settings: ImportSettings) -> ImportResult:
    """Import a file of answers into the session at this path, in one transaction."""
    with adding_nothing_kept():
        batch = read_batch(file, path, session.classes, settings, by_annotator=session.wanted > 1)
        if session.wanted > 1 and not all(answer.who for answer in batch.answers):
            raise InputError(f"{file}: this session has several annotators per item: say who answered, in a column who or with {choose_words('--as NAME', 'who=')}")  # fmt: skip
        with session.together():
            before = _previous_answers(session, batch, settings)
            new_answers = [
                answer for answer in batch.answers if answer.key not in before or before[answer.key] != answer.label
            ]
            for who, labels in (
                _group_by_annotator(new_answers) if session.wanted > 1 else _order_by_last(batch, new_answers)
            ):
                session.tell(labels, who=who, new_classes=settings.new_classes)
    return _count_imported(
        session, batch, n_new=sum(answer.key not in before for answer in new_answers), n_told=len(new_answers)
    )


def _count_imported(session: Session, batch: Batch, *, n_new: int, n_told: int) -> ImportResult:
    """Count imported answers: new, replaced, known before, and to items that were not asked for."""
    asked = {str(row["id"]) for row in session.answers() if row["asked"]}
    unasked = {answer.item for answer in batch.answers} - asked
    return ImportResult(n_new, n_told - n_new, len(batch.answers) - n_told, len(unasked), batch.notes)


def read_batch(
    file: str, path: str, classes: Sequence[str], settings: ImportSettings, *, by_annotator: bool = False
) -> Batch:
    """Read a file of answers to import, and check it against the items and classes of a session."""
    if file_format(file) == LABEL_STUDIO:
        return _read_studio(file, path, read_export(file), classes, settings)
    rows = read_sheet(file, by_annotator=by_annotator)
    told = [row for row in rows if row.is_answer]
    answers = _match_lines(file, path, told, classes, settings)
    n_open = len(rows) - len(told)
    note = f"{count(n_open, 'row')} without a label: not answered yet, and left out"
    return Batch(answers, (note,) if n_open else ())


def _match_lines(
    file: str, path: str, rows: list[AnswerRow], classes: Sequence[str], settings: ImportSettings
) -> tuple[Answer, ...]:
    """Return the answers in the lines of a file to import; the first invalid one raises an error with its line and column."""
    items = find_items(path, [row.id for row in rows])
    found: dict[tuple[str, str], AnswerRow] = {}
    for row in rows:
        if row.id not in items:
            raise InputError(f"{file}, line {row.number}, column id: {explain_unknown([row.id])}; nothing was kept")
        first = found.setdefault((items[row.id], row.who or settings.who), row)
        if first.label != row.label:  # the same item under two spellings of its id
            raise InputError(
                f"{file}, lines {first.number} and {row.number}, column label: item {items[row.id]!r} has two "
                f"answers, {quote_name(first.label)} and {quote_name(row.label)}; keep one"
            )
    return tuple(
        Answer(item, who, _read_imported_label(row, f"{file}, line {row.number}, column label: ", classes, settings))
        for (item, who), row in found.items()
    )


def _read_studio(file: str, path: str, export: Export, classes: Sequence[str], settings: ImportSettings) -> Batch:
    """Return the answers in an export of Label Studio to import, the latest of each annotator to each item."""
    items = find_items(path, [row.id for row in export.rows])
    known = [row for row in export.rows if row.id in items]
    unknown = list(dict.fromkeys(row.id for row in export.rows if row.id not in items))
    if not known and (unknown or export.n_foreign):
        raise InputError(f"{file}: no task in it is an item of this session; is it the export of another project?")
    answers: dict[tuple[str, str], Answer] = {}
    for row in sorted(known, key=lambda row: row.at):  # stable: answers with the same time keep their order
        if row.is_answer:
            where = f"{file}, task {row.number}, item {quote_name(row.id)}: "
            answer = Answer(items[row.id], row.who or settings.who, _read_imported_label(row, where, classes, settings))
            answers.pop(answer.key, None)
            answers[answer.key] = answer
    n_open = len({items[row.id] for row in known} - {answer.item for answer in answers.values()})
    notes = {
        f"{count(n_open, 'item')} without an answer: left out": n_open,
        f"{count(len(unknown), 'task')} left out: {explain_unknown(unknown)}": len(unknown),
        f"{count(export.n_foreign, 'task')} of other projects: left out": export.n_foreign,
    }
    in_order = sorted(
        answers.values(), key=lambda answer: answer.label is not None
    )  # labels after skips, so that a label counts
    return Batch(tuple(in_order), tuple(text for text, n in notes.items() if n), has_history=True)


def _read_imported_label(row: AnswerRow, where: str, classes: Sequence[str], settings: ImportSettings) -> str | None:
    """Return the class, or the grade, of a label to import; None if the item was skipped."""
    label = to_name(row.label)
    if row.is_skipped or is_cannot_tell(label, classes, settings.cannot_tell):
        return None
    if not classes:
        return read_grade(label, about=where, kept="nothing was kept")
    label = match_class(label, classes)
    if not settings.new_classes:
        require_class(label, classes, about=where, kept="Nothing was kept")
    return label


def _previous_answers(session: Session, batch: Batch, settings: ImportSettings) -> AnswersByAnnotator:
    """Return the earlier answers to compare an import with: of each annotator if the file names them, else the counted ones."""
    if session.wanted > 1:
        return {(str(row["id"]), row["who"]): row["label"] for row in session.votes() if not row["decided"]}
    if not batch.has_history:
        return {(str(row["id"]), settings.who): row["label"] for row in session.answers()}
    return session.last_answers()


def _group_by_annotator(new_answers: Iterable[Answer]) -> list[tuple[str, dict[str, str | None]]]:
    """Return the new answers to import of each annotator."""
    found: defaultdict[str, dict[str, str | None]] = defaultdict(dict)
    for answer in new_answers:
        found[answer.who][answer.item] = answer.label
    return list(found.items())


def _order_by_last(batch: Batch, new_answers: Iterable[Answer]) -> list[tuple[str, dict[str, str | None]]]:
    """Return the new answers to import of each annotator, in an order that records the counting answer of each item last."""
    last = {answer.item: answer for answer in batch.answers}
    turns: tuple[defaultdict[str, dict[str, str | None]], ...] = (defaultdict(dict), defaultdict(dict))
    for answer in new_answers:
        turns[0][answer.who][answer.item] = answer.label
        turns[1][last[answer.item].who][answer.item] = last[answer.item].label
    for who, labels in turns[1].items():
        for item in labels:
            turns[0][who].pop(item, None)
    return [(who, labels) for turn in turns for who, labels in turn.items() if labels]
