"""Entry conditions and admission of users in the shell."""

import pytest

from grader.models import EntryMode
from grader.services.competitions import lookup
from grader.services.competitions.settings_model import METRIC, NAMES, CompetitionSettings
from grader.services.teams import participations
from grader.services.teams.participations import EntryState
from grader.visibility import Feedback, Step


@pytest.fixture
def create(admin, tmp_path, solution_csv):
    """Create the competition `toxicity` with further options."""
    path = tmp_path / "solution.csv"
    path.write_bytes(solution_csv())

    def call(*options):
        return admin("competition", "create", "toxicity", "--solution", path, "--title", "Toxicity", *options)

    return call


def stored(service):
    with service.database.read() as session:
        return lookup.get(session, slug="toxicity")


def state(service, name):
    user = service.user(name)
    with service.database.read() as session:
        competition = lookup.get(session, slug="toxicity")
        found = participations.find(session, competition=competition, user=user)
        return participations.state(competition, found)


def test_a_competition_is_created_with_all_its_conditions(create, service, tmp_path):
    rules = tmp_path / "rules.md"
    rules.write_text("# Rules\n\nBe kind.\n", encoding="utf-8")
    result = create(
        "--closes", "2126-03-31", "--rules", rules, "--entry", "code", "--entry-code", "fair-2126",
        "--entry-deadline", "2126-03-01", "--merger-deadline", "2126-03-10T12:00", "--team-size", 3,
        "--daily-limit", "none", "--total-limit", 100, "--pending-limit", 4, "--rejection-limit", 10,
        "--selections", 1, "--no-late", "--reveals", "2126-04-02",
        "--feedback", "tiered", "--feedback-step", "0.05",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    made = stored(service)
    assert made.rules == "# Rules\n\nBe kind."
    assert (made.entry_mode, made.entry_code) == (EntryMode.CODE, "fair-2126")
    assert (
        f"{made.entry_deadline:%F %H:%M} {made.merger_deadline:%F %H:%M}"
        == "2126-03-01 23:59 2126-03-10 12:00"
    )
    assert (made.max_team_size, made.max_daily_submissions, made.max_total_submissions) == (3, None, 100)
    assert (made.max_pending_submissions, made.max_hourly_rejections, made.selection_count) == (4, 10, 1)
    assert (made.takes_late_submissions, f"{made.reveals_at:%F}") == (False, "2126-04-02")
    assert (made.feedback, made.feedback_step) == (Feedback.TIERED, Step.OF_0_05)
    assert "Warning" not in result.stderr


def test_a_small_step_causes_a_warning_and_the_report_shows_a_safe_one(create, admin):
    result = create("--opens", "2126-03-01", "--feedback", "tiered", "--feedback-step", "0.0005")
    assert result.exit_code == 0, result.output
    assert "For your solution, a step of 0.0" in " ".join(result.stdout.split())
    assert "Warning: A step of 0.0005 is too small for this solution" in result.stderr
    result = admin("competition", "change", "toxicity", "--feedback-step", "0.001")
    assert "Warning: A step of 0.001 is too small for this solution" in result.stderr
    result = admin("competition", "change", "toxicity", "--feedback", "blind")
    assert (result.exit_code, result.stderr) == (0, "")


def test_without_options_a_competition_has_the_default_conditions(create, service):
    assert create().exit_code == 0
    made, ordinary = stored(service), CompetitionSettings()
    names = [name for name in NAMES if name not in (*METRIC, "title", "opens_at")]
    assert {name: getattr(made, name) for name in names} == {name: getattr(ordinary, name) for name in names}


def test_an_entry_code_selects_entry_by_code(create, service):
    assert create("--entry-code", "fair").exit_code == 0
    assert stored(service).entry_mode is EntryMode.CODE


def test_changing_the_rules_creates_the_next_version(create, admin, service, tmp_path):
    create()
    rules = tmp_path / "rules.md"
    for number, text in enumerate(("Be kind.", "Be kinder.", "Be kinder."), 2):
        rules.write_text(text, encoding="utf-8")
        result = admin("competition", "change", "toxicity", "--rules", rules)
        assert result.exit_code == 0, result.output
        assert (f"version {number}" in result.stdout) == (number < 4)
    assert (stored(service).rules, stored(service).rules_version) == ("Be kinder.", 3)


def test_changing_nothing_is_a_usage_error(create, admin):
    create()
    result = admin("competition", "change", "toxicity")
    assert (result.exit_code, "at least one option" in result.stderr) == (1, True)


def test_users_are_admitted_and_denied(create, admin, service):
    create("--entry", "approval")
    assert state(service, "ada") is EntryState.OUTSIDE
    assert "ADA is admitted to toxicity." in admin("competition", "admit", "toxicity", "ADA").stdout
    assert state(service, "ada") is EntryState.JOINED
    refused = admin("competition", "admit", "toxicity", "ada", "--reject")
    assert "ada is not admitted to toxicity." in refused.stdout
    assert state(service, "ada") is EntryState.REFUSED
    unknown = admin("competition", "admit", "toxicity", "nobody")
    assert (unknown.exit_code, "no account named" in unknown.stderr) == (1, True)
