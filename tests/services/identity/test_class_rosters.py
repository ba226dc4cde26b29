"""Rosters: import, invitations, sections as teams or divisions, entry, deletion."""

from datetime import timedelta

import pytest
from sqlalchemy import func, select

from grader.models import (
    AuditEntry,
    EntryMode,
    Identity,
    LinkPurpose,
    Mail,
    Participation,
    RequestState,
    Role,
    RosterEntry,
    SectionUse,
    Team,
    TeamMember,
    User,
)
from grader.services.closing import tables
from grader.services.competitions import drafts, lookup, organizers
from grader.services.identity import accounts, class_rosters, suspensions
from grader.services.site import mail_limits as limits
from grader.services.site.counting import DAY, RateLimit
from grader.services.site.log import Actor
from grader.services.site.mail_limits import TooMuchMail
from grader.services.teams import participations
from tests.fixtures.refusals import refused
from tests.fixtures.service import TESTS

pytestmark = pytest.mark.both_databases

SECRET = "s"
CLASS = ["name,email,id,section", "Ada,Ada@example.org,1,A", "Bob,bob@example.org,2,A", "Cem,,3,B"]


def import_lines(act, *, by_mail=False, **options):
    return class_rosters.apply(act, class_rosters.plan(act, **options), by_mail=by_mail)


@pytest.fixture
def load(service):
    """Import lines into a competition; return the new accounts and the notes."""

    def run(competition, lines=CLASS, **options):
        return service.act(import_lines, competition=competition, lines=lines, **options)

    return run


def entries(service, competition):
    with service.database.read() as session:
        here = RosterEntry.competition_id == competition.id
        return {each.name: each for each in session.scalars(select(RosterEntry).where(here))}


def members(service, competition):
    query = select(Team.name, User.name).join(TeamMember, TeamMember.team_id == Team.id)
    query = query.join(User, User.id == TeamMember.user_id).where(Team.competition_id == competition.id)
    found: dict[str, list[str]] = {}
    with service.database.read() as session:
        for team, user in session.execute(query.order_by(User.name)):
            found.setdefault(team, []).append(user)
    return found


@pytest.fixture
def claim(service):
    """Open an invitation as a user and join the class."""

    def run(invitation, user: str, **options):
        given = {"token": invitation[1], "user": service.user(user), "secret": SECRET} | options
        return service.act(class_rosters.claim, **given)

    return run


def verify(service, name, address):
    who = service.user(name)
    with service.database.write() as session:
        person = session.get_one(User, who.id)
        person.email, person.email_key, person.email_verified_at = address, address.lower(), service.now


def mails(service):
    with service.database.read() as session:
        found = session.execute(select(Mail.to_address, Mail.body).order_by(Mail.id)).all()
    return [(address, body.partition("/class/")[2].split()[0]) for address, body in found]


@pytest.mark.parametrize("by_mail", [True, False])
def test_an_import_does_not_reveal_who_has_an_account(service, load, by_mail):
    verify(service, "ada", "ada@example.org")
    with service.database.write() as session:
        session.add(
            Identity(
                user_id=service.user("x").id, provider="campus", issuer="i", subject="s",
                email="BOB@example.org", linked_at=service.now, last_login_at=service.now,
            )
        )  # fmt: skip
    competition = service.competition()
    lines = ["name,email,section", "Ada,Ada@example.org,A", "Bob,bob@example.org,A", "Cem,cem@example.org,A"]
    made, notes = load(competition, lines, by_mail=by_mail, sections=SectionUse.TEAMS)
    assert [(entry.name, token is None) for entry, token in made] == [
        ("Ada", by_mail), ("Bob", by_mail), ("Cem", by_mail)
    ]  # fmt: skip
    assert notes[1:] == ["Added (3): 'Ada', 'Bob' and 'Cem'."]
    assert [each.user_id for each in entries(service, competition).values()] == [None] * 3
    assert members(service, competition) == {}
    with service.database.read() as session:
        assert session.scalar(select(func.count(Participation.id))) == 0
        assert session.scalar(select(func.count(User.id))) == 2
        audit = session.scalars(select(AuditEntry).where(AuditEntry.action == "roster.import")).one()
    assert not any(name in str(audit.after) for name in ("Ada", "example.org"))


