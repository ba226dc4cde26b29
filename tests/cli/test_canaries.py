"""`fairboard competition canaries`: generation for a draft, and export."""

import hashlib
from pathlib import Path

import pytest

FILE = """
slug = "toxic"
title = "Toxic comments"

[files]
solution = "solution.csv"
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solution_csv) -> Path:
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "var"))
    (tmp_path / "competition.toml").write_text(FILE)
    (tmp_path / "solution.csv").write_bytes(solution_csv())
    return tmp_path


def test_a_draft_gets_canary_rows_and_replaces_them(run, folder: Path, solution_csv):
    assert run("competition", "create", folder / "competition.toml").exit_code == 0
    assert run("competition", "canaries", "toxic").output == "toxic has no canary rows.\n"
    refused = run("competition", "canaries", "toxic", "--draw", "40")
    assert refused.exit_code == 1 and "0 rows have the Usage Ignored" in refused.output
    altered, rows = folder / "altered.csv", folder / "canaries.csv"
    draw = ("competition", "canaries", "toxic", "--from-scored", "--solution", altered, "--list", rows)
    drawn = run(*draw, "--draw", "40")
    assert drawn.exit_code == 0, drawn.output
    assert "40 canary rows" in drawn.output and "1 in 137,846,528,820" in drawn.output
    lines = rows.read_text().splitlines()
    assert len(lines) == 41
    assert altered.read_text().count(",Ignored\n") == 40
    again = run(*draw, "--draw", "20")
    assert again.exit_code == 0, again.output
    assert altered.read_text().count(",Ignored\n") == 20
    true = {line.split(",")[0]: line.split(",")[1] for line in solution_csv().decode().splitlines()[1:]}
    for line in rows.read_text().splitlines()[1:]:
        row_id, _, _, true_label, usage, _ = line.split(",")
        assert float(true[row_id]) == float(true_label) and usage in ("Public", "Private")
    assert len(hashlib.sha256(rows.read_bytes()).hexdigest()) == 64


def test_a_published_competition_cannot_draw_canary_rows(run, folder: Path):
    created = run("competition", "create", "toxic", "--solution", folder / "solution.csv", "--title", "T")
    assert created.exit_code == 0, created.output
    refused = run("competition", "canaries", "toxic", "--draw", "40", "--from-scored")
    assert refused.exit_code == 1 and "toxic is already published" in refused.output
