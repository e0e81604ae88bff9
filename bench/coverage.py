"""How often do 95 % intervals of group accuracy contain the truth? For every pool, with 5 % of the labels kept.

Run from the root of the repository: python -m bench.coverage --pools ../shared/pools --repeats 200 --out bench/coverage.md
Labels are hidden in NumPy; priors, beliefs and intervals are the library's own, and for every case one repeat is
compared with `fl.assess` on the masked table. Figures outside 93-97 % are taken apart by the script itself.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq
from joblib import delayed
from scipy.special import betaln

import fewlabels as fl
from fewlabels.active.simulation.parallel import spread
from fewlabels.analyses.assessment import assess_counts
from fewlabels.analyses.assessment_spec import AssessmentSpec
from fewlabels.data.counts import NONE, CountTable
from fewlabels.data.names import MISSING, natural_order
from fewlabels.distributions.belief import Beta
from fewlabels.distributions.beta_binomial import EXACT_UP_TO
from fewlabels.distributions.finite_pool import FinitePoolBeta
from fewlabels.metrics.metric import accuracy
from fewlabels.models.inference import infer
from fewlabels.models.priors import Flat, FromScores, Prior

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
KEPT, LEVEL, AGAIN = 0.05, 0.95, 1000
MANY = 50  # repeats of the overall figure where it is made of more than 100 groups
MODELS = ("mlp", "lr", "rf", "nb")
CLAIMS = {True: "finite pool", False: "population"}
TINY = 1e-12  # a share is k / n either way; only its last bit may differ


# -- cases: a pool, a model, and a way to group -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Case:
    """One pool under one model, cut into groups, all of its labels known."""

    pool: str
    model: str
    by: str
    frame: pa.Table
    groups: tuple[str, ...]
    group: Ints
    right: Bools
    score: Floats | None

    @cached_property
    def size(self) -> Ints:
        """Items per group."""
        return np.bincount(self.group, minlength=len(self.groups)).astype(np.int64)

    @cached_property
    def hits(self) -> Ints:
        """Right items per group."""
        return np.bincount(self.group, weights=self.right, minlength=len(self.groups)).astype(np.int64)

    @cached_property
    def truth(self) -> Floats:
        """Accuracy per group."""
        return np.asarray(self.hits / self.size)

    @cached_property
    def share(self) -> Floats:
        """Of the pool, per group."""
        return np.asarray(self.size / self.size.sum())

    @cached_property
    def score_sum(self) -> Floats:
        """Summed score per group; nan without scores."""
        if self.score is None:
            return np.full(len(self.groups), np.nan)
        return np.asarray(np.bincount(self.group, weights=self.score, minlength=len(self.groups)), dtype=np.float64)

    @property
    def n_kept(self) -> int:
        """How many labels a repeat keeps."""
        return max(1, round(KEPT * len(self.group)))

    @property
    def priors(self) -> tuple[Prior, ...]:
        """The priors this pool allows."""
        return (Flat(),) if self.score is None else (Flat(), FromScores())

    @property
    def title(self) -> str:
        """Pool, model and grouping, as cells of a table."""
        return f"{self.pool} | {self.model}{' · ' if self.model else ''}{self.by}"


def read_cases(folder: Path) -> Iterator[Case]:
    for path in sorted(folder.glob("*.parquet")):
        names = [name for name in pq.read_schema(path).names if not name.startswith("p_")]
        frame = pq.read_table(path, columns=names)
        yield from _binary_cases(path.stem, frame) if "score_mlp" in names else _plain_cases(path.stem, frame)


def _plain_cases(pool: str, frame: pa.Table) -> Iterator[Case]:
    right = _text(frame, "predicted") == _text(frame, "label")
    score = frame["score"].to_numpy().astype(np.float64) if "score" in frame.column_names else None
    for by in ("predicted", "functionality", "target_ident"):
        if by in frame.column_names:
            yield _case(pool, "", by, frame, _text(frame, by), right, score)


def _binary_cases(pool: str, frame: pa.Table) -> Iterator[Case]:
    attribute = next(n for n in frame.column_names if n not in ("id", "label") and not n.startswith("score_"))
    for model in MODELS:
        chance = frame[f"score_{model}"].to_numpy().astype(np.float64)
        predicted = np.where(chance >= 0.5, "1", "0")
        right, score = predicted == _text(frame, "label"), np.where(chance >= 0.5, chance, 1 - chance)
        kept = frame.select(["id", "label", attribute, f"score_{model}"])
        yield _case(pool, model, "predicted", kept, predicted, right, score)
        yield _case(pool, model, attribute, kept, _text(frame, attribute), right, score)


def _case(pool: str, model: str, by: str, frame: pa.Table, key: Any, right: Bools, score: Floats | None) -> Case:
    groups = sorted(set(key.tolist()), key=natural_order)
    at = {name: i for i, name in enumerate(groups)}
    return Case(pool, model, by, frame, tuple(groups), np.array([at[k] for k in key.tolist()]), right, score)


def _text(frame: pa.Table, column: str) -> npt.NDArray[np.str_]:
    return np.array([MISSING if v is None else str(v) for v in frame[column].to_pylist()])


# -- labels kept, and what the library makes of them --------------------------------------------------------


@dataclass(frozen=True)
class Counts:
    """Labels and right ones among them, (repeat, group)."""

    n_labels: Ints
    right: Ints


@dataclass(frozen=True)
class Trial:
    """Intervals of every repeat under one prior and claim, beside the truth; (repeat, group)."""

    case: Case
    prior: Prior
    finite: bool
    counts: Counts
    low: Floats
    high: Floats

    @cached_property
    def hit(self) -> Bools:
        """Does the interval contain the truth?"""
        return contains(self.low, self.high, self.case.truth)


def contains(low: Floats, high: Floats, truth: Floats) -> Bools:
    return np.asarray((low <= truth + TINY) & (truth <= high + TINY))


def mask(rng: np.random.Generator, case: Case, repeats: int) -> tuple[list[Ints], Counts]:
    """Keep 5 % of the labels at random, again and again."""
    kept = [np.asarray(rng.permutation(len(case.group))[: case.n_kept]) for _ in range(repeats)]
    n = len(case.groups)
    n_labels = [np.bincount(case.group[k], minlength=n) for k in kept]
    right = [np.bincount(case.group[k], weights=case.right[k], minlength=n) for k in kept]
    return kept, Counts(np.array(n_labels, dtype=np.int64), np.array(right, dtype=np.int64))


def redraw(rng: np.random.Generator, case: Case, repeats: int) -> Counts:
    """The same experiment without the items: hypergeometric counts, for many more repeats."""
    n_labels = rng.multivariate_hypergeometric(case.size, case.n_kept, size=repeats)
    return Counts(n_labels, rng.hypergeometric(case.hits, case.size - case.hits, n_labels))


def as_tally(case: Case, n_labels: Ints, right: Ints) -> CountTable:
    n = len(case.groups)
    none = np.full(n, NONE)
    return CountTable(case.by, case.groups, (), (), np.arange(n), none, none, none, case.size, n_labels, case.score_sum, right.astype(np.float64))  # fmt: skip


def start(case: Case, prior: Prior) -> Beta:
    nothing = np.zeros(len(case.groups), dtype=np.int64)
    before = prior.before(as_tally(case, nothing, nothing).cells(), "right")
    assert isinstance(before, Beta)
    return before


def try_out(case: Case, prior: Prior, counts: Counts, *, finite: bool) -> Trial:
    """Intervals of all repeats at once, each different count worked out once."""
    before = start(case, prior)
    wrong = counts.n_labels - counts.right
    columns = np.broadcast_arrays(before.alpha, before.beta, counts.right, wrong, case.size - counts.n_labels)
    rows, where = np.unique(np.stack([c.ravel() for c in columns], axis=1), axis=0, return_inverse=True)
    parts = [_intervals(rows[i : i + EXACT_UP_TO], finite) for i in range(0, len(rows), EXACT_UP_TO)]
    low, high = (np.concatenate(ends)[where.ravel()].reshape(wrong.shape) for ends in zip(*parts, strict=True))
    return Trial(case, prior, finite, counts, low, high)


def _intervals(rows: Floats, finite: bool) -> tuple[Floats, Floats]:
    belief = Beta((), rows[:, 0], rows[:, 1]).observe(rows[:, 2:4])
    return (FinitePoolBeta(belief, rows[:, 2:4], rows[:, 4].astype(np.int64)) if finite else belief).interval(LEVEL)


@dataclass(frozen=True)
class Whole:
    """The overall figure of every repeat: (repeat,)."""

    mean: Floats
    low: Floats
    high: Floats
    truth: float

    @property
    def hit(self) -> Bools:
        """Does the interval contain the truth?"""
        return np.asarray((self.low <= self.truth + TINY) & (self.truth <= self.high + TINY))


def n_draws(case: Case) -> int:
    return int(np.clip(40_000 // len(case.groups), 200, 500))


def overall(case: Case, prior: Prior, counts: Counts, *, finite: bool) -> Whole:
    """The overall figure, from the library's own draws (of one group, its closed form), of as many repeats as we can afford."""
    rows = []
    most = MANY if len(case.groups) > 100 else len(counts.right)
    for i, (n_labels, right) in enumerate(zip(counts.n_labels[:most], counts.right[:most], strict=True)):
        tally = as_tally(case, n_labels, right)
        posterior = infer(tally, accuracy, prior, finite_pool=finite, n_draws=n_draws(case), seed=i)
        whole = posterior.per_group if len(case.groups) == 1 else posterior.overall
        low, high = whole.interval(LEVEL)
        rows.append((whole.mean()[0], low[0], high[0]))
    mean, lows, highs = np.array(rows).T
    return Whole(mean, lows, highs, float(case.right.mean()))


