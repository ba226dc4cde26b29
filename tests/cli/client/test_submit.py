"""`fairboard submit` and other participants' commands on a running site."""

import json

import pytest

from grader.cli.client import connection
from grader.cli.output import number_text, say
from grader.ranking.order import SCALE

GOOD, BAD = "good.csv", "bad.csv"
on_sqlite = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def files(tmp_path, predictions_csv):
    """A folder with one file that can be scored and one that is rejected."""
    (tmp_path / GOOD).write_bytes(predictions_csv(skill=0.4))
    (tmp_path / BAD).write_text("id,prediction\nr0,much\n")
    return tmp_path


@on_sqlite
def test_submit_prints_score_rank_weakest_term_and_remaining_submissions(ada, service, live_site, files):
    service.competition(max_daily_submissions=3)
    result = ada("submit", files / GOOD, "-d", "first")
    assert result.exit_code == 0, result.output
    with live_site.client() as client:
        done = client.submission(1)
    score = f"{done.public_score:.5f}"
    assert f"Submission #1: score {score}. Your team has rank 1 with {score}. Weakest term: " in result.stdout
    assert "2 submissions left today until 00:00 UTC." in result.stdout
    assert done.description == "first"
    answer = json.loads(ada("submit", files / GOOD, "--again", "--json").stdout)
    assert (answer["submission"]["status"], answer["rank"]) == ("scored", 1)
    refused = ada("submit", files / GOOD, "--json")
    assert refused.exit_code == connection.REFUSED
    assert json.loads(refused.stdout)["error"] == "identical_file" and "use --again" in refused.stderr


@on_sqlite
def test_exit_codes_distinguish_rejected_denied_late_and_unreachable(
    ada, service, live_site, files, monkeypatch
):
    service.competition(max_total_submissions=2)
    rejected = ada("submit", files / BAD)
    assert (rejected.exit_code, "Submission #1 is rejected" in rejected.stderr) == (2, True)
    live_site.is_scoring = False
    assert ada("submit", files / GOOD, "--timeout", "0.1").exit_code == connection.NOT_IN_TIME
    assert ada("submit", files / GOOD, "--again", "--no-wait").stdout.startswith("Submission #3 is pending")
    assert ada("submit", files / GOOD, "--again").exit_code == connection.REFUSED
    monkeypatch.setattr("grader.client.transport.PAUSES", ())
    away = ada("submit", files / GOOD, "--site", "http://127.0.0.1:9")
    assert away.exit_code == connection.NOT_REACHED
    monkeypatch.setenv("FAIRBOARD_TOKEN", "fb_old")
    old = ada("submit", files / GOOD)
    assert (old.exit_code, "then run `fairboard login`" in old.stderr) == (connection.REFUSED, True)


@on_sqlite
def test_check_finds_all_problems_and_uses_no_submission(ada, service, files):
    service.competition()
    assert ada("check", files / GOOD).stdout.startswith("good.csv can be scored.")
    result = ada("check", files / BAD)
    assert (result.exit_code, result.stderr.count("\n- ")) == (2, 2), result.stderr
    code = ada("check", files / BAD, "--json")
    assert (code.exit_code, json.loads(code.stdout)["is_clean"]) == (2, False)
    assert json.loads(ada("submissions", "--json").stdout)["submissions"] == []


@on_sqlite
def test_submissions_are_listed_shown_selected_and_downloaded(ada, service, files, predictions_csv):
    service.competition()
    ada("submit", files / GOOD, "-d", "a model")
    lines = ada("submissions").stdout.splitlines()
    assert lines[1].startswith("yes      1") and lines[1].endswith("good.csv   a model")
    shown = ada("submission", "1", "--file", files / "back.csv").stdout
    assert all(word in shown for word in ("public score", "BPSN AUC", "female", "muslim"))
    assert "private score" not in shown
    assert (files / "back.csv").read_bytes() == predictions_csv(skill=0.4)
    assert "Submissions that count: #1." in ada("select", "1").stdout
    assert "is not selected." in ada("select", "1", "--off").stdout
    assert ada("submission", "99").exit_code == connection.REFUSED


@on_sqlite
def test_the_leaderboard_is_a_table_that_contains_the_users_row(ada, service):
    competition = service.competition()
    for place, name in enumerate(["bob", "ada", "eve"]):
        service.score(service.submit(competition, user=name, seed=place, skill=3.0 - place))

    def teams(*options: str) -> list[str]:
        return [line.split()[1] for line in ada("leaderboard", *options).stdout.splitlines()[1:]]

    assert (teams(), teams("--rows", "1"), teams("--search", "bob")) == (
        ["bob", "ada", "eve"],
        ["bob"],
        ["bob"],
    )
    assert len(json.loads(ada("leaderboard", "--search", "e", "--json").stdout)["rows"]) == 1
    searched = ada("leaderboard", "--search", "zzz")
    assert (searched.stdout, searched.stderr) == ("", "No team name contains 'zzz'.\n")
    assert ada("leaderboard", "--private").exit_code == connection.REFUSED


@on_sqlite
def test_team_joins_and_shows_entry_members_and_limits(ada, service):
    service.competition(rules="Be kind.", max_daily_submissions=4)
    assert "Entry: outside." in ada("team").stdout
    assert ada("team", "--join").exit_code == connection.REFUSED  # The rules have not been accepted.
    joined = ada("team", "--accept-rules", "1").stdout
    assert "Entry: joined." in joined and "4 submissions left today" in joined


def test_texts_are_shown_as_on_leaderboards_and_without_control_characters(capsys):
    assert number_text(0.5) == SCALE.text(50_000)
    say("a\x1b[2Jb\u202ec\td\n")
    assert capsys.readouterr().out == "a[2Jbc\td\n\n"
