"""What other tools say of graded outputs; run by `grades_peers` with the Python that has them: truescore, evalstats, cje-eval.

Standalone: reads cases from one file of arrays and writes estimates with intervals as JSON lines, null where a tool gives none.
"""

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from pkgutil import resolve_name
from typing import Any

import numpy as np

Found = tuple[float, float, float] | None


def ask_truescore(human: Any, judge: Any, shown: Any, part: Any) -> Iterator[Found]:
    """Yield the corrected estimate, overall and of every slice; none for slices that it does not correct."""
    estimate_slices = resolve_name("truescore.slices:estimate_slices")
    whole = resolve_name("truescore:ppi_estimate")(judge, human, shown)
    yield whole.point, whole.low, whole.high
    found = {one.name: one.corrected for one in estimate_slices(judge, human, shown, part.astype(str)).estimates}
    for name in np.unique(part):
        one = found.get(str(name))
        yield None if one is None else (one.point, one.low, one.high)


def ask_evalstats(human: Any, judge: Any, shown: Any, part: Any) -> Iterator[Found]:
    """Yield the corrected mean, overall and of every slice that has two grades."""
    correct = resolve_name("evalstats.ppi:correct")
    for inside in (np.ones(len(part), bool), *(part == name for name in np.unique(part))):
        rest = inside.copy()
        rest[shown] = False
        mine = inside[shown]
        if mine.sum() < 2 or not rest.any():
            yield None
            continue
        one = correct(np.mean, Y_lab=human[mine], Y_hat_lab=judge[shown][mine], Y_hat_unlab=judge[rest], rng=np.random.default_rng(0))  # fmt: skip
        yield one.estimate, one.ci_low, one.ci_high


def ask_cje(human: Any, judge: Any, shown: Any, part: Any) -> Iterator[Found]:
    """Yield the calibrated mean, overall and of every slice by itself."""
    calibrated_mean_ci = resolve_name("cje.array_api:calibrated_mean_ci")
    labels = np.full(len(judge), np.nan)
    labels[shown] = human
    for inside in (np.ones(len(part), bool), *(part == name for name in np.unique(part))):
        try:
            one = calibrated_mean_ci(judge[inside], labels[inside], inference="cluster_robust")
        except ValueError:  # too few grades
            yield None
        else:
            yield one.estimate, *one.ci


TOOLS: dict[str, Callable[..., Iterator[Found]]] = {
    "truescore": ask_truescore, "evalstats": ask_evalstats, "cje-eval": ask_cje,
}  # fmt: skip


def ask(tool: str, case: tuple[Any, ...], n: int) -> list[Found]:
    """Return what a tool says; where it refuses, it says nothing of what is left."""
    said: list[Found] = []
    try:
        for one in TOOLS[tool](*case):
            said.append(one if one is None or np.isfinite(one).all() else None)
    except Exception as error:  # a tool may refuse in any way
        print(f"{tool}: {type(error).__name__}: {str(error)[:120]}", file=sys.stderr)
    return [*said, *[None] * (n - len(said))]


def main() -> None:
    """Read cases, and write a line for each case and tool."""
    warnings.simplefilter("ignore")
    arrays = np.load(sys.argv[1])
    for i in range(int(arrays["n"])):
        case = tuple(arrays[f"{name}{i}"] for name in ("human", "judge", "shown", "part"))
        for tool in TOOLS:
            said = ask(tool, case, 1 + len(np.unique(case[3])))
            plain = [None if one is None else [float(value) for value in one] for one in said]
            print(json.dumps({"case": i, "tool": tool, "said": plain}), flush=True)


if __name__ == "__main__":
    main()
