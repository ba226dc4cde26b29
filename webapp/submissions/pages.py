"""Submission page and API: scores, file, receipt, description, final selection."""

from typing import Any

from flask import Blueprint, Response, request, url_for

from grader.models import Competition, SubmissionStatus
from grader.services.competitions import phases
from grader.services.competitions.acting import Act
from grader.services.leaderboards import submission_results
from grader.services.leaderboards.submission_results import Overview
from grader.services.submissions import accepting, receipts, scoring_queue, selections
from grader.services.submissions import scoring_jobs as jobs
from grader.services.submissions.accepting import Opened
from grader.services.teams import limits
from grader.visibility import Field, Viewer, visible_fields
from webapp.http import lookups, responses
from webapp.http.context import competition_of
from webapp.submissions import api_models, terms_and_waterfall
from webapp.submissions.api_models import (
    EditRequest,
    Losses,
    ReceiptQuery,
    Selected,
    SelectRequest,
    SubmissionDetails,
)
from webapp.submissions.terms_and_waterfall import WaterfallView
from webapp.surface import Access, Ask, Surface

blueprint = Blueprint("submissions", __name__, url_prefix="/competitions/<slug>")
blueprint.add_app_template_filter(terms_and_waterfall.shown_terms)
blueprint.add_app_template_filter(terms_and_waterfall.weakest_first)
blueprint.add_app_template_filter(terms_and_waterfall.weakest)
TAG = "submissions"


def opened(session: Any, submission_id: int, slug: str | None = None, **_: Any) -> Opened:
    """Return a submission that the user may see, of the competition in the page's URL, read once."""
    cache: dict[int, Opened] = session.info.setdefault("submissions", {})
    if submission_id not in cache:
        if slug is not None:
            competition_of(session, slug)
        cache[submission_id] = lookups.open_submission(session, submission_id)
    if slug not in (None, cache[submission_id].submission.competition.slug):
        raise accepting.UnknownSubmission(submission_id=submission_id)
    return cache[submission_id]


def _competition(session: Any, **arguments: Any) -> Competition:
    return opened(session, **arguments).submission.competition


ONE = Surface(blueprint, tag=TAG, role=Access.USER, api="", find=_competition)


def _of_page(ask: Ask, access: Opened, summary: Overview) -> dict[str, Any]:
    """Return what the page shows beside the submission's results: its team's affairs."""
    session, competition, now = ask.session, ask.competition, ask.now
    submission, is_organizers = access.submission, access.viewer is Viewer.ORGANIZER
    is_out = submission.team.is_disqualified
    can_select = selections.is_open(competition, now, submission.team) and not is_out
    choice = None
    if access.is_own and can_select:
        choice = selections.would_count(session, competition=competition, team=submission.team, now=now)
    allowed = visible_fields(Viewer.TEAM, phases.phase(competition, now), competition.feedback)
    best, before = (each and each.submission_id for each in (summary.entry, summary.before))
    return {
        "access": access,
        "summary": summary,
        "is_organizers": is_organizers,
        "is_final": submission.status is not SubmissionStatus.PENDING,
        "is_selectable": selections.is_selectable(submission),
        "compares_with": before if summary.is_entry else best or before,
        "hides_tables": not is_organizers and Field.PUBLIC_TERMS not in allowed,
        "metric_log": jobs.metric_log(session, submission) if is_organizers else "",
        "is_being_scored": bool(ask.state),
        "allowance": limits.allowance(session, competition=competition, team=submission.team, now=now),
        "can_select": can_select,
        "would_count": choice is not None and submission.id in choice.reasons,
        "chart": WaterfallView.of(summary.public, ask.competition_view),
    }


@ONE.read(
    "/submissions/<int:submission_id>", SubmissionDetails, endpoint="show", page="submissions/show.html"
)
def submission(ask: Ask, submission_id: int) -> SubmissionDetails:
    """Return a submission of the user's team or of a competition that the user organizes."""
    access = opened(ask.session, **ask.arguments)
    if "slug" in ask.arguments and access.submission.status is SubmissionStatus.PENDING:
        ask.state = scoring_queue.is_being_scored(ask.session, submission=access.submission)
    summary = _summary(ask, access)
    if ask.is_page:
        ask.shown |= _of_page(ask, access, summary)
    return api_models.details(access.submission, summary)


def _summary(ask: Ask, access: Opened) -> Overview:
    return submission_results.summary(
        ask.session,
        submission=access.submission,
        viewer=access.viewer,
        phase=phases.phase(access.submission.competition, ask.now),
    )


@ONE.read("/submissions/<int:submission_id>/losses", Losses)
def submission_losses(ask: Ask, submission_id: int) -> Losses:
    """Return the diagnosis of the public score: the costs of its terms, and the losses by term and group.

    The losses add up to the distance from the best possible score. Organizers receive losses of the exact
    AUCs. All others receive losses of the displayed AUCs.
    """
    public = _summary(ask, opened(ask.session, submission_id)).public
    if public is None:
        return Losses(terms=None, losses=None)
    return Losses(
        terms=list(public.costs) or None,
        losses=list(public.losses) if public.parts else None,
    )


@ONE.act(
    "/submissions/<int:submission_id>", method="PATCH", form="describe", back=submission,
    done="Description saved.",
)  # fmt: skip
def describe_submission(act: Act, sent: EditRequest, submission_id: int) -> None:
    """Change the description of a submission of the current user's team."""
    accepting.describe(act.session, user=act.user, submission_id=submission_id, description=sent.description)


def _selected(selected: Selected, slug: str, submission_id: int) -> tuple[str, str]:
    """Return the success message, and the URL of the page with the form."""
    page = url_for("submissions.index", slug=slug)
    if request.form.get("from") == "submission":
        page = submission.url(slug=slug, submission_id=submission_id)
    return f"#{selected.id} is {'selected' if selected.is_selected else 'no longer selected'}.", page


@ONE.act(
    "/submissions/<int:submission_id>/select",
    form="select",
    back=submission,
    done=_selected,
    answers=Selected,
)
def select(act: Act, sent: SelectRequest, submission_id: int) -> Selected:
    """Select or deselect a submission for the private leaderboard."""
    own = selections.select(act, submission_id=submission_id, is_selected=sent.selected)
    choice = selections.would_count(act.session, competition=act.competition, team=own.team, now=act.now)
    return Selected(id=own.id, is_selected=own.is_selected, selection=api_models.selection(choice))


@ONE.read("/submissions/<int:submission_id>/file", None, endpoint="file", file=responses.BINARY)
def submission_file(ask: Ask, submission_id: int) -> Response:
    """Return a submission's file exactly as it was uploaded."""
    upload = opened(ask.session, **ask.arguments).submission
    accepting.require_file(upload)
    return responses.send_stored(upload.sha256, name=upload.file_name)


@ONE.read("/submissions/<int:submission_id>/receipt", None, endpoint="receipt", file="application/json")
def submission_receipt(ask: Ask, query: ReceiptQuery, submission_id: int) -> Response:
    """Download the parts of a submission's receipt that the user may see."""
    access = opened(ask.session, **ask.arguments)
    document = receipts.visible_to(
        ask.session,
        submission=access.submission,
        viewer=access.viewer,
        number=query.version,
        phase=phases.phase(access.submission.competition, ask.now),
    )
    answer = Response(document.to_json(), mimetype="application/json")
    if "slug" in ask.arguments:
        name = f"receipt-{submission_id}-v{document.scoring_version}.json"
        answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer
