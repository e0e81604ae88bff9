"""Columns of grades, of people and of judges: recognised by name, as numbers with their scales, and the table that holds them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

import ibis

from fewlabels.data.column_names import RESERVED_PREFIX
from fewlabels.data.grades.scale import (
    Scale,
    find_two_scales,
    is_fraction_of,
    is_usual,
    order_words,
    parse_scale,
    recognize_scale,
    refuse_mixed,
    widen_to_numbers,
)
from fewlabels.data.grades.sets import is_set
from fewlabels.data.numbers import as_float
from fewlabels.data.relation import Value
from fewlabels.data.role_table import RoleTable
from fewlabels.data.text_numbers import read_numerals
from fewlabels.errors import InputError, did_you_mean, format_option, join_names, quote_name

MAX_VALUES = 1000  # distinct values that are fetched to recognise a scale
MAX_WORDS = 50
MAX_GRADE = 1e9  # in size: beyond, squares lose their digits
HUMAN_NAME = re.compile(r"(human|people|person|expert|annotator|manual|gold)([_\W]?(grade|score|rating|label|eval|verdict|judge?ment))?s?|(grade|rating)s?", re.IGNORECASE)  # fmt: skip
JUDGE_NAME = re.compile(r"(llm[_\W]?)?(judge|grader|autorater|evaluator)([_\W].*|\d+)?|llm[_\W](score|grade|rating)|auto[_\W](score|grade|rating)", re.IGNORECASE)  # fmt: skip
GRADE, JUDGE, CLUSTER = (RESERVED_PREFIX + name for name in ("grade", "judge", "cluster"))


@dataclass(frozen=True)
class GradeColumn:
    """A column of grades, its scale and how many items it grades."""

    name: str
    scale: Scale
    n: int


@dataclass(frozen=True, eq=False)
class GradedItems(RoleTable):
    """Items with grades as numbers: of people, and of judges."""

    human: GradeColumn | None = None  # None if only judges graded
    judges: tuple[GradeColumn, ...] = ()
    cluster_column: str | None = None

    @property
    def grade(self) -> Value:
        """The column of people's grades, as numbers; null if not graded."""
        return self.items[GRADE]

    def judge(self, i: int) -> Value:
        """The column of a judge's grades, as numbers; null if not graded."""
        return self.items[f"{JUDGE}{i}"]

    @property
    def cluster(self) -> Value:
        """The column that names the cluster of an item, as text."""
        return self.items[CLUSTER]


@dataclass(frozen=True)
class _Read:
    """A column as numbers, and its distinct values."""

    value: Value
    values: tuple[float, ...]
    n: int
    scale: Scale | None = None  # if it follows from the type or a stated order of words


def find_grades(
    table: RoleTable,
    grade: str | None,
    judges: Sequence[str],
    cluster: str | None = None,
    scale: str | Sequence[object] | None = None,
) -> GradedItems:
    """Return the table with its columns of grades as numbers, and the scale of each."""
    for role, column in (("grade", grade), *(("judge", judge) for judge in judges), ("cluster", cluster)):
        _require_column(table, role, column)
    _require_clusters(table, cluster)
    _refuse_repeated([name for name in (grade, *judges) if name is not None])
    stated = None if scale is None else parse_scale(scale)
    read = {name: _read_column(table, name, stated, is_judge=name != grade) for name in (grade, *judges) if name}
    human = None
    if grade is not None:
        found = _choose_scale(table, grade, read[grade], stated, [read[name].values for name in judges])
        human = GradeColumn(grade, found, read[grade].n) if found else None
    columns = tuple(GradeColumn(name, _choose_judge_scale(name, read[name], human), read[name].n) for name in judges)
    is_guess = human is not None and stated is None and read[human.name].scale is None
    notes = (*table.notes, *(_explain_scale(human, read[human.name].values, columns) if human and is_guess else ()))
    new = {GRADE: read[grade].value if grade and human else ibis.null("float64")}
    new |= {f"{JUDGE}{i}": read[name].value for i, name in enumerate(judges)}
    new |= {CLUSTER: table.attribute(cluster)} if cluster else {}
    return GradedItems(table.items.mutate(**new), table.engine, table.source, table.roles, table.frame, table.scored_classes, notes, table.inputs, human, columns, cluster)  # fmt: skip


