"""Team name moderation: team lookup and replacement."""

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import Team
from grader.services.competitions.acting import Act
from grader.services.site import log
from grader.services.teams import mail, rosters
from grader.text import one_line

REASON_MAX_LENGTH = 500


def require_reason(text: str, decision: str) -> str:
    """Return the reason for a decision against a team on one line; raise OrganizerRefusal without one."""
    if reason := one_line(text, REASON_MAX_LENGTH):
        return reason
    message = f"Enter a reason for the {decision}. The team will see it."
    raise OrganizerRefusal("reason_needed", ErrorKind.CONFLICT, message)


def find(act: Act, name: str) -> Team:
    """Return the team with this name for an organizer's action; raise OrganizerRefusal."""
    match = rosters.find_by_name(act.session, competition=act.competition, name=name)
    if match is None or match.is_organizers:
        message = f"There is no team named {name!r} in this competition."
        raise OrganizerRefusal("unknown_team", ErrorKind.CONFLICT, message)
    if match.merged_into_id is not None:
        message = f"{match.name} was merged into another team. Choose that team instead."
        raise OrganizerRefusal("merged_team", ErrorKind.CONFLICT, message)
    return match


def rename(act: Act, *, team: str, name: str, reason: str) -> Team:
    """Replace a team's offensive name; only organizers can change the new name.

    The public log does not repeat the old name. Raises Refusal or OrganizerRefusal.
    """
    reason = require_reason(reason, "renaming")
    target = find(act, team)
    shown = rosters.new_name(act.session, competition=act.competition, name=name, of=target)
    before = target.name
    rosters.set_name(target, shown)
    target.is_name_fixed = True
    act.session.flush()
    mail.moderated(
        act.session, "renamed", competition=act.competition, team=target, reason=reason, now=act.now
    )
    act.record(
        "team.rename",
        f"team {log.mention(target)}",
        before={"name": before},
        after={"name": shown},
        reason=reason,
        public_text=f"The organizers renamed the team {log.mention(target)}.",
    )
    return target
