"""Rosters: import, linked and new accounts, sections as teams or divisions, entry, deletion."""

import pytest
from sqlalchemy import func, select

from grader.models import (
    AuditEntry,
    EntryMode,
    Identity,
    Participation,
    RequestState,
    Role,
    RosterEntry,
    SectionUse,
    Team,
    TeamMember,
    User,
)
from grader.services.accounts import accounts, class_rosters, password_resets
from grader.services.accounts.roster_file import InvalidClass
from grader.services.competitions import organizers
from grader.services.setup import drafts
from grader.services.teams import participations
from grader.services.teams.participations import RulesChanged, WrongEntryCode
from tests.fixtures.service import TESTS

pytestmark = pytest.mark.both_databases

CLASS = ["name,email,id,section", "Ada,Ada@example.org,1,A", "Bob,bob@example.org,2,A", "Cem,,3,B"]


@pytest.fixture
def load(service):
    """Import lines into a competition; return the new accounts and the notes."""

    def run(competition, lines=CLASS, **options):
        given = {"competition": competition, "lines": lines} | options
        return service.act(class_rosters.import_lines, **given)

    return run


def entries(service, competition) -> dict[str, RosterEntry]:
    with service.database.read() as session:
        here = RosterEntry.competition_id == competition.id
        return {each.name: each for each in session.scalars(select(RosterEntry).where(here))}


def members(service, competition) -> dict[str, list[str]]:
    query = select(Team.name, User.name).join(TeamMember, TeamMember.team_id == Team.id)
    query = query.join(User, User.id == TeamMember.user_id).where(Team.competition_id == competition.id)
    found: dict[str, list[str]] = {}
    with service.database.read() as session:
        for team, user in session.execute(query.order_by(User.name)):
            found.setdefault(team, []).append(user)
    return found


def verify(service, name: str, address: str):
    who = service.user(name)
    with service.database.write() as session:
        person = session.get_one(User, who.id)
        person.email, person.email_key, person.email_verified_at = address, address.lower(), service.now


def test_verified_addresses_are_linked_and_others_get_an_account(service, load):
    competition = service.competition()
    verify(service, "ada", "ada@example.org")
    made, notes = load(competition)
    assert [(each.name, bool(each.link_token)) for each in made] == [("Bob", True), ("Cem", True)]
    assert notes == ["3 students added, 0 changed."]
    found = entries(service, competition)
    assert found["Ada"].user_id == service.user("ada").id
    with service.database.read() as session:
        states = session.scalars(select(Participation.state)).all()
        audit = session.scalars(select(AuditEntry).where(AuditEntry.action == "accounts.create")).one()
    assert states == [RequestState.ACCEPTED] * 3
    assert not any(name in str(audit.after) for name in ("Ada", "example.org"))


def test_an_address_that_only_a_provider_confirmed_is_linked(service, load):
    competition = service.competition()
    with service.database.write() as session:
        session.add(
            Identity(
                user_id=service.user("x").id, provider="campus", issuer="i", subject="s",
                email="ADA@example.org", linked_at=service.now, last_login_at=service.now,
            )
        )  # fmt: skip
    load(competition)
    assert entries(service, competition)["Ada"].user_id == service.user("x").id


def test_a_second_import_adds_and_changes_but_removes_only_on_demand(service, load):
    competition = service.competition()
    load(competition)
    lines = ["name,id,section", "Ada Lovelace,1,B", "Cem,3,B", "Dan,4,B"]
    made, notes = load(competition, lines)
    assert [each.name for each in made] == ["Dan"]
    assert notes == ["1 student added, 1 changed.", "Not in the list, but still on the roster: Bob."]
    found = entries(service, competition)
    assert sorted(found) == ["Ada Lovelace", "Bob", "Cem", "Dan"]
    assert (found["Ada Lovelace"].email, found["Ada Lovelace"].section) == ("Ada@example.org", "B")
    _, notes = load(competition, lines, remove_missing=True)
    assert notes[1:] == ["Removed: Bob."]
    assert sorted(entries(service, competition)) == ["Ada Lovelace", "Cem", "Dan"]


def test_conflicts_with_the_roster_are_listed_and_change_nothing(service, load):
    competition = service.competition()
    load(competition)
    with pytest.raises(InvalidClass) as error:
        load(competition, ["name,email,id", "Bob,ada@example.org,2", "Eve,bob@example.org,9", "Bob,,2x"])
    words = "another student on the roster has this e-mail address."
    assert error.value.problems == (f"Line 2: {words}", f"Line 3: {words}")
    assert len(entries(service, competition)) == 3