def _require_column(table: RoleTable, role: str, column: str | None) -> None:
    """Raise if there is no such column of grades."""
    if column is not None and column not in table.columns():
        raise InputError(f"{role}: there is no column {column!r}; {did_you_mean(column, table.columns())}")


def _require_clusters(table: RoleTable, cluster: str | None) -> None:
    """Raise if the column of clusters is empty for an item: items without one would count as one cluster."""
    if cluster is None:
        return
    hit = table.find(table.attribute(cluster).isnull())["row"]
    if hit:
        raise InputError(f"cluster: column {cluster!r} is empty in row {hit[0]:,}; give every item a cluster, of its own if it is alone")  # fmt: skip


def _refuse_repeated(names: Sequence[str]) -> None:
    """Refuse a column that is named as the grades of two: of people and a judge, or of two judges."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice:
        raise InputError(
            f"column {twice[0]!r} is named twice; people's grades and every judge's need a column of their own"
        )


def _read_column(table: RoleTable, column: str, stated: Scale | None, *, is_judge: bool) -> _Read:
    """Read a column of grades as numbers, whatever it holds: numbers, flags, numbers as text, or words."""
    kind = table.items[column].type()
    if kind.is_boolean():
        value = as_float(table.items[column])
        return _Read(value, *_list_grade_values(table, value), scale=Scale(0.0, 1.0, (0.0, 1.0), ("False", "True")))
    if kind.is_numeric():
        return _read_numbers(table, column, table.number(column))
    if kind.is_string():
        return _read_text(table, column, stated, is_judge=is_judge)
    if kind.is_null() or kind.is_unknown():
        return _Read(ibis.null("float64"), (), 0)
    hint = f"; if these are sets of labels, give {format_option('sets')}" if kind.is_array() else ""
    raise InputError(f"column {column!r} holds {kind}, not grades{hint}")


def _read_numbers(table: RoleTable, column: str, value: Value) -> _Read:
    """Read a column of grades that are numbers."""
    values, n = _list_grade_values(table, value)
    if not all(map(isfinite, values)):
        raise InputError(f"column {column!r} holds an infinite grade in row {_find_grade_row(table, value.isinf())}")
    _refuse_huge(table, column, value, values)
    return _Read(value, values, n)


def _refuse_huge(table: RoleTable, column: str, value: Value, values: Sequence[float]) -> None:
    """Refuse a column of grades whose squares would overflow or lose all digits."""
    huge = next((one for one in values if abs(one) > MAX_GRADE), None)
    if huge is not None:
        raise InputError(f"column {column!r} holds the grade {huge:g} in row {_find_grade_row(table, value.abs() > MAX_GRADE)}; grades are at most {MAX_GRADE:g} in size")  # fmt: skip


def _read_text(table: RoleTable, column: str, stated: Scale | None, *, is_judge: bool) -> _Read:
    """Read a column of grades that are text: numbers, or words in order."""
    text = table.items[column].strip().nullif("")
    numbers = read_numerals(table.items, table.engine, [column])
    if column in numbers.numbers:
        number = numbers.numbers[column]
        return _read_numbers(table, column, number.isnan().ifelse(ibis.null("float64"), number))
    words = _list_words(table, column, text)
    if stated is None and any(map(is_set, words)):
        raise InputError(_name_sets(column, words))
    if not words:
        return _Read(ibis.null("float64"), (), 0)
    if is_judge and stated and not set(words) <= set(stated.names):
        stated = None  # the judge has words of its own
    if any(_is_number(word) for word in words) and not (stated and set(words) <= set(stated.names)):
        word = next((word for *_, word in numbers.words), None) or next(w for w in words if not _is_number(w))
        row = _find_grade_row(table, text == word)
        raise InputError(f"column {column!r} mixes numbers and words: row {row} has {quote_name(word)}; leave items without a grade empty")  # fmt: skip
    grade_of, scale = _grade_words(table, column, text, words, stated)
    value = ibis.cases(*((text == word, number) for word, number in grade_of.items()), else_=ibis.null("float64"))
    values, n = _list_grade_values(table, value)
    return _Read(value, values, n, scale)


def _grade_words(
    table: RoleTable, column: str, text: Value, words: Sequence[str], stated: Scale | None
) -> tuple[Mapping[str, float], Scale]:
    """Return the grade of every word of a column, and its scale: the stated one, preferences, or a known pair."""
    if stated is None:
        return order_words(column, words)
    unknown = next((word for word in words if word not in stated.names), None)
    if unknown is not None:
        row = _find_grade_row(table, text == unknown)
        raise InputError(f"column {column!r}: row {row} has the grade {quote_name(unknown)}, which is not on the scale {stated.words}")  # fmt: skip
    return {word: stated.levels[stated.names.index(word)] for word in words}, stated


def _choose_scale(
    table: RoleTable, column: str, read: _Read, stated: Scale | None, judges: Sequence[Sequence[float]]
) -> Scale | None:
    """Return the scale of the column of people's grades: the stated one, or recognised; None without grades."""
    if not read.values:
        return None
    if stated is not None:
        scale = widen_to_numbers(stated, read.values)
        _require_inside(table, column, read, scale)
        return scale
    return read.scale or recognize_scale(column, read.values, judges)


