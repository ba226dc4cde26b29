"""Teams: creation, names, leaving, leadership, both kinds of invitations."""

from datetime import date, timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from grader.db import Base, UTCDateTime
from grader.models import (
    Participation,
    RequestState,
    Submission,
    SubmissionStatus,
    Team,
    TeamInvite,
    TeamMember,
)
from grader.services.competitions import acting
from grader.services.identity import accounts
from grader.services.site.log import Actor
from grader.services.submissions import decisions
from grader.services.submissions.refusal import TeamDisqualified
from grader.services.teams import invitations, mergers, rosters, teams
from grader.services.teams.invitations import (
    AlreadyInvited,
    AlreadyMember,
    MustLeave,
    MustMerge,
    UnknownInvitation,
)
from grader.services.teams.limits import TooManyRejections
from grader.services.teams.mergers import NoTeamToMerge
from grader.services.teams.participations import LeftTeam
from grader.services.teams.rosters import (
    AlreadyInTeam,
    Disqualified,
    NotInTeam,
    NotLeader,
    TeamFull,
    TeamsFrozen,
)
from grader.services.teams.teams import LastMember, NotAMember
from tests.fixtures.races import race

DAY = timedelta(days=1)


@pytest.fixture
def roster(service):
    """Return the names of the members of a user's team, longest membership first, or None."""

    def names(competition, user: str):
        with service.database.read() as session:
            team = rosters.find_team(session, competition=competition, user=service.user(user))
            return team and [each.user.name for each in rosters.members(session, team=team)]

    return names


@pytest.fixture
def together(service, act):
    """Create a competition with one team, which Ada leads and the others joined by link in this order."""

    def make(*others: str, **options):
        competition = service.competition(**options)
        act(teams.create, competition, "ada", name="Lovelace")
        token = act(invitations.make_link, competition, "ada")
        for place, name in enumerate(others, 1):
            act(invitations.accept_link, competition, name, token=token, after=timedelta(seconds=place))
        return competition

    return make


def test_team_is_created_with_a_name_and_led_by_its_creator(service, act, roster):
    competition = service.competition()
    team = act(teams.create, competition, "ada", name="  The  Analysts ")
    assert (team.name, team.leader_id) == ("The Analysts", service.user("ada").id)
    assert roster(competition, "ada") == ["ada"]
    with pytest.raises(AlreadyInTeam):
        act(teams.create, competition, "ada", name="Another")
    assert service.submit(competition, user="ada").submission.team_id == team.id


def test_team_names_are_unique_only_within_a_competition(service, together, act):
    together()
    assert act(teams.create, service.competition("other"), "bob", name="Lovelace").name == "Lovelace"


def test_leader_can_rename_until_the_close(together, act, service):
    competition = together("bob", closes_at=service.now + 20 * DAY)
    assert act(teams.rename, competition, "ada", name="LOVELACE").name == "LOVELACE"
    with pytest.raises(TeamsFrozen):
        act(teams.rename, competition, "ada", name="Late", after=20 * DAY)
    assert act(teams.rename, competition, "ada", name="In time", after=19 * DAY).name == "In time"


def test_only_the_leader_can_rename_create_links_and_transfer_leadership(together, act, service):
    competition = together("bob")
    for function, given in (
        (teams.rename, {"name": "Bobs"}),
        (teams.hand_over, {"to_user_id": service.user("bob").id}),
        (invitations.make_link, {}),
        (invitations.revoke_link, {}),
    ):
        with pytest.raises(NotLeader, match="Only the leader of Lovelace, ada,"):
            act(function, competition, "bob", **given)
        with pytest.raises(NotInTeam):
            act(function, competition, "eve", **given)


def test_leadership_can_only_be_transferred_to_a_member(together, act, service):
    competition = together("bob")
    with pytest.raises(NotAMember):
        act(teams.hand_over, competition, "ada", to_user_id=service.user("eve").id)
    act(teams.hand_over, competition, "ada", to_user_id=service.user("bob").id)
    with pytest.raises(NotLeader):
        act(teams.rename, competition, "ada", name="Mine")
    assert act(teams.rename, competition, "bob", name="Bobs").name == "Bobs"


def test_longest_member_becomes_leader_when_the_leader_leaves(together, act, roster, service):
    competition = together("bob", "cleo")
    act(teams.leave, competition, "ada")
    assert roster(competition, "bob") == ["bob", "cleo"]
    assert act(teams.rename, competition, "bob", name="Bobs").leader_id == service.user("bob").id