def test_a_student_joins_by_link_with_an_existing_or_a_new_account(service, load, claim, act):
    competition = service.competition(entry_mode=EntryMode.APPROVAL)
    (ada, bob, _), _ = load(competition, sections=SectionUse.TEAMS)
    claim(ada, "lovelace")
    hasher = accounts.password_hasher(service.settings)
    given = {"name": "Bobby", "password": "correct horse", "passwords": hasher, "secret": SECRET}
    service.users["Bobby"] = service.act(accounts.sign_up_by_link, token=bob[1], **given)
    claim(bob, "Bobby")
    assert members(service, competition) == {}
    act(participations.join, competition, "lovelace")
    act(participations.join, competition, "Bobby")
    assert members(service, competition) == {"A": ["Bobby", "lovelace"]}
    with service.database.read() as session:
        assert set(session.scalars(select(Participation.state))) == {RequestState.ACCEPTED}
    assert entries(service, competition)["Bob"].user_id == service.user("Bobby").id


def test_an_invitation_is_valid_once_for_one_student_per_account_and_for_14_days(service, load, claim):
    competition = service.competition(entry_deadline=service.now + timedelta(days=1))
    (ada, bob, cem), _ = load(competition)
    claim(ada, "lovelace")
    for invitation, user, options, error in (
        (ada, "eve", {}, "invalid_link"),
        (bob, "lovelace", {}, "already_student"),
        (cem, "eve", {"after": timedelta(days=2)}, "entry_closed"),
        (cem, "eve", {"after": timedelta(days=14)}, "invalid_link"),
    ):
        with refused(error):
            claim(invitation, user, **options)


def test_the_address_of_a_suspended_person_cannot_join(service, load, claim):
    verify(service, "mallory", "ada@example.org")
    suspended = {"user": service.user("mallory"), "reason": "Spam.", "secret": SECRET}
    service.act(suspensions.suspend, actor=Actor.of(service.user("boss")), **suspended)
    (ada, bob, _), _ = load(service.competition())
    with refused("suspended_person"):
        claim(ada, "mallory 2")
    claim(bob, "mallory 2")


def test_every_letter_counts_for_its_address(service, load):
    competition = service.competition()
    for _ in range(limits.TO_ADDRESS[0].count):
        load(competition, by_mail=True, renew_links=True)
    sent = mails(service)
    made, notes = load(competition, by_mail=True, renew_links=True)
    assert ([entry.name for entry, _ in made], mails(service)) == (["Cem"], sent)
    assert "Ada and Bob" in notes[-1]
    reset = {"address": "ada@example.org", "purpose": LinkPurpose.RESET_PASSWORD}
    service.act(limits.count_for_address, **reset)


def test_invitations_and_renewals_count_for_the_person_who_sends_them(service, load, monkeypatch):
    monkeypatch.setattr(limits, "STUDENTS", (RateLimit(5, DAY),))
    load(service.competition(), user=service.user("olga"))
    second = service.competition("second")
    with pytest.raises(TooMuchMail):
        load(second, user=service.user("olga"), by_mail=True)
    assert entries(service, second) == {}
    load(second, user=service.user("otto"))


def test_a_second_import_adds_and_changes_but_removes_only_on_demand(service, load):
    competition = service.competition()
    load(competition)
    lines = ["name,id,section", "Ada Lovelace,1,B", "Cem,3,B", "Dan,4,B"]
    made, _ = load(competition, lines)
    assert [entry.name for entry, _ in made] == ["Dan"]
    found = entries(service, competition)
    assert sorted(found) == ["Ada Lovelace", "Bob", "Cem", "Dan"]
    assert (found["Ada Lovelace"].email, found["Ada Lovelace"].section) == ("Ada@example.org", "B")
    _, notes = load(competition, lines, remove_missing=True)
    assert notes[1:] == ["Removed (1): 'Bob'."]
    assert sorted(entries(service, competition)) == ["Ada Lovelace", "Cem", "Dan"]


