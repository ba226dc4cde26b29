"""Administrators' status page and its API operation."""

from typing import Annotated

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader.maintenance.doctor_checks import Urgency
from grader.models import JobState
from grader.supervisor import status
from webapp.accounts.people import administrators_operation
from webapp.http import auth
from webapp.http.api import blueprint as api
from webapp.http.context import reading
from webapp.http.fields import Answer, Moment
from webapp.http.site import current_site

blueprint = Blueprint("status", __name__, url_prefix="/status")


class QueueStatus(Answer):
    """The open and failed rows of a queue: jobs of one kind, or `mail`."""

    name: str
    waiting: int
    running: int
    failed: int
    oldest_at: Moment | None


class ProcessStatus(Answer):
    """A process of the service, its current work, and when that work or the process started."""

    name: str
    work: str | None
    since: Moment | None


class JobStatus(Answer):
    """A claimed, failed or retried job."""

    id: int
    work: str
    competition: str
    state: JobState
    attempts: int
    errors: int
    incident: str | None
    at: Moment | None
    holder: str | None


class StoredFiles(Answer):
    """The number and the total size of stored files of one kind."""

    name: str
    count: int
    size_bytes: int


class SettingInForce(Answer):
    """A setting and its source: default, environment, file or command. Secrets are masked."""

    variable: str
    value: str
    source: str
    description: str


class CheckResult(Answer):
    """The result of a quick check; `fairboard doctor` runs all checks."""

    level: Urgency
    subject: str
    message: str


class SiteStatus(Answer):
    """The status of the installation. Secrets in the settings are masked."""

    at: Moment
    queues: list[QueueStatus]
    processes: list[ProcessStatus]
    claimed: Annotated[list[JobStatus], Field(description="The jobs that a process works on.")]
    failing: Annotated[list[JobStatus], Field(description="The newest jobs that failed or are retried.")]
    stored: list[StoredFiles]
    backup_at: Moment | None
    versions: Annotated[dict[str, str], Field(description="Fairboard, schema, database and broker.")]
    settings: list[SettingInForce]
    findings: list[CheckResult]


@blueprint.get("")
@auth.admin_required
def index() -> ResponseReturnValue:
    """Show the status of the installation."""
    return render_template("accounts/status.html", status=_read())


@api.get("/status")
@administrators_operation(answers=SiteStatus)
def site_status() -> SiteStatus:
    """Return the status of the installation: queues, processes, disks, versions, settings and checks."""
    return SiteStatus.model_validate(_read())


def _read() -> status.Status:
    with reading() as session:
        return status.read(current_site().settings, session)
