"""Why a figure is not 95 %."""

import numpy as np

from bench.coverage.cases import Floats, Ints
from bench.coverage.trials import LEVEL, Trial, Whole, mass, redraw, start, try_out

AGAIN = 1000  # repeats, where a figure may be chance
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
    """Return the largest parts in words."""
    parts = take_apart(trial, weight)
    shown = [p for p in parts[:3] if abs(p[0]) >= 0.25 or p is parts[0]]
    words = [f"{points:+.1f} from the {share:.0%} of pairs with {name} (covered {covered:.1%})" for points, share, covered, name in shown]  # fmt: skip
    rest = sum(p[0] for p in parts) - sum(p[0] for p in shown)
    return ", ".join(words) + (f", {rest:+.1f} from all others" if len(parts) > len(shown) else "")


def describe_misses(trial: Trial) -> str:
    """Return in words where intervals that miss the truth lie."""
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
    """Return whether a figure lies outside 93-97 %."""
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
