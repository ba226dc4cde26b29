"""`fairboard rescore`: preview, CSV export, changed settings, rollback."""

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.cli.organize import acts
from grader.files import ColumnRole, read_solution
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.data_files import checks, files
from grader.services.leaderboards import leaderboard
from grader.services.solutions import intake
from tests.fixtures.competitions import publish_competition


@pytest.fixture
def own_process():
    """Score files in a separate process, as in a shell."""


@pytest.fixture(autouse=True)
def _scoring_here(request: pytest.FixtureRequest):
    if "own_process" not in request.fixturenames:
        request.getfixturevalue("scoring_here")


@pytest.fixture
def rescore(admin):
    """Run `fairboard rescore toxicity` on the installation of `settings`."""
    return lambda *words, answers="": admin("rescore", "toxicity", *words, input=answers)


@pytest.fixture
def corrected(solution_csv, tmp_path: Path) -> Path:
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


def live(service) -> tuple[int, tuple[str, ...]]:
    with service.database.read() as session:
        board = leaderboard.board_of(session, competition=lookup.get(session, slug="toxicity"))
    return board.scoring_version, tuple(row.score for row in board.rows)


def test_a_preview_shows_the_difference_and_publishes_nothing(
    service, scored, rescore, own_process: None, corrected, tmp_path: Path
):
    before = live(service)
    shown = rescore(corrected, "--reason", "Other labels.", "--preview", "--csv", tmp_path / "difference")
    assert shown.exit_code == 0, shown.output
    assert "2 of 2 submissions get a different displayed score; the largest change is" in shown.output
    assert "To publish it, run" in shown.output and live(service) == before
    for name, lines in (("submissions.csv", 3), ("teams.csv", 5)):
        assert len((tmp_path / "difference" / name).read_text().splitlines()) == lines
    assert "From scoring version 1 to 2" in rescore("--difference").output
    done = rescore("--publish", "--notice", "Mended.", "--yes")
    assert done.exit_code == 0 and live(service)[0] == 2
    assert rescore("--difference").exit_code == 1
    back = rescore("--rollback", 1, "--reason", "It was right.", "--yes")
    assert back.exit_code == 0 and live(service) == before


def test_data_files_are_checked_against_the_new_solution_before_publishing(
    service, scored, rescore, corrected
):
    with service.database.write() as session:
        blob = service.storage.put(b"id,text\n1,one\n")
        shell = Actor(None, "shell (tests)")
        files.add(session, competition=scored, name="test.csv", blob=blob, actor=shell, now=service.now)
    done = rescore(corrected, "--reason", "Other labels.", "--yes")
    assert done.exit_code == 0, done.output
    assert live(service)[0] == 2
    with service.database.read() as session:
        assert checks.stale(session, competition=scored) == []


def test_a_corrected_solution_keeps_its_diagnosis_columns(service, rescore, solution_csv, tmp_path: Path):
    def with_notes(seed: int, *names: str) -> bytes:
        header, *rows = solution_csv(seed=seed).decode().splitlines()
        lines = [[header, *names], *([row, *("0.5" for _ in names)] for row in rows)]
        return "\n".join(",".join(line) for line in lines).encode()

    roles = {"r_id": ColumnRole.ID, "toxicity": ColumnRole.LABEL, "Usage": ColumnRole.USAGE}
    roles |= {"female": ColumnRole.IDENTITY, "insult": ColumnRole.OTHER_LABEL, "source": ColumnRole.SLICE}
    first = with_notes(1, "insult", "source").replace(b"id,", b"r_id,", 1)
    stored = intake.store(
        service.storage, read_solution(first, roles=roles), split_key=b"k", identities=("female",)
    )
    service.act(
        publish_competition,
        slug="toxicity",
        title="Toxicity",
        solution=stored,
        actor=Actor(None, "organizer"),
    )
    path = tmp_path / "corrected.csv"
    path.write_bytes(with_notes(2, "insult", "comment").replace(b"id,", b"r_id,", 1))
    done = rescore(path, "--reason", "Other labels.", "--yes")
    assert done.exit_code == 0, done.output
    with service.database.read() as session:
        report = lookup.live(lookup.get(session, slug="toxicity")).solution.report
    kept = [report[name] for name in ("id", "label", "other_labels", "slices", "unused_columns")]
    assert kept == ["r_id", "toxicity", ["insult"], [], ["muslim"]]


