"""API: upload a submission or check a file, list submissions, select, download."""

from flask import Response, g, send_file, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import submission_results
from grader.services.submissions import accepting, selections, viewers
from webapp.http import lookups
from webapp.http.api import blueprint
from webapp.http.parameters import SentFields, asked_page
from webapp.http.site import current_site
from webapp.submissions import checking, uploads
from webapp.submissions.allowance import AllowanceView
from webapp.submissions.views import choice_json, submission_json, submission_line_json

BUSY_RETRY_SECONDS = 5
BUSY = (
    "Too many files are being checked right now. Try again in a few seconds, or submit: submitting always "
    "checks the file."
)


@blueprint.post("/competitions/<slug>/submissions")
def submit(slug: str) -> ResponseReturnValue:
    """Take in a file; a worker finds its problems later. A repeated `Idempotency-Key` is answered 200."""
    upload = uploads.arrived()
    competition = uploads.require_acceptable(slug, upload)
    accepted = uploads.accept(competition, upload)
    submission = accepted.submission
    location = url_for("api.submission", submission_id=submission.id)
    answer = {
        "id": submission.id,
        "status": submission.status.value,
        "url": location,
        "limits": AllowanceView(accepted.allowance).as_json(),
    }
    return answer, 201 if accepted.is_new else 200, {"Location": location}


@blueprint.post("/competitions/<slug>/check")
def check(slug: str) -> ResponseReturnValue:
    """Return all problems of a file without using a submission."""
    upload = uploads.arrived()
    with current_site().database.read() as session:
        found = lookups.situation_in(session, slug)
    checked = checking.check(found.competition, upload)
    if checked is None:
        answer = {"code": 503, "error": "busy", "message": BUSY}
        return answer, 503, {"Retry-After": str(BUSY_RETRY_SECONDS)}
    return {
        "is_clean": not checked.problems,
        "problems": checked.problems,
        "notes": checked.notes,
        "limits": AllowanceView(found.allowance).as_json(),
    }


@blueprint.get("/competitions/<slug>/submissions")
def submission_list(slug: str) -> ResponseReturnValue:
    """Return a page of the submissions of the person's team, the newest first, and what it may still send."""
    number = asked_page()
    with current_site().database.read() as session:
        found = lookups.situation_in(session, slug)
        page = accepting.list_of(session, team=found.team, page=number)
        scores = submission_results.public_scores(
            session, submissions=page.rows, version=lookup.live(found.competition)
        )
        choice = None
        if found.team is not None and not found.is_test:
            choice = selections.would_count(session, competition=found.competition, team=found.team)
    following = None
    if page.page < page.page_count:
        following = url_for("api.submission_list", slug=slug, page=page.page + 1)
    return {
        "submissions": [submission_line_json(each, scores.get(each.id)) for each in page.rows],
        "selection": choice_json(choice) if choice else None,
        "limits": AllowanceView(found.allowance).as_json(),
        "next": following,
    }


@blueprint.get("/submissions/<int:submission_id>")
def submission(submission_id: int) -> ResponseReturnValue:
    """Return a submission of one's own team, or of a competition that one organizes."""
    with current_site().database.read() as session:
        opened = viewers.open_submission(session, user=g.user, submission_id=submission_id)
        phase = phases.phase(opened.submission.competition, db.now(session))
        summary = submission_results.summary(
            session, submission=opened.submission, viewer=opened.viewer, phase=phase
        )
        return submission_json(opened.submission, summary)


@blueprint.get("/submissions/<int:submission_id>/file")
def submission_file(submission_id: int) -> Response:
    """Return the bytes of a submission as they were uploaded."""
    site = current_site()
    with site.database.read() as session:
        own = viewers.open_submission(session, user=g.user, submission_id=submission_id).submission
    accepting.require_file(own)
    return send_file(
        site.storage.open(own.sha256),
        mimetype="application/octet-stream",
        as_attachment=True,
        download_name=own.file_name,
        etag=own.sha256,
    )


@blueprint.post("/submissions/<int:submission_id>/select")
def select(submission_id: int) -> ResponseReturnValue:
    """Select a submission for the private leaderboard, or deselect it with `selected=false`."""
    is_selected = SentFields().flag("selected", default=True)
    with current_site().database.write() as session:
        own = selections.select(session, user=g.user, submission_id=submission_id, is_selected=is_selected)
        choice = selections.would_count(session, competition=own.competition, team=own.team)
    return {"id": own.id, "is_selected": own.is_selected, "selection": choice_json(choice)}
