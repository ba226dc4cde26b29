"""Aliases of teams: viewers, leaderboards, mergers, profiles, final standings."""

from datetime import timedelta

import pytest
from sqlalchemy import select

from grader.models import Competition, Mail, Team
from grader.services.competitions import phases
from grader.services.leaderboards import team_results
from grader.services.leaderboards.board import BoardRequest, board_of
from grader.services.teams import mergers, team_search, waiting
from grader.visibility import Anonymity, Phase, Viewer
from tests.fixtures.refusals import refused

pytestmark = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)

NAMES = ("ada", "bob", "cleo")


@pytest.fixture
def make(service):
    """A competition with three teams, of which ada's is the best."""

    def competition(anonymity: Anonymity = Anonymity.UNTIL_REVEAL) -> Competition:
        made = service.competition(
            anonymity=anonymity,
            closes_at=service.now + timedelta(days=30),
            merger_deadline=service.now + timedelta(days=20),
        )
        for number, name in enumerate(NAMES):
            service.score(service.submit(made, user=name, seed=number, skill=1 - number / 10))
        return service.reload(made)

    return competition


def aliases(service):
    with service.database.read() as session:
        return dict(session.execute(select(Team.name, Team.alias)).all())


def rows(service, competition, viewer=Viewer.PUBLIC, own="", **options):
    with service.database.read() as session:
        own_id = session.scalar(select(Team.id).where(Team.name == own)) if own else None
        who = {"viewer": viewer, "own_team_id": own_id, "phase": phases.phase(competition, service.now)}
        found = board_of(session, competition=competition, request=BoardRequest(**options), **who)
        return [(row.team, row.alias, row.members) for row in found.rows]


def test_only_organizers_and_the_team_itself_see_its_name(service, make):
    competition, known = make(), aliases(service)
    assert len(set(known.values())) == 3
    hidden = {name: (known[name], "", ()) for name in NAMES}
    named = {name: (name, known[name], (name,)) for name in NAMES}
    assert rows(service, competition) == list(hidden.values())
    assert rows(service, competition, Viewer.ORGANIZER) == list(named.values())
    shown = rows(service, competition, Viewer.PARTICIPANT, own="bob")
    assert shown == [hidden["ada"], named["bob"], hidden["cleo"]]
    service.reveal(competition)
    assert rows(service, service.reload(competition)) == [(name, "", (name,)) for name in NAMES]


def test_search_and_order_use_the_names_that_the_viewer_sees(service, make):
    competition, known = make(), aliases(service)
    by_alias = sorted(known.values(), key=str.casefold)
    assert [row[0] for row in rows(service, competition, sort="team")] == by_alias
    assert [row[0] for row in rows(service, competition, Viewer.ORGANIZER, sort="team")] == list(NAMES)
    assert rows(service, competition, search="bob") == []
    assert [row[0] for row in rows(service, competition, search=known["bob"])] == [known["bob"]]
    with service.database.read() as session:
        found = team_search.find(session, competition=competition, text=known["bob"].lower())
        assert [each.team.name for each in found.rows] == ["bob"]


@pytest.mark.parametrize("anonymity", [Anonymity.UNTIL_REVEAL, Anonymity.ALWAYS])
def test_an_award_names_a_team_and_its_members_unless_they_stay_hidden(service, make, anonymity):
    competition = service.reveal(make(anonymity))
    with service.database.read() as session:
        ada = session.scalars(select(Team).where(Team.name == "ada")).one()
        given = {"competition": competition, "team_id": ada.id, "phase": Phase.REVEALED}
        (award,) = team_results.awards(session, **given)
    is_hidden = anonymity is Anonymity.ALWAYS
    assert (award.team, award.members) == ((ada.alias, ()) if is_hidden else ("ada", ("ada",)))


def test_teams_merge_by_alias_and_learn_names_from_the_merger(service, make, act):
    competition, known = make(), aliases(service)
    service.verify_addresses(*NAMES)
    with refused("unknown_team"):
        act(mergers.request, competition, "bob", name="ada")
    asked = act(mergers.request, competition, "bob", name=known["ada"].lower())
    with service.database.read() as session:
        (item,) = waiting.requests(session, user=service.user("ada"), now=service.now)
        assert (item.team, item.person) == (known["bob"], None)
        letter = session.scalars(select(Mail).where(Mail.key.contains("merge-asked"))).one()
        assert "bob" not in f"{letter.subject}{letter.body}"
        assert known["bob"] in letter.subject
    assert act(mergers.accept, competition, "ada", request_id=asked.id).name == "bob"
