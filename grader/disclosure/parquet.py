"""Read Parquet as tables: row group by row group, column by column."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from grader.disclosure.budget import Budget, GivenUp
from grader.disclosure.tables import MOST_COLUMNS, Chunk, Rows

BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY = 6, 7  # as the format numbers its types
LARGEST_COLUMN_BYTES = 200_000_000
TEXT_BYTES = 64  # of each text in memory, beside its characters
KEPT_KINDS = "biuf"


def parquet(path: str, budget: Budget) -> Iterator[Chunk]:
    """Yield the row groups of a Parquet file; a column is decoded when it is asked for.

    A column that is too large to be decoded at once is left out, and named when the others are read.
    """
    import fastparquet  # here, because a library that scores files does without it

    left_out: dict[str, int] = {}
    with _Files(path) as files:
        file = fastparquet.ParquetFile(path, open_with=files.open)
        names = [str(name) for name in file.columns]
        if len(names) > MOST_COLUMNS:
            raise GivenUp(f"it has more than {MOST_COLUMNS:,} columns")
        for number, group in enumerate(file.row_groups):
            budget.spend(sum(column.meta_data.total_uncompressed_size for column in group.columns))
            too_large = _too_large(group)
            left_out |= too_large
            good = [name for name in names if name.partition(".")[0] not in too_large]
            yield Chunk(good, int(group.num_rows), _Columns(file[number : number + 1], files))
    if left_out:
        named = ", ".join(f"{name} ({size / 1e6:,.0f} MB)" for name, size in list(left_out.items())[:3])
        more = f" and {len(left_out) - 3} more" if len(left_out) > 3 else ""
        raise GivenUp(f"a row group is too large in column {named}{more}; write smaller row groups")


def _too_large(group: Any) -> dict[str, int]:
    """Return the columns of a row group that would not fit, with the memory that they would take."""
    sizes: dict[str, int] = {}
    for column in group.columns:
        meta = column.meta_data
        name = meta.path_in_schema[0].partition(".")[0]
        is_text = meta.type in (BYTE_ARRAY, FIXED_LEN_BYTE_ARRAY)
        size = meta.total_uncompressed_size + meta.num_values * (TEXT_BYTES if is_text else 8)
        sizes[name] = sizes.get(name, 0) + size
    return {name: size for name, size in sizes.items() if size > LARGEST_COLUMN_BYTES}


class _Files:
    """What the reader of Parquet opens, and leaves open: one file, though its directory may name others."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._opened: list[IO[bytes]] = []

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def open(self, path: str, mode: str = "rb") -> IO[bytes]:  # noqa: ARG002
        """Open the file for reading; raise ValueError for any other."""
        if path != self._path:
            raise ValueError("it refers to another file")
        self._opened.append(Path(path).open("rb"))  # noqa: SIM115
        return self._opened[-1]

    def close(self) -> None:
        """Close all files that were opened."""
        while self._opened:
            self._opened.pop().close()


class _Columns:
    """The columns of a row group, of which the last is kept."""

    def __init__(self, group: Any, files: _Files) -> None:
        self._group = group
        self._files = files
        self._name: str | None = None
        self._values: NDArray[Any] = np.empty(0)

    def __call__(self, name: str, rows: Rows) -> Sequence[Any]:
        if name != self._name:
            self._name, self._values = None, np.empty(0)  # two columns at once would be too much
            frame = self._group.to_pandas(columns=[name], index=False)
            self._files.close()
            self._name, self._values = name, frame[name].to_numpy()
        some = self._values[rows]
        return some.tolist() if some.dtype.kind in KEPT_KINDS else list(some)
