"""Submission pages: scores, file, receipt, final selection."""

from collections.abc import Iterable
from typing import Any

from flask import (
    Blueprint,
    Response,
    flash,
    g,
    jsonify,
    redirect,
    render_template,
    request,
    send_file,
    url_for,
)
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Submission, SubmissionStatus
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import submission_results
from grader.services.rescoring import mail
from grader.services.submissions import accepting, receipts, retries, selections, viewers
from grader.services.submissions import scoring_jobs as jobs
from grader.services.teams import limits
from grader.visibility import Viewer, visible_fields
from webapp.competitions.views import CompetitionView
from webapp.http import auth, errors, lookups
from webapp.http.context import competition_of, reading, writing
from webapp.http.parameters import asked_number, asked_page, whole_number
from webapp.http.site import current_site
from webapp.presentation.terms import IDENTITY_TERMS
from webapp.submissions.diagnosis import WaterfallView
from webapp.submissions.views import AllowanceView, SubmissionView, statuses_json, steps

blueprint = Blueprint("submissions", __name__, url_prefix="/competitions/<slug>")


@blueprint.get("/submissions/status")
@auth.login_required
def statuses(slug: str) -> ResponseReturnValue:
    """Return the statuses of the submissions on one page of the list as JSON."""
    with reading() as session:
        competition = competition_of(session, slug)
        page = accepting.list_of(session, team=lookups.own_team(session, competition), page=asked_page())
    return _statuses(page.rows).make_conditional(request)


@blueprint.get("/submissions/<int:submission_id>")
@auth.login_required
def show(slug: str, submission_id: int) -> ResponseReturnValue:
    """Show a submission with its status, scores and problems."""
    with reading() as session:
        now = db.now(session)
        competition = competition_of(session, slug)
        view = CompetitionView(competition, now)
        opened = viewers.open_submission(session, user=g.user, submission_id=submission_id)
        submission = opened.submission
        _require_here(submission, slug)
        summary = submission_results.summary(
            session, submission=submission, viewer=opened.viewer, phase=view.phase
        )
        allowance = limits.allowance(session, competition=competition, team=submission.team, now=now)
        is_being_scored = _is_being_scored(session, submission)
        metric_log = jobs.metric_log(session, submission) if opened.viewer is Viewer.ORGANIZER else ""
        rescored = mail.of_team(
            session, competition=competition, team=submission.team, submission_ids=[submission.id]
        )
        beside = viewers.neighbours_of(session, submission=submission)
        can_select = selections.is_open(competition, now) and not submission.team.is_disqualified
        choice = None
        if opened.is_own and can_select:
            choice = selections.would_count(session, competition=competition, team=submission.team, now=now)
    return render_template(
        "submissions/show.html",
        competition=view,
        submission=SubmissionView(submission, summary, viewer=opened.viewer),
        metric_log=metric_log,
        is_own=opened.is_own,
        rescored=rescored[0] if rescored else None,
        steps=steps(is_being_scored=is_being_scored, was_checked=submission.was_checked),
        allowance=AllowanceView(allowance),
        can_select=can_select,
        would_count=choice is not None and submission.id in choice.reasons,
        previous_id=summary.previous_id,
        best_shown_before_id=summary.best_shown_before_id,
        chart=WaterfallView.of(
            summary.public, view, whose="this model" if opened.viewer is Viewer.ORGANIZER else "your model"
        ),
        beside=beside,
        identity_terms=IDENTITY_TERMS,
        etag=_statuses([submission], is_being_scored=is_being_scored).headers["ETag"],
    )


@blueprint.get("/submissions/<int:submission_id>/status")
@auth.login_required
def status(slug: str, submission_id: int) -> ResponseReturnValue:
    """Return the status of one submission as JSON."""
    with reading() as session:
        submission = viewers.open_submission(session, user=g.user, submission_id=submission_id).submission
        _require_here(submission, slug)
        is_being_scored = _is_being_scored(session, submission)
    return _statuses([submission], is_being_scored=is_being_scored).make_conditional(request)


