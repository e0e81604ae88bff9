"""Table 2 of the accuracy-surface paper: squared errors of all estimators, and of ours."""

import numpy as np

from experiments.estimates import BAR, DEEP, INSIDE, OURS, OUTSIDE, Score, average, compare
from experiments.options import Options, start
from experiments.tables import Page, Table, show, show_error
from experiments.terrains import Site, list_sites

RUNS = 5
MODELS = (*INSIDE, *OUTSIDE)
PUBLISHED = {  # (macro, worst) of the paper's four services, in the order of its columns; another kind of pool
    "constant": ("5.4 / 15.0", "5.2 / 35.9", "3.2 / 9.4", "1.2 / 8.2"),
    "beta-i": ("7.0 / 15.6", "4.7 / 30.3", "4.3 / 10.0", "1.6 / 8.4"),
    "bern-gp": ("7.0 / 13.2", "4.9 / 28.1", "3.5 / 8.6", "1.7 / 7.6"),
    "beta-gp": ("7.1 / 14.3", "4.6 / 25.9", "3.3 / 7.9", "2.2 / 6.6"),
    "beta-gp-sl": ("5.3 / 11.7", "4.1 / 22.6", "2.8 / 6.8", "1.4 / 4.4"),
    "beta-gp-slp": ("4.7 / 10.4", "4.3 / 23.3", "2.8 / 5.7", "1.4 / 3.9"),
}
SERVICES = ("AC-COCOS10K", "AC-COCOS", "MF-IMDB", "MF-CelebA")


def make(options: Options) -> Page:
    """Let all of them learn from the same labels."""
    effort, sites = options.effort(RUNS), list_sites(options.pools)
    models = tuple(model for model in MODELS if model not in DEEP) if options.quick else MODELS
    found = {
        site: compare(site, options.limit(site.n_labels), models, effort.runs, effort.jobs, effort.seed)
        for site in (sites[:1] if options.quick else sites)
    }
    bar = [model for model in BAR if model in models]
    ratios = {site: _compare_with(scores, bar) for site, scores in found.items()}
    table = Table(
        ["surface", "labels", *models, "ours / best of the bar", "coverage of ours", "width"],
        [_row(site, options.limit(site.n_labels), scores, ratios[site]) for site, scores in found.items()],
        "Mean squared error of arms' accuracy times 100: all arms of at least 5 items / the 50 worst of these.",
    )
    macro, worst = (np.array([ratio[i] for ratio in ratios.values()]) for i in (0, 1))
    says = (
        f"Ours is {macro.mean():.2f} (macro) and {worst.mean():.2f} (worst 50) of the best of {', '.join(bar)}, on average over "
        f"surfaces (goal: 0.70), at most {macro.max():.2f} and {worst.max():.2f} (goal: 1.02). {effort.runs} surfaces of each kind."
    )
    published = Table(
        ["the paper's", *SERVICES], [[model, *figures] for model, figures in PUBLISHED.items()],
        "Published, on services and images that are not to be had: macro / worst, 2,000 labels.",
    )  # fmt: skip
    return Page("Table 2: estimators of accuracy surfaces", says, [table, published], notes=NOTES)


NOTES = (
    "All estimators are asked about exactly these items: what is labelled is known, the rest is expected.",
    "logistic: scikit-learn's default on one column per value; boosting: HistGradientBoostingClassifier, its default.",
    "effects known: somebody who knows what all attributes do, and nothing of single arms. Where 4,096 arms have a dozen items each, luck "
    "decides which 50 are the worst; where effects merely add up, or arms go their own ways, even that guess is hardly better on these "
    "than logistic regression, which pulls less towards the middle.",
    "Coverage is of 95 % intervals, averaged over arms of at least 5 items.",
)


def _compare_with(scores: dict[str, list[Score]], bar: list[str]) -> tuple[float, float]:
    """Ours over the best of others, each averaged over runs first."""
    out = []
    for what in ("macro", "worst"):
        best = min(average(scores[model], what)[0] for model in bar)
        out.append(average(scores[OURS], what)[0] / best)
    return out[0], out[1]


def _row(site: Site, n: int, scores: dict[str, list[Score]], ratio: tuple[float, float]) -> list[str]:
    cells = [" / ".join(show(average(one, what)[0], 2) for what in ("macro", "worst")) for one in scores.values()]
    coverage = show_error(*average(scores[OURS], "coverage"))
    width = show(average(scores[OURS], "width")[0])
    return [site.name, f"{n:,}", *cells, f"{ratio[0]:.2f} / {ratio[1]:.2f}", coverage, width]


if __name__ == "__main__":
    start("surface_2", make)
