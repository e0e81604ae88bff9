"""Scales of grades: ordered levels, or numbers within a range; recognised from the values of a column, or stated.

A stated scale is a range ("1-5") or lists its grades, lowest first ("poor,fair,good").
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isclose

from fewlabels.data.names import to_name
from fewlabels.errors import InputError, format_option, join_names, quote_name

MAX_LEVELS = 21  # of an ordered scale
SMALL_SCALE = 10  # highest grade of most scales that are not percent
MAX_STEPS = 10  # steps of an ordered scale whose grades are not whole numbers
USUAL_RANGES = ((0.0, 1.0), (1.0, 5.0), (0.0, 5.0), (0.0, 10.0), (0.0, 100.0))
PAIRS = (
    ("0", "1"), ("false", "true"), ("no", "yes"), ("n", "y"), ("fail", "pass"), ("failed", "passed"), ("bad", "good"), ("wrong", "right"),
    ("incorrect", "correct"), ("unacceptable", "acceptable"), ("reject", "accept"), ("rejected", "accepted"), ("negative", "positive"),
    ("down", "up"), ("dislike", "like"),
)  # fmt: skip
# Preferences between two outputs: the second is better, neither, the first.
PREFERENCES = (
    ("b", "second", "right", "model_b", "model b", "loss", "lose"), ("tie", "ties", "tied", "draw", "equal", "same", "neither", "both", "both good", "both bad"),
    ("a", "first", "left", "model_a", "model a", "win"),
)  # fmt: skip
RANGE = re.compile(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|to)\s*(-?\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True)
class Scale:
    """The grades that are possible: levels, lowest first; or all numbers between two limits."""

    low: float
    high: float
    levels: tuple[float, ...] = ()  # empty if all numbers of the range are possible
    names: tuple[str, ...] = ()  # of the levels
    is_preference: bool = False  # are they verdicts on two outputs: 1 for the first, 1/2 for a tie, 0 for the second?

    @property
    def is_continuous(self) -> bool:
        """Are all numbers of the range possible?"""
        return not self.levels

    @property
    def is_binary(self) -> bool:
        """Are there only two grades?"""
        return len(self.levels) == 2

    @property
    def words(self) -> str:
        """The scale as text.

        >>> parse_scale("1-5").words, Scale(0.0, 1.0).words
        ('1, 2, 3, 4 or 5', 'any number from 0 to 1')
        """
        if self.is_continuous:
            return f"any number from {self.low:g} to {self.high:g}"
        return f"{', '.join(self.names[:-1])} or {self.names[-1]}"

    @property
    def middle(self) -> float:
        """The middle of the range."""
        return (self.low + self.high) / 2

    def place(self, value: float) -> float:
        """Return where a value lies between the limits, 0 to 1."""
        return (value - self.low) / (self.high - self.low)

    def at(self, place: float) -> float:
        """Return the value at a place between the limits; the inverse of `place`."""
        return self.low + place * (self.high - self.low)

    def describe(self, value: float) -> str:
        """Return a value as the file writes it."""
        return self.names[self.levels.index(value)] if value in self.levels else f"{value:g}"


PREFERENCE = Scale(0.0, 1.0, (0.0, 0.5, 1.0), ("second", "tie", "first"), is_preference=True)


def parse_scale(text: str | Sequence[object]) -> Scale:
    """Parse a stated scale of grades: a range, or grades from lowest to highest.

    >>> parse_scale("1-5").names, parse_scale("0-1").levels, parse_scale("poor,fair,good").levels
    (('1', '2', '3', '4', '5'), (0.0, 1.0), (0.0, 1.0, 2.0))
    """
    found = RANGE.fullmatch(text) if isinstance(text, str) else None
    if found:
        return _parse_range(str(text), float(found[1]), float(found[2]))
    names = [to_name(name).strip() for name in (text.split(",") if isinstance(text, str) else text)]
    if len(names) < 2 or len(set(names)) < len(names) or "" in names:
        raise InputError(f"scale: {text!r} is no scale; write a range such as 1-5, or the grades from lowest to highest, such as poor,fair,good")  # fmt: skip
    if len(names) > MAX_LEVELS:
        raise InputError(f"scale: {len(names)} grades are too many; write a range such as 0-100")
    try:
        levels = tuple(float(name) for name in names)
    except ValueError:
        levels = tuple(map(float, range(len(names))))
    if list(levels) != sorted(levels):
        raise InputError(f"scale: write the grades from lowest to highest, not {join_names(names)}")
    return Scale(levels[0], levels[-1], levels, tuple(names))


def _parse_range(text: str, low: float, high: float) -> Scale:
    """Parse a scale of grades stated as a range: its levels are the whole numbers in it, if they are few."""
    if low >= high:
        raise InputError(f"scale: {text!r} is empty; write the lowest grade first")
    is_whole = low.is_integer() and high.is_integer() and high - low < MAX_LEVELS
    levels = tuple(low + i for i in range(int(high - low) + 1)) if is_whole else ()
    return Scale(low, high, levels, tuple(map(to_name, levels)))


def widen_to_numbers(scale: Scale, values: Sequence[float]) -> Scale:
    """Return a stated scale (a range) without levels if some grades within it are not whole numbers."""
    if all(value in scale.levels for value in values) or scale.is_continuous:
        return scale
    is_range = all(isclose(level - scale.low, i) for i, level in enumerate(scale.levels))
    inside = all(scale.low <= value <= scale.high for value in values)
    return Scale(scale.low, scale.high) if is_range and inside else scale


def order_words(column: str, words: Sequence[str]) -> tuple[Mapping[str, float], Scale]:
    """Return the grade of every word, and the scale: of preferences, or of a known pair such as pass and fail.

    >>> order_words("human", ["A", "tie", "B"])[0]
    {'A': 1.0, 'tie': 0.5, 'B': 0.0}
    """
    plain = {word: word.strip().lower() for word in words}
    places = {word: [i for i, known in enumerate(PREFERENCES) if name in known] for word, name in plain.items()}
    is_pair = any(set(plain.values()) <= set(pair) for pair in PAIRS)
    if all(places.values()) and not is_pair:
        return {word: place[0] / 2 for word, place in places.items()}, PREFERENCE
    return _order_pair(column, words), Scale(0.0, 1.0, (0.0, 1.0), _name_pair(words))


def _order_pair(column: str, words: Sequence[str]) -> Mapping[str, float]:
    """Return the grades (0 and 1) of the words of a known pair, a scale such as fail and pass."""
    seen = {word.strip().lower() for word in words}
    for pair in PAIRS:
        if seen <= set(pair):
            return {word: float(pair.index(word.strip().lower())) for word in words}
    raise InputError(f"column {column!r} has the grades {join_names(map(quote_name, sorted(words)))}, whose order is unknown; list them from lowest to highest with {format_option('scale', 'worst,…,best')}")  # fmt: skip


def _name_pair(words: Sequence[str]) -> tuple[str, str]:
    """Return both names of a known pair of grades, as the file writes them."""
    seen = {word.strip().lower(): word.strip() for word in words}
    pair = next(pair for pair in PAIRS if set(seen) <= set(pair))
    return seen.get(pair[0], pair[0]), seen.get(pair[1], pair[1])


def recognize_scale(column: str, values: Sequence[float], judges: Sequence[Sequence[float]] = ()) -> Scale:
    """Recognise the scale of numeric grades; `judges` are the grades that every judge gave to the same outputs.

    A judge whose grades lie on the usual scale of these grades widens them; one on another scale does not.

    >>> recognize_scale("human", [2.0, 4.0, 5.0], [[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 7.0, 10.0]]).levels
    (1.0, 2.0, 3.0, 4.0, 5.0)
    >>> recognize_scale("human", [0.25, 0.831, 1.0]).is_continuous
    True
    """
    refuse_mixed(column, values)
    step = _find_step(values)
    if step is None:
        low, high = _smallest_usual_scale(min(values), max(values))
        return Scale(low, high)
    together = (*values, *(value for others in judges if _is_judge_on_scale(values, others, step) for value in others))
    low, high = min(together), max(together)
    if low == high:
        low, high = _smallest_usual_scale(low, high)
    if min(values) >= 0 and high <= 1:
        low, high = 0.0, 1.0
    levels = tuple(low + step * i for i in range(round((high - low) / step) + 1))
    return Scale(low, high, levels, tuple(to_name(round(level, 10)) for level in levels))


def _find_step(values: Sequence[float]) -> float | None:
    """Return the distance of neighbouring grades on an ordered scale: 1, 1/2 or 1/4; None for a continuous scale."""
    spread = max(values) - min(values)
    for step in (1.0, 0.5, 0.25):
        most = MAX_LEVELS if step == 1 else MAX_STEPS
        if spread / step <= most and all(float(value / step).is_integer() for value in values):
            return step
    return None


def _is_judge_on_scale(values: Sequence[float], others: Sequence[float], step: float) -> bool:
    """Does a judge grade on the same ordered scale as people, as far as the smallest usual scales of their grades tell?"""
    if not others or _find_step(others) != step or max(others) - min(others) > MAX_STEPS:
        return False
    if not (min(others) <= min(values) and max(values) <= max(others)):
        return False
    usual = _list_usual_scales(min(values), max(values))
    return not usual or any(low <= min(others) and max(others) <= high for low, high in usual)


def _list_usual_scales(low: float, high: float) -> list[tuple[float, float]]:
    """Return the usual scales (ranges such as 1 to 5) that contain these grades, but not those that contain another one of them.

    >>> _list_usual_scales(1.0, 1.0), _list_usual_scales(2.0, 3.0)
    ([(0.0, 1.0), (1.0, 5.0)], [(1.0, 5.0)])
    """
    around = [(a, b) for a, b in USUAL_RANGES if a <= low and high <= b]
    return [(a, b) for a, b in around if not any((a, b) != (c, d) and a <= c and d <= b for c, d in around)]


def is_fraction_of(scale: Scale, values: Sequence[float]) -> bool:
    """Return whether a judge's grades are from 0 to 1, on a scale of their own, while people's scale goes further.

    >>> is_fraction_of(Scale(0.0, 100.0), [0.2, 0.7, 1.0]), is_fraction_of(Scale(0.0, 100.0), [1.0, 70.0])
    (True, False)
    """
    return scale.high > 1 and min(values) >= 0 and max(values) <= 1 and len(values) > 1


def find_two_scales(values: Sequence[float]) -> tuple[float, float, float, float] | None:
    """Return the ends of two ranges of grades that look like two scales, such as 1 to 5 and 0 to 100; None if they do not.

    >>> find_two_scales([1.0, 3.0, 80.0, 90.0]), find_two_scales([1.0, 20.0, 60.0, 90.0])
    ((1.0, 3.0, 80.0, 90.0), None)
    """
    low, high = (sorted(v for v in values if (v > SMALL_SCALE) == above) for above in (False, True))
    if len(low) < 2 or len(high) < 2 or high[0] - low[-1] < (high[-1] - low[0]) / 2:
        return None
    return low[0], low[-1], high[0], high[-1]


def is_usual(scale: Scale) -> bool:
    """Is the range of a scale a usual one, such as 1 to 5?"""
    return (scale.low, scale.high) in USUAL_RANGES


def _smallest_usual_scale(low: float, high: float) -> tuple[float, float]:
    """Return the smallest usual scale (as a range) that contains these grades; their own range if none does."""
    return next(((a, b) for a, b in USUAL_RANGES if a <= low and high <= b), (low, high if high > low else low + 1))


def refuse_mixed(column: str, values: Sequence[float]) -> None:
    """Refuse a mixed scale: grades of which some are fractions of 1 and the others whole numbers above 1."""
    fractions = [value for value in values if 0 < value < 1]
    larger = [value for value in values if value > 1]
    if len(fractions) < 2 or len(larger) < 2 or not all(float(value).is_integer() for value in larger):
        return
    if _find_step(values) is None:
        raise InputError(f"column {column!r} mixes two scales: {fractions[0]:g} and {larger[0]:g} are both in it; bring all grades to one scale, or state it with {format_option('scale', f'0-{max(larger):g}')}")  # fmt: skip
