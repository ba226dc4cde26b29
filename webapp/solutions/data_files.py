"""Data files (page and API): upload, leak check, release, benchmarks."""

from flask import Blueprint, request, url_for

from grader.models import DataCheckState, Role, Submission, SubmissionStatus
from grader.services.competitions.acting import Act
from grader.services.solutions import data_checks, data_files
from grader.services.submissions import benchmark_entries
from webapp.competitions import checklist
from webapp.competitions.downloads import DataFileLine
from webapp.http.confirmation import confirm
from webapp.http.fields import Answer, Confirmation, FileForm, Text
from webapp.http.organizer_operations import ConfirmedReason, Job, Stored
from webapp.http.site import current_site
from webapp.solutions import receiving
from webapp.solutions.receiving import NamedBlob
from webapp.surface import Ask, Surface, after_commit

blueprint = Blueprint("organize_data", __name__, url_prefix="/competitions/<slug>/organize/data")
DATA = Surface(blueprint, tag="setup", role=Role.VIEWER, acts=Role.EDITOR)


class DataFileForm(FileForm):
    """A data file for participants to download."""

    description: Text = ""


class BaselineForm(FileForm):
    """A prediction file to add as a benchmark."""

    name: Text = ""


class OrganizersDataFile(DataFileLine):
    """A data file, the result of its check, and the consequence of releasing it."""

    state: DataCheckState
    discloses: list[str]
    unopened: list[str]
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


@DATA.read("", DataAnswer, endpoint="index", page="solutions/data.html")
def organized_data(ask: Ask) -> DataAnswer:
    """List the data files with the results of their checks, and the benchmarks."""
    session, competition = ask.session, ask.competition
    job = data_checks.newest(session, competition=competition)
    files = data_files.list_all(session, competition=competition)
    findings = {file.name: data_checks.findings_of(file) for file in files}
    benchmarks = benchmark_entries.list_all(session, competition=competition)
    if ask.is_page:
        ask.shown |= {
            "states": checklist.sections(ask),
            "findings": findings,
            "stale": {file.name for file in data_checks.stale(session, competition=competition)},
            "benchmarks": benchmarks,
            "entered_for": (request.view_args or {}).get("name", ""),
            "max_bytes": data_files.MAX_BYTES,
        }
    return DataAnswer(
        files=[
            OrganizersDataFile.of(
                each,
                state=each.check_state,
                discloses=list(findings[each.name].discloses),
                unopened=list(findings[each.name].unopened),
                consequence=findings[each.name].consequence,
            )
            for each in files
        ],
        benchmarks=[_benchmark(each) for each in benchmarks],
        is_final=job is None or job.is_final,
        job=Job.of(job) if job else None,
    )


def _benchmark(submission: Submission) -> BenchmarkLine:
    return BenchmarkLine(id=submission.id, name=submission.description, status=submission.status)


def _stored(act: Act, name: str) -> Stored:
    return Stored(name=name, url=url_for("api.organized_data", slug=act.competition.slug))


@DATA.act(
    "",
    back=organized_data,
    form="upload",
    before=receiving.data_file,
    done=lambda stored, **_: (
        f"{stored.name} uploaded. Participants can download it once it has been checked."
    ),
    answers=Stored,
    status=201,
)
def upload_data_file(act: Act, sent: DataFileForm, prepared: NamedBlob) -> Stored:
    """Upload a data file, replacing one with the same name, and start its check."""
    prepared.hold(act)
    data_files.add(**act.parts, name=prepared.name, description=sent.description, blob=prepared.blob)
    return _stored(act, prepared.name)


@DATA.act(
    "/<name>",
    method="DELETE",
    back=organized_data,
    form="remove",
    done=lambda _, name, **__: f"{name} removed.",
    status=204,
)
def remove_data_file(act: Act, sent: Confirmation, name: str) -> None:
    """Remove a data file, so that it can no longer be downloaded."""
    data_files.remove(act, name=name)
    effect = "No one will be able to download it, and links to it will stop working."
    confirm(f"Remove {name}?", "Remove file", effect)


@DATA.act(
    "/<name>/allow",
    back=organized_data,
    form="allow",
    done=lambda _, name, **__: f"{name} released.",
    status=204,
)
def allow_data_file(act: Act, sent: ConfirmedReason, name: str) -> None:
    """Release a data file that was held back."""
    file = data_files.allow(act, name=name, reason=sent.reason)
    effect = f"Participants get {data_checks.findings_of(file).consequence}."
    state = f"{file.sha256} {file.check_key}"
    confirm(f"Release {name}?", f"Release {name}", effect, state=state, is_final=True)


@DATA.act(
    "/<name>/check",
    back=organized_data,
    form="check_again",
    done=lambda _, name, **__: f"{name} is being checked again.",
    answers=Stored,
    status=202,
)
def check_data_file(act: Act, name: str) -> Stored:
    """Check a data file again."""
    data_files.check_again(act, name=name)
    return _stored(act, name)


@DATA.act(
    "/baseline",
    back=organized_data,
    form="add_baseline",
    before=receiving.baseline,
    done=lambda added, **_: f"Benchmark “{added.name}” added.",
    answers=BenchmarkLine,
    status=201,
)
def add_baseline(act: Act, sent: BaselineForm, prepared: NamedBlob) -> BenchmarkLine:
    """Add a prediction file as a benchmark."""
    prepared.hold(act)
    added = benchmark_entries.add(act, blob=prepared.blob, file_name=prepared.name, name=sent.name)
    after_commit(current_site().hints.send, added.job_ids)
    return _benchmark(added.submission)
