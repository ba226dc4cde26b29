"""The user's team and its invitation link (pages and API): members, mergers, certificate."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any

from flask import Blueprint
from pydantic import Field

from grader import models
from grader.models import Competition, MergeRequest
from grader.services.competitions import phases, team_names
from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.competitions.settings_model import division_names
from grader.services.identity import names
from grader.services.identity.api_tokens import Scope
from grader.services.leaderboards import team_results
from grader.services.leaderboards.score_history import unranked
from grader.services.submissions import selections
from grader.services.teams import divisions, invitations, limits, mergers, rosters, teams
from grader.services.teams.mergers import Sum
from grader.services.teams.waiting import Waiting
from grader.text import counted
from webapp.http import lookups
from webapp.http.confirmation import confirm
from webapp.http.context import competition_of
from webapp.http.fields import Answer, Confirmation, Sent, Text
from webapp.http.site import site_link
from webapp.submissions.api_models import Limits, Selection, selection
from webapp.surface import Access, Ask, Surface
from webapp.teams.entry import Entry

blueprint = Blueprint("teams", __name__, url_prefix="/competitions/<slug>")
TEAM = Surface(blueprint, tag="teams", role=Access.USER)


def _invited_to(session: Any, slug: str, **_: Any) -> Competition:
    """Return the competition of a link; unknown ones and drafts look like expired links."""
    try:
        return competition_of(session, slug)
    except UnknownCompetition:
        raise invitations.unknown() from None


LINK = replace(TEAM, role=Access.PUBLIC, acts=Access.USER, find=_invited_to)


class Named(Sent):
    """The name of a team or a user."""

    name: Text


class Divided(Sent):
    """The division of a team."""

    division: Text


class NewLeader(Named, Confirmation):
    """The name of a team's new leader."""


class MergeProposal(Answer):
    """An open merge request.

    `is_ours` is true if the current user's team sent it. `obstacle` is the reason why it cannot be accepted.
    The numbers are those of both teams together.
    """

    id: int
    team: str
    is_ours: bool
    obstacle: str | None
    member_count: Annotated[int, Field(description="The number of members of both teams together.")]
    used_total: int


class Team(Answer):
    """The user's team."""

    id: Annotated[int, Field(description="The team's id, the same as `team_id` on the leaderboard.")]
    name: str
    alias: str | None
    is_name_fixed: bool
    division: str | None
    leader: str | None
    is_leader: bool
    members: list[str]
    disqualified_because: str | None
    has_link: bool
    mergers: list[MergeProposal]


class TeamLink(Answer):
    """A link with which users can join the team; it is shown only once."""

    token: str
    url: str


class InvitingTeam(Answer):
    """The team of an invitation link, and the link's creator."""

    name: str
    members: list[str]
    invited_by: str


class EntryAndTeam(Entry):
    """A user's entry, team, remaining submissions, and current selection."""

    team: Team | None
    limits: Limits
    selection: Selection | None


@TEAM.read("/team", EntryAndTeam, endpoint="show", page="teams/show.html")
def team(ask: Ask) -> EntryAndTeam:
    """Return the user's entry, team, remaining submissions and selection in a competition."""
    session, competition, now = ask.session, ask.competition, ask.now
    own = rosters.find_team(session, competition=competition, user=ask.user)
    choice = selections.would_count(session, competition=competition, team=own, now=now) if own else None
    ask.shown |= {
        "link": None,
        "own": own,
        "can_grow": rosters.can_change(competition, now),
        "is_running": rosters.is_running(competition, now),
        "max_used": mergers.max_used_by_now(competition, now),
    }
    return EntryAndTeam.of_person(
        session,
        competition=competition,
        user=ask.user,
        team=_team(ask, own) if own else None,
        limits=Limits.model_validate(limits.allowance(session, competition=competition, team=own, now=now)),
        selection=selection(choice) if choice else None,
    )


