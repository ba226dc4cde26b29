"""Members' team actions, on the Team page and in the API."""

from collections.abc import Iterator
from typing import Any

from flask import url_for
from flask.typing import ResponseReturnValue

from grader.services.competitions.acting import Act
from grader.services.competitions.lookup import UnknownDivision
from grader.services.identity import names
from grader.services.site import mail_limits as limits
from grader.services.teams import divisions, invitations, mergers, rosters, teams
from grader.services.teams.mergers import Outlook
from grader.text import counted
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
        UnknownDivision,
        names.InvalidName,
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
    name = team.name
    teams.leave(act)
    left = rosters.present(act.session, team=team)
    sentence = (
        f"{name} continues without you, led by {left[0].user.name}."
        if left
        else (f"You are the last member. {name} will be deleted, and others can use its name.")
    )
    _ask(act, f"Leave {name}?", (sentence,), "Leave team")


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


def _ask(act: Act, heading: str, sentences: tuple[str, ...], button: str, *, is_final: bool = False) -> None:
    """Ask for a confirmation bound to these sentences."""
    back = url_for("teams.show", slug=act.competition.slug)
    confirm(Question(heading, sentences, button, back, is_final=is_final))


def _merger_consequences(outlook: Outlook) -> Iterator[str]:
    """Describe the effects of a merger on members, limits and selections."""
    taken, into, both = outlook.taken, outlook.into, outlook.sum
    yield (
        f"Your team {taken.name} becomes part of {into.name} and keeps its members and submissions. All "
        f"members see all submissions. {taken.name} will no longer exist."
    )
    if into.division and taken.division not in (None, into.division):
        yield f"The merged team is in the division {into.division}, not in {taken.division}."
    limit = "" if both.max_used is None else f" of the {both.max_used:,} that one team could have used so far"
    yield f"Together: {counted(both.member_count, 'member')}, {both.used_total:,} used submissions{limit}."
    yield f"Of all selected submissions, at most {outlook.selection_count:,} may compete."
