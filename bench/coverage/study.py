"""Every prior and claim on every case, as rows."""

from collections.abc import Iterator, Sequence

import numpy as np
from joblib import delayed

from bench.coverage.cases import KEPT, Case
from bench.coverage.checks import Check
from bench.coverage.reasons import explain, explain_overall, figures, is_outside
from bench.coverage.trials import CLAIMS, Trial, Whole, mask, overall, try_out
from bench.coverage.verification import verify
from bench.harness.rows import Row, Rows, select
from fewlabels.active.simulation.parallel import spread

PRIORS = ("flat", "scores")
Pair = tuple[Trial, Whole]


def study_all(cases: Sequence[Case], repeats: int, jobs: int | None) -> list[Row]:
    """Return the rows of all cases; seeds do not depend on who plays what."""
    calls = (delayed(study)(case, (0, i), repeats) for i, case in enumerate(cases))
    return [row for found in spread(calls, n_jobs=jobs) for row in found]


def study(case: Case, seed: Sequence[int], repeats: int) -> list[Row]:
    """Return the rows of one case."""
    rng = np.random.default_rng(seed)
    kept, counts = mask(rng, case, repeats)
    trials = [try_out(case, prior, counts, finite=finite) for prior in case.priors for finite in CLAIMS]
    wholes = [overall(case, t.prior, counts, finite=t.finite) for t in trials]
    refused = verify(trials, wholes, kept)
    rows: list[Row] = [{"table": "refusals", "case": case.title, "why": refused}] if refused else []
    for i, prior in enumerate(case.priors):
        pairs = list(zip(trials, wholes, strict=True))[2 * i : 2 * i + 2]
        rows.append(_describe(case, prior.name, pairs))
        rows += (
            {"table": "reasons", "case": case.title, "prior": prior.name, "why": why} for why in _explain(rng, pairs)
        )
    return rows


def _describe(case: Case, prior: str, pairs: Sequence[Pair]) -> Row:
    """Return the figures of both claims, and the names of those outside 93-97 %."""
    shares: dict[str, float] = {}
    widths: dict[str, float] = {}
    for trial, whole in pairs:
        claim, (plain, weighted) = CLAIMS[trial.finite], figures(trial)
        shares |= {
            f"{claim}: groups": plain,
            f"{claim}: by share": weighted,
            f"{claim}: overall": float(whole.hit.mean()),
        }
        widths[f"{claim}: width"] = float((trial.high - trial.low).mean())
    return {
        "table": "cases", "pool": case.pool, "by": case.grouping, "groups": len(case.groups),
        "labels": float(np.median(case.size)) * KEPT, "prior": prior, **shares, **widths, "outside": join_outside(shares),
    }  # fmt: skip


def join_outside(shares: dict[str, float]) -> str:
    """Return the names of the figures outside 93-97 %."""
    return "; ".join(name for name, share in shares.items() if is_outside(share))


def _explain(rng: np.random.Generator, pairs: Sequence[Pair]) -> Iterator[str]:
    for trial, whole in pairs:
        for what, why in (("groups", explain(rng, trial)), ("overall", explain_overall(trial, whole))):
            if why:
                yield f"{CLAIMS[trial.finite]}, {what}: {why}"


def average_pools(rows: Rows) -> Iterator[Row]:
    """Yield a row for every pool: means over groups, and over models and columns where a pool has several."""
    cases = select(rows, "cases")
    for pool in dict.fromkeys(row["pool"] for row in cases):
        shares = {}
        for prior in dict.fromkeys(row["prior"] for row in cases if row["pool"] == pool):
            mine = select(cases, "cases", pool=pool, prior=prior)
            for claim in CLAIMS.values():
                shares[f"{prior}, {claim}"] = float(np.mean([row[f"{claim}: groups"] for row in mine]))
        yield {"table": "pools", "pool": pool, **shares, "outside": join_outside(shares)}


def average_checks(checks: Sequence[Check]) -> Iterator[Row]:
    """Yield a row for every prior and claim: all pools together."""
    for prior, claim in dict.fromkeys((c.prior, c.claim) for c in checks):
        mine = [c for c in checks if (c.prior, c.claim) == (prior, claim)]
        pairs = np.array([c.pairs for c in mine])
        covered, held = (float(pairs @ [getattr(c, f) for c in mine] / pairs.sum()) for f in ("covered", "held"))
        error = float(np.sqrt(((pairs * [c.error for c in mine]) ** 2).sum()) / pairs.sum())
        yield {
            "table": "priors", "prior": prior, "claim": claim, "pairs": int(pairs.sum()), "covered": covered, "held": held,
            "error": error, "within": abs(covered - held) <= 3 * error,
        }  # fmt: skip