def verify(trials: Sequence[Trial], wholes: Sequence[Whole], kept: Sequence[Ints]) -> str:
    """A repeat must be what `fl.assess` says of the masked table; returns why it was not the first, if so."""
    refused = ""
    for i, known in enumerate(kept):
        try:
            tally = assess_masked(trials[0].case, known)
        except fl.InputError as error:
            refused = refused or f"`fl.assess` refused the first repeat: {error}"
            continue
        for trial, whole in zip(trials, wholes, strict=True):
            _compare(trial, whole, tally, i)
        return refused
    raise SystemExit(f"{trials[0].case.title}: no repeat could be assessed; {refused}")


def assess_masked(case: Case, kept: Ints) -> CountTable:
    """Counts of the pool with all labels but these hidden, through the front door."""
    known = np.isin(np.arange(len(case.group)), kept)
    labels = [label if k else None for label, k in zip(case.frame["label"].to_pylist(), known, strict=True)]
    frame = case.frame.set_column(case.frame.column_names.index("label"), "label", pa.array(labels, pa.string()))
    roles = {"positive_score": f"score_{case.model}"} if case.model else {}
    by = fl.predicted if case.by == "predicted" else fl.column(case.by)
    return fl.assess(fl.Predictions.read(frame, **roles), by=by, n_draws=n_draws(case)).tally


