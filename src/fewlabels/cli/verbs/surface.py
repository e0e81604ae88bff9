"""`fewlabels surface`: estimate accuracy for every combination of attributes."""

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from fewlabels.analyses.surface.api import surface as fit_surface
from fewlabels.analyses.surface.attributes import parse_attributes
from fewlabels.analyses.surface.result import Surface
from fewlabels.cli.console import escape, spinner, stderr_console
from fewlabels.cli.options import Columns, File, Flag, Output
from fewlabels.cli.output import write_result
from fewlabels.cli.parsing import drop_missing
from fewlabels.cli.surface_queries import answer, parse_query
from fewlabels.cli.surface_tables import print_surface
from fewlabels.errors import InputError, join_names

SUFFIX = ".surface"
Queries = Annotated[tuple[str, ...], Parameter(show_default=False)]


def surface(
    file: File,
    /,
    *,
    attributes: str | None = None,
    model: str | None = None,
    attribution: str | None = None,
    ask: Queries = (),
    mix: str | None = None,
    weight: str | None = None,
    least_items: int | None = None,
    worst_by: str | None = None,
    save: str | None = None,
    level: float | None = None,
    finite_pool: Flag = False,
    seed: int | None = None,
    output: Output = Output(),
    columns: Columns = Columns(),
) -> int:
    """Estimate how good the model is for every combination of attributes, with credible intervals.

    Parameters
    ----------
    file: str
        Predictions: Parquet, CSV(.gz), JSON lines or Arrow; or a quoted glob. Or a file written by --save.
    attributes: str
        Columns separated by commas; numeric columns with many values are grouped into ranges. Also ranges:COLUMN:NUMBER, predicted, bins:NUMBER (of the score); uncertain:NAME for an attribute predicted by a classifier, with probabilities in columns NAME_VALUE (uncertain:NAME:PREFIX for PREFIXVALUE).
    model: str
        smooth (additive model with partial pooling), beta-i (independent Beta per combination), constant (one accuracy for all), bern-gp, beta-gp, beta-gp-sl, beta-gp-slp [default: smooth].
    attribution: str
        How to treat probabilities of uncertain attributes: full (recalibrated on known values in a column NAME, with the joint distribution of the attributes), temperature (recalibrated only), raw (unchanged) [default: full].
    ask: str
        Estimate the accuracy at these values of some attributes, for instance "light=night,rain=wet"; a range of numbers is "age=18..40" (also 18.. and ..40); may be repeated.
    mix: str
        Estimate the accuracy on another mix of items: a file with the attributes as columns.
    weight: str
        Column of the mix with the weight of each row [default: 1].
    least_items: int
        Leave arms with fewer items out of the printed list of the worst [default: 1].
    worst_by: str
        Order of the printed list: mean, or high (the upper end of the interval, so that arms come first that are bad beyond doubt) [default: mean].
    save: str
        Save the fitted surface to this file (.surface), to query it later without the predictions.
    level: float
        Probability that a credible interval contains the true value [default: 0.95].
    finite_pool: bool
        Estimate the accuracy on exactly these items instead of the population they came from.
    seed: int
        Seed of the random draws [default: 0].
    """
    conditions = output.conditions(file, columns.labels, mix, save=save)
    asked = [parse_query(text) for text in ask]
    _check_surface_options(mix, weight, save)
    choices = drop_missing(
        attributes=attributes,
        model=model,
        attribution=attribution,
        level=level,
        finite_pool=finite_pool or None,
        seed=seed,
    )
    shown = drop_missing(least_items=least_items, by=worst_by)
    with spinner("fitting the surface"):
        found = _load_surface(file, choices, columns) if file.endswith(SUFFIX) else _fit_surface(file, choices, columns)
        result = answer(found, asked, mix, weight)
        worst = found.list_worst(**shown)
    if save is not None:
        found.save(save)
    code = write_result(result, output, conditions, lambda out: print_surface(out, result, worst))
    if save is not None and not output.quiet:
        stderr_console().print(f"written: {escape(save)}")
    return code


def _check_surface_options(mix: str | None, weight: str | None, save: str | None) -> None:
    """Check the options before any work is done."""
    if weight is not None and mix is None:
        raise InputError("--weight is a column of the --mix file; add --mix FILE")
    if save is not None and not save.endswith(SUFFIX):
        raise InputError(f"save: the file name must end in {SUFFIX}, got {save}")


def _load_surface(file: str, choices: dict[str, Any], columns: Columns) -> Surface:
    """Load a saved surface; options that would change its fit are refused."""
    options = [f"--{name.replace('_', '-')}" for name in choices]
    options += [
        f"--{name.replace('_', '-')}" for name, value in vars(columns).items() if value != getattr(Columns(), name)
    ]
    if options:
        raise InputError(
            f"{file} is already fitted, and {join_names(options)} would have no effect; leave it out, or name the predictions"
        )
    if not Path(file).is_file():
        raise InputError(f"{file}: no such file")
    return Surface.load(file)


def _fit_surface(file: str, choices: dict[str, Any], columns: Columns) -> Surface:
    """Fit a surface to a file of predictions."""
    pool = columns.read(file)
    if "attributes" not in choices:
        some = ",".join(pool.attributes[:2]) or "COLUMN,COLUMN"
        raise InputError(f"surface: name the attributes, for instance --attributes {some}")
    words = parse_attributes(choices.pop("attributes"))
    return fit_surface(pool, attributes=words, **choices)
