"""Team page: forms to create, rename, invite, merge, leave and change the leader."""

from collections.abc import Callable
from typing import Any

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ParticipantError
from grader.models import Competition, User
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.leaderboards import team_results
from grader.services.mail import limits
from grader.services.people import names
from grader.services.teams import (
    invitations,
    memberships,
    mergers,
    participations,
    rosters,
    teams,
)
from grader.services.teams.participations import EntryRefused
from webapp.competitions.views import CompetitionView
from webapp.http import auth, hosts, lookups
from webapp.http.confirmation import Question, confirm
from webapp.http.errors import headers_of, status_of, wants_json
from webapp.http.parameters import entered_number
from webapp.http.site import current_site
from webapp.teams import consequences

blueprint = Blueprint("teams", __name__, url_prefix="/competitions/<slug>")
REFUSALS = (
    EntryRefused,
    rosters.TeamRefusal,
    names.InvalidName,
    names.UnknownUser,
    limits.TooMuchMail,
)


@blueprint.get("/team")
@auth.login_required
def show(slug: str) -> ResponseReturnValue:
    """Show the person's team and what can be done with it."""
    return _page(slug)


@blueprint.post("/team")
@auth.login_required
def create(slug: str) -> ResponseReturnValue:
    """Make a team."""
    return _act(slug, teams.create, "Team created.", name=request.form.get("name", ""))


@blueprint.post("/team/name")
@auth.login_required
def rename(slug: str) -> ResponseReturnValue:
    """Give the team another name."""
    return _act(slug, teams.rename, "Team renamed.", name=request.form.get("name", ""))


@blueprint.post("/team/leader")
@auth.login_required
def hand_over(slug: str) -> ResponseReturnValue:
    """Let another member lead."""
    to_user_id = entered_number("user_id") or 0

    def act(*, session: Any, **given: Any) -> None:
        team = teams.hand_over(session=session, **given)
        session.refresh(team)
        leader = team.leader.name if team.leader else ""
        sentences = (
            f"Only {leader} can then rename the team, create its link and answer merge requests. "
            f"{leader} can make you the leader again.",
        )
        _confirm(slug, f"Make {leader} the leader of {team.name}?", sentences, f"Make {leader} the leader")

    return _act(slug, act, "The team has a new leader.", to_user_id=to_user_id)


@blueprint.post("/team/leave")
@auth.login_required
def leave(slug: str) -> ResponseReturnValue:
    """Leave team."""

    def act(*, session: Any, competition: Competition, user: User) -> None:
        team = rosters.require_team(session, competition=competition, user=user)
        name, led = team.name, team.leader_id == user.id
        teams.leave(session, competition=competition, user=user)
        left = rosters.present(session, team=team)
        bound = participations.find(session, competition=competition, user=user)
        sentences = consequences.leaving(
            name,
            leader=left[0].user.name if led and left else "",
            ends=not left,
            has_submitted=rosters.has_submissions(session, team=team),
            is_bound=bound is not None and bound.bound_team_id is not None,
        )
        _confirm(slug, f"Leave {name}?", tuple(sentences), "Leave team")

    return _act(slug, act, "You have left the team.")


@blueprint.post("/team/link")
@auth.login_required
def make_link(slug: str) -> ResponseReturnValue:
    """Make the invitation link and show it once: the answer itself holds it."""
    made: list[str] = []
    answer = _try(slug, lambda **given: made.append(invitations.make_link(**given)))
    if answer is not None:
        return answer
    return _page(slug, link=hosts.link("teams.invitation", slug=slug, token=made[0])), 201


@blueprint.post("/team/link/revoke")
@auth.login_required
def revoke_link(slug: str) -> ResponseReturnValue:
    """Make the invitation link useless."""
    return _act(slug, invitations.revoke_link, "Link revoked.")


@blueprint.get("/team/link/<token>")
def invitation(slug: str, token: str) -> ResponseReturnValue:
    """Show, also to a stranger, into which team a link invites, and who made it."""
    with current_site().database.read() as session:
        now = db.now(session)
        competition = _invited_to(session, slug)
        link = invitations.open_link(session, competition=competition, token=token, now=now)
        members = rosters.members(session, team=link.team)
        membership = g.user and memberships.of_person(session, competition=competition, user=g.user, now=now)
    return render_template(
        "teams/invitation.html",
        competition=CompetitionView(competition, now),
        link=link,
        team=link.team,
        members=members,
        membership=membership,
        is_full=len(members) >= competition.max_team_size,
    )


