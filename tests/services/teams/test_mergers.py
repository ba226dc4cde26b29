"""Team mergers: Kaggle's limit rule, deadlines, combined usage, races."""

from datetime import timedelta
from functools import partial

import pytest
from sqlalchemy import func, select

from grader.models import (
    MergeRequest,
    RequestState,
    Split,
    Standing,
    Submission,
    Team,
    TeamMember,
)
from grader.services.competitions import lookup
from grader.services.competitions.acting import Act
from grader.services.leaderboards.board import board_of
from grader.services.submissions import accepting
from grader.services.submissions.situation import SentFile
from grader.services.teams import grants, invitations, limits, mergers, rosters, teams
from tests.fixtures.races import race
from tests.fixtures.refusals import is_refusal, refused

DAY = timedelta(days=1)
HOUR = timedelta(hours=1)


@pytest.fixture
def send(service):
    """Accept a user's file without scoring it."""
    count = iter(range(10_000))

    def accept(competition, user: str, *, after=timedelta(), key: str | None = None) -> Submission:
        who = service.user(user)
        with service.database.write() as session:
            return accepting.accept(
                session,
                competition=competition,
                user=who,
                file=SentFile(f"{next(count):064}", 10, idempotency_key=key),
                file_name="a.csv",
                now=None if after is None else service.now + after,
            ).submission

    return accept


@pytest.fixture
def merge(act):
    """Merge the team of one user into the team of another."""

    def call(competition, by: str, taken: str, *, after=timedelta()) -> Team:
        request = act(mergers.request, competition, by, name=f"Team {taken}", after=after)
        merged: Team = act(mergers.accept, competition, taken, request_id=request.id, after=after)
        return merged

    return call


@pytest.fixture
def scene(service, act):
    """Create a competition with one-person teams."""

    def make(*names: str, **options):
        competition = service.competition(**options)
        for name in names or ("ada", "bob"):
            act(teams.create, competition, name, name=f"Team {name}")
        return competition

    return make


def allowance(service, competition, user, *, after=timedelta()):
    with service.database.read() as session:
        team = rosters.find_team(session, competition=competition, user=service.user(user))
        return limits.allowance(session, competition=competition, team=team, now=service.now + after)


def test_merge_combines_members_submissions_selections_and_slots(service, scene, act, send, merge):
    competition = scene(selection_count=1, max_daily_submissions=3)
    sent = [send(competition, name, after=place * HOUR) for place, name in enumerate(("ada", "bob", "bob"))]
    with service.database.write() as session:
        for each in sent[:2]:
            session.get_one(Submission, each.id).is_selected = True
    team = merge(competition, "ada", "bob")
    assert team.name == "Team ada"
    with service.database.read() as session:
        assert [each.user.name for each in rosters.members(session, team=team)] == ["ada", "bob"]
        assert set(session.scalars(select(Submission.team_id))) == {team.id}
        # This exceeds the selection limit, which is allowed until the team changes its selection.
        assert session.scalar(select(func.count()).where(Submission.is_selected)) == 2
        taken = session.scalars(select(Team).where(Team.name == "Team bob")).one()
        assert (taken.merged_into_id, taken.leader_id) == (team.id, None)
    used = allowance(service, competition, "bob")
    assert (used.used_today, used.used_total, used.left_today) == (3, 3, 0)


def test_teams_can_merge_once_one_team_could_have_submitted_as_many_files(service, scene, act, send, merge):
    competition = scene(max_daily_submissions=2)
    for name, count in (("ada", 2), ("bob", 1)):
        for _ in range(count):
            send(competition, name)
    with refused("too_many_submissions", match=r"used 3 submissions\. One team could have used at most 2"):
        merge(competition, "ada", "bob")
    midnight = timedelta(hours=12)  # The fixed time is noon.
    with refused("too_many_submissions"):
        merge(competition, "ada", "bob", after=midnight - timedelta(microseconds=1))
    merge(competition, "ada", "bob", after=midnight)


def test_sum_is_checked_again_when_the_request_is_accepted(scene, act, send):
    competition = scene(max_daily_submissions=1)
    send(competition, "ada")
    request = act(mergers.request, competition, "ada", name="Team bob")
    send(competition, "bob")
    with refused("too_many_submissions"):
        act(mergers.accept, competition, "bob", request_id=request.id)
    act(mergers.accept, competition, "bob", request_id=request.id, after=DAY)


