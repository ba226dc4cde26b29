"""Organizers' page of all submissions: filter, sort, identical files."""

from typing import Any

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role, SubmissionKind, SubmissionStatus
from grader.services.moderation import submission_search, team_search
from grader.services.moderation.submission_search import Sort, Wanted
from grader.services.scoring import retries
from webapp.competitions.views import CompetitionView
from webapp.http import auth
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_choice, asked_number, asked_page, asked_text

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


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the submissions that are asked for."""
    return page(slug)


def page(slug: str, **_: Any) -> str:
    """Show the list of submissions."""
    wanted = _wanted()
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        found = submission_search.find(session, competition=competition, wanted=wanted)
        failed_count = retries.count_failed(session, competition=competition)
        team = (
            team_search.get(session, competition=competition, team_id=wanted.team_id).team
            if wanted.team_id
            else None
        )
    return render_template(
        "running/submissions.html",
        competition=CompetitionView(competition, now),
        page=found,
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


def back(slug: str, **_: Any) -> str:
    """Return the address of the list, as it was filtered where the form names that."""
    here = url_for("organize_submissions.index", slug=slug)
    asked = request.form.get("back", "")
    return auth.safe_target(asked) if asked.startswith(here) else here


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