def test_empty_team_without_submissions_ends_and_frees_its_name(together, act, service):
    competition = together()
    act(invitations.invite, competition, "ada", name=service.user("bob").name)
    act(teams.leave, competition, "ada")
    with service.database.read() as session:
        for model in (Team, TeamMember, TeamInvite):
            assert session.scalar(select(func.count()).select_from(model)) == 0
    assert act(teams.create, competition, "bob", name="Lovelace").name == "Lovelace"


def test_last_member_of_a_team_with_submissions_cannot_leave(together, act, service):
    competition = together("bob")
    service.submit(competition, user="bob", after=DAY)
    act(teams.leave, competition, "ada")
    with pytest.raises(LastMember):
        act(teams.leave, competition, "bob")


def test_former_member_of_a_team_with_submissions_can_only_return_to_it(together, act, service, roster):
    competition = together("bob")
    service.submit(competition, user="ada", after=DAY)
    act(teams.leave, competition, "bob")
    with pytest.raises(LeftTeam, match="bound to the team Lovelace"):
        service.submit(competition, user="bob", after=DAY)
    with pytest.raises(LeftTeam):
        act(teams.create, competition, "bob", name="Bobs")
    act(teams.create, competition, "cleo", name="Cleos")
    other = act(invitations.make_link, competition, "cleo")
    with pytest.raises(LeftTeam):
        act(invitations.accept_link, competition, "bob", token=other)
    invitation = act(invitations.invite, competition, "ada", name="bob")
    act(invitations.accept, competition, "bob", invite_id=invitation.id)
    assert roster(competition, "bob") == ["ada", "bob"]


def test_joining_a_team_with_submissions_is_binding(together, act, service):
    competition = together()
    service.submit(competition, user="ada")
    token = act(invitations.make_link, competition, "ada")
    act(invitations.accept_link, competition, "bob", token=token)
    act(teams.leave, competition, "bob")
    with pytest.raises(LeftTeam):
        service.submit(competition, user="bob")


def test_member_who_left_before_the_first_submission_is_free(together, act, service):
    competition = together("bob")
    act(teams.leave, competition, "bob")
    service.submit(competition, user="ada")
    assert act(teams.create, competition, "bob", name="Bobs").name == "Bobs"


def reject(service, *sent):
    """Let files be rejected by the scorer."""
    with service.database.write() as session:
        for each in sent:
            submission = session.get_one(Submission, each.submission.id)
            submission.status, submission.finished_at = SubmissionStatus.REJECTED, service.now
            submission.slot_day = None


def test_rejected_file_binds_neither_a_person_nor_a_team(together, act, service, roster):
    competition = together("bob", "cleo")
    reject(service, service.submit(competition, user="ada"), service.submit(competition, user="dan"))
    act(teams.leave, competition, "bob")
    assert act(teams.create, competition, "bob", name="Bobs").name == "Bobs"
    token = act(invitations.make_link, competition, "bob")
    act(invitations.accept_link, competition, "dan", token=token)
    invitation = act(invitations.invite, competition, "bob", name="cleo")
    act(teams.leave, competition, "cleo")
    act(invitations.accept, competition, "cleo", invite_id=invitation.id)
    assert roster(competition, "bob") == ["bob", "dan", "cleo"]
    # An accepted file binds again.
    service.submit(competition, user="cleo")
    act(teams.leave, competition, "dan")
    with pytest.raises(LeftTeam, match="Bobs"):
        act(teams.create, competition, "dan", name="Dans")


def test_pending_file_binds_until_it_is_rejected(together, act, service):
    competition = together("bob")
    sent = service.submit(competition, user="ada")
    act(teams.leave, competition, "bob")
    with pytest.raises(LeftTeam):
        service.submit(competition, user="bob")
    with pytest.raises(LastMember):
        act(teams.leave, competition, "ada")
    reject(service, sent)
    service.submit(competition, user="bob")
    act(teams.leave, competition, "ada")


def test_team_that_was_left_with_rejected_files_keeps_its_limit_but_not_its_name(together, act, service):
    competition = together(max_hourly_rejections=2)
    reject(service, *(service.submit(competition, user="ada") for _ in range(2)))
    act(teams.leave, competition, "ada")
    with pytest.raises(NoTeamToMerge):
        act(teams.create, competition, "bob", name="Lovelace")
        with service.database.read() as session:
            (former,) = session.scalars(select(Team.name).where(Team.name.contains("Former")))
        act(mergers.request, competition, "bob", name=former)
    act(teams.create, competition, "ada", name="Again")
    with pytest.raises(TooManyRejections):
        service.submit(competition, user="ada")


