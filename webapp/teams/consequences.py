"""Consequences of a merger or of leaving a team, in sentences for the confirmation page."""

from collections.abc import Iterator

from grader.services.teams.mergers import Outlook, Side
from grader.text import counted, listed


def merger(outlook: Outlook) -> Iterator[str]:
    """Say what happens to both teams: members, submissions, slots, selections."""
    taken, into, both = outlook.taken, outlook.into, outlook.sum
    yield (
        f"Your team {taken.name} ({_members(taken)}) becomes part of {into.name} ({_members(into)}). The "
        f"merged team is called {into.name}, its leader is {into.leader}, and {taken.name} ends."
    )
    moves = "moves" if taken.submission_count == 1 else "move"
    yield (
        f"{counted(taken.submission_count, 'submission')} of {taken.name} {moves} to {into.name}, which has "
        f"{into.submission_count:,}. All members can see them."
    )
    limit = "" if both.max_used is None else f" of the {both.max_used:,} that one team could have used by now"
    today = f"{taken.used_today + into.used_today:,}"
    daily = "" if outlook.max_daily is None else f", {today} of {outlook.max_daily:,} today"
    used = f"{taken.used_total:,} and {into.used_total:,} make {both.used_total:,}"
    yield f"Used submissions add up: {used}{limit}{daily}."
    picks = taken.picked_count + into.picked_count
    if picks > outlook.selection_count:
        yield (
            f"Selected submissions add up to {picks:,}, and {outlook.selection_count:,} may compete: choose "
            "together which ones to keep."
        )
    else:
        yield f"Selected submissions add up to {picks:,} of {outlook.selection_count:,}."


def leaving(name: str, *, leader: str, ends: bool, has_submitted: bool, is_bound: bool) -> Iterator[str]:
    """Say what happens when a person leaves; `leader` is who leads then, blank where that does not change."""
    if ends:
        yield f"You are its last member and it has no submissions: {name} ends, and others can use its name."
    elif has_submitted:
        yield f"All submissions stay with {name}, including yours. You will no longer see them."
    else:
        yield f"{name} continues without you."
    if leader:
        yield f"{leader} becomes the leader."
    if is_bound:
        yield "You cannot enter this competition through another team. You can come back only by invitation."


def _members(side: Side) -> str:
    return listed(side.members, most=20)
