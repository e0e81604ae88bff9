"""`fewlabels surface`: how good is the model for every combination of attributes?"""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.analyses.surface.api import surface as map_surface
from fewlabels.analyses.surface.result import Surface
from fewlabels.cli.options import Columns, File, Flag, Output
from fewlabels.cli.output import deliver
from fewlabels.cli.parsing import given, read_attributes
from fewlabels.cli.surface_queries import answer, read_question
from fewlabels.cli.surface_tables import print_surface
from fewlabels.cli.tables import complainer, escape, working
from fewlabels.errors import InputError, listing

ENDING = ".surface"
Questions = Annotated[tuple[str, ...], Parameter(show_default=False)]


def surface(
    file: File,
    /,
    *,
    attributes: str | None = None,
    model: str | None = None,
    attribution: str | None = None,
    ask: Questions = (),
    mix: str | None = None,
    weight: str | None = None,
    save: str | None = None,
    level: float | None = None,
    finite_pool: Flag = False,
    seed: int | None = None,
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Say how good the model is for every combination of attributes, and how sure that is.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; a glob of them in quotes. Or a surface that --save wrote.
    attributes: str
        Columns joined by commas; numbers of many values are put in ranges. Also ranges:COLUMN:NUMBER, predicted, bins:NUMBER (of the score); uncertain:NAME for what a classifier tells, with columns NAME_VALUE of probabilities (uncertain:NAME:PREFIX for PREFIXVALUE).
    model: str
        smooth (combinations lend each other strength as far as labels show that they may), beta-i (each by itself), constant (all are one), bern-gp, beta-gp, beta-gp-sl, beta-gp-slp [default: smooth].
    attribution: str
        How far to believe probabilities of uncertain attributes: full (as far as known values, in a column NAME, show that one may, and as attributes occur together), temperature (without the latter), raw (as they are) [default: full].
    ask: str
        Values of some attributes, for instance "light=night,rain=wet": how good it is there; may be given several times.
    mix: str
        File with somebody's traffic, the attributes as columns: how good it is on that.
    weight: str
        Column of the mix that says how often each of its rows occurs [default: once].
    save: str
        Keep what was fitted in this file, which ends in .surface; it can be asked again without the predictions.
    level: float
        Probability that an interval contains the truth [default: 0.95].
    finite_pool: bool
        Ask about exactly these items instead of the population they came from.
    seed: int
        Seed of the random draws [default: 0].
    """
    conditions = output.conditions(file, columns.labels, mix, save=save)
    asked = [read_question(text) for text in ask]
    _check(mix, weight, save)
    choices = given(
        attributes=attributes,
        model=model,
        attribution=attribution,
        level=level,
        finite_pool=finite_pool or None,
        seed=seed,
    )
    with working("learning what attributes do"):
        found = _open(file, choices, columns) if file.endswith(ENDING) else _fit(file, choices, columns)
        result = answer(found, asked, mix, weight)
    if save is not None:
        found.save(save)
    code = deliver(result, output, conditions, lambda out: print_surface(out, result))
    if save is not None and not output.quiet:
        complainer().print(f"written: {escape(save)}")
    return code


def _check(mix: str | None, weight: str | None, save: str | None) -> None:
    """Refuse what cannot be meant, before any work is done."""
    if weight is not None and mix is None:
        raise InputError("--weight is a column of the file that --mix names, and there is no --mix")
    if save is not None and not save.endswith(ENDING):
        raise InputError(f"save: {save} should end in {ENDING}, by which it is known again")


def _open(file: str, choices: dict[str, Any], columns: Columns) -> Surface:
    """Read a surface that was fitted before, about which nothing can be chosen any more."""
    options = [f"--{name.replace('_', '-')}" for name in choices]
    options += [
        f"--{name.replace('_', '-')}" for name, value in vars(columns).items() if value != getattr(Columns(), name)
    ]
    if options:
        raise InputError(
            f"{file} was fitted before, and {listing(options)} would change nothing; leave it out, or name the predictions"
        )
    if not Path(file).is_file():
        raise InputError(f"{file}: no such file")
    return Surface.load(file)


def _fit(file: str, choices: dict[str, Any], columns: Columns) -> Surface:
    pool = columns.read(file)
    if "attributes" not in choices:
        some = ",".join(pool.attributes[:2]) or "COLUMN,COLUMN"
        raise InputError(f"surface: over which attributes? Name columns, for instance --attributes {some}")
    words = read_attributes(choices.pop("attributes"))
    return map_surface(pool, attributes=words, **choices)
