"""API: join a competition, and read one's own team."""

from typing import Any

from flask import g

from grader import db
from grader.models import Competition, User
from grader.services.accounts.api_tokens import Scope
from grader.services.quotas import limits
from grader.services.submissions import selections
from grader.services.teams import given_names, memberships, participations
from webapp.http import lookups
from webapp.http.api import blueprint
from webapp.http.operations import operation
from webapp.http.site import current_site
from webapp.submissions.answers import allowance, selection
from webapp.teams import answers
from webapp.teams.answers import Entry, EntryAndTeam, JoinRequest

TAG = "teams"


@blueprint.post("/competitions/<slug>/join")
@operation(Scope.SUBMIT, answers=Entry, tag=TAG)
def join(slug: str, json: JoinRequest) -> Entry:
    """Join, ask to join, or accept the rules again; who has joined stays so."""
    with current_site().database.write() as session:
        participations.join(
            session,
            competition=lookups.competition_of(session, slug),
            user=g.user,
            accepted_rules_version=json.accepted_rules_version,
            code=json.code,
        )
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        membership = memberships.of_person(session, competition=competition, user=g.user, now=db.now(session))
    return answers.entry(membership)


@blueprint.get("/competitions/<slug>/team")
@operation(Scope.READ, answers=EntryAndTeam, tag=TAG)
def team(slug: str) -> EntryAndTeam:
    """Return the person's entry, team, submissions left and selection in a competition."""
    with current_site().database.read() as session:
        return _team(session, lookups.competition_of(session, slug), g.user)


def _team(session: Any, competition: Competition, user: User) -> EntryAndTeam:
    now = db.now(session)
    membership = memberships.of_person(session, competition=competition, user=user, now=now)
    own = membership.own.team if membership.own else None
    named = given_names.given(session, competition=competition, team=own) if own else None
    left = limits.allowance(session, competition=competition, team=own, now=now)
    choice = selections.would_count(session, competition=competition, team=own) if own else None
    return EntryAndTeam(
        **answers.entry_fields(membership),
        team=answers.team(membership.own, named=named) if membership.own else None,
        limits=allowance(left),
        selection=selection(choice) if choice else None,
    )
