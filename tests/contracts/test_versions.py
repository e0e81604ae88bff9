"""The command that tries lowest and newest versions knows every package and extra that users install."""

import tomllib

from smoke import CHECKS
from versions import EXTRAS, ROOT, read_packages

OURS = {"docs", "bench", "test"}  # extras of those who work on fewlabels


def test_every_extra_is_tried_and_has_a_check() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS) == {"base", *project["optional-dependencies"]} - OURS
    assert set(CHECKS) == set(EXTRAS)


def test_packages_are_named_without_versions_and_extras() -> None:
    assert {"ibis-framework", "psycopg", "pandas", "jax"} <= set(read_packages())
