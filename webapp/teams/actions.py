"""Actions of members with their team, on the team page and in the API."""

from collections.abc import Iterator
from typing import Any

from flask import url_for
from flask.typing import ResponseReturnValue

from grader.models import Team
from grader.services.competitions.acting import Act
from grader.services.mail import limits
from grader.services.people import names
from grader.services.teams import invitations, mergers, participations, rosters, teams
from grader.services.teams.mergers import Outlook, Side
from grader.services.teams.participations import EntryRefused
from grader.text import counted, listed
from webapp.http.actions import Family, is_form
from webapp.http.confirmation import Question, confirm
from webapp.http.site import site_link
from webapp.teams import api, pages
from webapp.teams.answers import EntryAndTeam, Named, TeamLink


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
        names.InvalidName,
        names.UnknownUser,
        limits.TooMuchMail,
    ),
    show=_show,
    home=_home,
    answers=EntryAndTeam,
    answer=lambda act, _outcome, **_: api.entry_and_team(act.session, act.competition, act.user),
)


@TEAM.action("/team", page="create", done="Team created.", status=201, creates=True)
def create_team(act: Act, sent: Named) -> None:
    """Make a team."""
    teams.create(act, name=sent.name)


@TEAM.action("/team/name", page="rename", done="Team renamed.")
def rename_team(act: Act, sent: Named) -> None:
    """Give the team another name."""
    teams.rename(act, name=sent.name)


@TEAM.action("/team/leader", page="hand_over", done="The team has a new leader.")
def hand_over_team(act: Act, sent: Named) -> None:
    """Let another member lead, by name; only that person can make you the leader again."""
    leader = names.get_user(act.session, name=sent.name)
    team = teams.hand_over(act, to_user_id=leader.id)
    sentences = (
        f"Only {leader.name} can then rename the team, create its link and answer merge requests. "
        f"{leader.name} can make you the leader again.",
    )
    _ask(act, f"Make {leader.name} the leader of {team.name}?", sentences, f"Make {leader.name} the leader")


@TEAM.action("/team/leave", page="leave", done="You have left the team.")
def leave_team(act: Act) -> None:
    """Leave the team."""
    team = rosters.require_team(act.session, competition=act.competition, user=act.user)
    name, led = team.name, team.leader_id == act.user.id
    teams.leave(act)
    if is_form():
        _ask(act, f"Leave {name}?", _consequences(act, team, name, led=led), "Leave team")


def _shown_link(token: str, *, slug: str) -> ResponseReturnValue:
    """Show a new link once: the response itself holds it."""
    return pages.page(slug, link=_link(slug, token)), 201


def _link(slug: str, token: str) -> str:
    return site_link("teams.invitation", slug=slug, token=token)


@TEAM.action(
    "/team/link",
    page="make_link",
    done="",
    shown=_shown_link,
    answers=TeamLink,
    answer=lambda act, token: TeamLink(token=token, url=_link(act.competition.slug, token)),
    status=201,
    creates=True,
    shows_secret=True,
)
def make_team_link(act: Act) -> str:
    """Make a link that lets its holder join the team; an earlier one ends."""
    return invitations.make_link(act)


@TEAM.action(
    "/team/link", method="DELETE", page="revoke_link", page_path="/team/link/revoke", done="Link revoked."
)
def revoke_team_link(act: Act) -> None:
    """Make the team's link useless."""
    invitations.revoke_link(act)


@TEAM.action("/team/link/<token>", page="accept_link", done="Welcome to the team.", find=pages.invited_to)
def accept_team_link(act: Act, token: str) -> None:
    """Join the team of a link."""
    invitations.accept_link(act, token=token)


@TEAM.action("/team/invitations", page="invite", done="Invitation sent.", status=201, creates=True)
def invite_to_team(act: Act, sent: Named) -> None:
    """Invite a person into the team by name."""
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
    done="Request sent to the other team's leader.",
    status=201,
    creates=True,
)
def ask_to_merge(act: Act, sent: Named) -> None:
    """Ask the leader of another team, by the team's name, to merge."""
    mergers.request(act, name=sent.name)


ANSWERS_TO_MERGERS = {"accept": mergers.accept, "refuse": mergers.refuse, "withdraw": mergers.withdraw}


@TEAM.action(
    "/team/mergers/<int:request_id>/<any(accept, refuse, withdraw):verb>",
    page="answer_merge",
    done={
        "accept": "The teams are merged.",
        "refuse": "Request refused.",
        "withdraw": "Request withdrawn.",
    },
)
def answer_merger(act: Act, request_id: int, verb: str) -> None:
    """Accept, refuse or withdraw a merge request; teams that are merged stay so."""
    if verb == "accept" and is_form():
        outlook = mergers.outlook(act, request_id=request_id)
        heading = f"Merge {outlook.taken.name} into {outlook.into.name}?"
        _ask(act, heading, tuple(_merger_consequences(outlook)), "Merge teams", is_final=True)
    ANSWERS_TO_MERGERS[verb](act, request_id=request_id)


def _consequences(act: Act, team: Team, name: str, *, led: bool) -> tuple[str, ...]:
    """Return what leaving a team does, once it is done and not yet committed."""
    left = rosters.present(act.session, team=team)
    bound = participations.find(act.session, competition=act.competition, user=act.user)
    sentences = _leaving_consequences(
        name,
        leader=left[0].user.name if led and left else "",
        ends=not left,
        has_submitted=rosters.has_submissions(act.session, team=team),
        is_bound=bound is not None and bound.bound_team_id is not None,
    )
    return tuple(sentences)


def _ask(act: Act, heading: str, sentences: tuple[str, ...], button: str, *, is_final: bool = False) -> None:
    """Ask on the page for a confirmation, bound to these sentences."""
    if is_form():
        back = url_for("teams.show", slug=act.competition.slug)
        confirm(Question(heading, sentences, button, back, is_final=is_final))


def _merger_consequences(outlook: Outlook) -> Iterator[str]:
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


def _leaving_consequences(
    name: str, *, leader: str, ends: bool, has_submitted: bool, is_bound: bool
) -> Iterator[str]:
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
