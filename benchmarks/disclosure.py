"""How long does it take to look through a data file of 1 GB, and in how much memory?

    python benchmarks/disclosure.py [--gigabytes 1] [--rows 200000]

Makes files of that size in the temporary folder, one after the other, looks through each in a process of its
own, and deletes it: training files of other ids, with long texts and with 50 narrow columns, and a test file
of the solution's ids; as CSV, gzip and Parquet.
"""

import argparse
import gzip
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grader.disclosure import Hidden, examine

LINES = 20_000
COLUMNS = 50


def hidden(rows: int) -> Hidden:
    """Return what a solution of so many rows and 50 identities hides."""
    random = np.random.default_rng(1)
    return Hidden.of(
        [str(7_000_000 + row) for row in range(rows)],
        label=("toxicity", random.random(rows).round(1)),
        other_labels={},
        identities={f"i{n}": (random.random(rows) < 0.05).astype(float) for n in range(COLUMNS)},
        usage=random.choice(np.array([1, 2], np.int8), rows),
    )


def long_texts(block: int, known: bool) -> str:
    """Return lines of an id and a comment of some 300 characters."""
    first = 7_000_000 if known else 1_000_000_000
    return "".join(
        f'{first + row},"comment {row}, {"some words in it " * 17}"\n'
        for row in range(block * LINES, (block + 1) * LINES)
    )


def narrow_columns(block: int, known: bool) -> str:
    """Return lines of an id and 50 numbers."""
    first = 7_000_000 if known else 1_000_000_000
    values = np.random.default_rng(block).random((LINES, COLUMNS)).round(2).astype(str)
    return "".join(
        f"{first + block * LINES + row},{','.join(line)}\n" for row, line in enumerate(values.tolist())
    )


def write_text(path: Path, lines: Callable[[int, bool], str], size: int, known: bool) -> None:
    """Write lines up to a size, before they are packed; as gzip where the name says so."""
    block = written = 0
    with gzip.open(path, "wt", compresslevel=1) if path.suffix == ".gz" else path.open("w") as file:
        while written < size:
            text = lines(block, known)
            file.write(text)
            written += len(text)
            block += 1


def write_parquet(path: Path, size: int) -> None:
    """Write 50 columns of numbers in row groups of 200,000 rows, up to a size."""
    import fastparquet
    import pandas as pd

    random, row = np.random.default_rng(2), 0  # not the numbers of the solution
    while not path.exists() or path.stat().st_size < size:
        frame = pd.DataFrame({f"c{n}": random.random(200_000) for n in range(COLUMNS)})
        frame.insert(0, "id", np.arange(row, row + 200_000) + 1_000_000_000)
        fastparquet.write(str(path), frame, append=path.exists())
        row += 200_000


def look_through(path: Path, rows: int) -> None:
    """Look through a file; print the seconds and the peak of the memory."""
    truth = hidden(rows)
    begun = time.perf_counter()
    with path.open("rb") as file:
        examined = examine(file, truth)
    seconds = time.perf_counter() - begun
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    gigabytes = path.stat().st_size / 1e9
    print(
        f"{path.name:<28} {gigabytes:5.2f} GB {examined.rows:>11,} rows {seconds:6.1f} s "
        f"{seconds / gigabytes:6.1f} s/GB  peak {peak:4.0f} MB  {len(examined.disclosures)} disclosures, "
        f"{examined.unopened_count} not opened",
        flush=True,
    )


def main() -> None:
    """Make the files one after the other and have each looked through."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=200_000, help="of the solution")
    parser.add_argument("--look-through", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.look_through:
        look_through(chosen.look_through, chosen.rows)
        return
    size = int(chosen.gigabytes * 1e9)
    makers: dict[str, Callable[[Path], None]] = {
        "train-texts.csv": lambda path: write_text(path, long_texts, size, False),
        "train-narrow.csv": lambda path: write_text(path, narrow_columns, size, False),
        "test-narrow.csv": lambda path: write_text(path, narrow_columns, size, True),
        "train-texts.csv.gz": lambda path: write_text(path, long_texts, size, False),
        "train-narrow.parquet": lambda path: write_parquet(path, size),
    }
    for name, make in makers.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            make(path)
            arguments = ["--look-through", str(path), "--rows", str(chosen.rows)]
            subprocess.run([sys.executable, __file__, *arguments], check=True)


if __name__ == "__main__":
    main()
