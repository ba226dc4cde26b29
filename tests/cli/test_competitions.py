"""`fairboard competition`: create, apply, change, publish, run."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from grader.sandbox import layers

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
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

[files]
solution = "solution.csv"
baseline = "baseline.csv"
data = ["test.csv"]
"""
PYTHON = """
slug = "own"
title = "Own"
[metric]
name = "python"
title = "Share"
arguments = { beta = 2 }
[files]
metric = "metric.py"
sample = "sample.csv"
"""
METRIC = """
def score(solution, submission, row_id_column_name, beta=1):
    return beta * 0.25
"""


@pytest.fixture
def folder(tmp_path, solution_csv, predictions_csv):
    """A folder with a competition's files."""
    for name, content in {
        "competition.toml": FILE.encode(),
        "solution.csv": solution_csv(),
        "baseline.csv": predictions_csv(skill=0.5),
        "test.csv": b"id,comment_text\nr0,hello\n",
        "own.toml": PYTHON.encode(),
        "metric.py": METRIC.encode(),
        "sample.csv": b"id,guess\n1,0.5\n2,0.5\n",
    }.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


@pytest.fixture
def competition(host):
    """Run `fairboard competition` on the machine of a running site."""
    return lambda *words, **options: host("competition", *words, **options)


def test_a_competition_is_created_and_published_from_a_file(competition, service, folder):
    service.user("ada")
    made = competition("create", folder / "competition.toml", "--owner", "ada", "--publish")
    assert made.exit_code == 0, made.output
    assert "2 identities are in the score: female, muslim." in made.stdout
    assert made.stdout.endswith("toxic is published.\n")
    assert "2999-03-01 23:59 UTC" in competition("list").stdout
    (folder / "printed.toml").write_text(competition("settings", "toxic").stdout)
    assert competition("apply", "toxic", folder / "printed.toml").stdout == "Changed: nothing.\n"
    again = competition("apply", "toxic", folder / "competition.toml")
    assert (again.exit_code, "start a rescoring" in again.stderr) == (1, True)


def test_a_draft_is_completed_and_published(competition, folder):
    (folder / "cup.toml").write_text('title = "Cup"\nfiles = { solution = "solution.csv" }')
    made = competition("create", folder / "cup.toml")
    assert made.exit_code == 0, made.output
    changed = competition("change", "cup", "contact=ada@example.org", "closes_at=2999-01-01T12:00Z", "--yes")
    assert changed.exit_code == 0, changed.output
    assert competition("publish", "cup").stdout == "cup is published.\n"
    assert competition("publish", "cup").exit_code == 3


def test_a_file_with_a_metric_in_python_creates_a_draft(competition, host, folder):
    if refusal := layers().refusal:
        pytest.skip(str(refusal))
    made = competition("create", folder / "own.toml")
    assert made.exit_code == 0, made.output
    assert "metric.py is the metric." in made.stdout
    fields = ("-f", "title=Half", "-f", "direction=lowest", "-f", 'arguments={"beta": 3}')
    stored = competition("metric-file", "own", folder / "metric.py", *fields)
    assert stored.exit_code == 0, stored.output
    settings = host("api", "GET", "competitions/own/organize/settings").stdout
    assert all(text in settings for text in ('"title": "Half"', '"direction": "lowest"', '"beta": 3'))
    (folder / "metric.py").write_text("def other(): pass\n")
    assert competition("metric-file", "own", folder / "metric.py").exit_code == 3


def test_all_problems_of_a_file_are_reported_before_anything_is_created(competition, folder):
    (folder / "wrong.toml").write_text('titel = "x"\n[limits]\ndaily = "x"\n')
    refused = competition("create", folder / "wrong.toml", "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error"]) == (1, "invalid_competition")
    assert "titel is unknown" in refused.stderr and "limits.daily: " in refused.stderr
    (folder / "wrong.toml").write_text('title = "x"\n[files]\nsolution = "no.csv"\n')
    assert "no.csv does not exist" in competition("create", folder / "wrong.toml").stderr
    assert len(competition("list").stdout.splitlines()) == 1


def test_a_rejected_solution_leaves_a_draft_and_says_how_to_continue(competition, folder):
    (folder / "solution.csv").write_text("id,target\n1,maybe\n")
    refused = competition("create", folder / "competition.toml")
    assert (refused.exit_code, "maybe" in refused.stderr) == (2, True), refused.output
    assert "fairboard competition apply" in refused.stderr


