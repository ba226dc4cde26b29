"""Competitions with any metric in the shell."""

import numpy as np
import pytest

FILE = """
slug = "pets"
title = "Pets"
[metric]
name = "macro_f1"
weight = 0.5
reported = ["accuracy", "f1"]
[files]
solution = "solution.csv"
"""


@pytest.fixture
def folder(tmp_path, empty_site):
    """An installation, and a folder with a solution."""
    rng = np.random.default_rng(0)
    usage = rng.permutation(["Public", "Private"] * 150)
    ids, pets = rng.permutation(9000)[:300], rng.choice(["cat", "dog"], 300)
    cities = rng.choice(["Oslo", "Rome"], 300)
    rows = zip(ids, pets, cities, usage, strict=True)
    lines = ["id,label,city,Usage", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "solution.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "pets.toml").write_text(FILE)
    return tmp_path


def test_a_settings_file_chooses_the_metric(run, folder):
    made = run("competition", "create", folder / "pets.toml", "--publish")
    assert made.exit_code == 0, made.output
    assert "Target: label." in made.output
    assert "in the score" in made.output
    printed = run("competition", "settings", "pets").output
    assert 'name = "macro_f1"' in printed
    assert 'classes = ["cat", "dog"]' in printed
    assert 'reported = ["accuracy", "f1"]' in printed
    (folder / "printed.toml").write_text(printed)
    applied = run("competition", "apply", "pets", folder / "printed.toml")
    assert applied.output == "Changed: nothing.\n", applied


def test_a_part_of_another_metric_is_a_problem_of_the_file(run, folder):
    (folder / "wrong.toml").write_text(FILE.replace("weight = 0.5", "power = -5\ncutoff = 0"))
    refused = run("competition", "create", folder / "wrong.toml")
    assert refused.exit_code == 1
    assert "metric.power is not a part of this metric" in refused.output
    assert "metric.cutoff is invalid" in refused.output


def test_a_settings_file_names_a_metric_in_python(run, folder):
    (folder / "metric.py").write_text(
        "def score(solution, submission, row_id_column_name, beta=1):\n"
        "    return beta * float((solution['label'] == submission['guess']).mean())\n"
    )
    rows = (folder / "solution.csv").read_text().splitlines()[1:]
    sample = ["id,guess", *(f"{row.split(',')[0]},cat" for row in rows)]
    (folder / "sample.csv").write_text("\n".join(sample) + "\n")
    (folder / "own.toml").write_text(
        'slug = "own"\ntitle = "Own"\n[metric]\nname = "python"\ntitle = "Share"\ndecimals = 3\n'
        "arguments = { beta = 2 }\n"
        '[files]\nmetric = "metric.py"\nsample = "sample.csv"\nsolution = "solution.csv"\n'
    )
    made = run("competition", "create", folder / "own.toml")
    assert made.exit_code == 0, made.output
    assert "metric.py is the metric." in made.output
    assert "Target:" in made.output
    (folder / "stray.toml").write_text('title = "Stray"\n[metric]\ndirection = "lowest"\n')
    assert "only for a metric.py" in run("competition", "create", folder / "stray.toml").output


def test_a_command_chooses_the_metric_and_the_groups(run, folder):
    sent = ("--solution", folder / "solution.csv", "--title", "Pets", "--metric", "accuracy")
    made = run("competition", "create", "pets", *sent, "--groups", "city", "--reported", "kappa")
    assert made.exit_code == 0, made.output
    assert 'reported = ["kappa"]' in run("competition", "settings", "pets").output
    assert "Oslo" in made.output
    refused = run("competition", "create", "more", *sent, "--power", "-3")
    assert refused.exit_code == 1
    assert "--power: only for the metric bias" in refused.output
