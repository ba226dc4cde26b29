"""Organizers' page of all submissions: filter, retry failed ones, mark benchmarks, identical files."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TypeVar

from flask import Blueprint, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role, SubmissionKind, SubmissionStatus
from grader.services.moderation import decisions, submission_search, team_search
from grader.services.moderation.submission_search import Sort, Wanted
from grader.services.scoring import retries
from webapp.competitions.views import CompetitionView
from webapp.http import auth
from webapp.http.context import competition_of, reading, writing
from webapp.http.organizer_access import actor, organizers_only
from webapp.http.parameters import asked_choice, asked_number, asked_page, asked_text
from webapp.http.site import current_site

blueprint = Blueprint(
    "organize_submissions", __name__, url_prefix="/competitions/<slug>/organize/submissions"
)
COLUMNS = (
    (Sort.ID, "Submission", ""),
    (Sort.TEAM, "Team", ""),
    (Sort.STATUS, "State", ""),
    (Sort.SCORE, "Public", "number"),
    (Sort.PRIVATE_SCORE, "Private", "number"),
    (Sort.SIZE, "Size", "number"),
    (Sort.SUBMITTED_AT, "Accepted", ""),
)
Choice = TypeVar("Choice", bound=StrEnum)


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the submissions that are asked for."""
    wanted = _wanted()
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        page = submission_search.find(session, competition=competition, wanted=wanted)
        failed_count = retries.count_failed(session, competition=competition)
        team = (
            team_search.get(session, competition=competition, team_id=wanted.team_id).team
            if wanted.team_id
            else None
        )
    return render_template(
        "running/submissions.html",
        competition=CompetitionView(competition, now),
        page=page,
        wanted=wanted,
        team=team,
        query=_query(wanted),
        columns=COLUMNS,
        statuses=tuple(SubmissionStatus),
        kinds=tuple(SubmissionKind),
        failed_count=failed_count,
    )


@blueprint.get("/equal-files")
@organizers_only(Role.VIEWER)
def same_bytes(slug: str) -> ResponseReturnValue:
    """List the files that more than one team sent."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        groups = submission_search.equal_files(session, competition=competition)
    return render_template(
        "running/equal_files.html", competition=CompetitionView(competition, now), groups=groups
    )


@blueprint.post("/<int:submission_id>/retry")
@organizers_only(Role.EDITOR)
def retry(slug: str, submission_id: int) -> ResponseReturnValue:
    """Try a failed submission again."""
    with writing() as session:
        competition = competition_of(session, slug)
        job_ids = retries.retry(session, competition=competition, submission_id=submission_id, actor=actor())
    return _back(slug, f"#{submission_id} is being retried.", job_ids)


@blueprint.post("/retry")
@organizers_only(Role.EDITOR)
def retry_all(slug: str) -> ResponseReturnValue:
    """Retry all failed submissions."""
    with writing() as session:
        competition = competition_of(session, slug)
        job_ids = retries.retry_all(session, competition=competition, actor=actor())
    return _back(slug, "All failed submissions are being retried.", job_ids)


@blueprint.post("/<int:submission_id>/kind")
@organizers_only(Role.EDITOR)
def mark(slug: str, submission_id: int) -> ResponseReturnValue:
    """Make a submission a benchmark, hide it, or let it rank again."""
    kind = _choice(SubmissionKind, request.form.get("kind")) or SubmissionKind.NORMAL
    with writing() as session:
        competition = competition_of(session, slug)
        decisions.mark(
            session, competition=competition, submission_id=submission_id, kind=kind, actor=actor()
        )
    return _back(slug, f"#{submission_id} is {kind} now.")


def _back(slug: str, done: str, job_ids: Sequence[int] = ()) -> ResponseReturnValue:
    if job_ids:
        current_site().hints.send(job_ids)
    flash(done)
    here = url_for("organize_submissions.index", slug=slug)
    back = request.form.get("back", "")
    return redirect(auth.safe_target(back) if back.startswith(here) else here, 303)


def _wanted() -> Wanted:
    """Return what the address asks for; raise Unreadable."""
    return Wanted(
        status=asked_choice("state", SubmissionStatus),
        kind=asked_choice("kind", SubmissionKind),
        team_id=asked_number("team"),
        text=asked_text("q"),
        sort=asked_choice("sort", Sort) or Sort.ID,
        descending=request.args.get("order", "desc") != "asc",
        page=asked_page(),
    )


def _query(wanted: Wanted) -> dict[str, str | int | None]:
    """Return what the addresses of other pages carry on."""
    return {
        "state": wanted.status and wanted.status.value,
        "kind": wanted.kind and wanted.kind.value,
        "team": wanted.team_id,
        "q": wanted.text or None,
        "sort": None if wanted.sort is Sort.ID else wanted.sort.value,
        "order": None if wanted.descending else "asc",
    }


def _choice(values: type[Choice], text: str | None) -> Choice | None:
    return next((value for value in values if value.value == text), None)
