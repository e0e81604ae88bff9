"""List the experiments, or run some or all of them: python -m experiments [all | table_3 figure_16 ...]."""

from importlib import import_module

from experiments.options import read_options, write_page

NAMES = (
    "table_3", "table_4", "table_5", "table_6", "table_7", "table_8", "table_9", "table_10", "table_11",
    "fairness_b1", "fairness_b2", "fairness_b3", "fairness_4_4", "fairness_4_5", "fairness_4_6", "fairness_4_7",
    "fairness_goals", "fairness_more", "surface_2", "surface_3", "surface_4", "surface_5",
    "figure_3", "figure_6", "figure_11", "figure_15", "figure_16", "figure_18", "figure_19",
)  # fmt: skip


def describe(name: str) -> str:
    """Return the first line of an experiment's docstring."""
    return (import_module(f"experiments.{name}").__doc__ or "").strip().splitlines()[0]


def main() -> None:
    """Run what was named; without a name, say what there is."""
    options, names = read_options(also="all, or the names of tables and figures", about=__doc__ or "")
    if not names:
        print("\n".join(f"{name:<14} {describe(name)}" for name in NAMES))
    for name in NAMES if names == ["all"] else names:
        write_page(name, import_module(f"experiments.{name}").make, options)


if __name__ == "__main__":
    main()