def _compare(trial: Trial, whole: Whole, tally: CountTable, i: int) -> None:
    """Ends of every group and of the overall figure, drawn with the same seed, to nine digits."""
    found = assess_counts(
        tally, AssessmentSpec(accuracy, trial.prior, LEVEL, trial.finite, seed=i, n_draws=n_draws(trial.case))
    )
    ours = [trial.low[i], trial.high[i], [whole.low[i], whole.high[i]]]
    rows, total = found.groups, found.overall
    theirs = [[r.low for r in rows], [r.high for r in rows], [total.low, total.high]]
    assert tuple(r.group for r in rows) == trial.case.groups, trial.case.title
    assert all(np.allclose(a, b, rtol=0, atol=1e-9) for a, b in zip(ours, theirs, strict=True)), trial.case.title


# -- why a figure is not 95 % -------------------------------------------------------------------------------

STRATA = (
    "a true accuracy of exactly 1 or 0",
    "scores over 5 points above the accuracy, or promising under half its errors",
    "scores over 5 points below the accuracy, or promising over twice its errors",
    "labels all right and a prior worth under half a mistake",
    "a true accuracy above .98 or below .02",
    "no label",
    "1-2 labels",
    "3-9 labels",
    "10-29 labels",
    "30 labels or more",
)


