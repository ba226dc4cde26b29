"""Organizers, audit log, archive and administrators in the shell."""

from pathlib import Path

import pytest

from grader.models import CompetitionState, Role
from grader.services.audit import log
from grader.services.competitions import lookup, organizers
from grader.services.people import names


@pytest.fixture(autouse=True)
def _people(service):
    """A competition and the accounts ada and bob."""
    service.competition()
    for name in ("ada", "bob"):
        service.user(name)


def test_roles_are_added_changed_listed_and_removed(admin, service):
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


def test_the_audit_is_shown_and_filtered(admin):
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


def test_a_competition_is_archived_and_restored(admin, service):
    competition = service.competition("other")
    assert admin("competition", "archive", "other", "--reason", "Old.").output == "other is archived.\n"
    assert service.reload(competition).state is CompetitionState.ARCHIVED
    assert admin("competition", "archive", "other").exit_code == 1
    assert admin("competition", "unarchive", "other").output == "other is published again.\n"


def test_administrator_rights_are_granted_and_removed(admin, service):
    assert admin("user", "admin", "ada").output == "ada is an administrator.\n"
    assert "only administrator" in admin("user", "admin", "ada", "--off").output
    admin("user", "admin", "bob", "--on")
    assert admin("user", "admin", "ada", "--off").output == "ada is no longer an administrator.\n"
    with service.database.read() as session:
        assert not names.get_user(session, name="ada").is_admin
        competition = service.reload(service.competition("other"))
        bob = names.get_user(session, name="bob")
        assert organizers.role_of(session, competition=competition, user=bob) is Role.OWNER


def test_a_running_competition_is_managed_from_the_shell(admin, service, tmp_path: Path):
    competition = service.competition("cup", max_daily_submissions=3)
    for place, name in enumerate(("ann", "bob", "cem")):
        service.score(service.submit(competition, user=name, seed=place))

    def said(*words: str) -> str:
        result = admin("competition", *words)
        assert result.exit_code == 0, result.output
        return str(result.stdout)

    (tmp_path / "text.md").write_text("Hello **all**.")
    assert said("pause", "cup", "--message", "Wait.").endswith("Participants who try to submit see: Wait.\n")
    assert said("resume", "cup") == "Submissions to cup are open again.\n"
    assert said("announce", "cup", tmp_path / "text.md", "--title", "Hi").startswith(
        "Announcement 1 was posted on"
    )
    assert "Extra submissions for ann on " in said(
        "grant", "cup", "2", "--team", "ann", "--reason", "an outage"
    )
    assert "Extra submissions for every team on " in said("grant", "cup", "1", "--reason", "an outage")
    assert said("rename-team", "cup", "bob", "Bees", "--reason", "rude") == "bob is now called Bees.\n"
    assert said("free-team-name", "cup", "Bees") == "Bees can choose its name again.\n"
    assert "cem is disqualified" in said("disqualify", "cup", "cem", "--reason", "two accounts")
    assert "cem is back" in said("reinstate", "cup", "cem")
    assert said("mark", "cup", "3", "hidden") == "Submission #3 of cup is hidden.\n"
    assert said("admit", "cup", "ann") == "ann is admitted to cup.\n"
    assert said("export", "cup", "submissions").count("\n") == 4
    assert admin("competition", "retry", "cup").exit_code == 1  # There is no failed submission to retry.
    with service.database.read() as session:
        found = lookup.get(session, slug="cup")
        acts = log.list_page(session, competition=found).rows
        assert {(each.actor, each.origin.partition(" ")[0]) for each in acts[:9]} == {(None, "shell")}


def test_names_of_a_class_are_read_as_utf_8_with_or_without_a_byte_order_mark(admin, tmp_path: Path):
    names = tmp_path / "names.txt"
    names.write_text("dora", encoding="utf-8-sig")
    made = admin("competition", "roster", "toxicity", names)
    assert made.stdout.splitlines()[1].startswith("dora,,,http"), made.output
    names.write_bytes("J\xfcrgen".encode("latin-1"))
    refused = admin("competition", "roster", "toxicity", names)
    assert (refused.exit_code, "is not UTF-8 (byte 2 is invalid)." in refused.stderr) == (1, True), (
        refused.output
    )
