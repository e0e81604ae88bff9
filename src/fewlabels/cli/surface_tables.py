"""Print a surface to a terminal: the worst arms, the effects, and the answers. Tables fit in 80 columns."""

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from fewlabels.analyses.surface.arm_names import find_common, name_values
from fewlabels.analyses.surface.result import Arm, Surface, SurfaceEstimate
from fewlabels.cli.console import escape
from fewlabels.cli.surface_queries import SurfaceAnswers
from fewlabels.errors import count
from fewlabels.text import format_probability

MAX_SHOWN = 10  # arms
MAX_EFFECTS = 8
WIDTH = 80


def print_surface(out: Console, result: SurfaceAnswers, worst: Sequence[Arm]) -> None:
    """Print the overall estimate, the worst arms as given, the effects by size, and the answers to queries."""
    s = result.surface
    quantity = "on exactly these items" if s.finite_pool else "on the population these items came from"
    out.print(f"[bold]accuracy[/] {quantity}, over {escape(', '.join(s.attributes))}", soft_wrap=True)
    arms = count(len(s.arms), "arm")
    out.print(
        f"{arms} with {count(s.n_items, 'item')}, {s.n_labels:,} labelled; model {s.model}, {100 * s.level:g}% intervals"
    )
    out.print(f"overall [bold]{s.overall.mean:.3f}[/]  {escape(f'[{s.overall.low:.3f}, {s.overall.high:.3f}]')}")
    if len(s.arms) > 1 and worst:
        _print_arms(out, s, worst)
    elif len(s.arms) > 1:
        out.print("no arm has so many items")
    if s.scales:
        _print_scales(out, s)
    if s.finite_pool and result.answers:
        out.print("answers are about the population these items came from:")
    for question, reading in result.answers:
        out.print(escape(format_answer(question, reading)), soft_wrap=True)


def format_answer(question: str, reading: SurfaceEstimate) -> str:
    """Format an answer of a surface as a line below its tables."""
    known = f"{count(reading.n_items, 'item')}, {count(reading.n_labels, 'label')} in the pool"
    unseen = "no such item in the pool: predicted from its attributes"
    return (
        f"{question or 'everything'}: {reading.mean:.2f} ({reading.low:.2f} to {reading.high:.2f}), "
        f"{known if reading.n_items else unseen}"
    )


def _print_arms(out: Console, s: Surface, worst: Sequence[Arm]) -> None:
    """Print the table of a surface's worst arms."""
    arms = worst[:MAX_SHOWN]
    counts = [_format_counts(arm) for arm in arms]
    head = ("items", "labels", "accuracy", f"{100 * s.level:g}% interval")
    available = WIDTH - sum(max(map(len, column)) + 2 for column in zip(head, *counts, strict=True))
    common = {} if _is_narrow(s.attributes, arms, available) else find_common(arms)
    names = [name for name in s.attributes if name not in common]
    has_own_columns = _is_narrow(names, arms, available)
    grid = Table(box=None, pad_edge=False, header_style="bold")
    for name in names if has_own_columns else ("arm",):
        grid.add_column(escape(name), overflow="fold", max_width=None if has_own_columns else available)
    for name in head:
        grid.add_column(name, justify="right", no_wrap=True)
    for arm, numbers in zip(arms, counts, strict=True):
        values = {name: arm.arm[name] for name in names}
        grid.add_row(
            *map(escape, values.values() if has_own_columns else (name_values(values),)), *map(escape, numbers)
        )
    heading = "the worst arms" if len(arms) < len(s.arms) else "arms, the worst first"
    out.print(escape(f"{heading}{', all with ' if common else ''}{name_values(common)}:"), soft_wrap=True)
    out.print(grid, width=min(WIDTH, out.width))
    if len(arms) < len(s.arms):
        out.print(f"… and {count(len(s.arms) - len(arms), 'more arm')}; --json has them all")


def _format_counts(arm: Arm) -> tuple[str, ...]:
    """Return the cells of an arm in the terminal's table of a surface: items, labels, accuracy and interval."""
    return f"{arm.n_items:,}", f"{arm.n_labels:,}", f"{arm.mean:.3f}", f"[{arm.low:.3f}, {arm.high:.3f}]"


def _is_narrow(attributes: Sequence[str], arms: Sequence[Arm], available: int) -> bool:
    """Do the arms of a surface fit into a table with one column per attribute?"""
    widths = [max(cell_len(name), *(cell_len(arm.arm[name]) for arm in arms)) + 2 for name in attributes]
    return bool(widths) and sum(widths) <= available + 2


def _print_scales(out: Console, s: Surface) -> None:
    """Print a surface's standard deviation of each effect on the logit scale; the residual effect of combinations comes last."""
    *effects, own = s.scales
    grid = Table(box=None, pad_edge=False, header_style="bold")
    grid.add_column("effect on accuracy", overflow="fold", max_width=WIDTH - 12)
    grid.add_column("sd, logits", justify="right")
    for one in effects[:MAX_EFFECTS]:
        grid.add_row(escape(" × ".join(one.attributes)), f"{one.scale:.2f}")
    if len(effects) > MAX_EFFECTS:
        most = max(one.scale for one in effects[MAX_EFFECTS:])
        grid.add_row(f"{len(effects) - MAX_EFFECTS:,} others, each at most", f"{most:.2f}")
    grid.add_row("a combination, beyond its attributes", f"{own.scale:.2f}")
    out.print(grid, width=min(WIDTH, out.width))
    if s.health.get("together") is not None:
        out.print(f"probability of an interaction between attributes: {format_probability(s.health['together'])}")
