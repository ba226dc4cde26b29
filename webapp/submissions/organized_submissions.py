"""Submissions of all teams (pages and API): search, retry, marks."""

from typing import Annotated, Literal

from flask import Blueprint
from pydantic import Field

from grader.models import Role, Split, SubmissionKind, SubmissionStatus
from grader.services.competitions.acting import Act
from grader.services.submissions import decisions, scoring_queue, submission_search
from grader.services.submissions.submission_search import SubmissionFilter, SubmissionMatch, SubmissionSort
from grader.services.teams import team_search
from webapp.http.api import ending
from webapp.http.fields import Answer, Number, PageSize, Score, Sent
from webapp.http.organizer_operations import Searched
from webapp.http.site import current_site
from webapp.submissions.api_models import SubmissionLine
from webapp.surface import Ask, Surface, after_commit

blueprint = Blueprint(
    "organize_submissions", __name__, url_prefix="/competitions/<slug>/organize/submissions"
)


class SubmissionQuery(Searched):
    """The filters of a list of submissions."""

    state: SubmissionStatus | None = None
    kind: SubmissionKind | None = None
    team: Number | None = None
    shared: Annotated[bool, Field(description="Whether to list only files that several teams submitted.")] = (
        False
    )
    sort: Annotated[
        Literal["id", "score", "private_score"], Field(description="The column by which the list is sorted.")
    ] = "id"
    order: Annotated[Literal["asc", "desc"], Field(description="Whether the list rises or falls.")] = "desc"


class OrganizersSubmission(SubmissionLine):
    """A submission with its public and private scores, for organizers."""

    team_id: int
    team: str
    sent_by: str
    size_bytes: int
    sha256: str
    private_score: Score | None
    incident: str | None


class OrganizersSubmissionList(Answer):
    """One page of all submissions, newest first."""

    submissions: list[OrganizersSubmission]
    page_size: PageSize
    next: str | None


class KindRequest(Sent):
    """The new kind of a submission: ranked, a benchmark, or hidden."""

    kind: Literal["normal", "benchmark", "hidden"]


def _line(match: SubmissionMatch) -> OrganizersSubmission:
    """Return a submission as the API model."""
    public, private = (match.scores.get(split) for split in (Split.PUBLIC, Split.PRIVATE))
    return OrganizersSubmission.of(
        match.submission,
        team=match.submission.team.name,
        sent_by=match.submission.user.name,
        public_score=public and float(public),
        private_score=private and float(private),
    )


SUBMISSIONS = Surface(blueprint, tag="running", role=Role.VIEWER, acts=Role.EDITOR)


@SUBMISSIONS.read(
    "", OrganizersSubmissionList, endpoint="index", page="submissions/organized_submissions.html"
)
def organized_submissions(ask: Ask, query: SubmissionQuery) -> OrganizersSubmissionList:
    """List all teams' submissions that match the filters, newest first."""
    team = None
    if query.team:
        team = team_search.get_team(ask.session, competition=ask.competition, team_id=query.team)
    matches = submission_search.find(
        ask.session,
        competition=ask.competition,
        wanted=SubmissionFilter(
            status=query.state,
            kind=query.kind,
            team_id=query.team,
            text=query.q,
            is_shared=query.shared,
            sort=SubmissionSort(query.sort),
            descending=query.order == "desc",
        ),
        part=query.part,
    )
    if ask.is_page:
        submissions = [line.submission for line in matches.rows]
        ask.shown |= {
            "team": team,
            "of_organizers": {each.id for each in submissions if each.team.is_organizers},
            "failed_count": scoring_queue.count_failed(ask.session, competition=ask.competition),
            "statuses": tuple(SubmissionStatus),
            "kinds": tuple(SubmissionKind),
        }
    return OrganizersSubmissionList(submissions=[_line(line) for line in matches.rows], **ending(matches))


@SUBMISSIONS.act(
    "/<int:submission_id>/retry",
    form="retry",
    back=organized_submissions,
    done=lambda _, submission_id, **__: f"#{submission_id} is being retried.",
    status=204,
)
def retry_submission(act: Act, submission_id: int) -> None:
    """Retry a failed submission."""
    after_commit(current_site().hints.send, scoring_queue.retry(act, submission_id=submission_id))


@SUBMISSIONS.act(
    "/retry",
    form="retry_all",
    back=organized_submissions,
    done="All failed submissions are being retried.",
    status=204,
)
def retry_submissions(act: Act) -> None:
    """Retry all failed submissions."""
    after_commit(current_site().hints.send, scoring_queue.retry(act))


@SUBMISSIONS.act(
    "/<int:submission_id>/kind",
    form="mark",
    back=organized_submissions,
    done=lambda _, submission_id, **__: f"The kind of #{submission_id} was changed.",
    status=204,
)
def mark_submission(act: Act, sent: KindRequest, submission_id: int) -> None:
    """Make a submission a benchmark, hide it, or rank it again."""
    decisions.mark(act, submission_id=submission_id, kind=SubmissionKind(sent.kind))
