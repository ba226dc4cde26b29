"""API: join a competition, and everything about one's own team."""

from collections.abc import Callable
from typing import Any

from flask import g

from grader import db
from grader.models import Competition, User
from grader.services.accounts.api_tokens import Scope
from grader.services.limits import limits
from grader.services.people import names
from grader.services.submissions import selections
from grader.services.teams import (
    invitations,
    memberships,
    mergers,
    participations,
    rosters,
    teams,
)
from webapp.http import hosts, lookups
from webapp.http.api import blueprint
from webapp.http.operations import operation
from webapp.http.site import current_site
from webapp.submissions.answers import allowance, selection
from webapp.teams import answers
from webapp.teams.answers import (
    Entry,
    EntryAndTeam,
    Invitation,
    InvitingTeam,
    JoinRequest,
    MergerOutlook,
    Named,
    TeamLink,
)

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
            code=json.code or "",
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


@blueprint.post("/competitions/<slug>/team")
@operation(Scope.SUBMIT, answers=EntryAndTeam, status=201, tag=TAG, creates=True)
def create_team(slug: str, json: Named) -> tuple[EntryAndTeam, int]:
    """Make a team."""
    return _act(slug, teams.create, name=json.name), 201


@blueprint.post("/competitions/<slug>/team/name")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def rename_team(slug: str, json: Named) -> EntryAndTeam:
    """Give the team another name."""
    return _act(slug, teams.rename, name=json.name)


@blueprint.post("/competitions/<slug>/team/leader")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def hand_over_team(slug: str, json: Named) -> EntryAndTeam:
    """Let another member lead, by name; only that person can make you the leader again."""
    with current_site().database.read() as session:
        to = names.get_user(session, name=json.name)
    return _act(slug, teams.hand_over, to_user_id=to.id)


@blueprint.post("/competitions/<slug>/team/leave")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def leave_team(slug: str) -> EntryAndTeam:
    """Leave the team."""
    return _act(slug, teams.leave)


@blueprint.post("/competitions/<slug>/team/link")
@operation(Scope.SUBMIT, answers=TeamLink, status=201, tag=TAG, creates=True, shows_secret=True)
def make_team_link(slug: str) -> tuple[TeamLink, int]:
    """Make a link that lets its holder join the team; an earlier one ends."""
    made: list[str] = []
    _act(slug, lambda **given: made.append(invitations.make_link(**given)))
    return TeamLink(token=made[0], url=hosts.link("teams.invitation", slug=slug, token=made[0])), 201


@blueprint.delete("/competitions/<slug>/team/link")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def revoke_team_link(slug: str) -> EntryAndTeam:
    """Make the team's link useless."""
    return _act(slug, invitations.revoke_link)


@blueprint.get("/competitions/<slug>/team/link/<token>")
@operation(Scope.READ, answers=InvitingTeam, tag=TAG)
def team_of_link(slug: str, token: str) -> InvitingTeam:
    """Return into which team a link invites, and who made it."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        found = invitations.open_link(session, competition=competition, token=token, now=db.now(session))
        members = rosters.members(session, team=found.team)
        return InvitingTeam(
            name=found.team.name,
            members=[each.user.name for each in members],
            invited_by=found.created_by.name,
        )


@blueprint.post("/competitions/<slug>/team/link/<token>")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def accept_team_link(slug: str, token: str) -> EntryAndTeam:
    """Join the team of a link."""
    return _act(slug, invitations.accept_link, token=token)


@blueprint.post("/competitions/<slug>/team/invitations")
@operation(Scope.SUBMIT, answers=EntryAndTeam, status=201, tag=TAG, creates=True)
def invite_to_team(slug: str, json: Named) -> tuple[EntryAndTeam, int]:
    """Invite a person into the team by name."""
    return _act(slug, invitations.invite, name=json.name), 201


@blueprint.post("/competitions/<slug>/team/invitations/<int:invite_id>/<any(accept, decline, withdraw):verb>")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def answer_team_invitation(slug: str, invite_id: int, verb: str) -> EntryAndTeam:
    """Accept, decline or withdraw an invitation."""
    acts = {"accept": invitations.accept, "decline": invitations.decline, "withdraw": invitations.withdraw}
    return _act(slug, acts[verb], invite_id=invite_id)


@blueprint.post("/competitions/<slug>/team/mergers")
@operation(Scope.SUBMIT, answers=EntryAndTeam, status=201, tag=TAG, creates=True)
def ask_to_merge(slug: str, json: Named) -> tuple[EntryAndTeam, int]:
    """Ask the leader of another team, by the team's name, to merge."""
    return _act(slug, mergers.request, name=json.name), 201


@blueprint.get("/competitions/<slug>/team/mergers/<int:request_id>")
@operation(Scope.READ, answers=MergerOutlook, tag=TAG)
def merger_outlook(slug: str, request_id: int) -> MergerOutlook:
    """Return what accepting a merge request would do."""
    with current_site().database.write() as session:  # it locks, as accepting does
        competition = lookups.competition_of(session, slug)
        found = mergers.outlook(session, competition=competition, user=g.user, request_id=request_id)
    return MergerOutlook.model_validate(found)


@blueprint.post("/competitions/<slug>/team/mergers/<int:request_id>/<any(accept, refuse, withdraw):verb>")
@operation(Scope.SUBMIT, answers=EntryAndTeam, tag=TAG)
def answer_merger(slug: str, request_id: int, verb: str) -> EntryAndTeam:
    """Accept, refuse or withdraw a merge request; teams that are merged stay so."""
    acts = {"accept": mergers.accept, "refuse": mergers.refuse, "withdraw": mergers.withdraw}
    return _act(slug, acts[verb], request_id=request_id)


def _act(slug: str, act: Callable[..., object], **given: Any) -> EntryAndTeam:
    """Let the person do something with a team, and return how they stand then."""
    site = current_site()
    with site.database.write() as session:
        act(session=session, competition=lookups.competition_of(session, slug), user=g.user, **given)
    with site.database.read() as session:
        return _team(session, lookups.competition_of(session, slug), g.user)


def _team(session: Any, competition: Competition, user: User) -> EntryAndTeam:
    now = db.now(session)
    membership = memberships.of_person(session, competition=competition, user=user, now=now)
    own = membership.own.team if membership.own else None
    left = limits.allowance(session, competition=competition, team=own, now=now)
    choice = selections.would_count(session, competition=competition, team=own, now=now) if own else None
    return EntryAndTeam(
        **answers.entry_fields(membership),
        team=answers.team(membership.own) if membership.own else None,
        limits=allowance(left),
        invitations=[Invitation(id=each.id, team=each.team.name) for each in membership.invitations],
        selection=selection(choice) if choice else None,
    )
