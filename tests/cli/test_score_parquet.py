"""`fairboard score` with Parquet files: equality with CSV files, bounded memory, invalid values."""

import resource
import subprocess
import sys

import fastparquet
import numpy as np
import pandas as pd
import pytest

from grader.metrics import bias_report

IDENTITIES = ["male", "old", "rare"]
OPTIONS = ("--identities", ",".join(IDENTITIES), "--prediction", "model")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    rows = 5000
    male = pd.Series(rng.random(rows).round(2)).where(rng.random(rows) < 0.6)
    rare = pd.array([1 if row < 40 else None for row in range(rows)], dtype="Int64")
    labels, model = rng.random(rows), rng.random(rows).astype("f4")
    columns = {"toxicity": labels, "model": model, "male": male, "old": rng.random(rows) < 0.3, "rare": rare}
    return pd.DataFrame(columns | {"text": "some words"})


@pytest.mark.parametrize("writer", ["pyarrow", "fastparquet"])
def test_the_report_equals_that_of_the_library(frame, writer, tmp_path, run_json):
    if writer == "pyarrow":
        frame.to_parquet(tmp_path / "data.parquet", engine="pyarrow", row_group_size=900)
    else:
        fastparquet.write(tmp_path / "data.parquet", frame, row_group_offsets=[0, 900, 1800])
    code, found = run_json("score", tmp_path / "data.parquet", *OPTIONS)
    assert code == 0
    whole = bias_report("toxicity", "model", IDENTITIES, data=frame)
    assert found["models"]["model"]["splits"]["all"] == whole.as_dict()
    _, found = run_json("score", tmp_path / "data.parquet", *OPTIONS, "--min-size", 1000)
    without = bias_report("toxicity", "model", IDENTITIES, data=frame, in_score=IDENTITIES[:2])
    assert found["models"]["model"]["splits"]["all"] == without.as_dict()


def test_splits_and_guessed_identities_are_those_of_the_csv_file(frame, tmp_path, run_json):
    usage = np.array(["Public", " private ", "IGNORED"])[np.arange(5000) % 3]
    table = frame.assign(Usage=usage).astype({"model": "f8", "old": "f8"})
    table.to_csv(tmp_path / "data.csv", index=False)
    table.to_parquet(tmp_path / "data.parquet", engine="pyarrow", row_group_size=900)
    for options in ((*OPTIONS, "--min-size", 1000), ("--prediction", "model")):
        expected = run_json("score", tmp_path / "data.csv", *options)
        assert run_json("score", tmp_path / "data.parquet", *options) == expected
        assert set(expected[1]["models"]["model"]["splits"]) == {"public", "private", "all"}


def test_all_invalid_columns_are_reported_with_their_first_row(frame, tmp_path, run):
    frame.loc[1200, "toxicity"] = 7
    frame.loc[4000:, "model"] = np.nan
    frame["old"] = "yes"
    frame.to_parquet(tmp_path / "data.parquet", engine="pyarrow", row_group_size=900)
    result = run("score", tmp_path / "data.parquet", *OPTIONS)
    assert result.exit_code == 2
    assert "Column 'old': row 1 contains 'yes'; expected a number from 0 to 1 or a blank. 5,000 such" in (
        result.stderr
    )
    assert (
        "Column 'toxicity': row 1,201 contains '7.0'; expected a number from 0 to 1. 1 such" in result.stderr
    )
    assert "Column 'model': row 4,001 contains 'nan'; expected a finite number. 1,000 such" in result.stderr


def test_files_that_cannot_be_scored_are_rejected(frame, tmp_path, run):
    path = tmp_path / "data.parquet"
    frame[:0].to_parquet(path, engine="pyarrow")
    assert "has no rows" in run("score", path, *OPTIONS).stderr
    frame.assign(Usage=["Public"] * 4998 + [" private", "test"]).to_parquet(path, engine="pyarrow")
    assert "row 5,000 contains 'test'; expected Public, Private or Ignored. 1 such row." in (
        run("score", path, *OPTIONS).stderr
    )
    assert "no column 'other'" in run("score", path, *OPTIONS[:3], "other").stderr
    path.write_bytes(b"PAR1 damaged")
    damaged = run("score", path, *OPTIONS)
    assert damaged.exit_code == 2 and "cannot be read as Parquet" in damaged.stderr


def test_without_fastparquet_the_error_names_the_extra(frame, tmp_path, run, monkeypatch):
    frame.to_parquet(tmp_path / "data.parquet", engine="pyarrow")
    monkeypatch.setattr("grader.cli.parameters.find_spec", {"fastparquet": None}.get)
    result = run("score", tmp_path / "data.parquet", *OPTIONS)
    assert result.exit_code == 1 and "`server` extra" in result.stderr


@pytest.mark.system
@pytest.mark.long
def test_memory_stays_far_below_the_size_of_the_columns(tmp_path):
    """Score 2 million rows with 60 identities, whose columns in float64 take 1 GB, with 800 MB of memory."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng(5)
    path, names = tmp_path / "data.parquet", [f"i{number}" for number in range(60)]
    with pq.ParquetWriter(path, pa.schema({n: pa.float64() for n in ["label", "model", *names]})) as writer:
        for _ in range(20):
            values = {name: (rng.random(100_000) < 0.05).astype(float) for name in ["label", *names]}
            writer.write_table(
                pa.table({"label": values.pop("label"), "model": rng.random(100_000)} | values)
            )
    code = f"import sys, resource; resource.setrlimit({resource.RLIMIT_DATA}, (800_000_000, 800_000_000)); "
    code += "from grader.cli import main; main(sys.argv[1:])"
    command = ["score", str(path), "--identities", ",".join(names), "--prediction", "model"]
    done = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "2,000,000 rows" in done.stdout