@pytest.mark.parametrize("order", [("bob", "ada", "cleo", "bob"), ("ada", "bob", "ada", "cleo")])
def test_extra_submissions_follow_every_merger(service, scene, act, send, merge, order):
    competition = scene("ada", "bob", "cleo", max_daily_submissions=1)

    def grant(act: Act, name: str) -> None:
        team = rosters.find_by_name(act.session, competition=act.competition, name=name)
        grants.grant(act, team=team, day=act.now.date(), count=2, reason="Lost files.")

    act(grant, competition, "ada", name="Team ada")
    for _ in range(3):
        send(competition, "ada")
    taken, into, second_taken, last = order[1], order[0], order[3], order[2]
    merge(competition, into, taken)
    merge(competition, last, second_taken)
    used = allowance(service, competition, "ada")
    assert (used.max_daily, used.granted_today, used.left_today) == (3, 2, 0)
    with service.database.read() as session:
        team = rosters.find_team(session, competition=competition, user=service.user("bob"))
        listed = grants.list_newest(session, competition=competition, team=team)
    assert [(each.count, each.team_id) for each in listed] == [(2, team.id)]


def test_merged_team_must_not_exceed_the_maximum_size(service, scene, act, merge):
    competition = scene(max_team_size=2)
    token = act(invitations.make_link, competition, "bob")
    act(invitations.accept_link, competition, "cleo", token=token)
    with refused("too_many_members", match=r"have 3 members\. A team in this competition can have at most 2"):
        merge(competition, "ada", "bob")


def test_mergers_end_with_their_deadline(service, scene, act):
    competition = scene(closes_at=service.now + 20 * DAY, merger_deadline=service.now + 2 * DAY)
    tick = timedelta(microseconds=1)
    with refused("teams_frozen"):
        act(mergers.request, competition, "ada", name="Team bob", after=2 * DAY)
    request = act(mergers.request, competition, "ada", name="Team bob", after=2 * DAY - tick)
    with refused("teams_frozen"):
        act(mergers.accept, competition, "bob", request_id=request.id, after=2 * DAY)
    act(mergers.accept, competition, "bob", request_id=request.id, after=2 * DAY - tick)


def test_only_leaders_can_request_accept_decline_and_withdraw(service, scene, act):
    competition = scene()
    for leader, member in (("ada", "cleo"), ("bob", "dan")):
        token = act(invitations.make_link, competition, leader)
        act(invitations.accept_link, competition, member, token=token)
    with refused("not_leader"):
        act(mergers.request, competition, "cleo", name="Team bob")
    request = act(mergers.request, competition, "ada", name="team BOB")
    for function, member, stranger in (
        (mergers.accept, "dan", "ada"),
        (mergers.refuse, "dan", "ada"),
        (mergers.withdraw, "cleo", "bob"),
    ):
        with refused("not_leader"):
            act(function, competition, member, request_id=request.id)
        with refused("unknown_merge_request"):
            act(function, competition, stranger, request_id=request.id)


@pytest.mark.parametrize(
    ("end", "by", "state"),
    [(mergers.refuse, "bob", RequestState.REFUSED), (mergers.withdraw, "ada", RequestState.WITHDRAWN)],
)
def test_ended_request_cannot_be_accepted_but_can_be_repeated(scene, act, end, by, state):
    competition = scene()
    request = act(mergers.request, competition, "ada", name="Team bob")
    with refused("already_asked"):
        act(mergers.request, competition, "bob", name="Team ada")
    assert act(end, competition, by, request_id=request.id).state is state
    with refused("unknown_merge_request"):
        act(mergers.accept, competition, "bob", request_id=request.id)
    assert act(mergers.request, competition, "ada", name="Team bob").id != request.id


def test_merge_with_own_nonexistent_or_merged_team_is_rejected(service, scene, act, merge):
    competition = scene("ada", "bob", "cleo")
    merge(competition, "ada", "bob")
    for name in ("Team ada", "Nobody", "Team bob", "\ud800", ""):
        with refused("unknown_team"):
            act(mergers.request, competition, "ada", name=name)
    with refused("team_name_taken"):  # The merged team keeps its name.
        act(teams.rename, competition, "cleo", name="Team bob")


def test_disqualified_team_cannot_merge(service, scene, act):
    competition = scene()
    with service.database.write() as session:
        team = session.scalars(select(Team).where(Team.name == "Team bob")).one()
        team.disqualified_at = service.now
    for asking, other in (("ada", "bob"), ("bob", "ada")):
        with refused("disqualified", match="Team bob"):
            act(mergers.request, competition, asking, name=f"Team {other}")