def test_a_plan_lists_columns_and_people_and_changes_nothing(service, load):
    competition = service.competition()
    load(competition)
    lines = ["name,id,Group,Phone", "Ada,1,B,7", "Dan,4,B,8"]
    plan = service.act(class_rosters.plan, competition=competition, lines=lines)
    assert list(plan.sentences) == [
        "Columns: 'name' is the name, 'id' is the student id, 'Group' is the section.",
        "Added (1): 'Dan'.",
        "Changed (1): 'Ada'.",
        "Not in the list, but still on the roster (2): 'Bob' and 'Cem'.",
        "Ignored columns: 'Phone'.",
    ]
    assert sorted(entries(service, competition)) == ["Ada", "Bob", "Cem"]


def test_a_plan_warns_of_ids_without_their_leading_zeros(service, load):
    competition = service.competition()
    load(competition, ["name,id", "Ada,007", "Bea,0008"])
    lines = ["name,id", "Ada,7", "Bea,8"]
    plan = service.act(class_rosters.plan, competition=competition, lines=lines)
    assert any("No student of the list is on the roster yet" in each for each in plan.sentences)
    assert any("(2)" in each and "7 and 007" in each for each in plan.sentences)


def test_an_exported_roster_is_imported_without_changes(service, load):
    competition = service.competition()
    load(competition, ["name,id,section", "Ada,@bo,=Lab 1", "Bea,+49,-Lab 2"])
    with service.database.read() as session:
        here = lookup.get(session, slug=competition.slug)
        kind = {"kind": tables.TableKind.GRADES}
        lines = "".join(tables.write(session, competition=here, **kind)).splitlines()
    plan = service.act(class_rosters.plan, competition=competition, lines=lines)
    assert (plan.problems, plan.missing) == ((), ())
    assert not any(each.is_changed or each.entry is None for each in plan.roster.students)


def own(service, competition, name):
    given = {"user": service.user(name), "role": Role.OWNER, "actor": TESTS}
    service.act(organizers.add, competition=competition, **given)


def test_students_of_the_owners_other_classes_are_recognized_by_address_or_by_id_and_name(
    service, load, claim
):
    first, second, foreign = (service.competition(slug) for slug in ("first", "second", "foreign"))
    for competition, owner in ((first, "olga"), (second, "olga"), (foreign, "otto")):
        own(service, competition, owner)
    own(service, foreign, "olga")
    for invitation in load(first)[0]:
        claim(invitation, f"user {invitation[0].name}")
    lines = ["name,email,id", "Ada L.,ada@example.org,", "Eve,,2", "Cem,,3"]
    lines[1] += "9"
    assert len(load(foreign, lines, user=service.user("otto"))[0]) == 3  # a co-owner learns nothing
    made, notes = load(second, lines, user=service.user("olga"))
    assert [entry.name for entry, _ in made] == ["Eve"]  # another class may use the same ids
    assert "Already known from your other competitions, so they need no link (2)" in " ".join(notes)
    linked = {name: each.user_id for name, each in entries(service, second).items()}
    users = [service.user(name).id for name in ("user Ada", "user Cem")]
    assert linked == {"Ada L.": users[0], "Cem": users[1], "Eve": None}


def test_a_mailed_invitation_verifies_the_address_of_an_account_without_one(service, load, claim):
    load(service.competition(), by_mail=True)
    (_, ada), (_, bob) = mails(service)
    verify(service, "bob", "own@example.org")
    for token, name in ((ada, "ada"), (bob, "bob")):
        claim((None, token), name)
    with service.database.read() as session:
        found = {name: session.get_one(User, service.user(name).id) for name in ("ada", "bob")}
    assert (found["ada"].email_key, found["ada"].email_verified_at) == ("ada@example.org", service.now)
    assert found["bob"].email == "own@example.org"