def test_a_data_file_that_discloses_labels_stops_publishing_unless_it_is_allowed(
    competition, service, folder
):
    service.user("ada")
    file = folder / "competition.toml"
    file.write_text(file.read_text().replace("test.csv", "train.csv"))
    (folder / "train.csv").write_bytes((folder / "solution.csv").read_bytes().replace(b"toxicity", b"x"))
    made = competition("create", file, "--owner", "ada", "--publish")
    assert (made.exit_code, "train.csv is held back" in made.stderr) == (3, True), made.output
    assert competition("data", "toxic").stdout.startswith("train.csv: held.\n- ")
    assert competition("publish", "toxic").exit_code == 3
    with file.open("a") as opened:
        opened.write('allow = ["train.csv"]\n')
    applied = competition("apply", "toxic", file)
    assert applied.exit_code == 0, applied.output
    assert competition("data", "toxic").stdout.startswith("train.csv: allowed.")


def test_settings_are_changed_by_their_names(competition, service, tmp_path):
    service.competition()
    (tmp_path / "rules.md").write_text("Be kind.")
    changed = competition("change", "toxicity", f"rules=@{tmp_path}/rules.md", "max_team_size=3")
    assert changed.stdout == "Changed: max_team_size, rules.\n", changed.output
    assert "Be kind." in competition("settings", "toxicity").stdout
    soon = f"closes_at={datetime.now(UTC) + timedelta(hours=3):%Y-%m-%dT%H:%M}Z"
    asked = competition("change", "toxicity", soon)
    assert (asked.exit_code, "Nothing was changed" in asked.stderr) == (1, True), asked.output
    assert competition("change", "toxicity", soon, "--yes").exit_code == 0
    untitled = competition("change", "toxicity", "title=")
    assert (untitled.exit_code, "`title`: A competition needs a title.\n" in untitled.stderr) == (3, True)
    assert competition("change", "toxicity").exit_code == 1
    unknown = competition("change", "toxicity", "slug=other")
    assert (unknown.exit_code, "slug" in unknown.stderr) == (3, True), unknown.output


def test_a_running_competition_is_managed(competition, service, tmp_path):
    running = service.competition()
    for seed, name in enumerate(("ann", "bob")):
        service.score(service.submit(running, user=name, seed=seed))

    def said(*words: object) -> str:
        result = competition(*words)
        assert result.exit_code == 0, (words, result.output)
        return str(result.stdout)

    (tmp_path / "text.md").write_text("Hello **all**.")
    announced = said("announce", "toxicity", tmp_path / "text.md", "--title", "Hi")
    assert announced.startswith("Announcement 1 was posted")
    disqualified = said("disqualify", "toxicity", "BOB", "--reason", "two accounts")
    assert disqualified == "bob is disqualified in toxicity: two accounts\n"
    assert said("reinstate", "toxicity", "bob") == "bob is back on the leaderboards of toxicity.\n"
    assert competition("disqualify", "toxicity", "nobody", "--reason", "x").exit_code == 1
    assert said("organizer", "add", "toxicity", "ann") == "ann is editor of toxicity.\n"
    assert said("organizer", "role", "toxicity", "ann", "--role", "owner") == "ann is owner of toxicity.\n"
    assert said("organizer", "list", "toxicity").splitlines()[1].split()[:2] == ["ann", "owner"]
    assert competition("organizer", "remove", "toxicity", "ann").exit_code == 3  # the only owner
    said("organizer", "add", "toxicity", "bob", "--role", "viewer")
    said("organizer", "remove", "toxicity", "bob")
    assert said("export", "toxicity", "submissions").count("\n") == 3
    assert "team.disqualify,team bob" in said("export", "toxicity", "audit")
    line = said("audit", "toxicity", "-f", "action=team", "-f", "by=root").splitlines()[1]
    assert " UTC  root " in line and "team.reinstate" in line
    assert "team" not in said("audit", "toxicity", "-f", "by=calendar")
    assert competition("audit", "toxicity", "-f", f"path=@{__file__}").exit_code == 3


def test_a_roster_invites_students_and_grades_are_exported(competition, service, tmp_path):
    service.competition()
    names = tmp_path / "names.txt"
    names.write_text("name\ndora", encoding="utf-16")
    assert competition("roster", "toxicity", names).exit_code == 1  # without a terminal, nobody confirms
    made = competition("roster", "toxicity", names, "--yes")
    assert made.stdout.splitlines()[1].startswith("dora,,,http"), made.output
    assert competition("export", "toxicity", "grades").exit_code == 0
    assert "is not one of 'submissions'" in competition("export", "toxicity", "bogus").stderr
    names.write_bytes("J\xfcrgen".encode("latin-1"))
    assert competition("roster", "toxicity", names).exit_code == 1
