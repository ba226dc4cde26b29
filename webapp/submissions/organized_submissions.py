"""Submissions of all teams (pages and API): search, retry, marks, identical files."""

from typing import Any, Literal

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import (
    Role,
    Split,
    Submission,
    SubmissionKind,
    SubmissionStatus,
)
from grader.services.competitions.acting import Act
from grader.services.submissions import decisions, retries, submission_search
from grader.services.submissions.submission_search import EqualFiles, SubmissionFilter, SubmissionSort
from grader.services.teams import team_search
from webapp.competitions.views import CompetitionView
from webapp.http import api, auth
from webapp.http.actions import Family
from webapp.http.api import ending
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Number, PageSize, Score, Sent
from webapp.http.organizer_operations import (
    DESK,
    Searched,
    organizers_operation,
)
from webapp.http.parameters import (
    asked_choice,
    asked_number,
    asked_page,
    asked_text,
)
from webapp.http.site import current_site

blueprint = Blueprint(
    "organize_submissions", __name__, url_prefix="/competitions/<slug>/organize/submissions"
)
COLUMNS = (
    (SubmissionSort.ID, "Submission", ""),
    (SubmissionSort.TEAM, "Team", ""),
    (SubmissionSort.STATUS, "State", ""),
    (SubmissionSort.SCORE, "Public", "number"),
    (SubmissionSort.PRIVATE_SCORE, "Private", "number"),
    (SubmissionSort.SIZE, "Size", "number"),
    (SubmissionSort.SUBMITTED_AT, "Accepted", ""),
)


class SubmissionQuery(Searched):
    """The filters of a list of submissions."""

    state: SubmissionStatus | None = None
    kind: SubmissionKind | None = None
    team: Number | None = None


class OrganizersSubmission(Answer):
    """A submission as organizers see it, with its public and private scores."""

    id: int
    team_id: int
    team: str
    sent_by: str
    status: SubmissionStatus
    kind: SubmissionKind
    file_name: str
    description: str
    size_bytes: int
    sha256: str
    submitted_at: Moment
    public_score: Score | None
    private_score: Score | None
    attempt_count: int
    incident: str | None


class OrganizersSubmissionList(Answer):
    """One page of all submissions, newest first."""

    submissions: list[OrganizersSubmission]
    page_size: PageSize
    next: str | None


class EqualFileSender(Answer):
    """A team that submitted a file, and its first submission of this file."""

    team: str
    submission_id: int
    submitted_at: Moment
    count: int


class EqualFile(Answer):
    """A file that more than one team submitted."""

    sha256: str
    size_bytes: int
    team_count: int
    is_sample: bool
    senders: list[EqualFileSender]


class EqualFileList(Answer):
    """The files that more than one team submitted, those from the most teams first."""

    files: list[EqualFile]


class Retried(Answer):
    """The number of scoring jobs that were restarted."""

    job_count: int


class KindRequest(Sent):
    """The new kind of a submission: ranked, a benchmark, or hidden."""

    kind: Literal["normal", "benchmark", "hidden"]


class Marked(Answer):
    """A submission and its new kind."""

    id: int
    kind: SubmissionKind


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None, **_: Any) -> str:
    """List the submissions that match the filters."""
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
        "submissions/organized_submissions.html",
        competition=CompetitionView(competition, now),
        page=found,
        wanted=wanted,
        team=team,
        query=_query(wanted),
        columns=COLUMNS,
        statuses=tuple(SubmissionStatus),
        kinds=tuple(SubmissionKind),
        failed_count=failed_count,
        problem=problem.message if problem else "",
    )


@blueprint.get("/equal-files")
@organizers_only(Role.VIEWER)
def same_bytes(slug: str) -> ResponseReturnValue:
    """List the files that more than one team submitted."""
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        groups = submission_search.equal_files(session, competition=competition)
    return render_template(
        "submissions/equal_files.html", competition=CompetitionView(competition, now), groups=groups
    )


def back(slug: str, **_: Any) -> str:
    """Return the URL of the list with the filters from the form."""
    here = url_for("organize_submissions.index", slug=slug)
    asked = request.form.get("back", "")
    return auth.safe_target(asked) if asked.startswith(here) else here