def stratify(trial: Trial) -> Ints:
    """The first stratum that fits each (repeat, group) pair."""
    truth, n = trial.case.truth, trial.counts.n_labels
    score = trial.case.score_sum / trial.case.size
    trusted = trial.prior.name == "scores"
    over = trusted & ((score - truth > 0.05) | (1 - score < (1 - truth) / 2))
    under = trusted & ((truth - score > 0.05) | (1 - score > (1 - truth) * 2))
    flawless = trusted & (n > 0) & (trial.counts.right == n) & (start(trial.case, trial.prior).beta < 0.5)
    edge = np.abs(truth - 0.5)
    tests = [edge == 0.5, over, under, flawless, edge > 0.48, n == 0, n <= 2, n <= 9, n <= 29]
    return np.asarray(np.select([np.broadcast_to(t, n.shape) for t in tests], range(len(tests)), len(tests)))


def take_apart(trial: Trial, weight: Floats) -> list[tuple[float, float, float, str]]:
    """Split coverage minus 95 into what each stratum adds: (points, share of pairs, coverage, name), largest first."""
    stratum = stratify(trial)
    weights = np.broadcast_to(weight / len(trial.hit), trial.hit.shape)
    found = []
    for i, name in enumerate(STRATA):
        inside = stratum == i
        share = float(weights[inside].sum())
        if share > 0:
            covered = float((weights * trial.hit)[inside].sum()) / share
            found.append((100 * share * (covered - LEVEL), share, covered, name))
    return sorted(found, key=lambda part: -abs(part[0]))


def describe_parts(trial: Trial, weight: Floats) -> str:
    parts = take_apart(trial, weight)
    shown = [p for p in parts[:3] if abs(p[0]) >= 0.25 or p is parts[0]]
    words = [f"{points:+.1f} from the {share:.0%} of pairs with {name} (covered {covered:.1%})" for points, share, covered, name in shown]  # fmt: skip
    rest = sum(p[0] for p in parts) - sum(p[0] for p in shown)
    return ", ".join(words) + (f", {rest:+.1f} from all others" if len(parts) > len(shown) else "")


def describe_misses(trial: Trial) -> str:
    miss, counts, truth = ~trial.hit, trial.counts, trial.case.truth
    if not miss.any():
        return "no miss at all"
    some = counts.n_labels > 0
    kinds = {
        "lie above the truth": trial.low > truth,
        "follow labels that were all right": some & (counts.right == counts.n_labels),
        "follow labels that were all wrong": some & (counts.right == 0),
        "are in groups above .98": np.broadcast_to(truth > 0.98, miss.shape),
    }
    shares = {name: float(kind[miss].mean()) for name, kind in kinds.items()}
    return "of the misses " + ", ".join(f"{share:.0%} {name}" for name, share in shares.items() if share > 0 or name.startswith("lie"))  # fmt: skip


def figures(trial: Trial) -> tuple[float, float]:
    """Coverage over (repeat, group): plain, and weighted by the groups' shares."""
    return float(trial.hit.mean()), float((trial.hit @ trial.case.share).mean())


def is_outside(*found: float) -> bool:
    return any(not 0.93 <= figure <= 0.97 for figure in found)


