"""Bound the decompressed size of Parquet files, as stated in their footers, before an engine reads a page.

An engine holds whole pages, and the lists of a row, in memory. Repeated values of plain columns stay encoded and cost
nothing; list elements do not, so each counts as the width of a number.
"""

from collections.abc import Iterator

import pyarrow.parquet as pq

from fewlabels.data.compression import require_bounded

NUMBER_BYTES = 8  # bytes of a number


def check_footer(path: str) -> None:
    """Refuse a Parquet file that decompresses to more than the limit, by its footer."""
    require_bounded(path, sum(_list_sizes(pq.read_metadata(path))))


def _list_sizes(footer: pq.FileMetaData) -> Iterator[int]:
    """Yield the decompressed bytes of each column in each row group, as the Parquet footer states them."""
    widths = [NUMBER_BYTES if footer.schema.column(i).max_repetition_level else 0 for i in range(footer.num_columns)]
    for number in range(footer.num_row_groups):
        group = footer.row_group(number)
        for i, width in enumerate(widths):
            column = group.column(i)
            yield max(column.total_uncompressed_size, width * column.num_values, 0)
