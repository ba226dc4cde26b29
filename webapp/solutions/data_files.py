"""Data files (page and API): upload, leak check, release, benchmarks."""

from collections.abc import Collection, Sequence
from typing import Annotated, Any

from flask import Blueprint, Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader import db
from grader.models import (
    DataCheckState,
    DataFile,
    OrganizerJob,
    Role,
    Submission,
    SubmissionStatus,
)
from grader.services.competitions.acting import Act
from grader.services.site import organizer_jobs
from grader.services.solutions import data_checks, data_files
from grader.services.submissions import benchmark_entries
from grader.services.submissions.accepting import NewSubmission
from grader.services.submissions.refusal import NothingToScore
from webapp.competitions import wizard_steps
from webapp.competitions.views import CompetitionView
from webapp.competitions.wizard_steps import DATA
from webapp.http import api
from webapp.http import organizer_operations as organizing
from webapp.http.actions import Family, sentences
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Confirmation, FileForm, Moment, Text
from webapp.http.organizer_operations import DESK, Job, organizers_operation
from webapp.http.responses import polled
from webapp.http.site import current_site
from webapp.solutions import receiving
from webapp.solutions.receiving import NamedBlob
from webapp.submissions import uploads

WORDS = {
    DataCheckState.UNCHECKED: ("not checked", "pending"),
    DataCheckState.WAITING: ("waiting for its check", "pending"),
    DataCheckState.PASSED: ("checked", "scored"),
    DataCheckState.HELD: ("held back", "failed"),
    DataCheckState.ALLOWED: ("released anyway", "pending"),
}


SHOWN_SENTENCES = 6


class FileCheckView:
    """The result of the check of a data file."""

    def __init__(self, slug: str, file: DataFile, *, is_waiting: bool) -> None:
        self.name = file.name
        self.found = data_checks.found_in(file)
        sentences = self.found.sentences
        self.first, self.others = sentences[:SHOWN_SENTENCES], sentences[SHOWN_SENTENCES:]
        self.words, self.pill = WORDS[file.check_state]
        if is_waiting and file.check_state is not DataCheckState.WAITING:
            self.words += ", being checked again" if file.findings else ", is being checked"
        self.is_held = file.check_state is DataCheckState.HELD
        is_unopened = file.check_state is DataCheckState.UNCHECKED and bool(self.found.unopened)
        self.can_be_released = not is_waiting and (self.is_held or is_unopened)
        self.token = _release(slug, file).token_at(url_for("organize_data.allow", slug=slug, name=file.name))
        self.rows = file.findings.get("rows", 0)
        self.state = file.check_state.value


class ChecksView:
    """The checks of all data files of a competition by name, and the progress of the job."""

    def __init__(
        self, slug: str, files: Sequence[DataFile], job: OrganizerJob | None, *, waiting: Collection[str]
    ) -> None:
        self.of = {file.name: FileCheckView(slug, file, is_waiting=file.name in waiting) for file in files}
        self.is_live = job is not None and organizer_jobs.is_open(job)
        progress = job.progress if job is not None and self.is_live else {}
        self.doing = progress.get("words", "Waiting for a worker")
        self.done, self.total = progress.get("done", 0), progress.get("total", 0)

    def live(self) -> dict[str, Any]:
        """Return the JSON that the page polls."""
        return {
            "is_final": not self.is_live,
            "doing": self.doing,
            "done": self.done,
            "files": {name: view.state for name, view in self.of.items()},
        }


blueprint = Blueprint("organize_data", __name__, url_prefix="/competitions/<slug>/organize/data")


class DataFileForm(FileForm):
    """A data file for participants to download."""

    description: Text = ""


class BaselineForm(FileForm):
    """A prediction file to add as a benchmark."""

    name: Text = ""


class OrganizersDataFile(Answer):
    """A data file, the result of its check, and the consequence of releasing it."""

    name: str
    description: str
    size_bytes: int
    sha256: str
    uploaded_at: Moment
    state: DataCheckState
    discloses: list[str]
    unopened: list[str]
    warnings: Annotated[
        list[str], Field(description="Warnings about the file's name; they do not hold the file back.")
    ]
    consequence: str


class BenchmarkLine(Answer):
    """A benchmark."""

    id: int
    name: str
    status: SubmissionStatus


class DataAnswer(Answer):
    """The data files and benchmarks; `is_final` is false while files are being checked."""

    files: list[OrganizersDataFile]
    benchmarks: list[BenchmarkLine]
    is_final: bool
    job: Job | None


class DataFileStored(Answer):
    """The name of an uploaded data file, and the URL of the result of its check."""

    name: str
    url: str


class ReleaseRequest(Confirmation):
    """The confirmation of a file's release, and its reason."""

    reason: Text = ""


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """List the data files and the benchmarks."""
    return _page(slug)


@blueprint.get("/status")
@organizers_only(Role.VIEWER)
def status(slug: str) -> ResponseReturnValue:
    """Return the progress of the checks of the data files as JSON."""
    return _status(_checks(slug)).make_conditional(request)


def _page(slug: str, *, name: str = "", problem: Any = None) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        setup = wizard_steps.wizard(session, competition, now=now, current=DATA)
        files = data_files.list_all(session, competition=competition)
        benchmarks = benchmark_entries.list_all(session, competition=competition)
    checks = _checks(slug)
    return render_template(
        "solutions/data.html",
        competition=view,
        setup=setup,
        files=files,
        checks=checks,
        etag=_status(checks).headers["ETag"],
        benchmarks=benchmarks,
        problems=sentences(problem),
        entered_for=name,
        reason=request.form.get("reason", ""),
        max_bytes=data_files.MAX_BYTES,
    )