def test_the_original_columns_are_kept_and_copied_with_the_roster(service, load, claim):
    competition, draft = service.competition(), service.competition("draft")
    (ada, *_), _ = load(competition, ["Student,SIS User ID,Total", "Ada,007,8", "Bea,008,"])
    claim(ada, "ada")
    with service.database.write() as session:
        class_rosters.copy_all(session, source=competition, draft=draft)
    for each in (competition, draft):
        with service.database.read() as session:
            headings, cells = class_rosters.original_columns(session, competition=each)
        assert headings == ("Student", "SIS User ID", "Total")
        assert sorted(cells.values()) == [("Ada", "007", "8"), ("Bea", "008", "")]
        assert entries(service, each)["Ada"].user_id == service.user("ada").id


def test_conflicts_with_the_roster_are_listed_and_change_nothing(service, load):
    competition = service.competition()
    load(competition)
    with refused("invalid_class") as error:
        load(competition, ["name,email,id", "Bob,ada@example.org,2", "Eve,bob@example.org,9", "Bob,,2x"])
    words = "another student on the roster has this e-mail address."
    assert error.value.problems == (f"Line 2: {words}", f"Line 3: {words}")
    assert len(entries(service, competition)) == 3


def test_links_of_students_who_have_not_joined_are_renewed(service, load, claim):
    competition = service.competition()
    (ada, bob, _), _ = load(competition)
    claim(bob, "bob")
    made, _ = load(competition, renew_links=True)
    assert [entry.name for entry, _ in made] == ["Ada", "Cem"]
    with refused("invalid_link"):
        claim(ada, "eve")
    claim(made[0], "eve")
    assert load(competition)[0] == []


def test_students_who_have_joined_are_placed_when_sections_become_teams(service, load, claim, act):
    competition = service.competition(max_team_size=2)
    for invitation in load(competition)[0]:
        claim(invitation, invitation[0].name)
        act(participations.join, competition, invitation[0].name)
    load(competition, sections=SectionUse.TEAMS)
    assert members(service, competition) == {"A": ["Ada", "Bob"], "B": ["Cem"]}


def test_sections_that_are_too_large_for_a_team_are_listed_before_anything_is_created(service, load):
    competition = service.competition(max_team_size=1)
    with refused("invalid_class", match="Section A has 2 students; a team can have 1 at most"):
        load(competition, sections=SectionUse.TEAMS)
    with service.database.read() as session:
        assert session.scalar(select(func.count(User.id))) == 0
    assert entries(service, competition) == {}


def test_sections_become_divisions_of_present_and_later_teams(service, load, claim, act):
    competition = service.competition(divisions="Staff")
    service.submit(competition, user="ada")
    ada, _, cem = load(competition)[0]
    claim(ada, "ada")
    load(competition, sections=SectionUse.DIVISIONS)
    assert service.reload(competition).divisions == "Staff\nA\nB"
    claim(cem, "cem")
    act(participations.join, competition, "cem")
    service.submit(competition, user="cem")
    with service.database.read() as session:
        divisions = dict(session.execute(select(Team.name, Team.division)).all())
    assert divisions == {"ada": "A", "cem": "B"}


def test_students_with_their_own_accounts_are_matched_when_they_join(service, load, act):
    competition = service.competition(entry_mode=EntryMode.CODE, entry_code="x", max_team_size=3)
    assert load(competition, own_accounts=True, sections=SectionUse.TEAMS)[0] == []
    verify(service, "ada", "ada@example.org")
    with refused("wrong_entry_code"):
        act(participations.join, competition, "eve")
    act(participations.join, competition, "ada")
    assert members(service, competition) == {"A": ["ada"]}
    assert entries(service, competition)["Ada"].user_id == service.user("ada").id


def test_deleted_accounts_and_deleted_drafts_leave_no_entry(service, load):
    competition = service.competition()
    verify(service, "ada", "ada@example.org")
    load(competition)
    service.act(accounts.delete_account, user=service.user("ada"), secret=SECRET)
    assert sorted(entries(service, competition)) == ["Bob", "Cem"]
    draft = service.act(drafts.clone, competition=competition, slug="draft")
    assert entries(service, draft) == {}
    load(draft, sections=SectionUse.TEAMS)
    service.act(drafts.delete_draft, competition=draft)
    assert entries(service, draft) == members(service, draft) == {}