def test_namesakes_get_numbered_accounts(service, load):
    competition = service.competition()
    service.user("Ada")
    made, _ = load(competition, ["name,id", "Ada,1", "Ada,2", "ada,3"])
    assert [each.name for each in made] == ["Ada (2)", "Ada (3)", "ada (4)"]


def test_unused_links_are_renewed_and_used_ones_are_not(service, load):
    competition = service.competition()
    (bob, _, _), _ = load(competition)
    service.act(password_resets.use, token=bob.link_token, password_hash="x")
    made, _ = load(competition, renew_links=True)
    assert [each.name for each in made] == ["Bob", "Cem"]
    assert load(competition)[0] == []


def test_students_of_another_roster_of_the_same_owner_keep_their_accounts(service, load):
    first, second = service.competition(), service.competition("second")
    given = {"user": service.user("olga"), "role": Role.OWNER, "actor": TESTS}
    for each in (first, second):
        service.act(organizers.add, competition=each, **given)
    by_olga = {"user": service.user("olga")}
    load(first, **by_olga)
    made, _ = load(second, ["name,id", "ada,1", "Bobby,2"], **by_olga)
    assert [each.name for each in made] == ["Bobby"]
    assert load(service.competition("third"), ["name,id", "Ada,1"])[0][0].name == "Ada (2)"


def test_sections_become_teams_with_all_their_students(service, load):
    competition = service.competition(max_team_size=2)
    load(competition, sections=SectionUse.TEAMS)
    assert members(service, competition) == {"A": ["Ada", "Bob"], "B": ["Cem"]}
    load(competition, ["name,id,section", "Dan,4,B"])
    assert members(service, competition)["B"] == ["Cem", "Dan"]


def test_requested_use_of_sections_needs_sections(service, load):
    competition = service.competition()
    with pytest.raises(InvalidClass, match="The roster has no sections"):
        load(competition, ["name,class room", "Ada,7"], sections=SectionUse.DIVISIONS)
    load(competition, ["name,Gruppe", "Ada,A"], sections=SectionUse.DIVISIONS)
    load(competition, ["name", "Bob"])


def test_sections_that_are_too_large_for_a_team_are_listed_before_anything_is_created(service, load):
    competition = service.competition(max_team_size=1)
    with pytest.raises(InvalidClass, match="Section A has 2 students; a team can have 1 at most"):
        load(competition, sections=SectionUse.TEAMS)
    with service.database.read() as session:
        assert session.scalar(select(func.count(User.id))) == 0
    assert entries(service, competition) == {}


def test_sections_become_divisions_of_present_and_later_teams(service, load):
    competition = service.competition(divisions="Staff")
    verify(service, "ada", "ada@example.org")
    service.submit(competition, user="ada")
    load(competition, sections=SectionUse.DIVISIONS)
    assert service.reload(competition).divisions == "Staff\nA\nB"
    cem = entries(service, competition)["Cem"]
    with service.database.read() as session:
        service.users["cem"] = session.get_one(User, cem.user_id)
    service.submit(competition, user="cem")
    with service.database.read() as session:
        divisions = dict(session.execute(select(Team.name, Team.division)).all())
    assert divisions == {"ada": "A", "Cem": "B"}


def test_students_with_their_own_accounts_are_matched_when_they_join(service, load, act):
    competition = service.competition(entry_mode=EntryMode.CODE, entry_code="x", max_team_size=3)
    assert load(competition, own_accounts=True, sections=SectionUse.TEAMS)[0] == []
    verify(service, "ada", "ada@example.org")
    with pytest.raises(WrongEntryCode):
        act(participations.join, competition, "eve")
    act(participations.join, competition, "ada")
    assert members(service, competition) == {"A": ["ada"]}
    assert entries(service, competition)["Ada"].user_id == service.user("ada").id


def test_admitted_students_must_still_accept_the_rules(service, load, act):
    competition = service.competition(rules="Be fair.", entry_mode=EntryMode.APPROVAL)
    verify(service, "ada", "ada@example.org")
    load(competition)
    with pytest.raises(RulesChanged):
        service.submit(competition, user="ada")
    act(participations.join, competition, "ada", accepted_rules_version=1)
    service.submit(competition, user="ada")


def test_deleted_accounts_and_deleted_drafts_leave_no_entry(service, load):
    competition = service.competition()
    verify(service, "ada", "ada@example.org")
    load(competition)
    service.act(accounts.delete_account, user=service.user("ada"), secret="s")
    assert sorted(entries(service, competition)) == ["Bob", "Cem"]
    draft = service.act(drafts.clone, source=competition, slug="draft")
    assert entries(service, draft) == {}
    load(draft, sections=SectionUse.TEAMS)
    service.act(drafts.delete_draft, competition=draft)
    assert entries(service, draft) == members(service, draft) == {}
