"""Competition files in the shell: create, settings, apply, clone and publish."""

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
def folder(tmp_path: Path, empty_site, solution_csv, predictions_csv) -> Path:
    """An installation, and a folder with a competition's files."""
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
    """The result of creating and publishing the competition in the file, with ada as its owner."""
    run("user", "create", "ada")
    return run("competition", "create", folder / "competition.toml", "--owner", "ada", "--publish")


def test_a_competition_is_created_and_published_from_a_file(run, published):
    assert published.exit_code == 0, published.output
    assert "2 identities are in the score: female, muslim." in published.output
    assert "toxic is published." in published.output
    assert "closes 2999-03-01 23:59 UTC" in run("competition", "list").output


def test_a_draft_lists_what_is_missing_until_it_is_published(run, folder: Path):
    (folder / "bare.toml").write_text('title = "Bare"\n')
    result = run("competition", "create", folder / "bare.toml")
    assert result.exit_code == 0, result.output
    assert "- No solution has been accepted" in result.output
    assert run("competition", "list").output.startswith("bare\tdraft\topens when it is published")
    assert "No solution has been accepted" in run("competition", "publish", "bare").output
    (folder / "more.toml").write_text('[files]\nsolution = "solution.csv"\n')
    assert "nothing" in run("competition", "apply", "bare", folder / "more.toml").output
    assert "bare is published." in run("competition", "publish", "bare").output


def test_printed_settings_apply_without_a_change(run, folder: Path):
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


def test_the_audience_of_a_file_or_an_option_sets_settings_that_the_file_overrides(run, folder: Path):
    (folder / "lab.toml").write_text('title = "Lab"\naudience = "class"\n[limits]\ndaily = 3\n')
    assert run("competition", "create", folder / "lab.toml").exit_code == 0
    settings = run("competition", "settings", "lab").output
    assert all(line in settings for line in ('mode = "code"', "daily = 3"))
    (folder / "cup.toml").write_text('title = "Cup"\n')
    assert run("competition", "create", folder / "cup.toml", "--audience", "prizes").exit_code == 0
    assert 'feedback = "tiered"' in run("competition", "settings", "cup").output
    (folder / "bad.toml").write_text('title = "Bad"\naudience = "friends"\n')
    assert "audience" in run("competition", "create", folder / "bad.toml").output


def test_a_list_in_one_string_causes_a_warning_about_column_names(run, folder: Path):
    (folder / "bare.toml").write_text('title = "Bare"\n[metric]\nidentities = ["female, muslim"]\n')
    told = "Warning: 'female, muslim' is read as the name of one column. If these are 2 columns, list them"
    made = run("competition", "create", folder / "bare.toml")
    assert (made.exit_code, told in made.stderr) == (0, True), made.output
    (folder / "more.toml").write_text('[files]\nsolution = "solution.csv"\n')
    refused = run("competition", "apply", "bare", folder / "more.toml")
    assert refused.exit_code == 1
    assert "no identity column 'female, muslim'. If these are 2 columns, list them" in refused.output


def test_a_column_name_with_a_comma_causes_no_warning(run, folder: Path):
    path = folder / "solution.csv"
    header, _, rows = path.read_text().partition("\n")
    path.write_text(header.replace("muslim", '"muslim, any"') + "\n" + rows)
    (folder / "commas.toml").write_text(
        'title = "Commas"\n[metric]\nidentities = ["female", "muslim, any"]\n'
        '[files]\nsolution = "solution.csv"\n'
    )
    made = run("competition", "create", folder / "commas.toml")
    assert made.exit_code == 0, made.output
    assert "2 identities are in the score: female, muslim, any." in made.output
    assert "one column" not in made.output
    again = run("competition", "apply", "commas", folder / "commas.toml")
    assert "one column" not in again.output


def test_all_problems_are_reported_in_one_run_before_anything_is_created(run, folder: Path):
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
        "titel is unknown. Did you mean title?",
        "limits.daily must be",
        "selected submissions must be at least 1",
        "Both classes are named",
        "closing time must be after the opening time",
        "must sum to 1",
        "nowhere.csv does not exist",
    ):
        assert words in result.output, words
    assert "needs a title" not in result.output  # The title has a misspelled key.
    assert run("competition", "list").output == ""


