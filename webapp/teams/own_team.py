"""The user's team and its invitation link (pages and API): members, mergers, certificate."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from flask import Blueprint, url_for

from grader.models import Competition, MergeRequest
from grader.services.competitions import team_names
from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.competitions.phases import phase
from grader.services.identity import names
from grader.services.identity.api_tokens import Scope
from grader.services.leaderboards import team_results
from grader.services.submissions import selections
from grader.services.teams import divisions, invitations, limits, memberships, mergers, rosters, teams
from grader.services.teams.mergers import Sum
from grader.services.teams.waiting import WaitingKind
from grader.text import counted
from webapp.http import open_requests
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of
from webapp.http.fields import Answer, Confirmation, Moment
from webapp.http.site import site_link
from webapp.submissions.answers import Limits, selection
from webapp.surface import Access, Ask, Surface
from webapp.teams import answers
from webapp.teams.answers import (
    Divided,
    EntryAndTeam,
    InvitingTeam,
    Named,
    NewLeader,
    TeamLink,
)

blueprint = Blueprint("teams", __name__, url_prefix="/competitions/<slug>")
TEAM = Surface(blueprint, tag="teams", role=Access.USER)


def _invited_to(session: Any, slug: str, **_: Any) -> Competition:
    """Return the competition of a link; unknown ones and drafts look like expired links."""
    try:
        return competition_of(session, slug)
    except UnknownCompetition:
        raise invitations.unknown() from None


LINK = replace(TEAM, role=Access.PUBLIC, acts=Access.USER, find=_invited_to)


@TEAM.read(
    "/team", EntryAndTeam, endpoint="show", page="teams/show.html", extra=lambda _ask, _page: {"link": None}
)
def team(ask: Ask) -> EntryAndTeam:
    """Return the user's entry, team, remaining submissions and selection in a competition."""
    session, competition, now = ask.session, ask.competition, ask.now
    membership = memberships.of_person(session, competition=competition, user=ask.user, now=now)
    own = membership.own.team if membership.own else None
    choice = selections.would_count(session, competition=competition, team=own, now=now) if own else None
    ask.shown |= {"membership": membership, "own": membership.own}
    return EntryAndTeam(
        **answers.entry_fields(membership),
        team=answers.team(membership.own, competition) if membership.own else None,
        limits=Limits.model_validate(limits.allowance(session, competition=competition, team=own, now=now)),
        selection=selection(choice) if choice else None,
    )


@replace(LINK, scope=Scope.READ).read(
    "/team/link/<token>", InvitingTeam, endpoint="invitation", page="teams/invitation.html"
)
def team_of_link(ask: Ask, token: str) -> InvitingTeam:
    """Return the team of an invitation link, and the link's creator."""
    session, competition, now = ask.session, ask.competition, ask.now
    link = invitations.open_link(session, competition=competition, token=token, now=now)
    members = rosters.members(session, team=link.team)
    if ask.is_page:
        person: dict[str, Any] = {"competition": competition, "user": ask.user, "now": now}
        ask.shown |= {
            "link": link,
            "team": link.team,
            "members": members,
            "membership": memberships.of_person(session, **person) if ask.user else None,
            "is_full": len(members) >= competition.max_team_size,
        }
    return InvitingTeam(
        name=link.team.name,
        members=[each.user.name for each in members],
        invited_by=link.created_by.name,
    )


@replace(TEAM, role=Access.PUBLIC).read(
    "/teams/<int:team_id>/certificate", None, endpoint="certificate", page="teams/certificate.html"
)
def certificate(ask: Ask, team_id: int) -> dict[str, Any]:
    """Show the certificate of a team on the private leaderboard."""
    competition, now = ask.competition, ask.now
    found: dict[str, Any] = {"competition": competition, "team_id": team_id, "phase": phase(competition, now)}
    return {
        "award": team_results.award(ask.session, **found),
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
    _ask(act, f"Make {leader.name} the leader of {own.name}?", [sentence], f"Make {leader.name} the leader")


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
    _ask(act, f"Leave {name}?", [sentence], "Leave team")


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
    done={
        "accept": "Teams merged.",
        "refuse": "Merge request declined.",
        "withdraw": "Merge request withdrawn.",
    },
)
def answer_merger(act: Act, sent: Confirmation, request_id: int, verb: str) -> None:
    """Accept, decline (`refuse`) or withdraw a merge request. A merger cannot be undone."""
    if verb == "accept":
        asked, both = mergers.acceptable(act, request_id=request_id)
        into = team_names.shown(asked.from_team, act.competition)
        heading = f"Merge {asked.to_team.name} into {into}?"
        _ask(
            act,
            heading,
            _merger_consequences(asked, into, both, act.competition.selection_count),
            "Merge teams",
            is_final=True,
        )
        mergers.accept(act, request_id=request_id)
    else:
        (mergers.refuse if verb == "refuse" else mergers.withdraw)(act, request_id=request_id)


def _ask(
    act: Act, heading: str, sentences: Iterator[str] | list[str], button: str, *, is_final: bool = False
) -> None:
    """Ask for a confirmation bound to these sentences."""
    back = url_for("teams.show", slug=act.competition.slug)
    confirm(Question(heading, tuple(sentences), button, back, is_final=is_final))


def _merger_consequences(asked: MergeRequest, into: str, both: Sum, selection_count: int) -> Iterator[str]:
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


@replace(TEAM, api="").read("/waiting", WaitingList)
def waiting_list(ask: Ask) -> WaitingList:
    """List open requests: merge requests, and requests to join for organizers."""
    return WaitingList(
        waiting=[
            WaitingItem.of(item, competition=item.slug, team=item.team or None, person=item.person or None)
            for item in open_requests.items()
        ]
    )