def test_a_rollback_scores_missing_submissions_first(service, scored, rescore, corrected):
    assert rescore(corrected, "--reason", "Other labels.", "--yes").exit_code == 0
    service.score(service.submit(scored, user="cleo", seed=5))
    back = rescore("--rollback", 1, "--reason", "It was right.", "--yes")
    assert back.exit_code == 0, back.output
    number, scores = live(service)
    assert (number, len(scores)) == (1, 3)


def test_settings_are_read_from_a_file(service, scored, rescore, tmp_path: Path):
    before, path = live(service), tmp_path / "settings.toml"
    path.write_text("[metric]\npower = -1.0\n")
    done = rescore("--settings", path, "--reason", "A milder mean.", "--yes")
    assert done.exit_code == 0, done.output
    assert live(service)[0] == 2 and live(service)[1] != before[1]
    same = rescore("--settings", path, "--reason", "Again.")
    assert same.exit_code == 1 and "are already in use" in same.output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("--reason", "x"),
        ("--drop", "--reason", "x"),
        ("--publish", "--drop"),
        ("--publish", "--reason", "x"),
        ("--rollback", "1"),
        ("--rollback", "1", "--reason", "x", "--preview"),
        ("--difference", "--drop"),
        ("--settings", "x.toml", "--rollback", "1", "--reason", "x"),
    ],
)
def test_contradictory_options_are_rejected(scored, rescore, arguments: tuple[str, ...]):
    assert rescore(*arguments).exit_code != 0


def test_publishing_requires_an_answer_to_the_displayed_changes(service, scored, rescore, corrected):
    before = live(service)
    for answers in (
        "n\n",
        "",
    ):  # In the second case, a script without --yes, no one can answer.
        refused = rescore(corrected, "--reason", "Other labels.", answers=answers)
        assert refused.exit_code == 1
        assert "2 teams change rank" in refused.output or "2 teams changes rank" in refused.output
        assert "the largest change is 0." in refused.output
        assert "Nothing was changed." in refused.output and live(service) == before
    done = rescore(corrected, "--reason", "Other labels.", answers="y\n")
    assert done.exit_code == 0, done.output
    after = live(service)
    assert after[0] == 2
    assert rescore("--rollback", 1, "--reason", "It was right.", answers="n\n").exit_code == 1
    assert live(service) == after
    back = rescore("--rollback", 1, "--reason", "It was right.", answers="y\n")
    assert back.exit_code == 0 and live(service) == before


def answered_yes_after(first: Callable[[], None], monkeypatch) -> list[str]:
    """Call a function before the first answer is given; return the list of questions."""
    asked: list[str] = []

    def answer(question: str) -> bool:
        asked.append(question)
        if len(asked) == 1:
            first()
        return True

    monkeypatch.setattr(acts, "is_answered_yes", answer)
    return asked


def test_a_difference_that_changes_before_the_answer_is_confirmed_again(
    service, scored, rescore, corrected, monkeypatch
):

    def a_team_comes_in_front():
        service.score(service.submit(scored, user="cleo", seed=5, skill=0.9))

    asked = answered_yes_after(a_team_comes_in_front, monkeypatch)
    done = rescore(corrected, "--reason", "Other labels.")
    assert done.exit_code == 0, done.output
    assert len(asked) == 2 and "Something has changed in the meantime." in done.output


def test_a_submission_without_a_rank_change_before_the_answer_needs_no_confirmation(
    service, scored, rescore, corrected, monkeypatch
):

    def a_weak_file_comes():
        weak = service.submit(scored, user="ada", seed=6, skill=0.0)
        service.run(min(weak.job_ids))  # The submission is scored only under the live version.

    asked = answered_yes_after(a_weak_file_comes, monkeypatch)
    done = rescore(corrected, "--reason", "Other labels.")
    assert done.exit_code == 0, done.output
    assert len(asked) == 1 and "changed in the meantime" not in done.output
    assert live(service)[0] == 2
