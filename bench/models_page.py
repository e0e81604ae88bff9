"""The page of `bench.models`: errors and coverage of differences, verdicts, and labels until the best model is found."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from bench.harness.page import figure, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select

RANDOM, ASKED = (20, 50, 100, 500), 100
BESIDE = 1000  # random labels that 100 asked-for ones are compared with
BUDGETS, GENEROUS = (10, 20, 30, 50, 70, 100), (10, 20, 30, 50, 70, 100, 150, 200, 300, 500, 700, 1000, 1500, 2000)
LARGE = 5000  # items from which on 1,000 random labels are few of them
CONFIDENCE, GOOD_ENOUGH = 0.95, 0.005
STEPS = (0.0, 0.5, 0.8, 0.95, 1.0)  # of the probability to be the best
TINY = 1e-6


def render(rows: Rows) -> Iterator[str]:
    """Yield the paragraphs of the page."""
    yield "# Which of several models is best"
    yield f"Made by `{find_settings(rows)['command']}`."
    pairs, families = select(rows, "pairs"), select(rows, "families")
    if pairs:
        yield from render_pairs(pairs)
    if families:
        yield from render_families(families)


def render_pairs(rows: Rows) -> Iterator[str]:
    """Yield all pairs together, then each, the least covered first."""
    found = [summarize_pair(part) for part in split(rows, "how", "n_labels", "pair")]
    kinds = list(split(found, "how", "n_labels"))
    yield "## Pairs"
    yield f"The root of the mean squared error of the difference in accuracy, relative to that of the mean of paired differences of as many random labels, and to the standard error of that mean; for labels asked for, of {BESIDE:,} random ones; these errors are of pairs with at least {LARGE:,} items. Below 1 is better. Means over pairs are geometric. Coverage is that of 95% intervals on exactly these items; a verdict is stated from a probability of {CONFIDENCE:g} on, with a rope of 0.01."  # fmt: skip
    columns = (("labels", text("labels")), ("pairs", figure("pairs", "d")), ("runs", figure("runs", "d")), ("to as many", figure("ratio", ".2f")), ("worst pair", figure("worst", ".2f")), ("to the standard error", figure("beside", ".2f")), ("worst", figure("worst_beside", ".2f")), ("covered", figure("covered", ".3f")), ("lowest", figure("lowest", ".2f")), ("verdicts", figure("verdicts", "d")), ("right", figure("right", ".3f")))  # fmt: skip
    yield show_table(columns, [summarize_kind(part) for part in kinds])
    each = (("pair", text("pair")), ("disagree", figure("disagree", ".3f")), ("difference", figure("delta", "+.3f")), ("bias", figure("bias", "+.4f")), ("error", figure("error", ".4f")), ("to as many", figure("ratio", ".2f")), ("to the standard error", figure("beside", ".2f")), ("covered", figure("covered", ".2f")), ("width", figure("width", ".3f")))  # fmt: skip
    for part in kinds:
        yield f"### {part[0]['n_labels']} labels {'asked for' if part[0]['how'] == 'asked' else 'at random'}, least covered first"
        yield show_table(each, sorted(part, key=lambda row: row["covered"]))


def split(rows: Rows, *names: str) -> Iterator[Rows]:
    """Yield the rows that agree in these columns, in their order."""
    for key in dict.fromkeys(tuple(row[name] for name in names) for row in rows):
        yield [row for row in rows if tuple(row[name] for name in names) == key]


def summarize_pair(rows: Rows) -> Row:
    """Return errors and coverage of one pair and number of labels."""
    first, (error, average) = rows[0], (root_mean_square(rows, name) for name in ("error", "average"))
    is_small = first["how"] == "asked" and first["n_items"] < LARGE
    stated = [row["right"] for row in rows if row["p_verdict"] >= CONFIDENCE]
    mean = {name: float(np.mean([row[name] for row in rows])) for name in ("covered", "width", "delta", "disagree")}
    return {
        "how": first["how"], "n_labels": first["n_labels"], "pair": first["pair"], "runs": len(rows), "error": error,
        "bias": float(np.mean([row["error"] for row in rows])), "ratio": None if is_small else error / max(average, TINY),
        "beside": None if is_small else error / max(first["beside"], TINY), "verdicts": len(stated), "right": sum(stated), **mean,
    }  # fmt: skip


def root_mean_square(rows: Rows, name: str) -> float:
    """Return the root of the mean square of a column."""
    return float(np.sqrt(np.mean([row[name] ** 2 for row in rows])))


def summarize_kind(rows: Rows) -> Row:
    """Return all pairs with as many labels together."""
    beside, ratio = ([row[name] for row in rows if row[name] is not None] for name in ("beside", "ratio"))
    return {
        "labels": f"{rows[0]['n_labels']} {rows[0]['how']}", "pairs": len(rows), "runs": rows[0]["runs"],
        "ratio": average_ratio(ratio), "worst": max(ratio, default=None),
        "beside": average_ratio(beside), "worst_beside": max(beside, default=None),
        "covered": float(np.mean([row["covered"] for row in rows])), "lowest": min(row["covered"] for row in rows),
        "verdicts": sum(row["verdicts"] for row in rows), "right": sum(row["right"] for row in rows) / max(sum(row["verdicts"] for row in rows), 1),
    }  # fmt: skip


def average_ratio(values: list[float]) -> float | None:
    """Return the geometric mean; None of nothing."""
    if not values:
        return None
    return float(np.exp(np.log(np.maximum(values, TINY)).mean()))


def render_families(rows: Rows) -> Iterator[str]:
    """Yield how many labels find a good model, and whether P(best) and the expected loss are right."""
    yield "## Families"
    yield f"Labels until the mean loss of the chosen model, its accuracy below that of the best, is at most {GOOD_ENOUGH:g} and stays there; asked for by `best-model`, and at random with the most accurate model on them chosen. Beside: how often the chosen model is the best after {BUDGETS[-1]} labels."  # fmt: skip
    columns = (("family", text("family")), ("models", figure("models", "d")), ("runs", figure("runs", "d")), ("asked", text("asked")), ("random", text("random")), ("share", text("share")), ("best, asked", figure("found_asked", ".2f")), ("best, random", figure("found_random", ".2f")))  # fmt: skip
    yield show_table(columns, [summarize_family(part) for part in split(rows, "family")])
    asked = [row for row in rows if row["how"] == "asked"]
    yield "The stated probability that the chosen model is the best, beside how often it is, and the expected loss beside the true one:"
    stated = (("P(best)", text("range")), ("choices", figure("choices", "d")), ("stated", figure("stated", ".3f")), ("true", figure("true", ".3f")), ("expected loss", figure("expected", ".4f")), ("loss", figure("loss", ".4f")))  # fmt: skip
    yield show_table(stated, [row for row in map(summarize_choices, split_choices(asked)) if row["choices"]])


def count_until_good(rows: Rows) -> int | None:
    """Return the number of labels from which on the mean loss stays small; None where it never does."""
    means = {part[0]["n_labels"]: np.mean([row["loss"] for row in part]) for part in split(rows, "n_labels")}
    good = [n for n in sorted(means) if all(means[m] <= GOOD_ENOUGH for m in means if m >= n)]
    return good[0] if good else None


def summarize_family(rows: Rows) -> Row:
    """Return the labels that one family needs."""
    parts = {how: [row for row in rows if row["how"] == how] for how in ("asked", "random")}
    needed = {how: count_until_good(part) for how, part in parts.items()}
    last = {how: [row["loss"] == 0 for row in part if row["n_labels"] == BUDGETS[-1]] for how, part in parts.items()}
    asked, random = needed["asked"], needed["random"]
    most = {"asked": BUDGETS[-1], "random": GENEROUS[-1]}
    shown = {how: f"{n:,}" if n else f"more than {most[how]:,}" for how, n in needed.items()}
    share = f"{asked / random:.2f}" if asked and random else "" if not asked else f"below {asked / GENEROUS[-1]:.2f}"
    return {
        "family": rows[0]["family"], "models": rows[0]["models"], "runs": len(last["asked"]), **shown, "share": share,
        "found_asked": float(np.mean(last["asked"] or [np.nan])), "found_random": float(np.mean(last["random"])),
    }  # fmt: skip


def split_choices(rows: Rows) -> Iterator[tuple[str, Rows]]:
    """Yield the choices by the stated probability that they are the best."""
    for low, high in pairwise(STEPS):
        yield f"{low:g} to {high:g}", [row for row in rows if low <= row["p_best"] < high + (high == 1) * TINY]


def summarize_choices(named: tuple[str, Rows]) -> Row:
    """Return stated and true probabilities and losses of some choices."""
    name, rows = named
    mean = {to: float(np.mean([row[of] for row in rows])) if rows else 0.0 for to, of in (("stated", "p_best"), ("expected", "expected"), ("loss", "loss"))}  # fmt: skip
    return {"range": name, "choices": len(rows), "true": float(np.mean([row["loss"] == 0 for row in rows])) if rows else 0.0, **mean}  # fmt: skip
