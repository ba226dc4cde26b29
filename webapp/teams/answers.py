"""The API's answers about a person's entry and team."""

from typing import Any

from grader.models import AuditEntry
from grader.services.teams.memberships import Membership, OwnTeam
from webapp.http.fields import Answer, Moment, Number, Sent, Text
from webapp.submissions.answers import Limits, Selection


class JoinRequest(Sent):
    """Joining a competition: the version of its rules that the person has read, and the code it may need."""

    accepted_rules_version: Number | None = None
    code: Text = ""


class Entry(Answer):
    """Whether a person takes part, and the rules that they accepted."""

    entry: str
    accepted_rules_version: int | None
    joined_at: Moment | None


class Team(Answer):
    """A person's team."""

    name: str
    name_held_because: str | None
    leader: str | None
    is_leader: bool
    members: list[str]
    disqualified_because: str | None


class EntryAndTeam(Entry):
    """A person's entry, team, submissions left, and what would count for it."""

    team: Team | None
    limits: Limits
    selection: Selection | None


def entry(membership: Membership) -> Entry:
    """Return a person's entry."""
    return Entry(**entry_fields(membership))


def entry_fields(membership: Membership) -> dict[str, Any]:
    """Return the fields of a person's entry."""
    entered = membership.participation
    return {
        "entry": membership.entry.value,
        "accepted_rules_version": entered.rules_version if entered else None,
        "joined_at": entered.joined_at if entered else None,
    }


def team(own: OwnTeam, *, named: AuditEntry | None) -> Team:
    """Return a person's team; `named` is the act of organizers that holds its name."""
    found = own.team
    return Team(
        name=found.name,
        name_held_because=named.reason if named else None,
        leader=found.leader.name if found.leader else None,
        is_leader=own.is_leader,
        members=[member.user.name for member in own.members],
        disqualified_because=found.disqualification_reason if found.disqualified_at else None,
    )
