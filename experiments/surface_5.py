"""Figure 5 of the accuracy-surface paper: three ways to believe the classifiers that tell items' attributes."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
from joblib import delayed
from scipy.sparse import csr_array

from experiments.options import Options, start
from experiments.pictures import Axis, Panel, draw_grid
from experiments.replays import Curve, Floats, Ints
from experiments.tables import Page, Table, show, show_error
from experiments.uncertain_terrains import Hearsay, Place, list_places
from fewlabels.active.simulation.parallel import spread
from fewlabels.analyses.surface.uncertain_attributes import SoftAssignment, fit_uncertain
from fewlabels.models.baselines import WARM_START_LABELS
from fewlabels.models.membership.fit import fit_membership
from fewlabels.models.membership.fractional_counts import count_fractionally

RUNS = 5
QUICK_ITEMS = 1500
N_KNOWN = 500  # items with known attributes, labelled too
LOOKS = np.array([0, 250, 500, 1000, 2000])  # labels beyond these
WAYS = {"Cal:Raw": "raw", "Cal:Temp": "temperature", "Cal:Full": "full"}
KNOWN = "attributes known"
LEVEL = 0.95
ERROR = Axis("macro squared error × 100", 0.0, None)


def make(options: Options) -> Page:
    """Let every way assign items to arms, and label arm by arm."""
    effort, panels, rows, ours = options.effort(RUNS), [], [], []
    looks, places = (LOOKS[:2], list_places(options.pools, QUICK_ITEMS)[:1]) if options.quick else (LOOKS, list_places(options.pools))  # fmt: skip
    for place in places:
        calls = (delayed(_play)(place, looks, [effort.seed, run]) for run in range(effort.runs))
        found = list(spread(calls, n_jobs=effort.jobs))
        errors = {way: np.stack([one[way][0] for one in found]) for way in (*WAYS, KNOWN)}
        panels.append(Panel(place.name, [Curve(way, N_KNOWN + looks, v) for way, v in errors.items()], N_KNOWN + int(looks[-1])))  # fmt: skip
        last = [values[:, -1] for values in errors.values()]
        rows.append([place.name, *(show_error(*_average(v), 2) for v in last), *_compare(last[:3])])
        ours.append([place.name, *(cell for way in errors for cell in _show([one[way][1] for one in found]))])
    draw_grid([panels[i : i + 4] for i in range(0, len(panels), 4)], options.out / "surface_5.png", ERROR, percent=False)  # fmt: skip
    n = N_KNOWN + int(looks[-1])
    header = ["surface", *errors, "Raw − Temp", "Temp − Full"]
    own = ["surface", *(f"{way}: {what}" for way in errors for what in ("error", "coverage, %"))]
    tables = [
        Table(header, rows, f"Beta-I after {n:,} labels, taken arm by arm: macro squared error × 100; differences within runs."),
        Table(own, ours, f"Ours (smooth) after {n:,} labels of random items: the same error, and how often 95 % intervals hold the truth."),
    ]  # fmt: skip
    says = f"Of {N_KNOWN} items both attributes and labels are known. {effort.runs} pools of each kind."
    return Page("Figure 5: attributes that classifiers tell", says, tables, picture="surface_5.png", notes=NOTES)


NOTES = (
    "Labels go as in the paper to arms in turn, at random, each time to the item that is most probably of it.",
    "Errors are of arms with at least 5 items, about the population: which items an arm has is not known. HateCheck's "
    "population is not known either: its errors are against the items there are, and coverage has no meaning.",
)


def _play(place: Place, looks: Ints, seed: list[int]) -> dict[str, tuple[Floats, tuple[float, float]]]:
    """Errors of Beta-I at every look, and of ours at the end with its coverage, by way."""
    hearsay = place.make(seed[1])
    order = np.random.default_rng([*seed, 5]).permutation(len(hearsay.right))
    out = {}
    for way in (*WAYS, KNOWN):
        fractions = _assign(hearsay, way, order[:N_KNOWN])
        walk = _label_by_arm(fractions.chance, order[:N_KNOWN], int(looks[-1]), np.random.default_rng([*seed, 6]))
        errors = [_miss(hearsay, fractions, _judge_alone(fractions, walk[: N_KNOWN + n])) for n in looks.tolist()]
        out[way] = np.array(errors), _judge_together(hearsay, fractions, order[: N_KNOWN + int(looks[-1])])
    return out


def _assign(hearsay: Hearsay, way: str, known: Ints) -> SoftAssignment:
    """Items to arms; every label is there, to be looked at as it comes."""
    level = np.indices(hearsay.sizes).reshape(len(hearsay.sizes), -1).T
    if way == KNOWN:
        n, arm = len(hearsay.arm), hearsay.arm
        chance = csr_array((np.ones(n), (np.arange(n), arm)), shape=(n, len(level)))
    else:
        model = fit_membership(hearsay.scores, hearsay.place[known], known, method=WAYS[way])
        level, chance = model.arms, model.assign(hearsay.scores, hearsay.place[known], known)
    kept = np.asarray(chance.sum(axis=0)).reshape(-1) > 0
    return SoftAssignment(
        hearsay.axes, level[kept], csr_array(chance[:, kept]), hearsay.right, np.full(len(hearsay.right), np.nan)
    )


def _label_by_arm(chance: csr_array, known: Ints, n: int, rng: np.random.Generator) -> Ints:
    """Walk along arms in random order, again and again, and label the item most probably of each."""
    by_arm, taken, walk = chance.tocsc(), np.zeros(chance.shape[0], dtype=bool), known.tolist()
    taken[known] = True
    while len(walk) < len(known) + n:
        for arm in rng.permutation(chance.shape[1]):
            at = slice(*by_arm.indptr[arm : arm + 2])
            items, share = by_arm.indices[at], np.where(taken[by_arm.indices[at]], 0.0, by_arm.data[at])
            if share.size and share.max() > 0:
                walk.append(int(items[share.argmax()]))
                taken[walk[-1]] = True
    return np.array(walk[: len(known) + n])


def _judge_alone(fractions: SoftAssignment, walk: Ints) -> Floats:
    """Every arm by itself, warm with a tenth of a label at the accuracy of the known."""
    counts = count_fractionally(csr_array(fractions.chance[walk]), fractions.outcome[walk])
    share = fractions.outcome[walk[:N_KNOWN]].mean()
    return (WARM_START_LABELS * share + counts.right) / (WARM_START_LABELS + counts.n_labels)


def _judge_together(hearsay: Hearsay, fractions: SoftAssignment, labelled: Ints) -> tuple[float, float]:
    """Error and coverage of ours."""
    outcome = np.full(len(hearsay.right), np.nan)
    outcome[labelled] = hearsay.right[labelled]
    posterior = fit_uncertain(replace(fractions, outcome=outcome)).posterior
    truth = _pick(hearsay, fractions)
    low, high = posterior.interval(LEVEL)
    inside = ((low <= truth) & (truth <= high))[~np.isnan(truth)]
    coverage = 100 * float(inside.mean()) if hearsay.chance is not None else float("nan")
    return _miss(hearsay, fractions, posterior.mean), coverage


def _miss(hearsay: Hearsay, fractions: SoftAssignment, guess: Floats) -> float:
    """Mean squared error × 100 over arms that have enough items."""
    return 100 * float(np.nanmean((guess - _pick(hearsay, fractions)) ** 2))


def _pick(hearsay: Hearsay, fractions: SoftAssignment) -> Floats:
    """The truth of the arms at hand."""
    return hearsay.truth[np.ravel_multi_index(tuple(fractions.level.T), hearsay.sizes)]


def _compare(last: list[Floats]) -> list[str]:
    return [show_error(*_average(one - other), 2) for one, other in pairwise(last)]


def _show(scores: list[tuple[float, float]]) -> list[str]:
    error, coverage = np.array(scores).T
    return [show_error(*_average(error), 2), show(float(coverage.mean()))]


def _average(values: Floats) -> tuple[float, float]:
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


if __name__ == "__main__":
    start("surface_5", make)