def test_other_requests_and_invitations_of_the_merged_team_end(scene, act, service):
    competition = scene("ada", "bob", "cleo", "dan")
    to_bob = act(mergers.request, competition, "cleo", name="Team bob")
    of_bob = act(mergers.request, competition, "bob", name="Team dan")
    token = act(invitations.make_link, competition, "bob")
    request = act(mergers.request, competition, "ada", name="Team bob")
    act(mergers.accept, competition, "bob", request_id=request.id)
    with service.database.read() as session:
        states = {each.id: each.state for each in session.scalars(select(MergeRequest))}
    assert states == {
        request.id: RequestState.ACCEPTED,
        to_bob.id: RequestState.REFUSED,
        of_bob.id: RequestState.WITHDRAWN,
    }
    with refused("unknown_invitation"):
        act(invitations.accept_link, competition, "eve", token=token)


def test_same_idempotency_key_of_both_teams_does_not_prevent_a_merge(service, scene, send, merge):
    competition = scene()
    for name in ("ada", "bob"):
        send(competition, name, key="first")
        send(competition, name, key=f"second of {name}")
    team = merge(competition, "ada", "bob", after=DAY)
    with service.database.read() as session:
        kept = session.scalars(select(Submission.idempotency_key).where(Submission.team_id == team.id)).all()
    assert sorted(kept, key=str) == [None, "first", "second of ada", "second of bob"]


def test_better_entry_represents_both_teams_immediately(service, scene, act, merge):
    competition = scene("ada", "bob", "cleo")
    for name, skill in (("ada", 0.2), ("bob", 0.9), ("cleo", 0.5)):
        service.score(service.submit(competition, user=name, skill=skill))
    team = merge(competition, "ada", "bob", after=DAY)
    with service.database.read() as session:
        found = board_of(session, competition=service.reload(competition))
        rows = session.scalars(select(Standing).where(Standing.split == Split.PUBLIC)).all()
    assert [row.team for row in found.rows] == ["Team ada", "Team cleo"]
    assert [row.team_id for row in rows].count(team.id) == 1
    assert len(rows) == 2


def test_file_scored_after_the_merge_counts_for_the_merged_team(service, scene, merge):
    competition = scene()
    accepted = service.submit(competition, user="bob", skill=0.5)
    team = merge(competition, "ada", "bob")
    service.score(accepted)
    with service.database.read() as session:
        assert (
            session.scalars(select(Standing.team_id).where(Standing.split == Split.PUBLIC)).one() == team.id
        )


@pytest.mark.both_databases
def test_uploads_during_a_merge_exceed_no_limit_and_lose_no_file(service, scene, act, send):
    """In either order, the limits apply to each team before the merger and to the merged team afterwards."""
    competition = scene(max_daily_submissions=3)
    now = service.now
    request = act(mergers.request, competition, "ada", name="Team bob")
    with service.database.write() as session:  # The race uses the database's clock.
        lookup.lock(session, competition_id=competition.id).opens_at = now - DAY
    *answers, merged = race(
        *(partial(send, competition, name, after=HOUR) for name in ("ada", "bob") * 4),
        partial(act, mergers.accept, competition, "bob", request_id=request.id, after=HOUR),
    )
    with service.database.read() as session:
        rows = session.scalars(select(Submission)).all()
        members = session.scalar(select(func.count()).where(TeamMember.team_id == merged.id))
    taken = [each for each in answers if isinstance(each, Submission)]
    assert all(is_refusal(each, "daily_limit_reached") for each in answers if each not in taken), answers
    assert {row.id for row in rows} == {each.id for each in taken}
    assert {row.team_id for row in rows} == {merged.id}
    assert 3 <= len(rows) <= 6
    assert members == 2


@pytest.mark.both_databases
def test_only_one_of_two_simultaneous_merges_of_a_team_succeeds(service, scene, act):
    competition = scene("ada", "bob", "cleo")
    requests = [act(mergers.request, competition, name, name="Team bob") for name in ("ada", "cleo")]
    accept = partial(act, mergers.accept, competition, "bob")
    answers = race(*(partial(accept, request_id=request.id) for request in requests))
    assert [isinstance(each, Exception) for each in answers].count(True) == 1
    with service.database.read() as session:
        assert session.scalar(select(func.count()).where(Team.merged_into_id.is_not(None))) == 1


def test_a_merged_team_keeps_the_later_extension(service, scene, merge):
    competition = scene(closes_at=service.now + 30 * DAY)
    with service.database.write() as session:
        for name, days in (("ada", 31), ("bob", 32)):
            team = session.scalar(select(Team).where(Team.name == f"Team {name}"))
            team.extended_until = service.now + days * DAY
    assert merge(competition, "ada", "bob").extended_until == service.now + 32 * DAY
