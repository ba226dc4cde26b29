"""JSON of a person's entry and team, for the API."""

from typing import Any

from grader.models import AuditEntry
from grader.services.teams.memberships import Membership, OwnTeam
from webapp.presentation import formats


def entry_json(membership: Membership) -> dict[str, Any]:
    """Return a person's entry state, and the version of the rules that they accepted."""
    entered = membership.participation
    return {
        "entry": membership.entry.value,
        "accepted_rules_version": entered.rules_version if entered else None,
        "joined_at": formats.iso(entered.joined_at) if entered else None,
    }


def team_json(own: OwnTeam, *, named: AuditEntry | None) -> dict[str, Any]:
    """Return a person's team; `named` is the act of organizers that holds its name."""
    team = own.team
    return {
        "name": team.name,
        "name_held_because": named.reason if named else None,
        "leader": team.leader.name if team.leader else None,
        "is_leader": own.is_leader,
        "members": [member.user.name for member in own.members],
        "disqualified_because": team.disqualification_reason if team.disqualified_at else None,
    }
