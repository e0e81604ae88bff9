"""The page of `bench.coverage`."""

from collections.abc import Iterator

from bench.coverage.cases import KEPT
from bench.coverage.reasons import STRATA
from bench.coverage.study import PRIORS
from bench.coverage.trials import CLAIMS
from bench.harness.page import Show, figure, show_table, text
from bench.harness.rows import Row, Rows, find_settings, select

ABOUT = """In each repeat {kept:.0%} of a pool's labels are kept at random, over the whole pool; {repeats} repeats. Truth is a group's accuracy over all items
of the pool. That is what `finite_pool=True` makes a claim about, so *finite pool* is the matching column; the default, *population*, speaks about the
population the pool came from, is wider by about 2.6 %, and can never contain a truth of exactly 1 under the flat prior. A pair is a (repeat, group).
Bold: outside 93-97 %. The first repeat of every case equals `fl.assess` on the masked table to nine digits (asserted). Overall figures come from 200-500 draws, and from 50 repeats where there are more than 100 groups."""
ABOUT_CASES = (
    "*groups*: mean over (repeat, group); *by share*: groups weighted by their share of the pool; *width*: mean width of a "
    "group's interval."
)
ABOUT_CHECKS = """Group sizes are the pools' own; θ is drawn from the prior, outcomes from θ. *held* is the part of the belief that lies in the interval: 95 % of a population's,
at least 95 % of a finite pool's, whose accuracies come in steps of one item. Coverage must equal it to within 3 standard errors (of 100 checks, 0.3 fail by chance)."""
ABOUT_REASONS = (
    "A belief that is right on average over its prior (above) is not right at every truth: the flat prior pulls towards 1/2, so it covers "
    "more than 95 % in the middle and less near 1; the scores prior does the same around the scores, and where they are near 1 it has no room "
    "for mistakes. With few labels coverage moves in steps."
)
ABOUT_PARTS = (
    "Signed numbers are points of coverage and add up to figure minus 95. Each pair belongs to the first of these that fits: "
    + "; ".join(STRATA)
    + " (score strata under the scores prior only)."
)


def show_share(name: str, missing: str = "") -> Show:
    """Return a function that shows a share in percent; bold, where it lies outside 93-97 %."""

    def show(row: Row) -> str:
        if row.get(name) is None:
            return missing
        percent = f"{100 * row[name]:.1f}"
        return f"**{percent}**" if name in row["outside"].split("; ") else percent

    return show


def _list_claim(claim: str) -> tuple[tuple[str, Show], ...]:
    return (
        (f"{claim}: groups", show_share(f"{claim}: groups")),
        ("by share", show_share(f"{claim}: by share")),
        ("width", figure(f"{claim}: width", ".3f")),
        ("overall", show_share(f"{claim}: overall")),
    )


POOLS = (
    ("pool", text("pool")),
    *(
        (f"{prior}, {claim}", show_share(f"{prior}, {claim}", "no scores"))
        for prior in PRIORS
        for claim in CLAIMS.values()
    ),
)
CASES = (
    ("pool", text("pool")),
    ("by", text("by")),
    ("groups", figure("groups", ",")),
    ("labels per group", figure("labels", ".1f")),
    ("prior", text("prior")),
    *(column for claim in CLAIMS.values() for column in _list_claim(claim)),
)
CHECKS = (
    ("pool", text("pool")),
    ("by", text("by")),
    ("prior", text("prior")),
    ("claim", text("claim")),
    ("pairs", figure("pairs", ",")),
    ("covered", figure("covered", ".2%")),
    ("held", figure("held", ".2%")),
    ("standard error", figure("error", ".2%")),
    ("within 3 errors", lambda row: "yes" if row["within"] else "**no**"),
)


def render(rows: Rows) -> Iterator[str]:
    """Yield the parts of the page."""
    settings = find_settings(rows)
    yield "# Coverage of 95 % intervals of group accuracy"
    yield f"Made by `{settings['command']}`."
    yield ABOUT.format(kept=KEPT, repeats=settings["repeats"])
    yield "## By pool"
    yield "Mean over groups, and over models and groupings where a pool has several."
    yield show_table(POOLS, select(rows, "pools"))
    yield "## Every case"
    yield ABOUT_CASES
    yield show_table(CASES, select(rows, "cases"))
    yield from show_refusals(select(rows, "refusals"))
    yield "## Truth drawn from the prior"
    yield ABOUT_CHECKS
    yield "\n".join(map(show_prior, select(rows, "priors")))
    yield show_table(CHECKS, select(rows, "checks"))
    yield "## Every figure outside 93-97 %, explained"
    yield ABOUT_REASONS
    yield ABOUT_PARTS
    yield "\n".join(show_reasons(select(rows, "reasons")))


def show_refusals(refusals: Rows) -> Iterator[str]:
    """Yield the cases of which the library refused the first repeat, if there are any."""
    if refusals:
        yield "Compared at a later repeat:"
        yield "\n".join(f"- {row['case']}: {row['why']}" for row in refusals)


def show_prior(row: Row) -> str:
    """Return what all checks of a prior and claim come to."""
    return (
        f"- {row['prior']} prior, {row['claim']}: {row['covered']:.2%} of {row['pairs']:,} pairs covered, {row['held']:.2%} held, "
        f"standard error {row['error']:.2%}: {'within' if row['within'] else '**outside**'} 3 errors."
    )


def show_reasons(reasons: Rows) -> Iterator[str]:
    """Yield every case and prior with figures outside 93-97 %, and below it why."""
    for case, prior in dict.fromkeys((row["case"], row["prior"]) for row in reasons):
        yield f"- **{case}, {prior} prior**"
        yield from (f"  - {row['why']}" for row in select(reasons, "reasons", case=case, prior=prior))
