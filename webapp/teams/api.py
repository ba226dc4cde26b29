"""API: join a competition, and read one's own team."""

from typing import Any

from flask import g
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, User
from grader.services.quotas import limits
from grader.services.submissions import selections
from grader.services.teams import given_names, memberships, participations
from webapp.http import lookups
from webapp.http.api import blueprint
from webapp.http.parameters import SentFields
from webapp.http.site import current_site
from webapp.submissions.allowance import AllowanceView
from webapp.submissions.views import choice_json
from webapp.teams.views import entry_json, team_json


@blueprint.post("/competitions/<slug>/join")
def join(slug: str) -> ResponseReturnValue:
    """Let the person join, ask to join, or accept the rules again; who has joined stays so."""
    sent = SentFields()
    accepted, code = sent.number("accepted_rules_version"), sent.text("code")
    with current_site().database.write() as session:
        participations.join(
            session,
            competition=lookups.competition_of(session, slug),
            user=g.user,
            accepted_rules_version=accepted,
            code=code,
        )
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        membership = memberships.of_person(session, competition=competition, user=g.user, now=db.now(session))
    return entry_json(membership)


@blueprint.get("/competitions/<slug>/team")
def team(slug: str) -> ResponseReturnValue:
    """Return the person's entry, team, submissions left and selection in a competition."""
    with current_site().database.read() as session:
        return _team(session, lookups.competition_of(session, slug), g.user)


def _team(session: Any, competition: Competition, user: User) -> dict[str, Any]:
    now = db.now(session)
    membership = memberships.of_person(session, competition=competition, user=user, now=now)
    own = membership.own.team if membership.own else None
    named = given_names.given(session, competition=competition, team=own) if own else None
    allowance = limits.allowance(session, competition=competition, team=own, now=now)
    choice = selections.would_count(session, competition=competition, team=own) if own else None
    return {
        **entry_json(membership),
        "team": team_json(membership.own, named=named) if membership.own else None,
        "limits": AllowanceView(allowance).as_json(),
        "selection": choice_json(choice) if choice else None,
    }