@blueprint.post("/team/link/<token>")
@auth.login_required
def accept_link(slug: str, token: str) -> ResponseReturnValue:
    """Join the team of a link."""
    with current_site().database.read() as session:
        _invited_to(session, slug)
    return _act(slug, invitations.accept_link, "Welcome to the team.", token=token)


@blueprint.post("/team/invitations")
@auth.login_required
def invite(slug: str) -> ResponseReturnValue:
    """Invite a person by name."""
    return _act(slug, invitations.invite, "Invitation sent.", name=request.form.get("name", ""))


@blueprint.post("/team/invitations/<int:invite_id>/<any(accept, decline, withdraw):verb>")
@auth.login_required
def answer_invitation(slug: str, invite_id: int, verb: str) -> ResponseReturnValue:
    """Accept, decline or withdraw an invitation."""
    act, done = {
        "accept": (invitations.accept, "Welcome to the team."),
        "decline": (invitations.decline, "Invitation declined."),
        "withdraw": (invitations.withdraw, "Invitation withdrawn."),
    }[verb]
    return _act(slug, act, done, invite_id=invite_id)


@blueprint.post("/team/mergers")
@auth.login_required
def request_merge(slug: str) -> ResponseReturnValue:
    """Ask another team to merge."""
    name = request.form.get("name", "")
    return _act(slug, mergers.request, "Request sent to the other team's leader.", name=name)


@blueprint.post("/team/mergers/<int:request_id>/<any(accept, refuse, withdraw):verb>")
@auth.login_required
def answer_merge(slug: str, request_id: int, verb: str) -> ResponseReturnValue:
    """Accept, refuse or withdraw a merge request."""
    acts: dict[str, tuple[Callable[..., object], str]] = {
        "accept": (_accept_merge, "The teams are merged."),
        "refuse": (mergers.refuse, "Request refused."),
        "withdraw": (mergers.withdraw, "Request withdrawn."),
    }
    act, done = acts[verb]
    return _act(slug, act, done, request_id=request_id)


def _invited_to(session: Any, slug: str) -> Competition:
    """Return the competition of a link; that there is none, or a draft, is told like a link that ended."""
    try:
        return lookups.competition_of(session, slug)
    except UnknownCompetition:
        raise invitations.UnknownInvitation from None


def _accept_merge(*, session: Any, competition: Competition, user: User, request_id: int) -> None:
    """Merge two teams once the person has read what happens to both."""
    outlook = mergers.outlook(session, competition=competition, user=user, request_id=request_id)
    heading = f"Merge {outlook.taken.name} into {outlook.into.name}?"
    _confirm(competition.slug, heading, tuple(consequences.merger(outlook)), "Merge teams", is_final=True)
    mergers.accept(session, competition=competition, user=user, request_id=request_id)


def _confirm(
    slug: str, heading: str, sentences: tuple[str, ...], button: str, *, is_final: bool = False
) -> None:
    back = url_for("teams.show", slug=slug)
    confirm(Question(heading, sentences, button, back, is_final=is_final))


def _act(slug: str, act: Callable[..., object], done: str, **given: Any) -> ResponseReturnValue:
    """Let the person do something, and show the team page with what came of it."""
    answer = _try(slug, act, **given)
    if answer is not None:
        return answer
    flash(done)
    return redirect(url_for("teams.show", slug=slug), 303)


def _try(slug: str, act: Callable[..., object], **given: Any) -> ResponseReturnValue | None:
    """Return the team page with the reason if the act is refused."""
    try:
        with current_site().database.write() as session:
            act(session=session, competition=lookups.competition_of(session, slug), user=g.user, **given)
    except REFUSALS as error:
        if wants_json():
            raise
        return _page(slug, problem=error), status_of(error), headers_of(error)
    return None


def _page(slug: str, *, problem: ParticipantError | None = None, link: str | None = None) -> str:
    with current_site().database.read() as session:
        competition, now = lookups.competition_of(session, slug), db.now(session)
        membership = memberships.of_person(session, competition=competition, user=g.user, now=now)
        own = membership.own
        is_listed = own is not None and team_results.is_listed_profile(
            session, competition=competition, team_id=own.team.id, now=now
        )
    return render_template(
        "teams/show.html",
        competition=CompetitionView(competition, now),
        membership=membership,
        own=own,
        is_listed=is_listed,
        link=link,
        problem=problem,
    )