def _checks(slug: str) -> ChecksView:
    with reading() as session:
        competition = competition_of(session, slug)
        return ChecksView(
            slug,
            data_files.list_all(session, competition=competition),
            data_checks.newest(session, competition=competition),
            waiting={file.name for file in data_checks.stale(session, competition=competition)},
        )


def _status(checks: ChecksView) -> Response:
    return polled(checks.live())


@api.blueprint.get(f"{DESK}/data")
@organizers_operation(Role.VIEWER, answers=DataAnswer, tag="setup")
def organized_data(slug: str) -> DataAnswer:
    """List the data files with the results of their checks, and the benchmarks."""
    with reading() as session:
        competition = competition_of(session, slug)
        job = data_checks.newest(session, competition=competition)
        files = data_files.list_all(session, competition=competition)
        benchmarks = benchmark_entries.list_all(session, competition=competition)
        return DataAnswer(
            files=[_data_file(each, data_checks.found_in(each)) for each in files],
            benchmarks=[_benchmark(each) for each in benchmarks],
            is_final=job is None or not organizer_jobs.is_open(job),
            job=organizing.job(job) if job else None,
        )


def _benchmark(submission: Submission) -> BenchmarkLine:
    return BenchmarkLine(id=submission.id, name=submission.description, status=submission.status)


def _data_file(file: DataFile, found: Any) -> OrganizersDataFile:
    """Return a data file and the result of its check as the API model."""
    return OrganizersDataFile.of(
        file,
        state=file.check_state,
        discloses=list(found.discloses),
        unopened=list(found.unopened),
        warnings=list(found.warnings),
        consequence=found.consequence,
    )


def _release(slug: str, file: DataFile) -> Question:
    """Return the question that the checkbox of the form confirms for the findings that it shows."""
    return Question(
        heading=f"Release {file.name}?",
        sentences=(f"Participants get {data_checks.found_in(file).consequence}.",),
        button=f"Release {file.name}",
        back=url_for("organize_data.index", slug=slug),
        state=f"{file.sha256} {file.check_key}",
        is_final=True,
    )


FILES = Family(
    pages=blueprint,
    tag="setup",
    refusals=(
        data_files.NotHeld,
        data_files.InvalidDataFile,
        receiving.BaselineRefused,
        uploads.FileMissing,
        NothingToScore,
    ),
    show=_page,
    home=lambda slug, **_: url_for("organize_data.index", slug=slug),
    role=Role.EDITOR,
)


def _stored(act: Act, name: str, status: int) -> Any:
    url = url_for("api.organized_data", slug=act.competition.slug)
    return DataFileStored(name=name, url=url), status, {"Location": url}


@FILES.action(
    "",
    page="upload",
    before=receiving.data_file,
    done=lambda name: f"{name} uploaded. Participants can download it once it has been checked.",
    answers=DataFileStored,
    answer=lambda act, name: _stored(act, name, 201),
    status=201,
)
def upload_data_file(act: Act, sent: DataFileForm, prepared: NamedBlob) -> str:
    """Upload a data file, replacing one with the same name, and start its check."""
    prepared.hold(act)
    data_files.add(**act.parts, name=prepared.name, description=sent.description, blob=prepared.blob)
    return prepared.name


@FILES.action(
    "/<name>",
    method="DELETE",
    page="remove",
    page_path="/<name>/remove",
    done=lambda _, name: f"{name} removed.",
    status=204,
)
def remove_data_file(act: Act, sent: Confirmation, name: str) -> None:
    """Remove a data file, so that it can no longer be downloaded."""
    data_files.remove(act, name=name)
    confirm(
        Question(
            heading=f"Remove {name}?",
            sentences=("No one will be able to download it, and links to it will stop working.",),
            button="Remove file",
            back=url_for("organize_data.index", slug=act.competition.slug),
        )
    )


@FILES.action("/<name>/allow", page="allow", done=lambda _, name: f"{name} released.", status=204)
def allow_data_file(act: Act, sent: ReleaseRequest, name: str) -> None:
    """Release a data file that was held back."""
    file = data_files.allow(act, name=name, reason=sent.reason)
    confirm(_release(act.competition.slug, file))


@FILES.action(
    "/<name>/check",
    page="check_again",
    done=lambda _, name: f"{name} is being checked again.",
    answers=DataFileStored,
    answer=lambda act, _, name: _stored(act, name, 202),
    status=202,
)
def check_data_file(act: Act, name: str) -> None:
    """Check a data file again."""
    data_files.check_again(act, name=name)


@FILES.action(
    "/baseline",
    page="add_baseline",
    before=receiving.baseline,
    done=lambda added: f"Benchmark “{added.submission.description}” added.",
    after=lambda _act, added: current_site().hints.send(added.job_ids),
    answers=BenchmarkLine,
    answer=lambda _act, added: _benchmark(added.submission),
    status=201,
)
def add_baseline(act: Act, sent: BaselineForm, prepared: NamedBlob) -> NewSubmission:
    """Add a prediction file as a benchmark."""
    prepared.hold(act)
    user = act.actor.user or benchmark_entries.first_organizer(act.session, competition=act.competition)
    return benchmark_entries.add(act, blob=prepared.blob, file_name=prepared.name, name=sent.name, user=user)
