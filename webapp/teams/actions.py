"""Members' team actions, on the Team page and in the API."""

from collections.abc import Iterator
from typing import Any

from flask import url_for
from flask.typing import ResponseReturnValue

from grader.models import Team
from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownDivision
from grader.services.identity import names
from grader.services.site import mail_limits as limits
from grader.services.teams import divisions, invitations, mergers, participations, rosters, teams
from grader.services.teams.mergers import MergingTeam, Outlook
from grader.services.teams.participations import EntryRefused
from grader.text import counted, listed
from webapp.http.actions import Family
from webapp.http.confirmation import Question, confirm
from webapp.http.fields import Confirmation
from webapp.http.site import site_link
from webapp.teams import api, pages
from webapp.teams.answers import Divided, EntryAndTeam, Named, NewLeader, TeamLink


def _show(slug: str, problem: Any, **_: Any) -> str:
    return pages.page(slug, problem=problem)


def _home(slug: str, **_: Any) -> str:
    return url_for("teams.show", slug=slug)


TEAM = Family(
    pages=pages.blueprint,
    tag="teams",
    refusals=(
        EntryRefused,
        rosters.TeamRefusal,
        UnknownDivision,
        names.InvalidName,
        names.UnknownUser,
        limits.TooMuchMail,
    ),
    show=_show,
    home=_home,
    answers=EntryAndTeam,
    answer=lambda act, _outcome, **_: api.entry_and_team(act.session, act.competition, act.user),
)


@TEAM.action("/team", page="create", done="Team created.", status=201)
def create_team(act: Act, sent: Named) -> None:
    """Create a team."""
    teams.create(act, name=sent.name)


@TEAM.action("/team/name", page="rename", done="Team renamed.")
def rename_team(act: Act, sent: Named) -> None:
    """Rename the team."""
    teams.rename(act, name=sent.name)


@TEAM.action("/team/division", page="choose_division", done="Division chosen.")
def choose_team_division(act: Act, sent: Divided) -> None:
    """Choose the team's division, until the division deadline."""
    divisions.choose(act, division=sent.division)


@TEAM.action("/team/leader", page="hand_over", done="Team leader changed.")
def hand_over_team(act: Act, sent: NewLeader) -> None:
    """Make another member the leader. Only that member can make you the leader again."""
    leader = names.get_user(act.session, name=sent.name)
    team = teams.hand_over(act, to_user_id=leader.id)
    sentences = (
        f"Only {leader.name} will be able to rename the team, create its link and answer merge requests. "
        f"{leader.name} can make you the leader again.",
    )
    _ask(act, f"Make {leader.name} the leader of {team.name}?", sentences, f"Make {leader.name} the leader")


@TEAM.action("/team/leave", page="leave", done="You left the team.")
def leave_team(act: Act, sent: Confirmation) -> None:
    """Leave the team."""
    team = rosters.require_team(act.session, competition=act.competition, user=act.user)
    name, led = team.name, team.leader_id == act.user.id
    teams.leave(act)
    _ask(act, f"Leave {name}?", _consequences(act, team, name, led=led), "Leave team")


def _shown_link(token: str, *, slug: str) -> ResponseReturnValue:
    """Show a new link once, in this response only."""
    return pages.page(slug, link=_link(slug, token)), 201


def _link(slug: str, token: str) -> str:
    return site_link("teams.invitation", slug=slug, token=token)


@TEAM.action(
    "/team/link",
    page="make_link",
    shown=_shown_link,
    answers=TeamLink,
    answer=lambda act, token: TeamLink(token=token, url=_link(act.competition.slug, token)),
    status=201,
)
def make_team_link(act: Act) -> str:
    """Create a link with which users can join the team; an earlier link stops working."""
    return invitations.make_link(act)


@TEAM.action(
    "/team/link", method="DELETE", page="revoke_link", page_path="/team/link/revoke", done="Link revoked."
)
def revoke_team_link(act: Act) -> None:
    """Revoke the team's link."""
    invitations.revoke_link(act)


@TEAM.action("/team/link/<token>", page="accept_link", done="Welcome to the team.", find=pages.invited_to)
def accept_team_link(act: Act, token: str) -> None:
    """Join a team with its link."""
    invitations.accept_link(act, token=token)


@TEAM.action("/team/invitations", page="invite", done="Invitation sent.", status=201)
def invite_to_team(act: Act, sent: Named) -> None:
    """Invite a user to the team by name."""
    invitations.invite(act, name=sent.name)


ANSWERS_TO_INVITATIONS = {
    "accept": invitations.accept,
    "decline": invitations.decline,
    "withdraw": invitations.withdraw,
}