def is_chance(trial: Trial, weight: Floats, figure: float) -> bool:
    """Is 95 % within three standard errors (between repeats; at least that of independent pairs)?"""
    least = np.sqrt(LEVEL * (1 - LEVEL) * (weight**2).sum() / len(trial.hit))
    error = max(float((trial.hit @ weight).std(ddof=1) / np.sqrt(len(trial.hit))), float(least))
    return abs(figure - LEVEL) <= 3 * error


def explain(rng: np.random.Generator, trial: Trial) -> str:
    """One sentence for the figure that lies outside (the plain one first); '' where both are inside."""
    case, found = trial.case, figures(trial)
    weights = (np.full(len(case.groups), 1 / len(case.groups)), case.share)
    outside = [i for i in (0, 1) if is_outside(found[i])]
    if not outside:
        return ""
    weight, figure = weights[outside[0]], found[outside[0]]
    prefix = f"{_pair(found)}: "
    if is_chance(trial, weight, figure):
        trial = try_out(case, trial.prior, redraw(rng, case, AGAIN), finite=trial.finite)
        figure = figures(trial)[outside[0]]
        prefix += f"95 is within three standard errors; {AGAIN:,} other repeats give {100 * figure:.1f}"
        if not is_outside(figure):
            return prefix + "."
        prefix += ", "
    sort = " by share" if outside[0] else ""
    return (
        prefix
        + f"{100 * (figure - LEVEL):+.1f}{sort} = {describe_parts(trial, weight)}; {describe_misses(trial)}{_mass_held(trial)}."
    )


def _mass_held(trial: Trial) -> str:
    if not trial.finite or trial.hit.mean() < LEVEL:
        return ""
    held = float(mass(trial).mean())
    return (
        f"; accuracies of so few items are coarse, so the intervals hold {held:.1%} of the belief"
        if held > 0.953
        else ""
    )


def _pair(found: tuple[float, float]) -> str:
    plain, weighted = (f"{100 * f:.1f}" for f in found)
    return plain if plain == weighted else f"{plain} (by share {weighted})"


def explain_overall(trial: Trial, whole: Whole) -> str:
    """One sentence from bias, spread and width; '' inside 93-97 %."""
    figure = float(whole.hit.mean())
    if not is_outside(figure):
        return ""
    chance = abs(figure - LEVEL) <= 3 * np.sqrt(LEVEL * (1 - LEVEL) / len(whole.hit))
    lead = "95 is within three standard errors; " if chance else ""
    return f"{100 * figure:.1f}: {lead}{_describe_whole(trial, whole)}."


def _describe_whole(trial: Trial, whole: Whole) -> str:
    bias, spread = float(whole.mean.mean() - whole.truth), float(whole.mean.std(ddof=1))
    half = float((whole.high - whole.low).mean() / 2)
    shifted = float(((whole.low - bias <= whole.truth) & (whole.truth <= whole.high - bias)).mean())
    end = "; draws of a population's accuracy never reach a truth of exactly 1" if whole.truth == 1 and not trial.finite else ""  # fmt: skip
    return (
        f"the means are off by {100 * bias:+.1f} points, and without that bias {shifted:.1%} would be covered; half a width is {100 * half:.1f} points, "
        f"{half / spread if spread else np.inf:.2f} times the means' spread over repeats (1.96 would do){end}"
    )


# -- truth drawn from the prior: then 95 % must mean 95 % ---------------------------------------------------


@dataclass(frozen=True)
class Check:
    """Coverage of truths drawn from the prior, what the intervals hold of the belief, and the standard error."""

    case: Case
    prior: str
    claim: str
    pairs: int
    covered: float
    held: float
    error: float

    @property
    def is_within(self) -> bool:
        """Within three standard errors?"""
        return abs(self.covered - self.held) <= 3 * self.error


