"""The command that tries lowest and newest versions knows every package and extra that users install."""

import tomllib
from pathlib import Path

from smoke import CHECKS
from versions import EXTRAS, ROOT, Environment, describe, read_kept, read_packages, write_page

OURS = {"docs", "bench", "test"}  # extras of those who work on fewlabels


def test_every_extra_is_tried_and_has_a_check() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == {"base", *project["optional-dependencies"]} - OURS
    assert set(CHECKS) == set(EXTRAS)


def test_what_has_no_wheels_is_built_and_nothing_else() -> None:
    assert Environment("3.13", "lowest", "polars", ROOT).need_wheels() == [":all:"]
    wheels = Environment("3.13", "lowest", "spark", ROOT).need_wheels()
    assert {"pandas", "pydantic-core"} <= set(wheels)
    assert "pyspark" not in wheels


def test_parts_that_are_run_later_join_the_page(tmp_path: Path) -> None:
    page = tmp_path / "versions.md"
    for choices in (
        ("3.11", "lowest", "base", ""),
        ("3.13", "newest", "dask", "no module"),
        ("3.13", "newest", "base", ""),
    ):
        kept = read_kept(page)
        write_page(page, [*kept.values(), describe(*choices, 3.4)])
    assert "| base | ok | ok |\n| dask |  | failed |" in page.read_text()
    assert page.read_text().endswith("- dask, 3.13, newest: no module\n")
    assert len(read_kept(page)) == 3


def test_packages_are_named_without_versions_and_extras() -> None:
    assert {"ibis-framework", "psycopg", "pandas", "jax"} <= set(read_packages())