@blueprint.get("/submissions/<int:submission_id>/file")
@auth.login_required
def file(slug: str, submission_id: int) -> Response:
    """Download a file exactly as it was uploaded."""
    site = current_site()
    with reading() as session:
        submission = viewers.open_submission(session, user=g.user, submission_id=submission_id).submission
        _require_here(submission, slug)
        accepting.require_file(submission)
    return send_file(
        site.storage.open(submission.sha256),
        mimetype="application/octet-stream",  # browsers must never display the content
        as_attachment=True,
        download_name=submission.file_name,
        etag=submission.sha256,
    )


@blueprint.get("/submissions/<int:submission_id>/receipt")
@auth.login_required
def receipt(slug: str, submission_id: int) -> Response:
    """Download the parts of a submission's receipt that the user may see.

    Organizers may request a scoring version other than the live one: `?version=2`.
    """
    with reading() as session:
        competition = competition_of(session, slug)
        opened = viewers.open_submission(session, user=g.user, submission_id=submission_id)
        _require_here(opened.submission, slug)
        document = receipts.visible_to(
            session,
            submission=opened.submission,
            viewer=opened.viewer,
            number=asked_number("version"),
            phase=phases.phase(competition, db.now(session)),
        )
    answer = Response(document.to_json(), mimetype="application/json")
    answer.headers.set(
        "Content-Disposition",
        "attachment",
        filename=f"receipt-{submission_id}-v{document.scoring_version}.json",
    )
    return answer


@blueprint.post("/submissions/<int:submission_id>/description")
@auth.login_required
def describe(slug: str, submission_id: int) -> ResponseReturnValue:
    """Change the description of a submission."""
    description = request.form.get("description", "")
    with writing() as session:
        described = accepting.describe(
            session, user=g.user, submission_id=submission_id, description=description
        )
        _require_here(described, slug)
    flash("Description saved.")
    return redirect(url_for("submissions.show", slug=slug, submission_id=submission_id), 303)


@blueprint.post("/submissions/<int:submission_id>/selection")
@auth.login_required
def select(slug: str, submission_id: int) -> ResponseReturnValue:
    """Select or deselect a submission for the private leaderboard."""
    is_selected = request.form.get("selected") == "yes"
    try:
        with writing() as session:
            picked = selections.select(
                session,
                user=g.user,
                submission_id=submission_id,
                is_selected=is_selected,
                instead_of=whole_number(request.form.get("instead_of", "")),
            )
            _require_here(picked, slug)
    except selections.TooManySelected as error:
        return _swap(slug, submission_id, error)
    flash(f"#{submission_id} is {'selected' if is_selected else 'no longer selected'}.")
    if request.form.get("from") == "submission":
        return redirect(url_for("submissions.show", slug=slug, submission_id=submission_id), 303)
    return redirect(url_for("submissions.index", slug=slug), 303)


def _swap(slug: str, submission_id: int, error: selections.TooManySelected) -> ResponseReturnValue:
    """Offer to replace one of the selected submissions."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        selected = [session.get_one(Submission, each) for each in error.selected_ids]
        scores = submission_results.public_scores(
            session,
            submissions=selected,
            version=lookup.live(competition),
            allowed=visible_fields(Viewer.TEAM, view.phase, competition.feedback),
        )
    page = render_template(
        "submissions/swap.html",
        competition=view,
        submission_id=submission_id,
        limit=error.limit,
        selected=selected,
        scores=scores,
    )
    return page, errors.status_of(error)


def _require_here(submission: Submission, slug: str) -> None:
    if submission.competition.slug != slug:
        raise accepting.UnknownSubmission(submission_id=submission.id)


def _is_being_scored(session: Any, submission: Submission) -> bool:
    is_pending = submission.status is SubmissionStatus.PENDING
    return is_pending and retries.is_being_scored(session, submission=submission)


def _statuses(shown: Iterable[Submission], *, is_being_scored: bool = False) -> Response:
    answer = jsonify(statuses_json(shown, is_being_scored=is_being_scored))
    answer.add_etag()
    return answer
