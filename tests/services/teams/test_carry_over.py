"""Stages: the draft of a next stage, and the teams that are carried over to it."""

from dataclasses import astuple
from datetime import timedelta

import pytest
from sqlalchemy import select, update

from grader.files import read_solution
from grader.models import (
    AuditEntry,
    Competition,
    CompetitionState,
    EntryMode,
    Organizer,
    Role,
    Team,
    User,
)
from grader.services.competitions import acting, drafts, lifecycle, lookup, organizers
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.rescoring import versions
from grader.services.site.log import Actor
from grader.services.solutions import data_files as files
from grader.services.submissions import decisions
from grader.services.teams import carry_over, invitations, mergers, participations, rosters, teams
from grader.services.teams.participations import EntryState
from grader.visibility import Anonymity
from tests.fixtures import stored_solutions
from tests.fixtures.races import race
from tests.fixtures.refusals import refused
from tests.fixtures.service import write_solution

DAY = timedelta(days=1)
SHELL = Actor(None, "shell (tests)")


@pytest.fixture
def follow(service):
    """Create the next stage of a competition; publish it unless `is_draft`."""

    def make(competition: Competition, *, is_draft: bool = False, actor: Actor = SHELL, **changes):
        draft = service.act(drafts.next_stage, competition=competition, actor=actor)
        service.act(competition_settings.change, competition=draft, changes=changes, actor=SHELL)
        stored = stored_solutions.store_new(
            service.storage, read_solution(write_solution(seed=2)), split_key=b"k"
        )
        service.act(versions.set_first, competition=draft, solution=stored, actor=SHELL)
        if not is_draft:
            service.act(lifecycle.publish, competition=draft, actor=SHELL)
        return service.reload(draft)

    return make


def carry(service, stage, **given):
    with service.database.write() as session:
        lookup.lock(session, competition_id=stage.previous_stage_id)
        begun = acting.begin(session, competition=stage, actor=SHELL, now=service.now)
        return carry_over.carry_over(begun, **given)


def reasons(result):
    return [astuple(each) for each in result.skipped]


def entry_of(service, competition, name):
    with service.database.read() as session:
        known = participations.find(session, competition=competition, user=service.user(name))
        return participations.state(lookup.get(session, slug=competition.slug), known)


def test_next_stage_is_a_draft_with_the_same_settings_files_and_organizers(service):
    olga, vic = service.user("olga"), service.user("vic")
    competition = service.competition(rules="Be fair.", max_team_size=3, actor=Actor.of(olga))
    service.act(organizers.add, competition=competition, user=vic, role=Role.VIEWER, actor=SHELL)
    blob = service.storage.put(b"id,text\n")
    service.act(files.add, competition=competition, name="test.csv", blob=blob, actor=SHELL)
    made = service.act(drafts.next_stage, competition=competition, actor=Actor.of(olga))
    with service.database.read() as session:
        made = lookup.get(session, slug=made.slug)
        assert (made.state, made.slug) == (CompetitionState.DRAFT, "toxicity-stage-2")
        assert made.full_title == "Toxicity · Stage 2"
        assert made.previous_stage_id == competition.id
        assert lookup.get(session, slug="toxicity").next_stage_id == made.id
        assert (made.rules, made.max_team_size, made.closes_at) == ("Be fair.", 3, None)
        assert made.live_scoring_version is None
        roles = session.execute(
            select(Organizer.user_id, Organizer.role).where(Organizer.competition_id == made.id)
        )
        assert dict(roles.all()) == {olga.id: Role.OWNER, vic.id: Role.VIEWER}
        assert [each.name for each in files.list_all(session, competition=made)] == ["test.csv"]
        first = lookup.get(session, slug="toxicity")
        assert lookup.stages(session, competition=first) == [first, made]
        assert lookup.stages(session, competition=made) == [first, made]
    with pytest.raises(InvalidCompetition, match="already has"):
        service.act(drafts.next_stage, competition=competition, actor=SHELL)
    with pytest.raises(InvalidCompetition, match="Publish"):
        service.act(drafts.next_stage, competition=made, actor=SHELL)


