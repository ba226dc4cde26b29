"""Submission API: upload, check, list, select, download."""

from datetime import timedelta
from typing import Any

from flask import Response, g, send_file, url_for

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, OrganizerJob
from grader.services.competitions import lookup, phases
from grader.services.identity.api_tokens import Scope
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.submission_results import Overview
from grader.services.submissions import accepting, differences, receipts, selections, viewers
from grader.visibility import Viewer, visible_fields
from webapp.http import lookups
from webapp.http.api import blueprint, ending, operation
from webapp.http.context import competition_of, reading, writing
from webapp.http.fields import Asked, FileForm
from webapp.http.site import current_site
from webapp.submissions import answers, uploads
from webapp.submissions.answers import (
    Accepted,
    Checked,
    ComparisonRequest,
    DescribeRequest,
    EditRequest,
    LossAnswer,
    Losses,
    ReceiptQuery,
    Selected,
    SelectRequest,
    SubmissionComparison,
    SubmissionDetails,
    SubmissionForm,
    SubmissionList,
    TermCost,
)

TAG = "submissions"


class CheckersBusy(ParticipantError):
    """No checker process became free in time."""

    public_name = "busy"
    kind = ErrorKind.NOT_YET
    retry_after = timedelta(seconds=5)
    message = (
        "Too many files are being checked right now. Try again in a few seconds, or submit the file: every "
        "submitted file is checked."
    )


@blueprint.post("/competitions/<slug>/submissions")
@operation(Scope.SUBMIT, answers=Accepted, status=201, tag=TAG, takes_file=SubmissionForm, keeps_key=True)
def submit(slug: str) -> Any:
    """Submit a file to be checked and scored. A repeated `Idempotency-Key` returns 200."""
    upload = uploads.arrived()
    competition = uploads.require_acceptable(slug, upload)
    accepted = uploads.accept(competition, upload)
    return _accepted(accepted, 201 if accepted.is_new else 200)


@blueprint.post("/competitions/<slug>/check")
@operation(Scope.SUBMIT, answers=Checked, tag=TAG, takes_file=FileForm)
def check(slug: str) -> Checked:
    """Return all problems of a file without using a submission."""
    upload = uploads.arrived()
    with reading() as session:
        state = lookups.situation_in(session, slug)
    checked = uploads.check(state.competition, upload)
    if checked is None:
        raise CheckersBusy
    return Checked(
        is_clean=not checked.problems,
        problems=checked.problems,
        notes=checked.notes,
        limits=answers.allowance(state.allowance),
    )


@blueprint.get("/competitions/<slug>/submissions")
@operation(Scope.READ, answers=SubmissionList, tag=TAG)
def submission_list(slug: str, query: Asked) -> SubmissionList:
    """List the team's submissions, newest first, with the remaining limits and the selection."""
    with reading() as session:
        state = lookups.situation_in(session, slug)
        page = accepting.slice_of(session, team=state.team, part=query.part)
        competition, phase = state.competition, phases.phase(state.competition, state.now)
        allowed = visible_fields(Viewer.TEAM, phase, competition.feedback)
        scores = submission_results.public_scores(
            session, submissions=page.rows, version=lookup.live(competition), allowed=allowed
        )
        choice = None
        if state.team is not None and not state.is_test:
            choice = selections.would_count(
                session, competition=state.competition, team=state.team, now=state.now
            )
    return SubmissionList(
        submissions=[answers.line(each, scores.get(each.id)) for each in page.rows],
        selection=answers.selection(choice) if choice else None,
        limits=answers.allowance(state.allowance),
        **ending(page),
    )


@blueprint.get("/submissions/<int:submission_id>")
@operation(Scope.READ, answers=SubmissionDetails, tag=TAG)
def submission(submission_id: int) -> SubmissionDetails:
    """Return a submission of the user's team or of a competition that the user organizes."""
    return _details(submission_id)


@blueprint.get("/submissions/<int:submission_id>/file")
@operation(Scope.READ, tag=TAG, answers_file="application/octet-stream")
def submission_file(submission_id: int) -> Response:
    """Return a submission's file exactly as it was uploaded."""
    site = current_site()
    with reading() as session:
        own = lookups.open_submission(session, submission_id).submission
    accepting.require_file(own)
    return send_file(
        site.storage.open(own.sha256),
        mimetype="application/octet-stream",
        as_attachment=True,
        download_name=own.file_name,
        etag=own.sha256,
    )


@blueprint.post("/submissions/<int:submission_id>/select")
@operation(Scope.SUBMIT, answers=Selected, tag=TAG)
def select(submission_id: int, json: SelectRequest) -> Selected:
    """Select or deselect a submission for the private leaderboard."""
    with writing() as session:
        own = selections.select(
            session,
            user=g.user,
            submission_id=submission_id,
            is_selected=json.selected,
            instead_of=json.instead_of,
        )
        choice = selections.would_count(
            session, competition=own.competition, team=own.team, now=db.now(session)
        )
    return Selected(id=own.id, is_selected=own.is_selected, selection=answers.selection(choice))


