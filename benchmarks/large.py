"""Benchmark of scoring a Parquet file by row groups: peak memory and time.

    python benchmarks/large.py [--rows 100000000] [--identities 9] [--dtype float64] [--folder FOLDER]

The benchmark writes a file with row groups of a million rows, scores it with `fairboard score` in a separate
process, and deletes it. It compares the time with processes that only read the same columns and that only
sort the predictions, and the memory with the size of the columns in float64. Up to 5 million rows, it also
compares the result with `bias_report` on all rows at once.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from jigsaw_like import MENTION_RATES, make

from grader.metrics import bias_report

GROUP = 1_000_000
COMPARED_UP_TO = 5_000_000
PARTS = {
    "read": "import sys; from fastparquet import ParquetFile\n"
    "for frame in ParquetFile(sys.argv[1]).iter_row_groups(): del frame",
    "sort": "import sys; import numpy as np\n"
    "numbers = np.random.default_rng(1).random(int(sys.argv[2])); numbers.sort()",
    "score": "import sys; from grader.cli import main\n"
    "main(['score', sys.argv[1], '--identities', sys.argv[3], '--prediction', 'prediction', '--json'])",
}

# The peak of a child process includes that of its parent before `exec`, so the parent is a small process.
WRAPPER = """import json, resource, subprocess, sys
found = subprocess.run([sys.executable, "-c", *sys.argv[1:]], check=True, capture_output=True, text=True)
print(json.dumps([found.stdout, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss]))
"""


def write(path: Path, rows: int, identities: int, dtype: str) -> None:
    """Write the generated data, one row group at a time."""
    writer = None
    for number, start in enumerate(range(0, rows, GROUP)):
        data = make(min(GROUP, rows - start), identities, seed=number)
        columns = {"toxicity": data.labels, "prediction": data.predictions.astype(dtype), **data.identities}
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def run(part: str, arguments: list[str]) -> tuple[float, int, str]:
    """Run a part in its own process; return the seconds, the peak memory in bytes and the output."""
    start = time.perf_counter()
    process = [sys.executable, "-c", WRAPPER, PARTS[part], *arguments]
    output, kilobytes = json.loads(subprocess.run(process, check=True, capture_output=True, text=True).stdout)
    return time.perf_counter() - start, kilobytes * 1024, output


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--identities", type=int, default=9)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float64")
    parser.add_argument("--folder", type=Path, help="folder for the file")
    chosen = parser.parse_args()
    names = list(MENTION_RATES)[: chosen.identities]
    with tempfile.TemporaryDirectory(dir=chosen.folder) as folder:
        path = Path(folder) / "data.parquet"
        write(path, chosen.rows, chosen.identities, chosen.dtype)
        print(f"{chosen.rows:,} rows, {len(names)} identities, {path.stat().st_size / 1e9:.1f} GB")
        found = {part: run(part, [str(path), str(chosen.rows), ",".join(names)]) for part in PARTS}
        for part, (seconds, peak, _) in found.items():
            print(f"{part:<6}{seconds:8.1f} s, peak {peak / 1e9:.2f} GB")
        seconds, peak, output = found["score"]
        columns = 8 * chosen.rows * (2 + len(names))
        print(
            f"score: {seconds / found['read'][0]:.1f} times reading, {seconds / found['sort'][0]:.1f} sorts, "
            f"{peak / chosen.rows:.1f} bytes per row, {peak / columns:.2f} of the columns in float64"
        )
        if chosen.rows <= COMPARED_UP_TO:
            frame = pd.read_parquet(path)
            whole = bias_report("toxicity", "prediction", names, data=frame).as_dict()
            scored = json.loads(output)["models"]["prediction"]["splits"]["all"]
            print(f"identical to bias_report: {scored == whole}")


if __name__ == "__main__":
    main()
