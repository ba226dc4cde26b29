"""API for a user's entry, team and pending requests."""

from typing import Any

from flask import g

from grader import db
from grader.models import Competition, User
from grader.services.competitions import acting
from grader.services.identity.api_tokens import Scope
from grader.services.submissions import selections
from grader.services.teams import invitations, limits, memberships, mergers, rosters
from grader.services.teams.waiting import WaitingKind
from webapp.http import open_requests
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading, writing
from webapp.http.fields import Answer, Moment
from webapp.submissions.answers import allowance, selection
from webapp.teams import answers
from webapp.teams.answers import EntryAndTeam, InvitingTeam, MergerOutlook

TAG = "teams"


@blueprint.get("/competitions/<slug>/team")
@operation(Scope.READ, answers=EntryAndTeam, tag=TAG)
def team(slug: str) -> EntryAndTeam:
    """Return the user's entry, team, remaining submissions and selection in a competition."""
    with reading() as session:
        return entry_and_team(session, competition_of(session, slug), g.user)


@blueprint.get("/competitions/<slug>/team/link/<token>")
@operation(Scope.READ, answers=InvitingTeam, tag=TAG)
def team_of_link(slug: str, token: str) -> InvitingTeam:
    """Return the team of an invitation link, and the link's creator."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = invitations.open_link(session, competition=competition, token=token, now=db.now(session))
        members = rosters.members(session, team=found.team)
        return InvitingTeam(
            name=found.team.name,
            members=[each.user.name for each in members],
            invited_by=found.created_by.name,
        )


@blueprint.get("/competitions/<slug>/team/mergers/<int:request_id>")
@operation(Scope.READ, answers=MergerOutlook, tag=TAG)
def merger_outlook(slug: str, request_id: int) -> MergerOutlook:
    """Return the effects that accepting a merge request would have."""
    with writing() as session:  # the function locks rows, as accepting a request does
        competition = competition_of(session, slug)
        found = mergers.outlook(acting.as_person(session, competition, g.user), request_id=request_id)
    return MergerOutlook.model_validate(found)


def entry_and_team(session: Any, competition: Competition, user: User) -> EntryAndTeam:
    """Return a user's entry, team, remaining submissions and selection."""
    now = db.now(session)
    membership = memberships.of_person(session, competition=competition, user=user, now=now)
    own = membership.own.team if membership.own else None
    left = limits.allowance(session, competition=competition, team=own, now=now)
    choice = selections.would_count(session, competition=competition, team=own, now=now) if own else None
    return EntryAndTeam(
        **answers.entry_fields(membership),
        team=answers.team(membership.own, competition) if membership.own else None,
        limits=allowance(left),
        selection=selection(choice) if choice else None,
    )


TAG = "teams"


class WaitingItem(Answer):
    """An open request, or `count` requests to join; `team` and `person` sent the request."""

    kind: WaitingKind
    competition: str
    count: int
    team: str | None
    person: str | None
    since: Moment


class WaitingList(Answer):
    """The open requests, oldest first."""

    waiting: list[WaitingItem]


@blueprint.get("/waiting")
@operation(Scope.READ, answers=WaitingList, tag=TAG)
def waiting_list() -> WaitingList:
    """List open requests: merge requests, and requests to join for organizers."""
    return WaitingList(
        waiting=[
            WaitingItem(
                kind=item.kind,
                competition=item.slug,
                count=item.count,
                team=item.team or None,
                person=item.person or None,
                since=item.since,
            )
            for item in open_requests.items()
        ]
    )