def _explain_scale(human: GradeColumn, values: Sequence[float], judges: Sequence[GradeColumn]) -> Iterator[str]:
    """Say where the scale of a column of people's grades is a guess: wider than their grades, or narrower than a judge's scale."""
    scale, state = human.scale, f"if it is another, state it with {format_option('scale')}"
    if scale.is_continuous:
        parts = find_two_scales(values)
        if parts:
            yield f"people's grades go from {parts[0]:g} to {parts[1]:g} and from {parts[2]:g} to {parts[3]:g}, with none between: if they are on two scales, bring them to one; they are taken to be on one, {scale.words}"  # fmt: skip
        return
    if min(values) > scale.low or max(values) < scale.high:
        yield f"people's grades go from {min(values):g} to {max(values):g}; their scale is taken to be {scale.words}; {state}"  # fmt: skip
    wider = [one for one in judges if one.scale.low <= scale.low and scale.high <= one.scale.high and one.scale != scale]  # fmt: skip
    if wider and not is_usual(scale):
        yield f"people's scale is taken to be {scale.words}, as their grades are, though {wider[0].name} grades from {wider[0].scale.low:g} to {wider[0].scale.high:g}; {state}"  # fmt: skip


def _choose_judge_scale(column: str, read: _Read, human: GradeColumn | None) -> Scale:
    """Return the scale of a column of a judge's grades: people's scale if it contains them, else a recognised one."""
    if not read.values:
        raise InputError(f"judge: column {column!r} is empty; name a column with the grades of a judge, or leave {format_option('judge')} out")  # fmt: skip
    if human and is_fraction_of(human.scale, read.values):
        return read.scale or recognize_scale(column, read.values)
    if (
        human
        and not human.scale.is_continuous
        and set(read.values) <= set(human.scale.levels)
        and read.scale in (None, human.scale)
    ):
        return human.scale
    if (
        human
        and human.scale.is_continuous
        and human.scale.low <= min(read.values)
        and max(read.values) <= human.scale.high
    ):
        return human.scale if len(read.values) > 2 else recognize_scale(column, read.values)
    refuse_mixed(column, read.values)
    return read.scale or recognize_scale(column, read.values)