def check_finite(rng: np.random.Generator, case: Case, prior: Prior, repeats: int) -> Check:
    """θ from the prior, outcomes of all items from θ, labels at random; the truth is the share that is right."""
    n_labels = rng.multivariate_hypergeometric(case.size, case.n_kept, size=repeats)
    theta = start(case, prior).draw(rng, repeats)
    right = rng.binomial(n_labels, theta)
    truth = (right + rng.binomial(case.size - n_labels, theta)) / case.size
    trial = try_out(case, prior, Counts(n_labels, right), finite=True)
    return _check(trial, contains(trial.low, trial.high, truth), mass(trial))


def check_population(rng: np.random.Generator, case: Case, prior: Prior, repeats: int) -> Check:
    """The same with θ as truth, seen as the chance of a mistake: within 1e-16 of 1 doubles run out, near 0 they do not."""
    n_labels = rng.multivariate_hypergeometric(case.size, case.n_kept, size=repeats)
    before = start(case, prior)
    mistake = Beta(case.groups, before.beta, before.alpha).draw(rng, repeats)
    wrong = rng.binomial(n_labels, mistake)
    alpha, beta = before.alpha + n_labels - wrong, before.beta + wrong
    low, high = (end.reshape(wrong.shape) for end in Beta((), beta.ravel(), alpha.ravel()).interval(LEVEL))
    trial = Trial(case, prior, False, Counts(n_labels, n_labels - wrong), low, high)
    return _check(trial, (low <= mistake) & (mistake <= high), np.full(wrong.shape, LEVEL))


def _check(trial: Trial, hit: Bools, held: Floats) -> Check:
    error = float(np.sqrt((held * (1 - held)).sum()) / held.size)
    return Check(
        trial.case, trial.prior.name, CLAIMS[trial.finite], hit.size, float(hit.mean()), float(held.mean()), error
    )


