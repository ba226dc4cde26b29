"""Sending a file and reading what it got."""

from flask import g, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.leaderboard.visibility import Viewer
from grader.services import competitions, results, submissions
from webapp import uploads
from webapp.api.v1 import blueprint
from webapp.representations.submission import submission_json
from webapp.site import current_site


@blueprint.post("/competitions/<slug>/submissions")
def submit(slug: str) -> ResponseReturnValue:
    """Take in a file; a worker finds its problems later."""
    submission = uploads.receive(slug)
    location = url_for("api.submission", submission_id=submission.id)
    answer = {"id": submission.id, "status": submission.status.value, "url": location}
    return answer, 201, {"Location": location}


@blueprint.get("/submissions/<int:submission_id>")
def submission(submission_id: int) -> ResponseReturnValue:
    """Return a submission of one's own team."""
    with current_site().database.read() as session:
        own = submissions.get_own(session, user=g.user, submission_id=submission_id)
        phase = competitions.phase(own.competition, db.now(session))
        summary = results.summary(session, submission=own, viewer=Viewer.TEAM, phase=phase)
        return submission_json(own, summary)
