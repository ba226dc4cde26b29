"""Page that compares two submissions of a team side by side."""

from typing import Any

from flask import g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Submission, SubmissionStatus
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.submission_results import Summary
from grader.services.submissions import accepting, viewers
from grader.services.submissions.accepting import UnknownSubmission
from grader.visibility import Phase
from webapp.competitions.views import CompetitionView
from webapp.http import auth, lookups
from webapp.http.parameters import asked_number
from webapp.http.site import current_site
from webapp.submissions.own_analysis import compared
from webapp.submissions.pages import blueprint


@blueprint.get("/submissions/compare")
@auth.login_required
def compare(slug: str) -> ResponseReturnValue:
    """Compare two submissions; without both of them ask which."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        page = accepting.list_of(session, team=lookups.own_team(session, competition))
        pair = [_asked(session, slug, name, view.phase) for name in ("candidate", "baseline")]
    candidate, baseline = pair
    return render_template(
        "submissions/compare.html",
        competition=view,
        own=[each for each in page.rows if each.status is SubmissionStatus.SCORED],
        candidate=candidate and candidate[0],
        baseline=baseline and baseline[0],
        splits=compared(candidate, baseline) if candidate and baseline else [],
    )


def _asked(session: Any, slug: str, name: str, phase: Phase) -> tuple[Submission, Summary] | None:
    """Return the submission that the address names, with what may be seen of it."""
    submission_id = asked_number(name)
    if submission_id is None:
        return None
    opened = viewers.open_submission(session, user=g.user, submission_id=submission_id)
    if opened.submission.competition.slug != slug:
        raise UnknownSubmission(submission_id)
    summary = submission_results.summary(
        session, submission=opened.submission, viewer=opened.viewer, phase=phase
    )
    return opened.submission, summary
