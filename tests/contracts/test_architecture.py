"""The house keeps its rules: floors, types, style, and a light door."""

import subprocess
import sys
from functools import cache
from pathlib import Path

import grimp
import pytest

import fewlabels as fl

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


@pytest.mark.parametrize(
    "command",
    [
        ["lint-imports", "--no-cache", "--no-logo"],
        ["mypy", "--no-error-summary"],
        ["ruff", "check", "."],
        ["ruff", "format", "--check", "."],
    ],
    ids=["floors", "types", "style", "format"],
)
def test_the_tools_find_nothing(command: list[str]) -> None:
    done = subprocess.run([BIN / command[0], *command[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def find_longest_chain(imports: dict[str, set[str]]) -> list[str]:
    """The modules of the longest chain of imports, the importing one first."""

    @cache
    def follow(module: str) -> tuple[str, ...]:
        return (module, *max((follow(one) for one in imports[module] if one in imports), key=len, default=()))

    return list(max(map(follow, imports), key=len))


def test_the_longest_chain_is_found() -> None:
    assert find_longest_chain({"a": {"b", "c"}, "b": {"c", "elsewhere"}, "c": set(), "d": {"c"}}) == ["a", "b", "c"]


def test_no_chain_of_imports_is_long() -> None:
    """Fifteen modules for ten floors."""
    graph = grimp.build_graph("fewlabels", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    chain = find_longest_chain(imports)
    assert len(chain) <= 15, chain


def test_every_public_name_can_be_reached() -> None:
    assert all(getattr(fl, name) is not None for name in fl.__all__)
    assert set(fl.__all__) <= set(dir(fl))
    with pytest.raises(AttributeError, match="nothing_of_the_kind"):
        fl.nothing_of_the_kind  # noqa: B018


def test_help_loads_neither_the_engine_nor_numpy() -> None:
    look = "import sys; from fewlabels.cli import app; app.app(['--help']); print([m for m in ('ibis', 'duckdb', 'numpy', 'pandas', 'matplotlib') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_assessing_a_file_loads_no_pictures_no_pandas_and_no_scipy_stats(tmp_path: Path) -> None:
    file = tmp_path / "preds.csv"
    file.write_text("predicted,label\na,a\n")
    look = "import sys, fewlabels as fl; fl.assess(sys.argv[1]); print([m for m in ('matplotlib', 'scipy.stats', 'scipy.optimize', 'sklearn', 'jinja2', 'pandas', 'numba', 'ibis.backends.sql.compilers.athena') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", look, file], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith("[]")


def test_compilers_of_other_engines_are_there_when_asked_for() -> None:
    look = """
import sys
import fewlabels.data.predictions
import ibis
assert "ibis.backends.sql.compilers.postgres" not in sys.modules
table = ibis.table({"a": "int64"}, name="t")
print(ibis.to_sql(table.a.sum(), dialect="postgres"))
from ibis.backends.sql.compilers import DuckDBCompiler, PySparkCompiler
print(DuckDBCompiler.__name__, PySparkCompiler.__name__)
"""
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert 'SUM("t0"."a")' in done.stdout
    assert done.stdout.splitlines()[-1] == "DuckDBCompiler PySparkCompiler"


@pytest.mark.parametrize("verb", ["simulate", "plan", "assess"])
def test_only_simulations_need_numba(verb: str, tmp_path: Path) -> None:
    (tmp_path / "pool.csv").write_text(
        "id,predicted,label\n" + "".join(f"{i},a,{'ab'[i % 3 == 0]}\n" for i in range(40))
    )
    look = f"""
import sys
sys.modules["numba"] = None
sys.argv = ["fewlabels", "{verb}", "pool.csv"{', "--goal", "estimate", "--target-width", "0.5", "--runs", "2", "--hide-labels"' if verb == "plan" else ""}]
from fewlabels.cli.app import main
main()
"""
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == (verb == "simulate"), done.stderr
    if verb == "simulate":
        assert (
            done.stderr
            == "fewlabels: simulations are compiled by Numba, which is not installed: pip install 'fewlabels[simulate]'\n"
        )


def test_a_choice_that_is_neither_a_word_nor_an_object_is_explained() -> None:
    """In a process of its own: here the type checks would raise first."""
    look = """
import fewlabels as fl
for choices in ({"metric": 3}, {"by": None}, {"prior": fl.flat}, {"metric": type(fl.recall)}):
    try:
        fl.assess({"predicted": ["a"], "label": ["a"]}, **choices)
    except fl.InputError as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "metric: expected a word or an object like fl.recall, got 3",
        "by: expected a word or an object like fl.predicted or fl.column('site'), got None",
        "prior: flat is a function; call it: flat(...)",
        "metric: ClassRate is a class; give an instance, like ClassRate()",
    ]
