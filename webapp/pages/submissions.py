"""Sending a file, following its status, and reading what it got."""

from collections.abc import Iterable

from flask import Blueprint, Response, flash, g, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.leaderboard.visibility import Viewer
from grader.models import Split, Submission
from grader.services import boards, competitions, results, rosters, submissions
from webapp import auth, uploads
from webapp.errors import wants_json
from webapp.representations import heat
from webapp.representations.competition import CompetitionView
from webapp.representations.submission import SubmissionLine, SubmissionView, statuses_json
from webapp.representations.terms import IDENTITY_TERMS
from webapp.site import current_site

blueprint = Blueprint("submissions", __name__, url_prefix="/competitions/<slug>")
SAMPLE_LINES = 4


@blueprint.route("/submit", methods=["GET", "POST"])
@auth.login_required
def submit(slug: str) -> ResponseReturnValue:
    """Show the form, or take in a file; a worker finds its problems later."""
    if request.method == "POST":
        return _accepted(slug, uploads.receive(slug))
    site = current_site()
    with site.database.read() as session:
        competition = competitions.get(session, slug=slug)
        view = CompetitionView(competition, db.now(session))
    with site.storage.open(view.sample_submission_sha256) as sample:
        first_lines = [sample.readline(200).decode(errors="replace") for _ in range(SAMPLE_LINES)]
    return render_template(
        "submissions/submit.html",
        competition=view,
        sample="".join(first_lines),
        file_limit_bytes=submissions.size_cap(competition),
    )


@blueprint.get("/submissions")
@auth.login_required
def index(slug: str) -> ResponseReturnValue:
    """List the submissions of the person's team."""
    with current_site().database.read() as session:
        competition = competitions.get(session, slug=slug)
        view = CompetitionView(competition, db.now(session))
        page = submissions.list_own(
            session, competition=competition, user=g.user, page=request.args.get("page", 1, type=int)
        )
        version = competitions.live(competition)
        scores = results.public_scores(session, submissions=page.submissions, version=version)
        team = rosters.find_team(session, competition=competition, user=g.user)
        standing = team and boards.standing_of(
            session, scoring_version_id=version.id, split=Split.PUBLIC, team_id=team.id
        )
    best_id = standing.submission_id if standing else None
    return render_template(
        "submissions/index.html",
        competition=view,
        page=page,
        lines=[SubmissionLine.of(each, scores.get(each.id), best_id) for each in page.submissions],
        live=statuses_json(page.submissions),
        etag=_statuses(page.submissions).headers["ETag"],
    )


@blueprint.get("/submissions/status")
@auth.login_required
def statuses(slug: str) -> ResponseReturnValue:
    """Tell how the submissions of one page of the list stand."""
    with current_site().database.read() as session:
        competition = competitions.get(session, slug=slug)
        page = submissions.list_own(
            session, competition=competition, user=g.user, page=request.args.get("page", 1, type=int)
        )
    return _statuses(page.submissions).make_conditional(request)


@blueprint.get("/submissions/<int:submission_id>")
@auth.login_required
def show(slug: str, submission_id: int) -> ResponseReturnValue:
    """Show what a submission got."""
    with current_site().database.read() as session:
        competition = competitions.get(session, slug=slug)
        view = CompetitionView(competition, db.now(session))
        submission = submissions.get_own(session, user=g.user, submission_id=submission_id)
        _require_here(submission, slug)
        summary = results.summary(session, submission=submission, viewer=Viewer.TEAM, phase=view.phase)
    return render_template(
        "submissions/show.html",
        competition=view,
        submission=SubmissionView(submission, summary),
        identity_terms=IDENTITY_TERMS,
        shades=heat.SHADES,
        etag=_statuses([submission]).headers["ETag"],
    )


@blueprint.get("/submissions/<int:submission_id>/status")
@auth.login_required
def status(slug: str, submission_id: int) -> ResponseReturnValue:
    """Tell how one submission stands."""
    with current_site().database.read() as session:
        submission = submissions.get_own(session, user=g.user, submission_id=submission_id)
        _require_here(submission, slug)
    return _statuses([submission]).make_conditional(request)


@blueprint.post("/submissions/<int:submission_id>/description")
@auth.login_required
def describe(slug: str, submission_id: int) -> ResponseReturnValue:
    """Change the description of a submission."""
    with current_site().database.write() as session:
        description = request.form.get("description", "")
        described = submissions.describe(
            session, user=g.user, submission_id=submission_id, description=description
        )
        _require_here(described, slug)
    flash("The description is saved.")
    return redirect(url_for("submissions.show", slug=slug, submission_id=submission_id), 303)


def _require_here(submission: Submission, slug: str) -> None:
    if submission.competition.slug != slug:
        raise submissions.UnknownSubmission(submission.id)


def _accepted(slug: str, submission: Submission) -> ResponseReturnValue:
    location = url_for("submissions.show", slug=slug, submission_id=submission.id)
    if wants_json():
        answer = {"id": submission.id, "status": submission.status.value, "location": location}
        return answer, 201, {"Location": location}
    return redirect(location, 303)


def _statuses(shown: Iterable[Submission]) -> Response:
    answer = jsonify(statuses_json(shown))
    answer.add_etag()
    return answer
