"""`fairboard rescore`: preview, CSV export, confirmation, changed settings, rollback."""

import pytest

from grader.services.competitions import lookup
from grader.services.leaderboards.board import board_of

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def rescore(host):
    """Run `fairboard rescore toxicity` on the machine of a running site."""
    return lambda *words, answers="": host("rescore", "toxicity", *words, input=answers)


@pytest.fixture
def corrected(solution_csv, tmp_path):
    """A solution with other labels."""
    path = tmp_path / "corrected.csv"
    path.write_bytes(solution_csv(seed=2))
    return path


@pytest.fixture
def scored(service):
    """A competition with two scored teams."""
    competition = service.competition()
    for number, name in enumerate(("ada", "bob")):
        service.score(service.submit(competition, user=name, seed=number, skill=0.3))
    return competition


def live(service):
    with service.database.read() as session:
        board = board_of(session, competition=lookup.get(session, slug="toxicity"))
    return board.scoring_version, tuple(row.score for row in board.rows)


def test_a_preview_shows_the_difference_and_publishes_nothing(service, scored, rescore, corrected):
    before = live(service)
    shown = rescore(corrected, "--reason", "Other labels.", "--preview")
    assert shown.exit_code == 0, shown.output
    assert "Changes of displayed scores: 2 of 2 submissions; the largest change is" in shown.output
    assert "To publish it, run" in shown.output and live(service) == before
    assert "From scoring version 1 to 2" in rescore("--preview").output
    other = rescore("--rollback", 1, "--reason", "Again.", "--yes")
    assert other.exit_code != 0
    assert rescore("-f", "notice=Mended.", "--yes").exit_code == 0
    assert live(service)[0] == 2
    assert rescore("--preview").exit_code == 1
    back = rescore("--rollback", 1, "--reason", "It was right.", "--yes")
    assert back.exit_code == 0 and live(service) == before


def test_settings_are_read_from_a_file(service, scored, rescore, tmp_path):
    before, path = live(service), tmp_path / "settings.toml"
    path.write_text("[metric]\npower = -1.0\n")
    done = rescore("--settings", path, "--reason", "A milder mean.", "--yes")
    assert done.exit_code == 0, done.output
    assert live(service)[0] == 2 and live(service)[1] != before[1]
    same = rescore("--settings", path, "--reason", "Again.")
    assert same.exit_code == 3 and live(service)[0] == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--reason", "x"),
        ("--drop", "--reason", "x"),
        ("--drop", "--preview"),
        ("--rollback", "1"),
        ("--rollback", "1", "--reason", "x", "--preview"),
        ("--metric-file", __file__, "--rollback", "1", "--reason", "x"),
    ],
)
def test_contradictory_options_are_rejected(rescore, arguments):
    result = rescore(*arguments)
    assert (result.exit_code, "--reason" in result.output) == (1, True)


def test_publishing_requires_an_answer_to_the_displayed_changes(service, scored, rescore, corrected):
    before = live(service)
    for answers in ("n\n", ""):  # In the second case, a script without --yes, no one can answer.
        refused = rescore(corrected, "--reason", "Other labels.", answers=answers)
        assert refused.exit_code == 1
        assert "Rank changes on the public leaderboard: " in refused.output
        assert "the largest change is 0." in refused.output
        assert "Nothing was changed." in refused.output and live(service) == before
    done = rescore(corrected, "--reason", "Other labels.", answers="y\n")
    assert done.exit_code == 0, done.output
    after = live(service)
    assert after[0] == 2
    assert rescore("--rollback", 1, "--reason", "It was right.", answers="n\n").exit_code == 1
    assert live(service) == after
