"""Organizers' page of the teams: search, rename, disqualify, reinstate, grant extra submissions."""

from collections.abc import Callable
from datetime import UTC, date, datetime, time
from typing import Any

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import FairboardError
from grader.models import Role
from grader.services.limits import grants, limits
from grader.services.moderation import decisions, team_search
from grader.services.people import names
from grader.services.teams import moderation
from webapp.competitions.views import CompetitionView
from webapp.http.confirmation import Question, confirm, wants_to_change
from webapp.http.context import competition_of, reading, writing
from webapp.http.errors import status_of
from webapp.http.organizer_access import actor, organizers_only
from webapp.http.parameters import UnreadableEntry, asked_page, asked_text, entered_number
from webapp.presentation import formats
from webapp.submissions.views import AllowanceView

blueprint = Blueprint("organize_teams", __name__, url_prefix="/competitions/<slug>/organize/teams")
REFUSALS = (
    grants.InvalidGrant,
    moderation.ReasonNeeded,
    decisions.AlreadyDisqualified,
    decisions.NotDisqualified,
    moderation.MergedTeam,
    moderation.NameTaken,
    moderation.NotGiven,
    moderation.SameName,
    names.InvalidName,
    UnreadableEntry,
)


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the teams that are asked for."""
    return _list(slug)


@blueprint.get("/<int:team_id>")
@organizers_only(Role.VIEWER)
def show(slug: str, team_id: int) -> ResponseReturnValue:
    """Show a team and what can be decided about it."""
    return _team(slug, team_id)


@blueprint.post("/<int:team_id>/name")
@organizers_only(Role.EDITOR)
def rename(slug: str, team_id: int) -> ResponseReturnValue:
    """Give a team another name."""
    given = {"name": request.form.get("name", ""), "reason": request.form.get("reason", "")}
    return _decide(slug, team_id, moderation.rename, "Team renamed.", **given)


@blueprint.post("/<int:team_id>/name/free")
@organizers_only(Role.EDITOR)
def free_name(slug: str, team_id: int) -> ResponseReturnValue:
    """Let a team that was renamed choose its name again."""
    return _decide(slug, team_id, moderation.free_name, "The team can choose its name again.")


@blueprint.post("/<int:team_id>/disqualification")
@organizers_only(Role.EDITOR)
def disqualify(slug: str, team_id: int) -> ResponseReturnValue:
    """Disqualify a team."""
    if wants_to_change():
        return _team(slug, team_id)
    reason = request.form.get("reason", "")
    return _decide(slug, team_id, _disqualify, "Team disqualified.", reason=reason)


@blueprint.post("/<int:team_id>/reinstatement")
@organizers_only(Role.EDITOR)
def reinstate(slug: str, team_id: int) -> ResponseReturnValue:
    """Reinstate a team."""
    reason = request.form.get("reason", "")
    return _decide(slug, team_id, decisions.reinstate, "Team reinstated.", reason=reason)


@blueprint.post("/<int:team_id>/grants")
@organizers_only(Role.EDITOR)
def grant(slug: str, team_id: int) -> ResponseReturnValue:
    """Give a team extra submissions."""
    try:
        held = _grant(slug, team_id)
    except REFUSALS as error:
        return _team(slug, team_id, problem=error), status_of(error)
    flash(f"Extra submissions given. They are valid {held}.")
    return redirect(url_for("organize_teams.show", slug=slug, team_id=team_id), 303)


@blueprint.post("/grants")
@organizers_only(Role.EDITOR)
def grant_to_all(slug: str) -> ResponseReturnValue:
    """Give every team extra submissions."""
    try:
        held = _grant(slug, None)
    except REFUSALS as error:
        return _list(slug, problem=error), status_of(error)
    flash(f"Extra submissions given to every team. They are valid {held}.")
    return redirect(url_for("organize_teams.index", slug=slug), 303)


def _disqualify(session: Any, **given: Any) -> None:
    """Disqualify a team once the consequences are confirmed."""
    team = decisions.disqualify(session, **given)
    confirm(
        Question(
            heading=f"Disqualify {team.name}?",
            sentences=(
                "The team is removed from every leaderboard, and the teams below it move up.",
                "It cannot submit files any more.",
                f"Its members see this reason on this competition's pages: {team.disqualification_reason}",
                "The public log shows the disqualification, but not the reason.",
                "You can reinstate the team later.",
            ),
            button="Disqualify the team",
            back=url_for(".show", slug=given["competition"].slug, team_id=team.id),
            can_change=True,
        )
    )


def _decide(
    slug: str, team_id: int, act: Callable[..., object], done: str, **given: Any
) -> ResponseReturnValue:
    """Decide about a team; show a refusal on its page and keep the entered text."""
    try:
        with writing() as session:
            competition = competition_of(session, slug)
            team = team_search.get_team(session, competition=competition, team_id=team_id)
            act(session, competition=competition, team=team.name, actor=actor(), **given)
    except REFUSALS as error:
        return _team(slug, team_id, problem=error), status_of(error)
    flash(done)
    return redirect(url_for("organize_teams.show", slug=slug, team_id=team_id), 303)


def _grant(slug: str, team_id: int | None) -> str:
    """Give extra submissions; return in words how long they are valid."""
    form = request.form
    with writing() as session:
        competition = competition_of(session, slug)
        team = None
        if team_id is not None:
            team = team_search.get_team(session, competition=competition, team_id=team_id)
        now = db.now(session)
        given = grants.grant(
            session,
            competition=competition,
            team=team,
            day=_day(form.get("day", "")),
            count=entered_number("count") or 0,
            reason=form.get("reason", ""),
            actor=actor(),
        )
        until = grants.ends_at(competition, day=given.day)
    beginning = max(datetime.combine(given.day, time(tzinfo=UTC)), now)
    for_how_long = f"until {formats.moment(until)}, for {formats.span(until - beginning)}"
    return for_how_long if beginning == now else f"from {formats.moment(beginning)} {for_how_long}"


def _day(text: str) -> date | None:
    """Return the day of a form; None for invalid text."""
    try:
        return date.fromisoformat(text)
    except ValueError:
        return None


def _list(slug: str, *, problem: FairboardError | None = None) -> str:
    text, disqualified_only = asked_text("q"), request.args.get("state") == "disqualified"
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        page = team_search.find(
            session,
            competition=competition,
            text=text,
            disqualified_only=disqualified_only,
            page=asked_page(),
        )
        given = grants.list_newest(session, competition=competition)
        days = grants.choice(competition, now=now)
    return render_template(
        "running/teams.html",
        competition=CompetitionView(competition, now),
        page=page,
        text=text,
        disqualified_only=disqualified_only,
        given=given,
        days=days,
        problems=_sentences(problem),
        form=request.form,
    )


def _team(slug: str, team_id: int, *, problem: FairboardError | None = None) -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        line = team_search.get(session, competition=competition, team_id=team_id)
        given = grants.list_newest(session, competition=competition, team=line.team)
        days = grants.choice(competition, now=now)
        allowance = limits.allowance(session, competition=competition, team=line.team, now=now)
    return render_template(
        "running/team.html",
        competition=CompetitionView(competition, now),
        line=line,
        team=line.team,
        given=given,
        allowance=AllowanceView(allowance),
        days=days,
        problems=_sentences(problem),
        form=request.form,
    )


def _sentences(problem: FairboardError | None) -> list[str]:
    return [] if problem is None else problem.message.splitlines()