def _wanted() -> SubmissionFilter:
    """Return the filters in the query string; raise Unreadable."""
    return SubmissionFilter(
        status=asked_choice("state", SubmissionStatus),
        kind=asked_choice("kind", SubmissionKind),
        team_id=asked_number("team"),
        text=asked_text("q"),
        sort=asked_choice("sort", SubmissionSort) or SubmissionSort.ID,
        descending=request.args.get("order", "desc") != "asc",
        page=asked_page(),
    )


def _query(wanted: SubmissionFilter) -> dict[str, str | int | None]:
    """Return the query parameters for links to other pages of the list."""
    return {
        "state": wanted.status and wanted.status.value,
        "kind": wanted.kind and wanted.kind.value,
        "team": wanted.team_id,
        "q": wanted.text or None,
        "sort": None if wanted.sort is SubmissionSort.ID else wanted.sort.value,
        "order": None if wanted.descending else "asc",
    }


@api.blueprint.get(f"{DESK}/submissions")
@organizers_operation(Role.VIEWER, answers=OrganizersSubmissionList, tag="running")
def organized_submissions(slug: str, query: SubmissionQuery) -> OrganizersSubmissionList:
    """List all teams' submissions that match the filters, newest first."""
    wanted = SubmissionFilter(status=query.state, kind=query.kind, team_id=query.team, text=query.q)
    with reading() as session:
        competition = competition_of(session, slug)
        found = submission_search.find_after(session, competition=competition, wanted=wanted, part=query.part)
    return OrganizersSubmissionList(submissions=[_line(line) for line in found.rows], **ending(found))


@api.blueprint.get(f"{DESK}/submissions/equal-files")
@organizers_operation(Role.VIEWER, answers=EqualFileList, tag="running")
def equal_file_list(slug: str) -> EqualFileList:
    """List the files that more than one team submitted."""
    with reading() as session:
        groups = submission_search.equal_files(session, competition=competition_of(session, slug))
    return EqualFileList(files=[_equal_file(group) for group in groups])


def _line(line: submission_search.SubmissionMatch) -> OrganizersSubmission:
    """Return a submission as the API model."""
    found = line.submission
    scores = {split: float(score) for split, score in line.scores.items()}
    return OrganizersSubmission.of(
        found,
        team=found.team.name,
        sent_by=found.user.name,
        public_score=scores.get(Split.PUBLIC),
        private_score=scores.get(Split.PRIVATE),
        attempt_count=line.attempt_count,
    )


def _equal_file(group: EqualFiles) -> EqualFile:
    """Return a file that several teams submitted, as the API model."""
    senders = [EqualFileSender.of(each, team=each.team.name) for each in group.senders]
    return EqualFile.of(group, senders=senders)


def _wake_workers(_act: Act, job_ids: list[int]) -> None:
    current_site().hints.send(job_ids)


SUBMISSIONS = Family(
    pages=blueprint,
    tag="running",
    refusals=(),
    show=index,
    home=back,
    answers=Retried,
    answer=lambda _act, job_ids, **_: Retried(job_count=len(job_ids)),
    role=Role.EDITOR,
)


@SUBMISSIONS.action(
    "/<int:submission_id>/retry",
    page="retry",
    done=lambda _, submission_id: f"#{submission_id} is being retried.",
    status=202,
    after=_wake_workers,
)
def retry_submission(act: Act, submission_id: int) -> list[int]:
    """Retry a failed submission."""
    return retries.retry(act, submission_id=submission_id)


@SUBMISSIONS.action(
    "/retry",
    page="retry_all",
    done="All failed submissions are being retried.",
    status=202,
    after=_wake_workers,
)
def retry_submissions(act: Act) -> list[int]:
    """Retry all failed submissions."""
    return retries.retry_all(act)


@SUBMISSIONS.action(
    "/<int:submission_id>/kind",
    page="mark",
    done=lambda marked, **_: f"#{marked.id} is now {marked.kind}.",
    answers=Marked,
    answer=lambda _act, marked, **_: Marked(id=marked.id, kind=marked.kind),
)
def mark_submission(act: Act, sent: KindRequest, submission_id: int) -> Submission:
    """Make a submission a benchmark, hide it, or rank it again."""
    return decisions.mark(act, submission_id=submission_id, kind=SubmissionKind(sent.kind))
