"""Make a large pool, as Parquet files that DuckDB writes: the same rows every time (of one version of DuckDB, whose hash is used).

Run from the root of the repository: python -m bench.scale_pool FOLDER --rows 100000000
Every column is a function of the row's number, so that nothing has to be held or drawn; 540 MB for 10^8 rows.
"""

import argparse
from itertools import pairwise
from pathlib import Path

import duckdb

ROWS, FILES, REGIONS, LABELS = 100_000_000, 20, 50, 10_000
MAKE = """
copy (
    with drawn as (
        select i as id, hash(i) as h, (hash(i + {shift}) % 1000003) / 1000003.0 as u,
               (hash(i + 2 * {shift}) % 1000003) / 1000003.0 as v
        from range({first}, {last}) as rows(i)
    ),
    scored as (
        select *, 1 / (1 + exp(-4 * (u - 0.35) - 2 * (v - 0.5)))::float as chance from drawn
    )
    select id,
           case when h % 2 = 0 then 'women' else 'men' end as sex,
           'region ' || (h // 2 % {regions}) as region,
           case when chance >= 0.5 then 'yes' else 'no' end as predicted,
           greatest(chance, 1 - chance)::float as score,
           case when hash(id + 3 * {shift}) % {rows} < {labels}
                then case when (hash(id + 4 * {shift}) % 1000003) / 1000003.0 < 0.1 + 0.8 * chance then 'yes' else 'no' end
           end as label
    from scored
) to '{path}' (format parquet, compression zstd)
"""


def make_pool(folder: Path, rows: int = ROWS, files: int = FILES) -> str:
    """Write the files and return the glob that names them; what is there already is kept."""
    folder.mkdir(parents=True, exist_ok=True)
    borders = [rows * k // files for k in range(files + 1)]
    for k, (first, last) in enumerate(pairwise(borders)):
        path = folder / f"part-{k:03d}.parquet"
        if not path.exists():
            duckdb.sql(MAKE.format(first=first, last=last, rows=rows, labels=LABELS, regions=REGIONS, shift=10**11, path=path))  # fmt: skip
    return str(folder / "part-*.parquet")


def main() -> None:
    """Make it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rows", type=int, default=ROWS)
    arguments = parser.parse_args()
    print(make_pool(arguments.folder, arguments.rows))


if __name__ == "__main__":
    main()