def _require_inside(table: RoleTable, column: str, read: _Read, scale: Scale) -> None:
    """Raise if a column holds a grade that is not on the stated scale."""
    wrong = next((v for v in read.values if not (scale.low <= v <= scale.high and (scale.is_continuous or v in scale.levels))), None)  # fmt: skip
    if wrong is not None:
        row = _find_grade_row(table, read.value == wrong)
        raise InputError(f"column {column!r}: row {row} has the grade {wrong:g}, which is not on the scale {scale.words}; correct it, or state the scale with {format_option('scale')}")  # fmt: skip


def _list_grade_values(table: RoleTable, value: Value) -> tuple[tuple[float, ...], int]:
    """Return distinct values of a column (a limited number, and the extremes) and how many items have one."""
    counted = table.items.select(v=value).filter(lambda t: t.v.notnull())
    found = table.engine.to_pyarrow(counted.group_by("v").aggregate(n=counted.count()).limit(MAX_VALUES)).to_pydict()  # fmt: skip
    if len(found["v"]) < MAX_VALUES:
        return tuple(sorted(map(float, found["v"]))), sum(found["n"])
    ends = table.measure({"low": value.min(), "high": value.max(), "n": value.count()})
    return tuple(sorted({*map(float, found["v"]), float(ends["low"]), float(ends["high"])})), int(ends["n"])


def _list_words(table: RoleTable, column: str, text: Value) -> list[str]:
    """Return the distinct words of a column of grades; refuse columns of free text."""
    words = table.items.select(w=text).filter(lambda t: t.w.notnull()).distinct().limit(MAX_WORDS + 1)
    found: list[str] = sorted(table.engine.to_pyarrow(words)["w"].to_pylist())
    if len(found) > MAX_WORDS and any(map(is_set, found)):
        raise InputError(_name_sets(column, found))
    if len(found) > MAX_WORDS:
        raise InputError(f"column {column!r} holds text (for instance {quote_name(found[0])}), not grades; name a column of grades, such as 0 and 1, 1 to 5, or pass and fail")  # fmt: skip
    return found


def _name_sets(column: str, words: Sequence[str]) -> str:
    """Say that a column looks like sets of labels."""
    example = next(word for word in words if is_set(word))
    return f"column {column!r} holds sets of labels, such as {quote_name(example)}: compare them with predicted sets with {format_option('sets')}"  # fmt: skip


def _is_number(word: str) -> bool:
    """Is a word in a column of grades a number, as engines read numbers? Python reads other digits than 0 to 9, too."""
    try:
        return word.isascii() and isfinite(float(word.replace(",", ".").removesuffix("%")))
    except ValueError:
        return False


def _find_grade_row(table: RoleTable, where: Value) -> str:
    """Return the row number of the first grade that meets a condition, for a message."""
    return f"{table.find(where)['row'][0]:,}"


def recognize_columns(columns: Mapping[str, str] | Sequence[str]) -> tuple[str | None, tuple[str, ...]]:
    """Recognise the columns of people's and of judges' grades by their names.

    >>> recognize_columns(["id", "human_score", "judge_gpt", "slice"])
    ('human_score', ('judge_gpt',))
    """
    human = [name for name in columns if HUMAN_NAME.fullmatch(name)]
    judges = tuple(name for name in columns if JUDGE_NAME.fullmatch(name))
    return (human[0] if len(human) == 1 else None), judges


def require_columns(
    columns: Sequence[str], grade: str | None, judges: Sequence[str]
) -> tuple[str | None, tuple[str, ...]]:
    """Return the given columns of grades, else those recognised by name; raise if there are none."""
    if grade is not None or judges:
        return grade, tuple(judges)
    human, found = recognize_columns(columns)
    several = [name for name in columns if HUMAN_NAME.fullmatch(name)]
    if len(several) > 1:
        raise InputError(f"columns {join_names(map(repr, several))} could all hold people's grades; say which does with {format_option('grade')}, and name the judges with {format_option('judge')}")  # fmt: skip
    if human is None and not found:
        raise InputError(f"no grades found: name the column of people's grades with {format_option('grade')}, and that of a judge's with {format_option('judge')}. Columns: {join_names(columns, most=20)}")  # fmt: skip
    return human, found
