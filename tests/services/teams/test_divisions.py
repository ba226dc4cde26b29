"""Divisions of teams: settings, assignment by groups, choice by leaders, assignment by organizers."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.errors import OrganizerError
from grader.models import AuditEntry, Split, Team
from grader.services.closing import close
from grader.services.competitions import lookup, settings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.leaderboards.ranks import Standings
from grader.services.site.log import Actor
from grader.services.teams import divisions, mergers, teams
from tests.fixtures.refusals import refused


def division_of(service, name):
    with service.database.read() as session:
        return session.scalars(select(Team.division).where(Team.name == name)).one()


def test_all_faults_are_reported_with_their_lines(service):
    with pytest.raises(InvalidCompetition) as error:
        service.competition(divisions="A\n\nB: C\na")
    assert all(fault in error.value.message for fault in ("line 2", "'B: C'", "line 3"))


def test_leaders_choose_until_the_close(service, act):
    competition = service.competition(divisions="Companies", closes_at=service.now + timedelta(days=1))
    act(teams.create, competition, "bob", name="Team bob")
    act(divisions.choose, competition, "bob", division="Companies")
    with refused("unknown_division"):
        act(divisions.choose, competition, "bob", division="Nobody")
    with refused("division_fixed"):
        act(divisions.choose, competition, "bob", division="Companies", after=timedelta(days=1))
    assert division_of(service, "Team bob") == "Companies"


def test_members_and_teams_of_organized_divisions_do_not_choose(service, act):
    competition = service.competition(divisions="A\nB", division_choice="organizers")
    act(teams.create, competition, "ada", name="Team ada")
    with refused("division_fixed"):
        act(divisions.choose, competition, "ada", division="A")
    free = service.competition("free", divisions="A\nB")
    act(teams.create, free, "bob", name="Team bob")
    act(teams.create, free, "eve", name="Team eve")
    request = act(mergers.request, free, "bob", name="Team eve")
    act(mergers.accept, free, "eve", request_id=request.id)
    with refused("not_leader"):
        act(divisions.choose, free, "eve", division="A")


@pytest.mark.parametrize(("into", "taken", "merged"), [("A", "B", "A"), (None, "B", "B"), ("A", None, "A")])
def test_a_merged_team_keeps_its_division(service, act, into, taken, merged):
    competition = service.competition(divisions="A\nB")
    for name, division in (("ada", into), ("bob", taken)):
        act(teams.create, competition, name, name=f"Team {name}")
        if division:
            act(divisions.choose, competition, name, division=division)
    request = act(mergers.request, competition, "ada", name="Team bob")
    act(mergers.accept, competition, "bob", request_id=request.id)
    assert (division_of(service, "Team ada"), division_of(service, "Team bob")) == (merged, None)


def test_organizers_assign_many_teams_or_none(service, act):
    competition = service.competition(divisions="A\nB")
    for name in ("ada", "bob"):
        act(teams.create, competition, name, name=f"Team {name}")
    whose = {"competition": competition, "actor": Actor(None, "organizer")}
    with refused("invalid_divisions") as error:
        service.act(divisions.assign_lines, **whose, text="Team ada,A\nTeam bob,C\nNobody,A\nTeam ada")
    assert [problem.split()[1].strip(":") for problem in error.value.problems] == ["2", "3", "4"]
    assert division_of(service, "Team ada") is None
    assert service.act(divisions.assign_lines, **whose, text='Team ada,A\n\n"team BOB", B\n') == 2
    assert service.act(divisions.assign_lines, **whose, text="Team ada,A\nTeam bob,") == 1
    assert (division_of(service, "Team ada"), division_of(service, "Team bob")) == ("A", None)
    with service.database.read() as session:
        changes = session.execute(
            select(AuditEntry.before, AuditEntry.after).where(AuditEntry.action == "team.divide")
        ).all()
    assert [(before["division"], after["division"]) for before, after in changes] == [
        (None, "A"),
        (None, "B"),
        ("B", None),
    ]


def test_a_division_with_teams_cannot_be_removed(service, act):
    competition = service.competition(divisions="A\nB")
    act(teams.create, competition, "ada", name="Team ada")
    act(divisions.choose, competition, "ada", division="A")
    change = {"competition": competition, "actor": Actor(None, "organizer")}
    with pytest.raises(InvalidCompetition, match="Teams belong to the division 'A'"):
        service.act(settings.change, **change, changes={"divisions": "a\nB"})
    service.act(settings.change, **change, changes={"divisions": "A\nC"})
    act(divisions.assign_lines, competition, "ada", text="Team ada,C")
    service.act(settings.change, **change, changes={"divisions": "C"})
    assert division_of(service, "Team ada") == "C"


def test_ranks_and_changes_inside_a_division_count_only_its_teams(service):
    competition = service.competition(divisions="A\nB", closes_at=service.now + timedelta(hours=1))
    for number, name in enumerate(("ada", "bob", "cyd", "dan")):
        service.score(service.submit(competition, user=name, seed=number, skill=0.9 - number / 5))
    service.act(divisions.assign_lines, competition=competition, text="ada,A\nbob,B\ncyd,B\ndan,B")
    service.act(close.settle, competition=competition, after=timedelta(days=1))
    with service.database.write() as session:
        found = lookup.get(session, slug=competition.slug)
        ids = {team.name: team.id for team in session.scalars(select(Team))}
        live = lookup.live(found).id
        session.get_one(Team, ids["dan"]).division = "A"
        inside = Standings(session, live, Split.PRIVATE, division="B")
        private = inside.ranks()
        whole = Standings(session, live, Split.PRIVATE).ranks_in_divisions()
        assert whole.items() > private.items() and len(whole) == 4
        assert private.keys() == {ids["bob"], ids["cyd"]}


@pytest.mark.both_databases
@pytest.mark.parametrize(("name", "left"), [("Students", ["Students", "B"]), ("B", ["B"])])
def test_a_division_with_teams_is_renamed_or_merged_into_another(service, act, name, left):
    competition = service.competition(divisions="A\nB")
    for leader, division in (("ada", "A"), ("bob", "B")):
        act(teams.create, competition, leader, name=f"Team {leader}")
        act(divisions.choose, competition, leader, division=division)
    assert service.act(divisions.rename, competition=competition, division="A", name=f" {name}") == 1
    assert (division_of(service, "Team ada"), division_of(service, "Team bob")) == (name, "B")
    assert service.reload(competition).divisions.splitlines() == left
    with refused("unknown_division"):
        service.act(divisions.rename, competition=competition, division="A", name="C")
    for wrong in ("", "x" * 65, "a:b", "\0"):
        with pytest.raises(OrganizerError):
            service.act(divisions.rename, competition=competition, division="B", name=wrong)
    assert division_of(service, "Team bob") == "B"
