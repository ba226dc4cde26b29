"""`fairboard competition` with files: create, settings, apply, clone, publish."""

import re
from pathlib import Path

import pytest

FILE = """
slug = "toxic"
title = "Toxic comments"
contact = "organizers@example.org"

[classes]
positive = "toxic"
negative = "not toxic"

[dates]
opens = 2020-01-01
closes = 2999-03-01

[limits]
daily = 3

[texts]
rules = '''
Be fair.

Be kind.
'''

[files]
solution = "solution.csv"
baseline = "baseline.csv"
data = ["test.csv"]
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, solution_csv, predictions_csv) -> Path:
    """An installation, and beside it the files of a competition."""
    monkeypatch.setenv("FAIRBOARD_DATA_DIR", str(tmp_path / "var"))
    monkeypatch.setenv("FAIRBOARD_PASSWORD_HASH_MEMORY_KIB", "8")
    for name, content in {
        "competition.toml": FILE.encode(),
        "solution.csv": solution_csv(),
        "baseline.csv": predictions_csv(skill=0.5),
        "test.csv": b"id,comment_text\nr0,hello\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def published(run, folder: Path):
    """The result of the command that makes the competition of the file, published and owned by ada."""
    run("user", "create", "ada")
    return run("competition", "create", folder / "competition.toml", "--owner", "ada", "--publish")


def test_a_file_makes_a_whole_competition_and_publishes_it(run, published):
    assert published.exit_code == 0, published.output
    assert "2 identities count in the score: female, muslim." in published.output
    assert "toxic is published." in published.output
    assert "closes 2999-03-01 23:59 UTC" in run("competition", "list").output


def test_a_draft_says_what_is_missing_until_it_is_published(run, folder: Path):
    (folder / "bare.toml").write_text('title = "Bare"\n')
    result = run("competition", "create", folder / "bare.toml")
    assert result.exit_code == 0, result.output
    assert "- The solution is missing" in result.output
    assert run("competition", "list").output.startswith("bare\tdraft\topens when it is published")
    assert "The solution is missing" in run("competition", "publish", "bare").output
    (folder / "more.toml").write_text('[files]\nsolution = "solution.csv"\n')
    assert "nothing" in run("competition", "apply", "bare", folder / "more.toml").output
    assert "bare is published." in run("competition", "publish", "bare").output


def test_the_settings_that_are_printed_apply_as_no_change(run, folder: Path):
    run("user", "create", "ada")
    run("competition", "create", folder / "competition.toml", "--owner", "ada")
    printed = run("competition", "settings", "toxic").output
    assert "Be fair.\n\nBe kind." in printed
    (folder / "printed.toml").write_text(printed)
    result = run("competition", "apply", "toxic", folder / "printed.toml")
    assert result.output == "Changed: nothing.\n"
    (folder / "printed.toml").write_text(printed.replace("daily = 3", 'daily = "none"'))
    result = run("competition", "apply", "toxic", folder / "printed.toml")
    assert result.output == "Changed: limits.daily.\n"


def test_several_names_in_one_are_told_with_what_was_expected(run, folder: Path):
    (folder / "bare.toml").write_text('title = "Bare"\n[metric]\nidentities = ["female, muslim"]\n')
    told = "Warning: 'female, muslim' is read as the name of one column. If these are 2 columns, name them"
    made = run("competition", "create", folder / "bare.toml")
    assert (made.exit_code, told in made.stderr) == (0, True), made.output
    (folder / "more.toml").write_text('[files]\nsolution = "solution.csv"\n')
    refused = run("competition", "apply", "bare", folder / "more.toml")
    assert refused.exit_code == 1
    assert "no identity column 'female, muslim'. If these are 2 columns, name them" in refused.output


def test_a_column_whose_name_has_a_comma_is_taken_without_a_word(run, folder: Path):
    path = folder / "solution.csv"
    header, _, rows = path.read_text().partition("\n")
    path.write_text(header.replace("muslim", '"muslim, any"') + "\n" + rows)
    (folder / "commas.toml").write_text(
        'title = "Commas"\n[metric]\nidentities = ["female", "muslim, any"]\n'
        '[files]\nsolution = "solution.csv"\n'
    )
    made = run("competition", "create", folder / "commas.toml")
    assert made.exit_code == 0, made.output
    assert "2 identities count in the score: female, muslim, any." in made.output
    assert "one column" not in made.output
    again = run("competition", "apply", "commas", folder / "commas.toml")
    assert "one column" not in again.output


def test_what_is_fixed_is_refused_with_the_reason(run, published, folder: Path):
    (folder / "power.toml").write_text("[metric]\npower = -2\n")
    result = run("competition", "apply", "toxic", folder / "power.toml")
    assert result.exit_code == 1
    assert "rescoring" in result.output


def test_all_that_is_wrong_is_told_in_one_run_before_anything_is_made(run, folder: Path):
    (folder / "wrong.toml").write_text(
        """
        titel = "x"
        [limits]
        daily = "x"
        selections = 0
        [classes]
        positive = "same"
        negative = "same"
        [dates]
        opens = 2027-03-01
        closes = 2027-01-01
        [metric]
        weights = { overall_auc = 0.5 }
        [files]
        solution = "nowhere.csv"
        """
    )
    result = run("competition", "create", folder / "wrong.toml")
    assert result.exit_code == 1
    for words in (
        "titel is not known; title is",
        "limits.daily must be",
        "selected submissions must be at least 1",
        "two classes need different names",
        "must close after it opens",
        "must sum to 1",
        "nowhere.csv does not exist",
    ):
        assert words in result.output, words
    assert "needs a title" not in result.output  # it has one, under a misspelt name
    assert run("competition", "list").output == ""


def test_a_setting_that_cannot_be_read_raises_no_second_problem(run, folder: Path):
    (folder / "wrong.toml").write_text('title = 5\n[dates]\ncloses = "soon"\nreveals = 2027-01-01\n')
    output = run("competition", "create", folder / "wrong.toml").output
    assert "title must be a text" in output and "dates.closes must be" in output
    assert len(output.splitlines()) == 2
    (folder / "wrong.toml").write_bytes(b'title = "caf\xe9"\n')
    assert "is not UTF-8: byte 13" in run("competition", "create", folder / "wrong.toml").output


def test_what_stops_after_the_draft_was_made_says_how_to_go_on(run, folder: Path):
    (folder / "solution.csv").write_text("id,toxicity,Usage\n1,0,Public\n")
    result = run("competition", "create", folder / "competition.toml")
    assert result.exit_code != 0
    assert "fairboard competition apply toxic" in result.output


def test_options_beside_a_file_are_refused(run, folder: Path):
    result = run("competition", "create", folder / "competition.toml", "--title", "Other")
    assert result.exit_code == 1
    assert "everything else goes into the file" in result.output


def test_a_clone_is_a_draft_without_dates(run, published):
    result = run("competition", "clone", "toxic", "next", "--with-solution")
    assert result.exit_code == 0, result.output
    assert "Nothing is missing" in result.output
    printed = run("competition", "settings", "next").output
    assert "# closes = …" in printed
    assert "daily = 3" in printed
    assert "opens when it is published, has no closing date" in run("competition", "list").output


def test_a_draft_is_deleted_once_that_is_confirmed(run, folder: Path):
    (folder / "bare.toml").write_text('title = "Bare"\n')
    run("competition", "create", folder / "bare.toml")
    assert run("competition", "delete", "bare").exit_code == 1
    assert "Bare" in run("competition", "list").output
    assert run("competition", "delete", "bare", "--yes").output == "bare is deleted.\n"
    assert run("competition", "list").output == ""
    assert "deleted competition bare" in run("competition", "audit").output
    assert run("competition", "create", folder / "bare.toml").exit_code == 0
    assert "deleted" not in run("competition", "audit", "bare").output


def test_a_competition_made_in_one_command_gets_an_owner_and_the_sample_submission(run, folder: Path):
    run("user", "create", "ada")
    options = ("--solution", folder / "solution.csv", "--title", "Quick")
    assert "nobody" in run("competition", "create", "quick", *options, "--owner", "nobody").output
    result = run("competition", "create", "quick", *options, "--owner", "ada")
    assert result.exit_code == 0, result.output
    assert "ada" in run("competition", "organizer", "list", "quick").output
    assert "Sample submission" in run("competition", "export", "quick", "submissions").output


def test_a_file_that_gives_labels_away_stops_unless_the_file_says_what_may_be_public(run, folder: Path):
    (folder / "test.csv").write_bytes((folder / "solution.csv").read_bytes().replace(b"toxicity", b"x"))
    run("user", "create", "ada")
    result = run("competition", "create", folder / "competition.toml", "--owner", "ada", "--publish")
    assert result.exit_code == 1
    assert "test.csv is held back:\n- Column 'x' agrees with the label toxicity" in result.stderr
    assert "toxic stays as a draft" in result.stderr
    words = re.search(r"allow-data toxic test.csv '([^']+)'", result.stderr)[1]
    told = run("competition", "data", "toxic")
    assert told.exit_code == 1 and "test.csv: held back." in told.stdout
    assert run("competition", "publish", "toxic").exit_code == 1
    assert run("competition", "allow-data", "toxic", "test.csv", "yes").exit_code == 1
    with (folder / "competition.toml").open("a") as file:
        file.write(f'allow = ["test.csv: {words}"]\n')
    result = run("competition", "apply", "toxic", folder / "competition.toml")
    assert result.exit_code == 0, result.output
    assert "test.csv is released. Participants get the labels" in result.stdout
    assert "is published" in run("competition", "publish", "toxic").output
    assert run("competition", "data", "toxic").stdout.startswith("test.csv: released anyway.")


def test_what_a_file_allows_without_words_is_refused(run, folder: Path):
    with (folder / "competition.toml").open("a") as file:
        file.write('allow = ["test.csv"]\n')
    result = run("competition", "create", folder / "competition.toml")
    assert result.exit_code == 1
    assert "files.allow must be a list of texts such as 'test.csv: publish muslim'" in result.stderr