def test_team_that_absorbed_another_can_be_left(together, act, service):
    competition = together()
    act(teams.create, competition, "bob", name="Bobs")
    request = act(mergers.request, competition, "ada", name="Bobs")
    act(mergers.accept, competition, "bob", request_id=request.id)
    for name in ("ada", "bob"):
        act(teams.leave, competition, name)
        act(teams.create, competition, name, name=f"Next {name}")


def decide(service, competition, decision, **given):
    with service.database.write() as session:
        actor = Actor(None, "tests")
        return decision(acting.begin(session, competition=competition, actor=actor, now=service.now), **given)


def test_disqualification_binds_the_members_and_keeps_the_team(together, act, service):
    competition = together("bob")
    before = decide(service, competition, decisions.disqualify, team="Lovelace", reason="Copied.")
    act(teams.leave, competition, "bob")
    act(teams.create, competition, "cleo", name="Cleos")
    token = act(invitations.make_link, competition, "cleo")
    link = act(invitations.make_link, competition, "ada")
    for attempt, refused in (
        (lambda: act(teams.create, competition, "bob", name="Bobs"), LeftTeam),
        (lambda: service.submit(competition, user="bob"), LeftTeam),
        (lambda: act(invitations.accept_link, competition, "bob", token=token), LeftTeam),
        (lambda: act(teams.leave, competition, "ada"), Disqualified),
        (lambda: act(invitations.accept_link, competition, "ada", token=token), Disqualified),
        (lambda: act(invitations.accept_link, competition, "dan", token=link), Disqualified),
        (lambda: act(invitations.invite, competition, "ada", name="dan"), Disqualified),
    ):
        with pytest.raises(refused, match="Lovelace"):
            attempt()
    decide(service, competition, decisions.reinstate, team="Lovelace")
    act(teams.leave, competition, "ada")
    assert act(teams.create, competition, "bob", name="Bobs").id > before.id
    assert act(teams.create, competition, "ada", name="Lovelace").id > before.id


def test_team_without_members_that_is_disqualified_binds_its_last_member(together, act, service):
    competition = together()
    reject(service, service.submit(competition, user="ada"))
    act(teams.leave, competition, "ada")
    with service.database.read() as session:
        former = session.scalars(select(Team.name)).one()
    decide(service, competition, decisions.disqualify, team=former, reason="Copied.")
    with pytest.raises(TeamDisqualified):
        service.submit(competition, user="ada")
    with pytest.raises(LeftTeam):
        act(teams.create, competition, "ada", name="Next")


REFERENCES = sorted(
    f"{table.name}.{column.name}"
    for table in Base.metadata.tables.values()
    for column in table.columns
    if any(key.column.table.name == "team" for key in column.foreign_keys)
)
# Rows of these tables exist only with an accepted file, whose team cannot be left by its last member.
WITH_FILES = {"standing.team_id"}


@pytest.mark.parametrize("reference", [each for each in REFERENCES if each not in WITH_FILES])
def test_last_member_can_leave_a_team_that_other_rows_refer_to(together, act, service, reference: str):
    competition = together("bob")
    table = Base.metadata.tables[reference.partition(".")[0]]
    cleo_id = service.user("cleo").id
    with service.database.write() as session:
        team_id = session.scalars(select(Team.id)).one()
        known = {
            "competition_id": competition.id,
            "team_id": team_id,
            "from_team_id": team_id,
            "to_team_id": team_id,
            "merged_into_id": team_id,
            "bound_team_id": team_id,
            "user_id": cleo_id,
            "owner_id": cleo_id,
            "created_by_id": cleo_id,
            "status": SubmissionStatus.REJECTED,
            "state": RequestState.OPEN,
        }
        values = {}
        for column in table.columns:
            if column.name in known and (column.foreign_keys or column.name in ("status", "state")):
                values[column.name] = known[column.name]
            elif not column.nullable and not column.primary_key and column.default is None:
                kind = column.type.python_type
                is_time = isinstance(column.type, UTCDateTime)
                values[column.name] = (
                    service.now if is_time else service.now.date() if kind is date else kind()
                )
        session.execute(table.insert().values(values))
    for name in ("ada", "bob"):
        act(teams.leave, competition, name)
    act(teams.create, competition, "bob", name="Next")