@pytest.mark.both_databases
def test_all_teams_enter_with_members_leader_name_and_division(service, act, follow):
    competition = service.competition(rules="Be fair.", divisions="Students\nOthers")
    for name in ("ada", "bob", "cleo", "dan"):
        who = service.user(name)
        service.act(participations.join, competition=competition, user=who, accepted_rules_version=1)
    act(teams.create, competition, "ada", name="Lovelace")
    token = act(invitations.make_link, competition, "ada")
    act(invitations.accept_link, competition, "bob", token=token, after=timedelta(seconds=1))
    act(teams.hand_over, competition, "ada", to_user_id=service.user("bob").id)
    act(teams.create, competition, "cleo", name="Out")
    act(teams.create, competition, "dan", name="Dan")
    service.act(decisions.disqualify, competition=competition, team="Out", reason="Cheating.", actor=SHELL)
    with service.database.write() as session:
        session.execute(update(Team).where(Team.name == "Lovelace").values(division="Students"))
    stage = follow(competition, entry_mode=EntryMode.APPROVAL)
    result = carry(service, stage)
    assert (result.teams, result.skipped) == (["Lovelace", "Dan"], [])
    with service.database.read() as session:
        team = rosters.find_team(session, competition=stage, user=service.user("ada"))
        assert (team.name, team.leader_id, team.division) == ("Lovelace", service.user("bob").id, "Students")
        assert [each.user.name for each in rosters.members(session, team=team)] == ["ada", "bob"]
        original = session.get_one(Team, team.carried_from_id)
        assert (original.name, original.competition_id) == ("Lovelace", competition.id)
        entry = session.scalars(select(AuditEntry).where(AuditEntry.action == "team.carry_over")).one()
        assert entry.public_text == "The organizers carried 2 teams over from the previous stage."
    assert entry_of(service, stage, "ada") is EntryState.JOINED
    assert entry_of(service, stage, "cleo") is EntryState.OUTSIDE
    service.score(service.submit(stage, user="ada"))  # in approval mode, without another decision
    again = carry(service, stage)
    assert again.teams == []
    assert reasons(again) == [
        ("Lovelace", None, "already in this stage"),
        ("Dan", None, "already in this stage"),
    ]


def test_members_accept_the_rules_again_only_if_the_text_differs_or_they_had_not_accepted_it(
    service, act, follow
):
    competition = service.competition(rules="Be fair.")
    for name in ("ada", "bob"):
        who = service.user(name)
        service.act(participations.join, competition=competition, user=who, accepted_rules_version=1)
        act(teams.create, competition, name, name=name)
    changes = {"rules": "Be very fair."}
    service.act(competition_settings.change, competition=competition, changes=changes, actor=SHELL)
    bob = service.user("bob")
    service.act(participations.join, competition=competition, user=bob, accepted_rules_version=2)
    stage = follow(service.reload(competition))
    assert carry(service, stage).teams == ["ada", "bob"]
    assert entry_of(service, stage, "ada") is EntryState.RULES_CHANGED
    assert entry_of(service, stage, "bob") is EntryState.JOINED
    third = follow(stage, rules="Other rules.")
    carry(service, third)
    assert entry_of(service, third, "bob") is EntryState.RULES_CHANGED


def test_top_teams_need_a_revealed_leaderboard_and_follow_the_private_ranks(service, act, follow):
    competition = service.competition()
    for place, name in enumerate(("ada", "bob", "cleo"), 1):
        act(teams.create, competition, name, name=f"Team {name}")
        service.score(service.submit(competition, user=name, skill=3 / place))
    stage = follow(competition)
    with refused("not_carried", match="not revealed"):
        carry(service, stage, top=2)
    service.reveal(competition)
    assert carry(service, stage, top=2).teams == ["Team ada", "Team bob"]
    more = carry(service, stage, top=3)
    assert (more.teams, len(more.skipped)) == (["Team cleo"], 2)


