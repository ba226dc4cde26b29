"""Solution (page and API): upload, column roles, report, acceptance."""

from typing import Annotated, Any

from flask import Blueprint, Response, request, url_for
from pydantic import Field

from grader.files import ColumnRole
from grader.files.solution.solution import SIZE_CAP
from grader.models import Competition, CompetitionState, OrganizerJob, Role
from grader.services.competitions import metric
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.acting import Act
from grader.services.rescoring import versions
from grader.services.site import organizer_jobs
from grader.services.solutions import check_jobs
from grader.services.solutions.check_jobs import CheckParameters, Purpose, UploadedFile
from webapp.competitions import checklist
from webapp.http import responses
from webapp.http.fields import Answer, Binary, FileForm, Problems, Sent
from webapp.http.organizer_operations import Job, Started
from webapp.solutions import metrics, receiving
from webapp.solutions.receiving import NamedBlob
from webapp.surface import Ask, Surface

blueprint = Blueprint("organize_solution", __name__, url_prefix="/competitions/<slug>/organize/solution")
SOLUTION = Surface(blueprint, tag="setup", role=Role.VIEWER, acts=Role.EDITOR)
NAMED_ROLES = (ColumnRole.ID, ColumnRole.LABEL, ColumnRole.SLICE, ColumnRole.USAGE, ColumnRole.UNUSED)
# Roles that follow unambiguously from a column's name or values. Their menus are collapsed.
CLEAR = frozenset({ColumnRole.ID, ColumnRole.LABEL, ColumnRole.USAGE, ColumnRole.IDENTITY})


class SolutionForm(FileForm):
    """A solution to check; for a published competition, a corrected solution."""

    test: Annotated[Any, Binary] = None


class SolutionColumn(Answer):
    """A column of a checked solution, with its role and example values."""

    name: str
    role: ColumnRole
    examples: list[Any]


class SolutionCheck(Answer):
    """A check of a solution: progress, results, and the reason if the solution cannot be accepted."""

    job: Job
    is_final: bool
    purpose: Purpose
    file_name: str
    size_bytes: int
    test_name: str | None
    problems: Problems
    columns: list[SolutionColumn]
    are_guessed: bool
    report: dict[str, Any] | None
    changes: dict[str, Any] | None
    is_stored: Annotated[bool, Field(description="Whether the solution can be scored and was stored.")]
    why_not: Annotated[str | None, Field(description="Null if the solution can be accepted.")]


class SolutionInUse(Answer):
    """The live solution and its report."""

    number: int
    scoring_version: int
    row_count: int
    commitment: str
    report: dict[str, Any]


class SolutionAnswer(Answer):
    """The live solution and the newest checks."""

    solution: SolutionInUse | None
    checks: list[SolutionCheck]


class RolesRequest(Sent):
    """New roles for columns; other columns keep their roles."""

    roles: dict[str, ColumnRole]

    @staticmethod
    def of_form(act: Act, job_id: int) -> dict[str, Any]:
        """Return the chosen roles; the form's fields are numbered like the columns."""
        job = check_jobs.get(act.session, competition=act.competition, job_id=job_id)
        sent = {name: request.form.get(f"role-{place}") for place, name in enumerate(_roles(job))}
        return {"roles": {name: role for name, role in sent.items() if role}}


def _roles(job: OrganizerJob) -> dict[str, ColumnRole]:
    """Return the roles of a check's columns."""
    return {each["name"]: ColumnRole(each["role"]) for each in (job.result or {}).get("columns", [])}


def _ticks(ask: Ask) -> Any:
    """Return the identities of a draft's newest report for selection, or None."""
    settings = competition_settings.of(ask.competition)
    report = check_jobs.newest_report(ask.session, competition=ask.competition)
    is_draft = ask.competition.state is CompetitionState.DRAFT
    if not is_draft or report is None or not settings.metric_choice.metric.takes_identities:
        return None
    lines = report["identities"]
    chosen = settings.identities or [each["name"] for each in lines if each["in_score"]]
    return {
        "splits": list(report["splits"]),
        "candidates": sorted(lines, key=lambda each: bool(each["why_not"])),
        "chosen": chosen,
        "version": competition_settings.version_of(settings),
    }


@SOLUTION.read("", SolutionAnswer, endpoint="index", page="solutions/solution.html")
def organized_solution(ask: Ask) -> SolutionAnswer:
    """Return the live solution with its report, and the newest checks."""
    if ask.is_page:
        live = ask.competition.live_scoring_version
        ask.shown |= {
            "states": checklist.sections(ask),
            "stored": live and live.solution,
            "sample": metrics.sample_solution(metric.of(ask.competition).metric),
            "report": live and live.solution.report,
            "ticks": _ticks(ask),
            "file_limit_bytes": SIZE_CAP,
        }
    return solution_answer(ask.session, ask.competition)