def test_next_leader_has_an_existing_account(together, act, service, roster):
    competition = together("bob", "cleo")
    service.submit(competition, user="ada", after=DAY)
    service.act(accounts.delete_account, user=service.user("bob"), secret="s")
    act(teams.leave, competition, "ada")
    assert act(teams.rename, competition, "cleo", name="Cleos").leader_id == service.user("cleo").id
    with pytest.raises(LastMember):
        act(teams.leave, competition, "cleo")


def test_team_of_deleted_accounts_without_submissions_ends(together, act, service):
    competition = together("bob")
    service.act(accounts.delete_account, user=service.user("bob"), secret="s")
    act(teams.leave, competition, "ada")
    with service.database.read() as session:
        assert session.scalar(select(func.count()).select_from(Team)) == 0


def test_new_link_replaces_the_old_one_and_a_revoked_one_is_invalid(together, act):
    competition = together()
    old = act(invitations.make_link, competition, "ada")
    new = act(invitations.make_link, competition, "ada")
    with pytest.raises(UnknownInvitation):
        act(invitations.accept_link, competition, "bob", token=old)
    act(invitations.accept_link, competition, "bob", token=new)
    act(invitations.revoke_link, competition, "ada")
    for token in (new, "", "guessed", "\ud800"):
        with pytest.raises(UnknownInvitation):
            act(invitations.accept_link, competition, "cleo", token=token)


def test_only_the_hash_of_a_link_is_stored(together, act, service):
    token = act(invitations.make_link, together(), "ada")
    with service.database.read() as session:
        assert all(each.token_sha256 != token for each in session.scalars(select(TeamInvite)))


def test_link_of_another_competition_is_invalid(together, act, service):
    token = act(invitations.make_link, together(), "ada")
    with pytest.raises(UnknownInvitation):
        act(invitations.accept_link, service.competition("other"), "bob", token=token)


def test_invited_user_accepts_or_declines(together, act, service, roster):
    competition = together("bob")
    for name in ("cleo", "dan"):
        service.user(name)
        act(invitations.invite, competition, "bob", name=name.upper())
    with pytest.raises(AlreadyInvited):
        act(invitations.invite, competition, "ada", name="cleo")
    with pytest.raises(AlreadyMember):
        act(invitations.invite, competition, "ada", name="bob")
    with service.database.read() as session:
        [hers] = invitations.of_person(session, competition=competition, user=service.user("cleo"))
        [his] = invitations.of_person(session, competition=competition, user=service.user("dan"))
    with pytest.raises(UnknownInvitation):
        act(invitations.accept, competition, "dan", invite_id=hers.id)
    act(invitations.accept, competition, "cleo", invite_id=hers.id, after=DAY)
    act(invitations.decline, competition, "dan", invite_id=his.id)
    for name, invite_id in (("cleo", hers.id), ("dan", his.id)):
        with pytest.raises(UnknownInvitation):
            act(invitations.accept, competition, name, invite_id=invite_id)
    assert roster(competition, "ada") == ["ada", "bob", "cleo"]
    assert roster(competition, "dan") is None


def test_invitation_can_be_withdrawn_by_the_leader_or_its_creator(together, act, service):
    competition = together("bob", "cleo")
    for name in ("dan", "eve"):
        service.user(name)
    first = act(invitations.invite, competition, "bob", name="dan")
    with pytest.raises(NotLeader):
        act(invitations.withdraw, competition, "cleo", invite_id=first.id)
    act(invitations.withdraw, competition, "bob", invite_id=first.id)
    with pytest.raises(UnknownInvitation):
        act(invitations.accept, competition, "dan", invite_id=first.id)
    second = act(invitations.invite, competition, "bob", name="eve")
    act(invitations.withdraw, competition, "ada", invite_id=second.id)
    with pytest.raises(UnknownInvitation):
        act(invitations.withdraw, competition, "ada", invite_id=second.id)


def test_own_team_without_others_or_submissions_is_replaced_by_another(together, act, roster, service):
    competition = together()
    act(teams.create, competition, "bob", name="Bobs")
    token = act(invitations.make_link, competition, "ada")
    act(invitations.accept_link, competition, "bob", token=token)
    assert roster(competition, "ada") == ["ada", "bob"]
    with service.database.read() as session:
        assert session.scalars(select(Team.name)).all() == ["Lovelace"]
    with pytest.raises(AlreadyInTeam):
        act(invitations.accept_link, competition, "bob", token=token)


