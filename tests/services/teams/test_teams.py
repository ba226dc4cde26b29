"""Teams: creation, names, leaving, leadership, invitation links."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from grader.models import Submission, SubmissionStatus, Team, TeamInvite, TeamMember
from grader.services.competitions import acting
from grader.services.identity import accounts
from grader.services.site.log import Actor
from grader.services.submissions import decisions
from grader.services.teams import invitations, mergers, rosters, teams
from tests.fixtures.races import race
from tests.fixtures.refusals import is_refusal, refused

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


def reject(service, *sent):
    """Let files be rejected by the scorer."""
    with service.database.write() as session:
        for each in sent:
            submission = session.get_one(Submission, each.submission.id)
            submission.status, submission.finished_at = SubmissionStatus.REJECTED, service.now
            submission.slot_day = None


def count(service, model=Team):
    with service.database.read() as session:
        return session.scalar(select(func.count()).select_from(model))


def test_team_is_created_with_a_name_and_led_by_its_creator(service, act, roster):
    competition = service.competition()
    team = act(teams.create, competition, "ada", name="  The  Analysts ")
    assert (team.name, team.leader_id) == ("The Analysts", service.user("ada").id)
    assert roster(competition, "ada") == ["ada"]
    with refused("already_in_team"):
        act(teams.create, competition, "ada", name="Another")
    assert service.submit(competition, user="ada").submission.team_id == team.id


def test_leader_can_rename_until_the_close(together, act, service):
    competition = together("bob", closes_at=service.now + 20 * DAY)
    assert act(teams.rename, competition, "ada", name="LOVELACE").name == "LOVELACE"
    with refused("teams_frozen"):
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
        with refused("not_leader", match="Only the leader of Lovelace, ada,"):
            act(function, competition, "bob", **given)
        with refused("not_in_team"):
            act(function, competition, "eve", **given)
    with refused("not_a_member"):
        act(teams.hand_over, competition, "ada", to_user_id=service.user("eve").id)
    bob = service.user("bob").id
    assert act(teams.hand_over, competition, "ada", to_user_id=bob).leader_id == bob


def test_longest_member_with_an_account_becomes_leader_when_the_leader_leaves(together, act, roster, service):
    competition = together("bob", "cleo", "dan")
    service.act(accounts.delete_account, user=service.user("bob"), secret="s")
    act(teams.leave, competition, "ada")
    assert roster(competition, "cleo")[1:] == ["cleo", "dan"]
    assert act(teams.rename, competition, "cleo", name="Cleos").leader_id == service.user("cleo").id


def test_team_without_members_or_files_ends_and_frees_its_name(together, act, service):
    competition = together("cleo")
    service.act(accounts.delete_account, user=service.user("cleo"), secret="s")
    act(teams.leave, competition, "ada")
    assert [count(service, model) for model in (Team, TeamMember, TeamInvite)] == [0, 0, 0]
    assert act(teams.create, competition, "bob", name="Lovelace").name == "Lovelace"


def test_team_with_a_counting_file_cannot_be_left(together, act, service, roster):
    competition = together("bob")
    act(teams.create, competition, "cleo", name="Cleos")
    link = act(invitations.make_link, competition, "cleo")
    sent = service.submit(competition, user="ada", after=DAY)
    for name in ("ada", "bob"):
        with refused("team_has_submitted"):
            act(teams.leave, competition, name)
        with refused("already_in_team"):
            act(teams.create, competition, name, name="Next")
        with refused("team_has_submitted"):
            act(invitations.accept_link, competition, name, token=link)
    assert roster(competition, "ada") == ["ada", "bob"]
    reject(service, sent)  # a rejected file does not count
    act(teams.leave, competition, "bob")
    act(invitations.accept_link, competition, "bob", token=link)
    assert roster(competition, "bob") == ["cleo", "bob"]


def test_team_that_was_left_with_rejected_files_keeps_its_limit_but_not_its_name(together, act, service):
    competition = together(max_hourly_rejections=2)
    reject(service, *(service.submit(competition, user="ada") for _ in range(2)))
    act(teams.leave, competition, "ada")
    act(teams.create, competition, "bob", name="Lovelace")
    with service.database.read() as session:
        (former,) = session.scalars(select(Team.name).where(Team.name.contains("Former")))
    with refused("unknown_team"):
        act(mergers.request, competition, "bob", name=former)
    act(teams.create, competition, "ada", name="Again")
    with refused("too_many_rejections"):
        service.submit(competition, user="ada")


def test_disqualified_team_keeps_its_members(together, act, service):
    competition = together("bob")
    link = act(invitations.make_link, competition, "ada")

    def decide(decision, **given):
        with service.database.write() as session:
            how = {"actor": Actor(None, "tests"), "now": service.now}
            decision(acting.begin(session, competition=competition, **how), team="Lovelace", **given)

    decide(decisions.disqualify, reason="Copied.")
    act(teams.create, competition, "cleo", name="Cleos")
    token = act(invitations.make_link, competition, "cleo")
    for attempt in (
        lambda: act(teams.leave, competition, "bob"),
        lambda: act(teams.leave, competition, "ada"),
        lambda: act(invitations.accept_link, competition, "ada", token=token),
        lambda: act(invitations.accept_link, competition, "dan", token=link),
    ):
        with refused("disqualified", match="Lovelace"):
            attempt()
    decide(decisions.reinstate)
    act(teams.leave, competition, "ada")


def test_new_link_replaces_the_old_one_and_a_revoked_one_is_invalid(together, act, service):
    competition = together()
    old = act(invitations.make_link, competition, "ada")
    new = act(invitations.make_link, competition, "ada")
    with service.database.read() as session:
        assert all(each.token_sha256 not in (old, new) for each in session.scalars(select(TeamInvite)))
    with refused("unknown_invitation"):
        act(invitations.accept_link, competition, "bob", token=old)
    with refused("unknown_invitation"):
        act(invitations.accept_link, service.competition("other"), "bob", token=new)
    act(invitations.accept_link, competition, "bob", token=new)
    act(invitations.revoke_link, competition, "ada")
    for token in (new, "", "guessed", "\ud800"):
        with refused("unknown_invitation"):
            act(invitations.accept_link, competition, "cleo", token=token)


def test_own_team_without_others_or_submissions_is_replaced_by_another(together, act, roster, service):
    competition = together()
    act(teams.create, competition, "bob", name="Bobs")
    token = act(invitations.make_link, competition, "ada")
    act(invitations.accept_link, competition, "bob", token=token)
    assert roster(competition, "ada") == ["ada", "bob"]
    assert count(service) == 1
    with refused("already_in_team"):
        act(invitations.accept_link, competition, "bob", token=token)


def test_teams_can_grow_until_the_merger_deadline_and_shrink_until_the_close(together, act, service):
    competition = together("bob", closes_at=service.now + 30 * DAY)
    token = act(invitations.make_link, competition, "ada")
    with refused("unknown_invitation"):
        act(invitations.accept_link, competition, "cleo", token=token, after=23 * DAY)
    with refused("teams_frozen"):
        act(invitations.make_link, competition, "ada", after=23 * DAY)
    with refused("teams_frozen"):
        act(teams.leave, competition, "bob", after=30 * DAY)
    act(teams.leave, competition, "bob", after=29 * DAY)


@pytest.mark.both_databases
def test_only_one_of_four_users_gets_the_last_slot(together, act, service, roster):
    competition = together(max_team_size=2)
    token = act(invitations.make_link, competition, "ada")
    people = [service.user(name) for name in ("bob", "cleo", "dan", "eve")]
    enter = partial(act, invitations.accept_link, competition, token=token)
    answers = race(*(partial(enter, who.name) for who in people))
    assert [is_refusal(each, "team_full") for each in answers].count(True) == 3
    assert len(roster(competition, "ada")) == 2


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
    assert [is_refusal(each, "must_leave") for each in answers].count(True) == 1
    assert len(roster(competition, "cleo")) == 2


@pytest.mark.both_databases
def test_first_upload_and_leaving_at_once_keep_each_file_with_a_member(together, act, service, roster):
    competition = together("bob")
    answers = race(lambda: service.submit(competition), lambda: act(teams.leave, competition, "bob"))
    stays = is_refusal(answers[1], "team_has_submitted")
    assert (not isinstance(answers[0], Exception), roster(competition, "ada")) == (
        True, ["ada", "bob"] if stays else ["ada"],
    )  # fmt: skip