@SOLUTION.read("/<int:job_id>", SolutionCheck, endpoint="show", page="solutions/solution_check.html")
def solution_check(ask: Ask, job_id: int) -> SolutionCheck:
    """Return the progress of the check of a solution, then its report and the roles of the columns."""
    job = check_jobs.get(ask.session, competition=ask.competition, job_id=job_id)
    check = _check(ask.competition, job)
    if ask.is_page:
        has_identities = CheckParameters.from_dict(job.parameters).choice.metric.takes_identities
        # Without a report, every role is doubtful. A column that nearly fits a role may be misclassified.
        missed = check.report.get("undecided", ()) if check.report else [c.name for c in check.columns]
        ask.shown |= {
            "states": checklist.sections(ask),
            "created_by": job.created_by.name if job.created_by else "the system",
            "report": check.report,
            "has_identities": has_identities,
            "roles": [*ColumnRole] if has_identities else NAMED_ROLES,
            "clear": {c.name for c in check.columns if c.role in CLEAR and c.name not in missed},
            "ticks": _ticks(ask) if check.is_stored and check.why_not is None else None,
        }
    return check


@SOLUTION.read("/<int:job_id>/changes.csv", None, endpoint="changes", file="text/csv")
def solution_changes(ask: Ask, job_id: int) -> Response:
    """Return every value that a corrected solution changes as CSV."""
    job = check_jobs.get(ask.session, competition=ask.competition, job_id=job_id)
    sha256 = (job.result or {}).get("changes_sha256")
    if sha256 is None:
        raise organizer_jobs.UnknownOrganizerJob(job_id=job_id)
    name = f"{ask.competition.slug}-changes-{job_id}.csv"
    return responses.send_stored(sha256, name=name, mimetype="text/csv")


def solution_answer(session: Any, competition: Competition) -> SolutionAnswer:
    """Return the live solution and the newest checks as the API model."""
    checks = check_jobs.newest(session, competition=competition)
    live = competition.live_scoring_version
    return SolutionAnswer(
        solution=SolutionInUse.of(live.solution, scoring_version=live.number) if live else None,
        checks=[_check(competition, job) for job in checks],
    )


def _check(competition: Competition, job: OrganizerJob) -> SolutionCheck:
    asked, result = CheckParameters.from_dict(job.parameters), job.result or {}
    return SolutionCheck(
        job=Job.of(job),
        is_final=job.is_final,
        purpose=asked.purpose,
        file_name=asked.file.name,
        size_bytes=asked.file.size_bytes,
        test_name=asked.test.name if asked.test else None,
        problems=[*job.problems, *result.get("problems", [])],
        columns=[SolutionColumn(**column) for column in result.get("columns", [])],
        are_guessed=result.get("are_guessed", False),
        report=result.get("report"),
        changes=result.get("changes"),
        is_stored=result.get("solution") is not None,
        why_not=check_jobs.why_not_acceptable(competition, job),
    )


def started(act: Act, job: OrganizerJob) -> Started:
    """Return a started check as the API model."""
    return Started(id=job.id, url=url_for("api.solution_check", slug=act.competition.slug, job_id=job.id))


def _show_started(begun: Started, slug: str, **_: Any) -> tuple[str, str]:
    return "", url_for("organize_solution.show", slug=slug, job_id=begun.id)


@SOLUTION.act(
    "",
    back=organized_solution,
    form="upload",
    before=receiving.solution,
    done=_show_started,
    answers=Started,
    status=202,
)
def upload_solution(act: Act, sent: SolutionForm, prepared: list[NamedBlob]) -> Started:
    """Upload a solution and start its check; for a published competition, a corrected solution."""
    for each in prepared:
        each.hold(act)
    file, *tests = (UploadedFile.of(each.name, each.blob) for each in prepared)
    return started(act, check_jobs.add(act, file=file, test=tests[0] if tests else None))


@SOLUTION.act(
    "/<int:job_id>/roles",
    back=solution_check,
    form="change_roles",
    done=_show_started,
    answers=Started,
    status=202,
)
def change_solution_roles(act: Act, sent: RolesRequest, job_id: int) -> Started:
    """Check the same file again with other column roles."""
    job = check_jobs.get(act.session, competition=act.competition, job_id=job_id)
    known = _roles(job)
    roles = known | {name: role for name, role in sent.roles.items() if name in known}
    return started(act, check_jobs.add_again(act, job=job, roles=roles))


@SOLUTION.act(
    "/<int:job_id>/accept",
    back=solution_check,
    form="accept",
    done=lambda _, slug, **__: ("Solution accepted.", url_for("organize_settings.show", slug=slug)),
    answers=SolutionAnswer,
)
def accept_solution(act: Act, job_id: int) -> SolutionAnswer:
    """Accept a checked solution for a draft."""
    solution = check_jobs.accepted(act.session, competition=act.competition, job_id=job_id)
    versions.set_first(act, solution=solution)
    return solution_answer(act.session, act.competition)


@SOLUTION.act(
    "/<int:job_id>",
    method="DELETE",
    back=solution_check,
    form="dismiss",
    done=lambda _, slug, **__: ("Check dismissed.", url_for("organize_solution.index", slug=slug)),
    status=204,
)
def dismiss_solution_check(act: Act, job_id: int) -> None:
    """Dismiss a check, and stop it if it is running."""
    job = check_jobs.get(act.session, competition=act.competition, job_id=job_id)
    organizer_jobs.dismiss(act.session, job=job, now=act.now)
