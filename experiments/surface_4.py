"""Figure 4 of the accuracy-surface paper: how fast errors fall where labels go to the arms that tell most."""

from dataclasses import dataclass

import numpy as np
from joblib import delayed

import fewlabels as fl
from experiments.options import QUICK_LOOKS, Options, start
from experiments.pictures import Axis, Panel, draw_grid
from experiments.replays import Curve, Effort, Floats, Ints
from experiments.tables import Page, Table, show_error
from experiments.terrains import Site, list_sites
from fewlabels.active.acquisition import Policy
from fewlabels.active.goals.goal import Goal
from fewlabels.active.simulation.parallel import spread
from fewlabels.active.simulation.replay import ReplayRun
from fewlabels.data.counts import Cells
from fewlabels.distributions.beta_dirichlet import Beta
from fewlabels.models.baselines import WARM_START_LABELS
from fewlabels.models.priors import Prior, PriorFit, Reads

RUNS = 10
LOOKS = 12
FIRST = 100  # labels at the first look
SITES = (
    "hatecheck_perspective", "hatecheck_bert", "smooth, 320 arms", "interactions, 320 arms", "uneven, 320 arms",
    "uneven, 4,096 arms",
)  # fmt: skip
ERROR = Axis("macro squared error × 100", 0.0, None)


@dataclass(frozen=True)
class Warm:
    """Beta-I as a prior: every arm starts with a tenth of a label at the pool's accuracy so far."""

    name: str = "beta-i"
    needs: tuple[str, ...] = ()
    guesses_level: bool = False

    def before(self, cells: Cells, reads: Reads) -> Beta:  # noqa: ARG002
        """A tenth of a label each."""
        share = (cells.right.sum() + 1.0) / (cells.n_labels.sum() + 2.0)
        return Beta(
            cells.names, np.full(cells.n, WARM_START_LABELS * share), np.full(cells.n, WARM_START_LABELS * (1 - share))
        )

    def learn(self, cells: Cells, reads: Reads, *, finite_pool: bool) -> PriorFit:  # noqa: ARG002
        """The pool's accuracy is all it learns."""
        return PriorFit(self.before(cells, reads))


WAYS: dict[str, tuple[Prior, Goal, Policy]] = {
    "Beta-I, random": (Warm(), fl.LeastCertain(), fl.random),
    "Beta-I, least certain": (Warm(), fl.LeastCertain(), fl.thompson),
    "smooth, random": (fl.smooth(), fl.Explore(), fl.random),
    "smooth, least certain": (fl.smooth(), fl.LeastCertain(), fl.thompson),
    "smooth, explore": (fl.smooth(), fl.Explore(), fl.thompson),
}
RANDOM, OURS = "smooth, random", "smooth, explore"


def make(options: Options) -> Page:
    """Replay every way on every surface."""
    effort, panels, rows, saved = options.effort(RUNS), [], [], []
    sites = {site.name: site for site in list_sites(options.pools)}
    for site in (sites[name] for name in (SITES[2:3] if options.quick else SITES)):
        most = options.limit(site.n_labels)
        n_looks = QUICK_LOOKS if options.quick else LOOKS
        looks = np.unique(np.geomspace(min(FIRST, most // 2), most, n_looks).round().astype(np.int64))
        values = replay(site, looks, effort)
        curves = [Curve(name, looks, values[name][:, 0]) for name in WAYS]
        panels.append(Panel(site.name, curves, int(looks[-1])))
        shares = [_share(looks, values[RANDOM][:, i].mean(axis=0), values[OURS][:, i].mean(axis=0)) for i in (0, 1)]
        ends = [f"{values[name][:, 0, -1].mean():.2f} / {values[name][:, 1, -1].mean():.2f}" for name in WAYS]
        rows.append([site.name, f"{most:,}", *ends, *(show_error(100 * share, float("nan"), 0) for share in shares)])
        saved.append([100 * share for share in shares])
    draw_grid(
        [panels[i : i + 3] for i in range(0, len(panels), 3)], options.out / "surface_4.png", ERROR, percent=False
    )
    macro, worst = np.nan_to_num(np.array(saved).T, nan=100.0)
    says = (
        f"To be as good as with that many labels at random, exploring takes {macro.mean():.0f} % of them by macro error and "
        f"{worst.mean():.0f} % by that of the 50 worst arms, on average over surfaces, where never counts as 100 (goal: 50 %). "
        f"Macro error is over arms of at least 5 items; {effort.runs} runs."
    )
    header = ["surface", "labels", *(f"{name}: macro / worst" for name in WAYS), "explore needs, %: macro", "worst"]
    notes = (
        "Least certain: the next label goes to the arm whose accuracy, on exactly these items, has the greatest variance (Eq. 12, "
        "there of the population). Explore: to the arm where a label is expected to take most off the variances of all arms "
        "together. Both reckon, with ours, with one arm in twenty being unlike anything its attributes suggest. Sessions do the same.",
        "Errors are of what is expected of exactly these items, what is labelled being known.",
    )
    return Page("Figure 4: exploration", says, [Table(header, rows)], picture="surface_4.png", notes=notes)


def replay(site: Site, looks: Ints, effort: Effort) -> dict[str, Floats]:
    """Return errors by way, (run, measure, look)."""
    jobs = [(name, run) for name in WAYS for run in range(effort.runs)]
    calls = (delayed(_play)(site, name, looks, [effort.seed, run]) for name, run in jobs)
    found = list(spread(calls, n_jobs=effort.jobs))
    return {name: np.stack([v for (n, _), v in zip(jobs, found, strict=True) if n == name]) for name in WAYS}


def _play(site: Site, way: str, looks: Ints, seed: list[int]) -> Floats:
    """Macro and worst error at every look, (measure, look)."""
    terrain, (prior, goal, policy) = site.make(seed[1]), WAYS[way]
    run = ReplayRun(terrain.labelled(), goal, policy, prior)
    order = run.run_policy(np.random.default_rng([*seed, 4]), int(looks[-1]))
    out = []
    for n in looks:
        error = 100 * (terrain.spread(run.infer_posterior(order[:n]).mean()) - terrain.truth) ** 2
        out.append([error[terrain.known].mean(), error[terrain.worst].mean()])
    return np.array(out).T


def _share(looks: Ints, random: Floats, ours: Floats) -> float:
    """The share of labels after which exploring is, and stays, as good as random labels at the end."""
    good = np.logical_and.accumulate((ours <= random[-1])[::-1])[::-1]
    if not good.any():
        return float("nan")
    first = int(good.argmax())
    if first == 0:
        return float(looks[0] / looks[-1])
    before, after = np.log(ours[first - 1 : first + 1])
    part = (before - np.log(random[-1])) / (before - after) if before > after else 1.0
    return float(np.exp(np.interp(part, [0, 1], np.log(looks[first - 1 : first + 1]))) / looks[-1])


if __name__ == "__main__":
    start("surface_4", make)