def test_an_unreadable_setting_causes_no_second_problem(run, folder: Path):
    (folder / "wrong.toml").write_text('title = 5\n[dates]\ncloses = "soon"\nreveals = 2027-01-01\n')
    output = run("competition", "create", folder / "wrong.toml").output
    assert "title must be a text" in output and "dates.closes must be" in output
    assert len(output.splitlines()) == 2
    (folder / "wrong.toml").write_bytes(b'title = "caf\xe9"\n')
    assert "is not UTF-8 (byte 13 is invalid)" in run("competition", "create", folder / "wrong.toml").output


def test_a_failure_after_creating_the_draft_names_the_command_to_continue(run, folder: Path):
    (folder / "solution.csv").write_text("id,toxicity,Usage\n1,0,Public\n")
    result = run("competition", "create", folder / "competition.toml")
    assert result.exit_code != 0
    assert "fairboard competition apply toxic" in result.output


def test_options_next_to_a_file_are_rejected(run, folder: Path):
    result = run("competition", "create", folder / "competition.toml", "--title", "Other")
    assert result.exit_code == 1
    assert "Set everything else in the file" in result.output


def test_a_clone_is_a_draft_without_dates(run, published):
    result = run("competition", "clone", "toxic", "next", "--with-solution")
    assert result.exit_code == 0, result.output
    assert "The draft is complete" in result.output
    printed = run("competition", "settings", "next").output
    assert "# closes = …" in printed
    assert "daily = 3" in printed
    assert "opens when it is published, has no closing date" in run("competition", "list").output


def test_a_draft_is_deleted_after_confirmation(run, folder: Path):
    (folder / "bare.toml").write_text('title = "Bare"\n')
    run("competition", "create", folder / "bare.toml")
    assert run("competition", "delete", "bare").exit_code == 1
    assert "Bare" in run("competition", "list").output
    assert run("competition", "delete", "bare", "--yes").output == "bare is deleted.\n"
    assert run("competition", "list").output == ""
    assert "deleted competition bare" in run("competition", "audit").output
    assert run("competition", "create", folder / "bare.toml").exit_code == 0
    assert "deleted" not in run("competition", "audit", "bare").output


def test_a_competition_created_by_one_command_has_an_owner_and_a_sample_submission(run, folder: Path):
    run("user", "create", "ada")
    options = ("--solution", folder / "solution.csv", "--title", "Quick")
    assert "nobody" in run("competition", "create", "quick", *options, "--owner", "nobody").output
    result = run("competition", "create", "quick", *options, "--owner", "ada")
    assert result.exit_code == 0, result.output
    assert "ada" in run("competition", "organizer", "list", "quick").output
    assert "Sample submission" in run("competition", "export", "quick", "submissions").output


def test_a_data_file_that_discloses_labels_stops_publishing_unless_it_is_allowed(run, folder: Path):
    (folder / "test.csv").write_bytes((folder / "solution.csv").read_bytes().replace(b"toxicity", b"x"))
    run("user", "create", "ada")
    result = run("competition", "create", folder / "competition.toml", "--owner", "ada", "--publish")
    assert result.exit_code == 1
    assert "test.csv is held back:\n- Column 'x' agrees with the label toxicity" in result.stderr
    assert "toxic remains as a draft" in result.stderr
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


def test_an_allowed_file_without_its_phrase_is_rejected(run, folder: Path):
    with (folder / "competition.toml").open("a") as file:
        file.write('allow = ["test.csv"]\n')
    result = run("competition", "create", folder / "competition.toml")
    assert result.exit_code == 1
    assert "files.allow must be a list of texts such as 'test.csv: publish muslim'" in result.stderr


def test_a_next_stage_is_created_and_teams_are_carried_over(run, published):
    result = run("competition", "next-stage", "toxic", "final", "--stage-name", "Final test", "--no-data")
    assert result.output == "final is a draft of the next stage.\n"
    assert 'stage = "Final test"' in run("competition", "settings", "final").output
    refused = run("competition", "carry-over", "final", "--top", "10")
    assert (refused.exit_code, "Publish this stage first" in refused.output) == (1, True)