def test_merged_teams_are_carried_once_and_a_merger_in_the_new_stage_is_kept(service, act, follow):
    competition = service.competition()
    for name in ("ada", "bob", "cleo"):
        act(teams.create, competition, name, name=name)
    request = act(mergers.request, competition, "ada", name="bob")
    act(mergers.accept, competition, "bob", request_id=request.id)
    stage = follow(competition)
    assert carry(service, stage).teams == ["ada", "cleo"]
    request = act(mergers.request, stage, "cleo", name="ada")
    act(mergers.accept, stage, "ada", request_id=request.id)
    assert carry(service, stage).teams == []


def test_people_and_names_that_are_already_in_the_stage_are_skipped_and_kept(service, act, follow):
    competition = service.competition(max_team_size=2)
    for name in ("ada", "bob", "cleo", "dan", "eve", "gus"):
        act(teams.create, competition, name, name=f"Team {name}")
    token = act(invitations.make_link, competition, "ada")
    act(invitations.accept_link, competition, "fay", token=token, after=timedelta(seconds=1))
    stage = follow(competition, max_team_size=1)
    act(teams.create, stage, "bob", name="Team cleo")
    service.act(participations.decide, competition=stage, user=service.user("dan"), admits=False, actor=SHELL)
    with service.database.write() as session:
        session.execute(update(User).where(User.name == "gus").values(suspended_at=service.now))
    result = carry(service, stage)
    assert result.teams == ["Team cleo (2)", "Team eve"]
    assert reasons(result) == [
        ("Team ada", None, "larger than 1 member"),
        ("Team bob", "bob", "already in a team of this stage"),
        ("Team bob", None, "no member can enter this stage"),
        ("Team dan", "dan", "not admitted to this stage"),
        ("Team dan", None, "no member can enter this stage"),
        ("Team gus", "gus", "suspended on this site"),
        ("Team gus", None, "no member can enter this stage"),
    ]


def test_teams_are_carried_to_published_stages_until_the_close(service, follow):
    competition = service.competition()
    with refused("not_carried", match="no previous stage"):
        service.act(carry_over.carry_over, competition=competition)
    draft = follow(competition, is_draft=True, closes_at=service.now + DAY)
    with refused("not_carried", match="Publish"):
        carry(service, draft)
    service.act(lifecycle.publish, competition=draft, actor=SHELL)
    carry(service, draft)
    with refused("teams_frozen"):
        service.act(carry_over.carry_over, competition=draft, after=2 * DAY)


@pytest.mark.both_databases
def test_carried_while_members_leave_and_the_same_request_runs_twice(service, act, follow):
    competition = service.competition()
    for name in ("ada", "bob", "cleo"):
        act(teams.create, competition, name, name=name)
    stage = follow(competition)
    results = race(
        lambda: carry(service, stage),
        lambda: act(teams.leave, competition, "bob"),
        lambda: carry(service, stage),
    )
    assert not [each for each in results if isinstance(each, Exception)]
    with service.database.read() as session:
        carried = session.scalars(select(Team.name).where(Team.competition_id == stage.id)).all()
        assert {"ada", "cleo"} <= set(carried)
        assert len(carried) == len(set(carried)) == len(results[0].teams) + len(results[2].teams)


def test_ids_of_carried_teams_do_not_tell_which_alias_had_which_name(service, act, follow):
    names = [f"p{number}" for number in range(12)]
    competition = service.competition(anonymity=Anonymity.ALWAYS)
    for name in names:
        act(teams.create, competition, name, name=f"Team {name}")
    stage = follow(competition, anonymity=Anonymity.NONE)
    carry(service, stage)
    with service.database.read() as session:
        here = select(Team.carried_from_id).where(Team.competition_id == stage.id).order_by(Team.id)
        carried = session.scalars(here).all()
    assert len(carried) == len(names)
    assert carried != sorted(carried)
