"""Organizers, the audit, the archive and administrators from the shell."""

from typing import Any

import pytest

from grader.models import CompetitionState, Role
from grader.services.competitions import organizers
from grader.services.people import names


@pytest.fixture
def admin(run: Any, settings: Any, service: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run `fairboard` on an installation with a competition and the accounts ada and bob."""
    for name, value in settings.environment().items():
        monkeypatch.setenv(name, value)
    service.competition()
    for name in ("ada", "bob"):
        service.user(name)
    return run


def test_roles_are_given_changed_listed_and_taken(admin: Any, service: Any) -> None:
    organizer = ("competition", "organizer")
    assert (
        admin(*organizer, "add", "toxicity", "ada", "--role", "owner").output == "ada is owner of toxicity.\n"
    )
    admin(*organizer, "add", "toxicity", "bob")
    assert "bob is viewer" in admin(*organizer, "add", "toxicity", "bob", "--role", "viewer").output
    listed = admin(*organizer, "list", "toxicity").output.splitlines()
    assert [line.split()[:2] for line in listed] == [["name", "role"], ["ada", "owner"], ["bob", "viewer"]]
    refused = admin(*organizer, "remove", "toxicity", "ada")
    assert refused.exit_code == 1
    assert "ada is the only owner" in refused.output
    assert "bob is no longer an organizer" in admin(*organizer, "remove", "toxicity", "bob").output
    with service.database.read() as session:
        competition = service.reload(service.competition("other"))
        assert organizers.role_of(session, competition=competition, user=service.user("ada")) is None


def test_the_audit_is_shown_and_filtered(admin: Any) -> None:
    admin("competition", "organizer", "add", "toxicity", "ada")
    admin("competition", "change", "toxicity", "--daily-limit", "9")
    shown = admin("competition", "audit", "toxicity").output
    assert shown.index("changed the ") < shown.index("added organizer ada")
    assert "max_daily_submissions: null -> 9" in shown
    assert "UTC  shell (" in shown
    only = admin("competition", "audit", "toxicity", "--action", "organizer").output
    assert "organizer.add" in only
    assert "competition" not in only
    assert admin("competition", "audit", "toxicity", "--by", "calendar").output == ""


def test_a_competition_goes_into_the_archive_and_comes_back(admin: Any, service: Any) -> None:
    competition = service.competition("other")
    assert admin("competition", "archive", "other", "--reason", "Old.").output == "other is archived.\n"
    assert service.reload(competition).state is CompetitionState.ARCHIVED
    assert admin("competition", "archive", "other").exit_code == 1
    assert admin("competition", "unarchive", "other").output == "other is published again.\n"


def test_an_account_becomes_an_administrator_and_is_none_again(admin: Any, service: Any) -> None:
    assert admin("user", "admin", "ada").output == "ada is an administrator.\n"
    assert "only administrator" in admin("user", "admin", "ada", "--off").output
    admin("user", "admin", "bob", "--on")
    assert admin("user", "admin", "ada", "--off").output == "ada is no administrator any more.\n"
    with service.database.read() as session:
        assert not names.get_user(session, name="ada").is_admin
        competition = service.reload(service.competition("other"))
        bob = names.get_user(session, name="bob")
        assert organizers.role_of(session, competition=competition, user=bob) is Role.OWNER


def test_a_team_is_renamed_and_its_name_is_freed(admin: Any, service: Any) -> None:
    service.submit(service.competition("other"))
    rename = ("competition", "rename-team", "other", "ada", "Aces", "--reason", "It insults.")
    assert admin(*rename).output == "ada is now called Aces.\n"
    free = ("competition", "free-team-name", "other", "Aces")
    assert admin(*free).output == "Aces can choose its name again.\n"
    refused = admin(*free)
    assert (refused.exit_code, "Aces chose its own name" in refused.output) == (1, True)