def _team(ask: Ask, own: models.Team) -> Team:
    """Return the user's team, and store further values for its page."""
    session, competition = ask.session, ask.competition
    members, invite = rosters.members(session, team=own), invitations.link_of(session, team=own)
    is_leader = own.leader_id == ask.user.id
    chooses = is_leader and phases.takes_divisions(competition, ask.now)
    ask.shown |= {
        "members": members,
        "invite": invite,
        "can_leave": not rosters.has_counting_file(session, team=own),
        "divisions": division_names(competition.divisions) if chooses else (),
    }
    return Team.of(
        own,
        alias=team_names.alias(own, competition) or None,
        leader=own.leader.name if own.leader else None,
        is_leader=is_leader,
        members=[member.user.name for member in members],
        disqualified_because=own.disqualification,
        has_link=invite is not None,
        mergers=[_proposal(ask, own, each) for each in mergers.of_team(session, team=own)],
    )


def _proposal(ask: Ask, own: models.Team, asked: MergeRequest) -> MergeProposal:
    is_ours, teams = asked.from_team_id == own.id, (asked.from_team, asked.to_team)
    about: dict[str, Any] = {"competition": ask.competition, "teams": teams, "now": ask.now}
    return MergeProposal.of(
        mergers.together(ask.session, **about),
        id=asked.id,
        team=team_names.shown(asked.to_team if is_ours else asked.from_team, ask.competition),
        is_ours=is_ours,
        obstacle=mergers.obstacle(ask.session, **about),
    )


@replace(LINK, scope=Scope.READ).read(
    "/team/link/<token>", InvitingTeam, endpoint="invitation", page="teams/invitation.html"
)
def team_of_link(ask: Ask, token: str) -> InvitingTeam:
    """Return the team of an invitation link, and the link's creator."""
    session, competition, now = ask.session, ask.competition, ask.now
    link = invitations.open_link(session, competition=competition, token=token, now=now)
    if ask.is_page:
        person: dict[str, Any] = {"competition": competition, "user": ask.user}
        ask.shown |= {
            "team": link.team,
            "entry": Entry.of_person(session, **person).entry if ask.user else None,
            "own": rosters.find_team(session, **person) if ask.user else None,
        }
    return InvitingTeam(
        name=link.team.name,
        members=[each.user.name for each in rosters.members(session, team=link.team)],
        invited_by=link.created_by.name,
    )


@replace(TEAM, role=Access.PUBLIC).read(
    "/teams/<int:team_id>/certificate", None, endpoint="certificate", page="teams/certificate.html"
)
def certificate(ask: Ask, team_id: int) -> dict[str, Any]:
    """Show the certificate of a team on the private leaderboard."""
    shown = certificates_of(ask, team_id=team_id)
    if not shown["awards"]:
        raise unranked(team_id)
    return shown


def certificates_of(ask: Ask, **wanted: Any) -> dict[str, Any]:
    """Return the values of the page with certificates."""
    competition, phase = ask.competition, ask.competition_view.phase
    return {
        "awards": team_results.awards(ask.session, competition=competition, phase=phase, **wanted),
        "revealed_at": competition.revealed_at,
        "link": site_link("leaderboards.private", slug=competition.slug),
    }


@TEAM.act("/team", form="create", back=team, done="Team created.", status=201)
def create_team(act: Act, sent: Named) -> None:
    """Create a team."""
    teams.create(act, name=sent.name)


@TEAM.act("/team/name", form="rename", back=team, done="Team renamed.")
def rename_team(act: Act, sent: Named) -> None:
    """Rename the team."""
    teams.rename(act, name=sent.name)


@TEAM.act("/team/division", form="choose_division", back=team, done="Division chosen.")
def choose_team_division(act: Act, sent: Divided) -> None:
    """Choose the team's division, until the division deadline."""
    divisions.choose(act, division=sent.division)


@TEAM.act("/team/leader", form="hand_over", back=team, done="Team leader changed.")
def hand_over_team(act: Act, sent: NewLeader) -> None:
    """Make another member the leader. Only that member can make you the leader again."""
    leader = names.get_user(act.session, name=sent.name)
    own = teams.hand_over(act, to_user_id=leader.id)
    sentence = (
        f"Only {leader.name} will be able to rename the team, create its link and answer merge requests. "
        f"{leader.name} can make you the leader again."
    )
    heading = f"Make {leader.name} the leader of {own.name}?"
    confirm(heading, f"Make {leader.name} the leader", sentence)