@TEAM.action(
    "/team/invitations/<int:invite_id>/<any(accept, decline, withdraw):verb>",
    page="answer_invitation",
    done={
        "accept": "Welcome to the team.",
        "decline": "Invitation declined.",
        "withdraw": "Invitation withdrawn.",
    },
)
def answer_team_invitation(act: Act, invite_id: int, verb: str) -> None:
    """Accept, decline or withdraw an invitation."""
    ANSWERS_TO_INVITATIONS[verb](act, invite_id=invite_id)


@TEAM.action(
    "/team/mergers",
    page="request_merge",
    done="Merge request sent to the other team's leader.",
    status=201,
)
def ask_to_merge(act: Act, sent: Named) -> None:
    """Send a merge request to another team, by the team's name."""
    mergers.request(act, name=sent.name)


ANSWERS_TO_MERGERS = {"accept": mergers.accept, "refuse": mergers.refuse, "withdraw": mergers.withdraw}


@TEAM.action(
    "/team/mergers/<int:request_id>/<any(accept, refuse, withdraw):verb>",
    page="answer_merge",
    done={
        "accept": "Teams merged.",
        "refuse": "Merge request declined.",
        "withdraw": "Merge request withdrawn.",
    },
)
def answer_merger(act: Act, sent: Confirmation, request_id: int, verb: str) -> None:
    """Accept, decline (`refuse`) or withdraw a merge request. A merger cannot be undone."""
    if verb == "accept":
        outlook = mergers.outlook(act, request_id=request_id)
        heading = f"Merge {outlook.taken.name} into {outlook.into.name}?"
        _ask(act, heading, tuple(_merger_consequences(outlook)), "Merge teams", is_final=True)
    ANSWERS_TO_MERGERS[verb](act, request_id=request_id)


def _consequences(act: Act, team: Team, name: str, *, led: bool) -> tuple[str, ...]:
    """Return the effects of leaving a team, read after the change and before its commit."""
    left = rosters.present(act.session, team=team)
    bound = participations.find(act.session, competition=act.competition, user=act.user)
    sentences = _leaving_consequences(
        name,
        leader=left[0].user.name if led and left else "",
        ends=not left,
        has_submitted=rosters.binds(act.session, team=team),
        is_bound=bound is not None and bound.bound_team_id is not None,
    )
    return tuple(sentences)


def _ask(act: Act, heading: str, sentences: tuple[str, ...], button: str, *, is_final: bool = False) -> None:
    """Ask for a confirmation bound to these sentences."""
    back = url_for("teams.show", slug=act.competition.slug)
    confirm(Question(heading, sentences, button, back, is_final=is_final))


def _merger_consequences(outlook: Outlook) -> Iterator[str]:
    """Describe the effects of a merger on members, submissions, limits and selections."""
    taken, into, both = outlook.taken, outlook.into, outlook.sum
    result = f"The merged team is called {into.name}, and its leader is {into.leader}."
    if not into.members:
        result = "The merged team keeps its name and leader, which you will see after the merger."
    yield (
        f"Your team {taken.name} ({_members(taken)}) becomes part of {into.name} ({_members(into)}). "
        f"{result} {taken.name} will no longer exist."
    )
    if into.division and taken.division not in (None, into.division):
        yield f"The merged team is in the division {into.division}, not in {taken.division}."
    moves = "moves" if taken.submission_count == 1 else "move"
    yield (
        f"{counted(taken.submission_count, 'submission')} of {taken.name} {moves} to {into.name}, which has "
        f"{into.submission_count:,}. All members can see them."
    )
    limit = "" if both.max_used is None else f" of the {both.max_used:,} that one team could have used so far"
    today = f"{taken.used_today + into.used_today:,}"
    daily = "" if outlook.max_daily is None else f", {today} of {outlook.max_daily:,} today"
    used = f"{taken.used_total:,} and {into.used_total:,} add up to {both.used_total:,}"
    yield f"Used submissions: {used}{limit}{daily}."
    picks = taken.picked_count + into.picked_count
    if picks > outlook.selection_count:
        yield (
            f"Together, the teams have selected {picks:,} submissions, but only {outlook.selection_count:,} "
            "may compete. Decide together which ones to keep."
        )
    else:
        yield f"Together, the teams have selected {picks:,} of {outlook.selection_count:,} submissions."


def _leaving_consequences(
    name: str, *, leader: str, ends: bool, has_submitted: bool, is_bound: bool
) -> Iterator[str]:
    """Describe the effects of leaving; `leader` is the new leader, empty if the leader stays."""
    if ends:
        yield (
            f"You are the last member, and {name} has no submissions. It will be deleted, and others can use "
            "its name."
        )
    elif has_submitted:
        yield f"All submissions stay with {name}, including yours. You will no longer see them."
    else:
        yield f"{name} continues without you."
    if leader:
        yield f"{leader} becomes the leader."
    if is_bound:
        yield "You cannot join another team in this competition. You can return only by invitation."


def _members(side: MergingTeam) -> str:
    return listed(side.members, most=20) if side.members else "members hidden"