def test_team_with_other_members_must_be_left_first_and_one_with_submissions_merged(together, act, service):
    competition = together("bob")
    service.submit(competition, user="cleo")
    act(teams.create, competition, "dan", name="Dans")
    token = act(invitations.make_link, competition, "dan")
    with pytest.raises(MustLeave, match="Lovelace"):
        act(invitations.accept_link, competition, "bob", token=token)
    with pytest.raises(MustMerge, match="merge"):
        act(invitations.accept_link, competition, "cleo", token=token)


def test_full_team_accepts_no_members(together, act, service):
    competition = together("bob", max_team_size=2)
    service.user("cleo")
    with pytest.raises(TeamFull, match="at most 2 members"):
        act(invitations.invite, competition, "ada", name="cleo")
    token = act(invitations.make_link, competition, "ada")
    with pytest.raises(TeamFull):
        act(invitations.accept_link, competition, "cleo", token=token)


def test_teams_can_grow_until_the_merger_deadline_and_shrink_until_the_close(together, act, service):
    competition = together("bob", closes_at=service.now + 30 * DAY)
    token = act(invitations.make_link, competition, "ada")
    service.submit(competition, user="ada")
    service.user("cleo")
    with pytest.raises(UnknownInvitation):
        act(invitations.accept_link, competition, "cleo", token=token, after=23 * DAY)
    with pytest.raises(TeamsFrozen) as late:
        act(invitations.make_link, competition, "ada", after=23 * DAY)
    assert late.value.deadline == service.now + 23 * DAY
    for function, given in ((invitations.invite, {"name": "cleo"}), (invitations.make_link, {})):
        with pytest.raises(TeamsFrozen):
            act(function, competition, "ada", after=23 * DAY, **given)
    with pytest.raises(TeamsFrozen):
        act(teams.leave, competition, "bob", after=30 * DAY)
    act(teams.leave, competition, "bob", after=29 * DAY)


@pytest.mark.both_databases
def test_only_one_of_two_users_gets_the_last_slot(together, act, service, roster):
    for _ in range(3):
        competition = together(slug=f"race-{_}", max_team_size=2)
        token = act(invitations.make_link, competition, "ada")
        people = [service.user(name) for name in ("bob", "cleo", "dan", "eve")]
        enter = partial(act, invitations.accept_link, competition, token=token)
        answers = race(*(partial(enter, who.name) for who in people))
        assert [isinstance(each, TeamFull) for each in answers].count(True) == 3
        assert len(roster(competition, "ada")) == 2


@pytest.mark.both_databases
def test_only_one_of_two_teams_gets_the_same_name(service, act):
    competition = service.competition()
    people = [service.user(name) for name in ("bob", "cleo", "dan", "eve")]
    answers = race(*(partial(act, teams.create, competition, who.name, name="Winners") for who in people))
    assert sorted(type(each).__name__ for each in answers) == ["Team", *["TeamNameTaken"] * 3]


@pytest.mark.both_databases
def test_user_who_joins_two_teams_at_once_is_a_member_of_one(service, act, roster):
    competition = service.competition()
    tokens = []
    for name in ("ada", "bob"):
        act(teams.create, competition, name, name=f"Team {name}")
        tokens.append(act(invitations.make_link, competition, name))
    service.user("cleo")
    enter = partial(act, invitations.accept_link, competition, "cleo")
    answers = race(*(partial(enter, token=token) for token in tokens))
    assert [isinstance(each, MustLeave) for each in answers].count(True) == 1
    assert len(roster(competition, "cleo")) == 2


@pytest.mark.both_databases
def test_first_upload_during_leaving_leaves_no_user_unbound(together, act, service):
    competition = together("bob")
    answers = race(lambda: service.submit(competition), lambda: act(teams.leave, competition, "bob"))
    assert not any(isinstance(each, Exception) for each in answers), answers
    with service.database.read() as session:
        bound = dict(session.execute(select(Participation.user_id, Participation.bound_team_id)).all())
        inside = set(session.scalars(select(TeamMember.user_id)))
    assert bound[service.user("ada").id] is not None
    assert inside == {service.user("ada").id}