@TEAM.act("/team/leave", form="leave", back=team, done="You left the team.")
def leave_team(act: Act, sent: Confirmation) -> None:
    """Leave the team."""
    own = rosters.require_team(act.session, competition=act.competition, user=act.user)
    name = own.name
    teams.leave(act)
    left = rosters.present(act.session, team=own)
    sentence = f"You are the last member. {name} will be deleted, and others can use its name."
    if left:
        sentence = f"{name} continues without you, led by {left[0].user.name}."
    confirm(f"Leave {name}?", "Leave team", sentence)


@TEAM.act(
    "/team/link",
    form="make_link",
    back=team,
    done=lambda made, **_: {"link": made.url},  # shown only in this response
    answers=TeamLink,
    status=201,
)
def make_team_link(act: Act) -> TeamLink:
    """Create a link with which users can join the team; an earlier link stops working."""
    token = invitations.make_link(act)
    return TeamLink(token=token, url=site_link("teams.invitation", slug=act.competition.slug, token=token))


@TEAM.act("/team/link", method="DELETE", form="revoke_link", back=team, done="Link revoked.")
def revoke_team_link(act: Act) -> None:
    """Revoke the team's link."""
    invitations.revoke_link(act)


@LINK.act("/team/link/<token>", form="accept_link", back=team, done="Welcome to the team.")
def accept_team_link(act: Act, token: str) -> None:
    """Join a team with its link."""
    invitations.accept_link(act, token=token)


@TEAM.act(
    "/team/mergers",
    form="request_merge",
    back=team,
    done="Merge request sent to the other team's leader.",
    status=201,
)
def ask_to_merge(act: Act, sent: Named) -> None:
    """Send a merge request to another team, by the team's name."""
    mergers.request(act, name=sent.name)


@TEAM.act(
    "/team/mergers/<int:request_id>/<any(accept, refuse, withdraw):verb>",
    form="answer_merge",
    back=team,
    done=lambda _, verb, **__: {
        "accept": "Teams merged.",
        "refuse": "Merge request declined.",
        "withdraw": "Merge request withdrawn.",
    }[verb],
)
def answer_merger(act: Act, sent: Confirmation, request_id: int, verb: str) -> None:
    """Accept, decline (`refuse`) or withdraw a merge request. A merger cannot be undone."""
    if verb == "accept":
        asked, both = mergers.acceptable(act, request_id=request_id)
        into = team_names.shown(asked.from_team, act.competition)
        effects = tuple(_merger_effects(asked, into, both, act.competition.selection_count))
        heading = f"Merge {asked.to_team.name} into {into}?"
        confirm(heading, "Merge teams", *effects, is_final=True)
        mergers.accept(act, request_id=request_id)
    else:
        (mergers.refuse if verb == "refuse" else mergers.withdraw)(act, request_id=request_id)


def _merger_effects(asked: MergeRequest, into: str, both: Sum, selection_count: int) -> Iterator[str]:
    """Describe the effects of a merger on members, limits and selections."""
    taken, division = asked.to_team, asked.from_team.division
    yield (
        f"Your team {taken.name} becomes part of {into} and keeps its members and submissions. All "
        f"members see all submissions. {taken.name} will no longer exist."
    )
    if division and taken.division not in (None, division):
        yield f"The merged team is in the division {division}, not in {taken.division}."
    limit = "" if both.max_used is None else f" of the {both.max_used:,} that one team could have used so far"
    yield f"Together: {counted(both.member_count, 'member')}, {both.used_total:,} used submissions{limit}."
    yield f"Of all selected submissions, at most {selection_count:,} may compete."


class WaitingList(Answer):
    """The open requests, oldest first."""

    waiting: list[Waiting]


@replace(TEAM, api="").read("/waiting", WaitingList)
def waiting_list(ask: Ask) -> WaitingList:
    """List open requests: merge requests, and requests to join for organizers."""
    return WaitingList(waiting=list(lookups.open_requests()))
