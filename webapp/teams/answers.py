"""API models for a user's entry and team."""

from typing import Annotated, Any

from pydantic import Field

from grader.models import Competition
from grader.services.competitions import team_names
from grader.services.teams.memberships import OwnMembership, OwnTeam
from grader.services.teams.participations import EntryState
from webapp.http.fields import Answer, Confirmation, Moment, Number, Sent, Text
from webapp.submissions.answers import Limits, Selection


class JoinRequest(Sent):
    """A request to join, with the version of the rules that the user read, and an entry code."""

    accepted_rules_version: Number | None = None
    code: Text | None = None


class Entry(Answer):
    """Whether the user takes part, and the accepted version of the rules."""

    entry: EntryState
    accepted_rules_version: int | None
    joined_at: Moment | None


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
    """

    id: int
    team: str
    is_ours: bool
    obstacle: str | None


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


def entry(membership: OwnMembership) -> Entry:
    """Return a user's entry as the API model."""
    return Entry(**entry_fields(membership))


def entry_fields(membership: OwnMembership) -> dict[str, Any]:
    """Return the fields of a user's entry."""
    entered = membership.participation
    return {
        "entry": membership.entry.value,
        "accepted_rules_version": entered.rules_version if entered else None,
        "joined_at": entered.joined_at if entered else None,
    }


def team(own: OwnTeam, competition: Competition) -> Team:
    """Return a user's team as the API model."""
    found = own.team
    return Team(
        id=found.id,
        name=found.name,
        division=found.division,
        alias=team_names.alias(found, competition) or None,
        is_name_fixed=found.is_name_fixed,
        leader=found.leader.name if found.leader else None,
        is_leader=own.is_leader,
        members=[member.user.name for member in own.members],
        disqualified_because=found.disqualification_reason if found.disqualified_at else None,
        has_link=own.link is not None,
        mergers=[
            MergeProposal(id=each.request.id, team=each.other, is_ours=each.is_ours, obstacle=each.obstacle)
            for each in own.proposals
        ],
    )
