"""Benchmark of the leak check for 1 GB data files: time and memory.

    python benchmarks/disclosure.py [--gigabytes 1] [--rows 200000] [--only NAME ...]

The benchmark creates one file of this size at a time in the temporary folder, reads it in separate processes,
and deletes it. The files, in CSV and gzip, are training files with other ids (long texts, or 50 narrow
columns) and a test file with the solution's ids. The reference only reads the file with pandas in chunks of
200,000 lines.
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from grader.disclosure import Hidden, examine
from grader.disclosure.source import Budget

LINES = 20_000
COLUMNS = 50
LOOK, READ = "look", "read"


def hidden(rows: int) -> Hidden:
    """Return the hidden values of a solution with 50 identities."""
    random = np.random.default_rng(1)
    return Hidden.of(
        [str(7_000_000 + row) for row in range(rows)],
        label=("toxicity", random.random(rows).round(1)),
        other_labels={},
        identities={f"i{n}": (random.random(rows) < 0.05).astype(float) for n in range(COLUMNS)},
        usage=random.choice(np.array([1, 2], np.int8), rows),
    )


def long_texts(block: int, known: bool) -> str:
    """Return lines with an id and a comment of about 300 characters."""
    first = 7_000_000 if known else 1_000_000_000
    return "".join(
        f'{first + row},"comment {row}, {"some words in it " * 17}"\n'
        for row in range(block * LINES, (block + 1) * LINES)
    )


def narrow_columns(block: int, known: bool) -> str:
    """Return lines with an id and 50 numbers."""
    first = 7_000_000 if known else 1_000_000_000
    values = np.random.default_rng(block).random((LINES, COLUMNS)).round(2).astype(str)
    return "".join(
        f"{first + block * LINES + row},{','.join(line)}\n" for row, line in enumerate(values.tolist())
    )


def write_text(path: Path, lines: Callable[[int, bool], str], size: int, known: bool) -> None:
    """Write lines up to an uncompressed size; compress them if the file name ends in `.gz`."""
    block = written = 0
    with gzip.open(path, "wt", compresslevel=1) if path.suffix == ".gz" else path.open("w") as file:
        while written < size:
            text = lines(block, known)
            file.write(text)
            written += len(text)
            block += 1


def read_only(path: Path) -> None:
    """Read a file with pandas, without further processing."""
    import pandas as pd

    for _ in pd.read_csv(path, header=None, chunksize=200_000):
        pass


def measure(what: str, path: Path, rows: int) -> None:
    """Print the CPU time, elapsed time and memory for reading a file as JSON."""
    found: dict[str, Any] = {}
    truth = hidden(rows) if what == LOOK else None
    begun, begun_cpu = time.perf_counter(), time.process_time()
    if truth is None:
        read_only(path)
    else:
        with path.open("rb") as file:
            examined = examine(file, truth, budget=Budget(size=path.stat().st_size))
        found = {
            "rows": examined.rows,
            "disclosures": len(examined.disclosures),
            "unopened": [each.reason for each in examined.unopened],
        }
    found["seconds"] = time.perf_counter() - begun
    found["cpu"] = time.process_time() - begun_cpu
    found["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps(found))


def measured(what: str, path: Path, rows: int) -> dict[str, Any]:
    """Return the result of `measure` from a separate process."""
    arguments = ["--measure", what, "--path", str(path), "--rows", str(rows)]
    done = subprocess.run([sys.executable, __file__, *arguments], check=True, stdout=subprocess.PIPE)
    return dict(json.loads(done.stdout))


def report(path: Path, rows: int) -> None:
    """Check a file, then only read it; print both results and their ratio."""
    looked, read = measured(LOOK, path, rows), measured(READ, path, rows)
    gigabytes = path.stat().st_size / 1e9
    print(
        f"{path.name}: {gigabytes:.2f} GB, {looked['rows']:,} rows, {looked['disclosures']} disclosures, "
        f"not checked: {', '.join(looked['unopened']) or 'nothing'}"
    )
    for name, each in (("checked", looked), ("only read", read)):
        print(
            f"  {name:<15} {each['cpu']:6.1f} s of CPU time ({each['cpu'] / gigabytes:5.1f} s/GB), "
            f"{each['seconds']:6.1f} s elapsed, peak {each['peak']:5,.0f} MB"
        )
    print(f"  ratio           {looked['cpu'] / read['cpu']:6.2f} times the CPU time", flush=True)


def main() -> None:
    """Create, check and delete one file at a time."""
    makers: dict[str, Callable[[Path, int], None]] = {
        "train-texts.csv": lambda path, size: write_text(path, long_texts, size, False),
        "train-narrow.csv": lambda path, size: write_text(path, narrow_columns, size, False),
        "test-narrow.csv": lambda path, size: write_text(path, narrow_columns, size, True),
        "train-texts.csv.gz": lambda path, size: write_text(path, long_texts, size, False),
    }
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=200_000, help="number of rows in the solution")
    parser.add_argument("--only", nargs="+", choices=list(makers), default=list(makers), metavar="NAME")
    parser.add_argument("--measure", choices=(LOOK, READ), help=argparse.SUPPRESS)
    parser.add_argument("--path", type=Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        measure(chosen.measure, chosen.path, chosen.rows)
        return
    for name in chosen.only:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / name
            makers[name](path, int(chosen.gigabytes * 1e9))
            report(path, chosen.rows)


if __name__ == "__main__":
    main()