def check_priors(cases: Sequence[Case]) -> Iterator[Check]:
    """One grouping and model of every pool, every prior, both claims; one that fails is made again, beside the first."""
    for i, case in enumerate(cases):
        rng, repeats = np.random.default_rng((1, i)), 20_000 // len(case.groups)
        few = min(repeats, max(200, 2_000_000 // len(case.group)))  # counting is slow where pools are large
        for prior in case.priors:
            for check, n in ((check_finite, few), (check_population, repeats)):
                found = check(rng, case, prior, n)
                yield found
                if not found.is_within:
                    yield check(rng, case, prior, 4 * n)


def mass(trial: Trial) -> Floats:
    """How much of the belief about a finite pool each interval holds: 95 %, or more where counts are coarse."""
    before, counts, size = start(trial.case, trial.prior), trial.counts, trial.case.size
    alpha, beta = before.alpha + counts.right, before.beta + counts.n_labels - counts.right
    low, high = (np.rint(end * size - counts.right) for end in (trial.low, trial.high))
    columns = (size - counts.n_labels, alpha, beta, low, high)
    rows, where = np.unique(np.stack([c.ravel() for c in columns], axis=1), axis=0, return_inverse=True)
    return np.array([_count_mass(*row) for row in rows])[where.ravel()].reshape(alpha.shape)


def _count_mass(rest: float, alpha: float, beta: float, low: float, high: float) -> float:
    k = np.arange(low, high + 1)
    log_p = betaln(k + alpha, rest - k + beta) - betaln(alpha, beta) - betaln(rest - k + 1, k + 1) - np.log(rest + 1)
    return float(np.exp(log_p).sum())


# -- the report ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Result:
    """Everything said about one case and prior."""

    case: Case
    prior: str
    cells: dict[bool, tuple[float, float, float, float]]  # per claim: plain, by share, width, overall
    sentences: tuple[str, ...]
    refused: str


def study_all(cases: Sequence[Case], repeats: int, jobs: int | None) -> list[Result]:
    calls = (delayed(study)(case, (0, i), repeats) for i, case in enumerate(cases))
    return [result for found in spread(calls, n_jobs=jobs) for result in found]


def study(case: Case, seed: Sequence[int], repeats: int) -> list[Result]:
    """Every prior and claim on one case."""
    rng = np.random.default_rng(seed)
    kept, counts = mask(rng, case, repeats)
    trials = [try_out(case, prior, counts, finite=finite) for prior in case.priors for finite in CLAIMS]
    wholes = [overall(case, t.prior, counts, finite=t.finite) for t in trials]
    refused = verify(trials, wholes, kept)
    results = []
    for i, prior in enumerate(case.priors):
        pairs = list(zip(trials, wholes, strict=True))[2 * i : 2 * i + 2]
        cells = {t.finite: (*figures(t), float((t.high - t.low).mean()), float(w.hit.mean())) for t, w in pairs}
        results.append(Result(case, prior.name, cells, tuple(_sentences(rng, pairs)), refused))
    return results


def _sentences(rng: np.random.Generator, pairs: Sequence[tuple[Trial, Whole]]) -> Iterator[str]:
    for trial, whole in pairs:
        for what, said in (("groups", explain(rng, trial)), ("overall", explain_overall(trial, whole))):
            if said:
                yield f"{CLAIMS[trial.finite]}, {what}: {said}"


def write_summary(results: Sequence[Result]) -> Iterator[str]:
    yield "| pool | flat, finite pool | flat, population | scores, finite pool | scores, population |"
    yield "|---|---|---|---|---|"
    for pool in dict.fromkeys(r.case.pool for r in results):
        row = []
        for prior in ("flat", "scores"):
            mine = [r for r in results if r.case.pool == pool and r.prior == prior]
            row += [_percent(float(np.mean([r.cells[f][0] for r in mine]))) if mine else "no scores" for f in CLAIMS]
        yield f"| {pool} | {' | '.join(row)} |"


def write_details(results: Sequence[Result]) -> Iterator[str]:
    yield "| pool | by | groups | labels per group | prior | finite pool: groups | by share | width | overall | population: groups | by share | width | overall |"
    yield "|" + "---|" * 13
    for r in results:
        cells = [c for f in CLAIMS for c in _cells(r.cells[f])]
        typical = float(np.median(r.case.size)) * KEPT
        yield f"| {r.case.title} | {len(r.case.groups):,} | {typical:.1f} | {r.prior} | {' | '.join(cells)} |"


def _cells(found: tuple[float, float, float, float]) -> list[str]:
    plain, weighted, width, whole = found
    return [_percent(plain), _percent(weighted), f"{width:.3f}", _percent(whole)]


def _percent(figure: float) -> str:
    text = f"{100 * figure:.1f}"
    return f"**{text}**" if is_outside(figure) else text


def write_refusals(results: Sequence[Result]) -> Iterator[str]:
    refused = {r.case.title.replace(" | ", ", "): r.refused for r in results if r.refused}
    if refused:
        yield from ("", "Compared at a later repeat:", "")
    yield from (f"- {title}: {why}" for title, why in refused.items())


def write_explanations(results: Sequence[Result]) -> Iterator[str]:
    for r in results:
        if r.sentences:
            yield f"- **{r.case.title.replace(' | ', ', ')}, {r.prior} prior**"
            yield from (f"  - {sentence}" for sentence in r.sentences)


def write_checks(checks: Sequence[Check]) -> Iterator[str]:
    yield "| pool | by | prior | claim | pairs | covered | held | standard error | within 3 errors |"
    yield "|---|---|---|---|---|---|---|---|---|"
    for c in checks:
        yield f"| {c.case.title} | {c.prior} | {c.claim} | {c.pairs:,} | {c.covered:.2%} | {c.held:.2%} | {c.error:.2%} | {'yes' if c.is_within else '**no**'} |"


def pool_checks(checks: Sequence[Check]) -> Iterator[str]:
    """All pools together, per prior and claim."""
    for prior, claim in dict.fromkeys((c.prior, c.claim) for c in checks):
        mine = [c for c in checks if (c.prior, c.claim) == (prior, claim)]
        pairs = np.array([c.pairs for c in mine])
        covered, held = (float(pairs @ [getattr(c, f) for c in mine] / pairs.sum()) for f in ("covered", "held"))
        error = float(np.sqrt(((pairs * [c.error for c in mine]) ** 2).sum()) / pairs.sum())
        verdict = "within" if abs(covered - held) <= 3 * error else "**outside**"
        yield f"- {prior} prior, {claim}: {covered:.2%} of {pairs.sum():,} pairs covered, {held:.2%} held, standard error {error:.2%}: {verdict} 3 errors."


def write_report(arguments: argparse.Namespace, results: Sequence[Result], checks: Sequence[Check]) -> Iterator[str]:
    command = (
        f"python -m bench.coverage --pools {arguments.pools} --repeats {arguments.repeats} --out bench/coverage.md"
    )
    yield from ("# Coverage of 95 % intervals of group accuracy", "", f"Made by `{command}`.", "")
    yield from (
        f"In each repeat {KEPT:.0%} of a pool's labels are kept at random, over the whole pool; {arguments.repeats} repeats. Truth is a group's accuracy over all items",
        "of the pool. That is what `finite_pool=True` makes a claim about, so *finite pool* is the matching column; the default, *population*, speaks about the",
        "population the pool came from, is wider by about 2.6 %, and can never contain a truth of exactly 1 under the flat prior. A pair is a (repeat, group).",
        "Bold: outside 93-97 %. The first repeat of every case equals `fl.assess` on the masked table to nine digits (asserted). Overall figures come from 200-500 draws, and from 50 repeats where there are more than 100 groups.",
        "", "## By pool", "", "Mean over groups, and over models and groupings where a pool has several.", "",
    )  # fmt: skip
    yield from write_summary(results)
    yield from ("", "## Every case", "", "*groups*: mean over (repeat, group); *by share*: groups weighted by their share of the pool; *width*: mean width of a group's interval.", "")  # fmt: skip
    yield from write_details(results)
    yield from write_refusals(results)
    yield from ("", "## Truth drawn from the prior", "", "Group sizes are the pools' own; θ is drawn from the prior, outcomes from θ. *held* is the part of the belief that lies in the interval: 95 % of a population's,", "at least 95 % of a finite pool's, whose accuracies come in steps of one item. Coverage must equal it to within 3 standard errors (of 100 checks, 0.3 fail by chance).", "")  # fmt: skip
    yield from pool_checks(checks)
    yield ""
    yield from write_checks(checks)
    yield from ("", "## Every figure outside 93-97 %, explained", "", "A belief that is right on average over its prior (above) is not right at every truth: the flat prior pulls towards 1/2, so it covers more than 95 % in the middle and less near 1; the scores prior does the same around the scores, and where they are near 1 it has no room for mistakes. With few labels coverage moves in steps.",
        "",
        "Signed numbers are points of coverage and add up to figure minus 95. Each pair belongs to the first of these that fits: " + "; ".join(STRATA) + " (score strata under the scores prior only).", "")  # fmt: skip
    yield from write_explanations(results)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pools", type=Path, default=Path("../shared/pools"))
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--only", default="", help="pools whose name contains this")
    parser.add_argument("--jobs", type=int, help="processes; the figures do not depend on it")
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    began = time.perf_counter()
    cases = [case for case in read_cases(arguments.pools) if arguments.only in case.pool]
    results = study_all(cases, arguments.repeats, arguments.jobs)
    firsts = [c for c in cases if c.by == "predicted" and c.model in ("", MODELS[0])]
    checks = list(check_priors(firsts))
    text = "\n".join(write_report(arguments, results, checks)) + "\n"
    print(text, end="")
    print(f"{time.perf_counter() - began:.0f} s", file=sys.stderr)
    if arguments.out:
        arguments.out.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    # By its own name: other processes cannot be sent what __main__ defines (a cached property of Python 3.11 holds a lock).
    import_module("bench.coverage").main()