@blueprint.patch("/submissions/<int:submission_id>")
@operation(Scope.SUBMIT, answers=SubmissionDetails, tag=TAG)
def describe_submission(submission_id: int, json: EditRequest) -> SubmissionDetails:
    """Change the description of a submission of the current user's team."""
    with writing() as session:
        accepting.describe(session, user=g.user, submission_id=submission_id, description=json.description)
    return _details(submission_id)


@blueprint.post("/submissions/<int:submission_id>/again")
@operation(Scope.SUBMIT, answers=Accepted, status=201, tag=TAG)
def submit_again(submission_id: int, json: DescribeRequest) -> Any:
    """Submit the file of an earlier submission again."""
    return _accepted(uploads.accept_again(submission_id, description=json.description), 201)


@blueprint.get("/submissions/<int:submission_id>/receipt")
@operation(Scope.READ, tag=TAG, answers_file="application/json")
def submission_receipt(submission_id: int, query: ReceiptQuery) -> Response:
    """Download the parts of a submission's receipt that the user may see."""
    with reading() as session:
        opened = lookups.open_submission(session, submission_id)
        receipt = receipts.visible_to(
            session,
            submission=opened.submission,
            viewer=opened.viewer,
            number=query.version,
            phase=phases.phase(opened.submission.competition, db.now(session)),
        )
    return Response(receipt.to_json(), mimetype="application/json")


@blueprint.get("/submissions/<int:submission_id>/losses")
@operation(Scope.READ, answers=Losses, tag=TAG)
def submission_losses(submission_id: int) -> Losses:
    """Return the diagnosis of the public score: the costs of its terms, and the losses by term and group.

    Losses of groups are listed if they exceed two standard errors, which are known for the entries on the
    leaderboard. The losses and the value within chance, the sum of the others, add up to the distance from
    the best possible score. Organizers receive losses of the exact AUCs. All others receive losses of
    the displayed AUCs.
    """
    with reading() as session:
        public = _summary(session, lookups.open_submission(session, submission_id)).public
    if public is None:
        return Losses(terms=None, losses=None, within_chance=None)
    is_shown = bool(public.parts)
    return Losses(
        terms=[TermCost.model_validate(each) for each in public.costs] or None,
        losses=[LossAnswer.model_validate(each) for each in public.losses] if is_shown else None,
        within_chance=public.within_chance if is_shown else None,
    )


@blueprint.post("/competitions/<slug>/comparisons")
@operation(Scope.SUBMIT, answers=SubmissionComparison, tag=TAG)
def compare_submissions(slug: str, json: ComparisonRequest) -> SubmissionComparison:
    """Compare two scored submissions of the team: return their comparison, or start one.

    A team can start 20 comparisons a day.
    """
    with writing() as session:
        competition = competition_of(session, slug)
        job = differences.request(
            session,
            competition=competition,
            user=g.user,
            viewer=lookups.viewer(),
            submission_id=json.submission,
            baseline_id=json.baseline,
        )
        return _comparison(session, competition, job)


@blueprint.get("/competitions/<slug>/comparisons/<int:comparison_id>")
@operation(Scope.READ, answers=SubmissionComparison, tag=TAG)
def comparison(slug: str, comparison_id: int) -> SubmissionComparison:
    """Return a comparison of two submissions of the team under the live scoring version."""
    with reading() as session:
        competition = competition_of(session, slug)
        job = differences.get(session, competition=competition, user=g.user, job_id=comparison_id)
        return _comparison(session, competition, job)


def _comparison(session: Any, competition: Competition, job: OrganizerJob) -> SubmissionComparison:
    splits = differences.shown_splits(competition, lookups.viewer(), db.now(session))
    return answers.comparison(job, differences.shown(job, splits, lookup.live(competition).scale))


def _details(submission_id: int) -> SubmissionDetails:
    with reading() as session:
        opened = lookups.open_submission(session, submission_id)
        return answers.details(opened.submission, _summary(session, opened))


def _summary(session: Any, opened: viewers.Opened) -> Overview:
    phase = phases.phase(opened.submission.competition, db.now(session))
    return submission_results.summary(
        session, submission=opened.submission, viewer=opened.viewer, phase=phase
    )


def _accepted(accepted: accepting.AcceptedUpload, status: int) -> Any:
    """Return the response to an accepted file."""
    submission = accepted.submission
    location = url_for("api.submission", submission_id=submission.id)
    answer = Accepted(
        id=submission.id,
        status=submission.status,
        url=location,
        limits=answers.allowance(accepted.allowance),
    )
    return answer, status, {"Location": location}
