"""Statistically tied teams (page and API): compare teams, publish ties."""

from typing import Any

from flask import render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, OrganizerJob, Role, Split
from grader.services.competitions.acting import Act
from grader.services.leaderboards import tied_teams
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation
from webapp.http.organizer_operations import (
    DESK,
    Job,
    organizers_operation,
)
from webapp.organizers.closing.views import JobView, job_status
from webapp.organizers.console.console import blueprint


class TiedTeam(Answer):
    """A team, and the difference between the score of the team above and its own."""

    rank: int
    team: str
    submission_id: int
    difference: dict[str, Any] | None


class TiedBoard(Answer):
    """A compared leaderboard; `is_stale` is true if it has changed since the comparison."""

    split: Split
    is_stale: bool
    teams: list[TiedTeam]


class Ties(Answer):
    """The teams that were tied with the team above in the last comparison."""

    job: Job | None
    is_published: bool
    boards: list[TiedBoard]


@blueprint.get("/ties")
@organizers_only(Role.VIEWER)
def ties(slug: str, *, problem: Any = None) -> str:
    """Show the teams that were tied with the team above in the last comparison."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        job = tied_teams.newest(session, competition=competition)
        boards = tied_teams.split_ties(session, competition=competition, job=job)
        why_not = tied_teams.why_not(competition)
    return render_template(
        "console/ties.html",
        competition=view,
        job=JobView(job) if job else None,
        boards=boards,
        most=tied_teams.MAX_TEAMS,
        why_not=why_not,
        scale=competition.scale,
        marks_ties=competition.marks_ties and not view.is_revealed,
        is_published=job is not None and tied_teams.is_published(job),
        can_publish=view.is_revealed
        and any(board.split is Split.PRIVATE and not board.is_stale for board in boards),
        token=_question(slug, job).token_at(url_for("organize_console.publish_ties", slug=slug)),
        problem=problem.message if problem else "",
        etag=job_status(job).headers["ETag"],
    )


@blueprint.get("/ties/status")
@organizers_only(Role.VIEWER)
def ties_status(slug: str) -> ResponseReturnValue:
    """Return the state of the comparison as JSON."""
    with reading() as session:
        job = tied_teams.newest(session, competition=competition_of(session, slug))
    return job_status(job).make_conditional(request)


@api.blueprint.get(f"{DESK}/ties")
@organizers_operation(Role.VIEWER, answers=Ties, tag="running")
def organized_ties(slug: str) -> Ties:
    """Return the teams that were tied with the team above in the last comparison."""
    with reading() as session:
        return _ties(session, competition_of(session, slug))


def _ties(session: Any, competition: Competition) -> Ties:
    job = tied_teams.newest(session, competition=competition)
    boards = [
        TiedBoard.of(board, teams=[TiedTeam.of(each) for each in board.lines])
        for board in tied_teams.split_ties(session, competition=competition, job=job)
    ]
    is_published = job is not None and tied_teams.is_published(job)
    return Ties(job=organizing.job(job) if job else None, is_published=is_published, boards=boards)


def _question(slug: str, job: OrganizerJob | None) -> Question:
    """Return the question that the checkbox of the form confirms."""
    return Question(
        heading="Publish the ties?",
        sentences=("The private leaderboard will show everyone which teams are tied.",),
        button="Publish the ties",
        back=url_for("organize_console.ties", slug=slug),
        state=f"ties {job.id if job else None}",
        is_final=True,
    )


TIES = Family(
    pages=blueprint,
    tag="running",
    refusals=(tied_teams.TiesNotPublishable,),
    show=ties,
    home=lambda slug: url_for("organize_console.ties", slug=slug),
    answers=Ties,
    answer=lambda act, _outcome: _ties(act.session, act.competition),
    role=Role.EDITOR,
)


@TIES.action(
    "/ties",
    page="compare_teams",
    done="The teams are being compared.",
    **organizing.starts("api.organized_ties"),
)
def compare_teams(act: Act) -> OrganizerJob:
    """Compare each team on both leaderboards with the team directly above it."""
    return tied_teams.request(**act.parts)


@TIES.action(
    "/ties/publish",
    page="publish_ties",
    done="The ties are public.",
    home=lambda slug: url_for("leaderboards.private", slug=slug),
)
def publish_ties(act: Act, sent: Confirmation) -> None:
    """Publish which teams are tied on the private leaderboard."""
    tied_teams.publish(act)
    job = tied_teams.newest(act.session, competition=act.competition)
    confirm(_question(act.competition.slug, job))
