"""A competition made, published and changed from another machine, in the words of this one."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
FILE = """
slug = "hate"
title = "Hateful comments"

[classes]
positive = "hateful"
negative = "not hateful"

[dates]
closes = 2999-03-01

[limits]
daily = 3

[files]
solution = "solution.csv"
data = ["test.csv"]
"""


@pytest.fixture
def folder(tmp_path: Path, solution_csv: Any) -> Path:
    """The files of a competition."""
    (tmp_path / "competition.toml").write_text(FILE)
    (tmp_path / "solution.csv").write_bytes(solution_csv())
    (tmp_path / "test.csv").write_bytes(b"id,comment_text\nr0,hello\n")
    return tmp_path


def test_a_file_makes_a_whole_competition_on_another_machine(
    olga: Any, run: Any, service: Any, folder: Path, monkeypatch: Any
) -> None:
    made = olga("competition", "create", folder / "competition.toml", "--publish")
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith("hate is a draft.\n")
    assert "2 identities count in the score: female, muslim." in made.stdout
    assert made.stdout.endswith("test.csv is a data file.\nhate is published.\n")
    for name, value in service.settings.environment().items():
        monkeypatch.setenv(name, value)
    for words in (("settings", "hate"), ("data", "hate")):
        assert olga("competition", *words).stdout == run("competition", *words).stdout
    (folder / "new.toml").write_text("[limits]\ndaily = 7\n")
    assert olga("competition", "apply", "hate", folder / "new.toml").stdout == "Changed: limits.daily.\n"
    assert olga("competition", "change", "hate", "--daily-limit", "none").stdout == "Changed hate.\n"
    soon = f"{datetime.now(UTC) + timedelta(hours=3):%Y-%m-%dT%H:%M:00}"
    (folder / "soon.toml").write_text(f"[dates]\ncloses = {soon}\n")
    for words in (("apply", "hate", folder / "soon.toml"), ("change", "hate", "--closes", soon)):
        kept = olga("competition", *words)
        assert (kept.exit_code, "less than a day away" in kept.stderr) == (1, True), kept.output
        assert "Nothing was changed. Answer y to save" in kept.stderr
    assert olga("competition", *words, input="y\n").stdout == "Changed hate.\n"
    later = olga("competition", "change", "hate", "--closes", "2999-03-01")
    assert later.exit_code == 0, later.output
    assert olga("competition", "apply", "hate", folder / "soon.toml", "--yes").exit_code == 0
    assert json.loads(olga("competition", "settings", "hate", "--json").stdout)["settings"]["title"]
    again = olga("competition", "apply", "hate", folder / "competition.toml")
    assert (again.exit_code, "start a rescoring" in again.stderr) == (1, True), again.output


def test_options_make_a_competition_and_a_bad_solution_none(
    olga: Any, folder: Path, solution_csv: Any
) -> None:
    words = ("--title", "Spam", "--solution", folder / "solution.csv", "--closes", "2999-01-01")
    made = olga("competition", "create", "spam", *words, "--daily-limit", "2")
    assert made.exit_code == 0, made.output
    assert re.search(r"\n\nspam opens .* UTC, closes 2999-01-01 23:59 UTC\.\n", made.stdout)
    (folder / "solution.csv").write_text("id,target\n1,maybe\n")
    refused = olga("competition", "create", "spam-2", *words)
    assert refused.exit_code == 1
    assert "maybe" in refused.stderr
    assert olga("competition", "delete", "spam-2", "--yes").stdout == "spam-2 is deleted.\n"
    copied = olga("competition", "clone", "spam", "spam-3", "--with-solution")
    assert copied.stdout.startswith("spam-3 is a draft.\n")
    assert olga("competition", "archive", "spam").stdout == "spam is archived.\n"
    assert olga("competition", "unarchive", "spam").stdout == "spam is published again.\n"
