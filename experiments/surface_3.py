"""Figure 3 of the accuracy-surface paper: the error of the worst arms as random labels grow."""

import numpy as np

from experiments.estimates import DEEP, OURS, compare
from experiments.options import Options, start
from experiments.pictures import Axis, Panel, draw_grid
from experiments.replays import Curve
from experiments.tables import Page, Table, show_error
from experiments.terrains import list_sites

RUNS = 5
MODELS = ("beta-i", "beta-gp", "beta-gp-sl", "beta-gp-slp", "logistic", OURS)
SHARES = (0.25, 0.5, 1.0, 1.5)  # of the labels of Table 2
SITES = ("uneven, 320 arms", "uneven, 4,096 arms", "hatecheck_perspective")
ERROR = Axis("squared error × 100", 0.0, None)


def make(options: Options) -> Page:
    """Let all of them learn from the same labels, again and again."""
    effort = options.effort(RUNS)
    models = tuple(model for model in MODELS if model not in DEEP) if options.quick else MODELS
    panels, rows = [], []
    sites = {site.name: site for site in list_sites(options.pools)}
    for name in SITES[:1] if options.quick else SITES:
        site = sites[name]
        looks = np.array([options.limit(round(share * site.n_labels)) for share in SHARES])
        found = [compare(site, int(n), models, effort.runs, effort.jobs, effort.seed) for n in looks]
        values = {m: np.array([[score.worst for score in scores[m]] for scores in found]).T for m in models}
        curves = [Curve(model, looks, values[model]) for model in models]
        panels.append(Panel(name, curves, int(looks[-1])))
        rows += [
            [name, f"{n:,}", *(show_error(c.mean[i], c.se[i]) for c in curves)] for i, n in enumerate(looks.tolist())
        ]
    draw_grid([panels], options.out / "surface_3.png", ERROR, percent=False)
    says = f"Labels at random, the same for all; the band is two standard errors over {effort.runs} surfaces."
    table = Table(["surface", "labels", *models], rows, "Mean squared error × 100 over the 50 worst arms.")
    return Page("Figure 3: the error of the 50 worst arms", says, [table], picture="surface_3.png")


if __name__ == "__main__":
    start("surface_3", make)
