"""Checks of uploaded solutions and changed metric settings; proposed identities.

The web process stores the file and adds a job. A worker reads the file, writes the report and stores the
blobs.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import OrganizerError
from grader.files import ColumnRole
from grader.models import (
    Competition,
    CompetitionState,
    DataFile,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
)
from grader.services.competitions import boards, lookup, metric
from grader.services.competitions.acting import Act
from grader.services.competitions.metric import MetricChoice, NamedMetric, Rules
from grader.services.site import organizer_jobs
from grader.services.site.stored_json import StoredJson
from grader.services.solutions.intake import StoredSolution
from grader.storage.stores import StoredBlob

TEST_FILE_NAMES = ("test.csv", "test.csv.gz", "test.csv.zip", "test.zip")


class Purpose(StrEnum):
    """The purposes of a check: a draft's first solution, or a corrected solution for a rescoring."""

    DRAFT = "draft"
    CORRECTED = "corrected"


class NotAcceptable(OrganizerError):
    """The check cannot be accepted because it is unfinished, has problems or is outdated."""

    public_name = "not_acceptable"


class UploadedFile(StoredJson):
    """A stored file as a parameter of a job."""

    name: str
    sha256: str
    size_bytes: int

    @classmethod
    def of(cls, name: str, blob: StoredBlob) -> "UploadedFile":
        """Return a stored blob with its original file name."""
        return cls(name=name.replace("\0", "")[:255], sha256=blob.sha256, size_bytes=blob.size)


class CheckParameters(StoredJson):
    """The parameters of a check; if `roles` is None, the check guesses the roles."""

    purpose: Annotated[Purpose, Field(strict=False)]
    file: UploadedFile
    test: UploadedFile | None
    roles: dict[str, Annotated[ColumnRole, Field(strict=False)]] | None
    choice: MetricChoice
    live_scoring_version_id: int | None


def purpose_of(competition: Competition) -> Purpose:
    """Return the purpose of a new solution: a draft's first solution or a correction."""
    return Purpose.DRAFT if competition.state is CompetitionState.DRAFT else Purpose.CORRECTED


def add(
    act: Act,
    *,
    file: UploadedFile,
    test: UploadedFile | None = None,
    roles: Mapping[str, ColumnRole] | None = None,
) -> OrganizerJob:
    """Add a job that checks a solution.

    If `roles` is None, the job guesses the columns' roles. If `test` is None, it compares the solution with
    the test.csv among the data files.
    """
    competition = act.competition
    test = test or _test_of(act.session, competition)
    choice = metric.of(competition)
    asked = CheckParameters(
        purpose=purpose_of(competition),
        file=file,
        test=test,
        roles=None if roles is None else dict(roles),
        choice=choice,
        live_scoring_version_id=competition.live_scoring_version_id,
    )
    job = _added(act, OrganizerJobKind.CHECK, asked, choice.metric)
    act.record("solution.check", f"check {job.id}", after={"file": file.name})
    return job


def add_again(act: Act, *, job: OrganizerJob, roles: Mapping[str, ColumnRole] | None) -> OrganizerJob:
    """Check a file again with other roles."""
    asked = CheckParameters.from_dict(job.parameters)
    organizer_jobs.dismiss(act.session, job=job, now=act.now)
    return add(act, file=asked.file, test=asked.test, roles=roles)


def _added(act: Act, kind: OrganizerJobKind, asked: StoredJson, form: NamedMetric) -> OrganizerJob:
    return organizer_jobs.add(
        act.session,
        competition=act.competition,
        kind=kind,
        parameters=asked.as_dict(),
        created_by=act.actor.user,
        now=act.now,
        is_python=form.is_python,
    )


def get(session: Session, *, competition: Competition, job_id: int) -> OrganizerJob:
    """Return the job of a check; raise UnknownOrganizerJob."""
    return organizer_jobs.get(session, competition=competition, job_id=job_id, kind=OrganizerJobKind.CHECK)


def newest(session: Session, *, competition: Competition, limit: int = 5) -> list[OrganizerJob]:
    """Return the newest checks that have not been dismissed."""
    return organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.CHECK, limit=limit)


def why_not_acceptable(competition: Competition, job: OrganizerJob) -> str | None:
    """Return the reason why a check cannot be accepted, or None."""
    asked = CheckParameters.from_dict(job.parameters)
    if job.state is not JobState.DONE:
        return "The check has not finished."
    if job.result["solution"] is None:
        return "The report lists problems. Fix them and check the file again."
    if asked.purpose is not purpose_of(competition):
        return "The competition was published after this check. Check the file again as a corrected solution."
    if asked.purpose is Purpose.CORRECTED:
        if asked.live_scoring_version_id != competition.live_scoring_version_id:
            return "Another scoring version went live after this check. Check the file again."
    elif metric.of(competition) not in (asked.choice, _stored(job).rules.choice(asked.choice.min_class_rows)):
        return "The metric settings changed after this check. Check the file again."
    return None


def accepted(session: Session, *, competition: Competition, job_id: int) -> StoredSolution:
    """Return the solution of an accepted check; raise NotAcceptable."""
    job = get(session, competition=competition, job_id=job_id)
    reason = why_not_acceptable(competition, job)
    if reason is not None:
        raise NotAcceptable(reason)
    return _stored(job)


def _stored(job: OrganizerJob) -> StoredSolution:
    return StoredSolution.from_dict(job.result["solution"])


def _test_of(session: Session, competition: Competition) -> UploadedFile | None:
    file = session.scalars(
        select(DataFile).where(DataFile.competition_id == competition.id, DataFile.name.in_(TEST_FILE_NAMES))
    ).first()
    if file is None:
        return None
    return UploadedFile(name=file.name, sha256=file.sha256, size_bytes=file.size_bytes)


class SettingsCheckParameters(StoredJson):
    """The parameters of a check of changed metric settings."""

    rules: Rules
    live_scoring_version_id: int


def add_settings_check(act: Act, *, rules: Rules) -> OrganizerJob:
    """Add a job that checks changed settings; raise NotAcceptable if nothing changed."""
    live = lookup.live(act.competition)
    rules = _completed(rules, Rules.of(live))
    if rules == Rules.of(live):
        raise NotAcceptable("These settings are already in use. Change at least one.")
    # A metric.py has no terms before its check.
    if act.competition.state is not CompetitionState.DRAFT and not rules.metric.is_python:
        boards.require(act.competition, rules)
    asked = SettingsCheckParameters(rules=rules, live_scoring_version_id=live.id)
    return _added(act, OrganizerJobKind.SETTINGS, asked, rules.metric)


def _completed(rules: Rules, live: Rules) -> Rules:
    """Return changed rules with what the solution determines; raise NotAcceptable for other columns."""
    metric, used = rules.metric, live.metric
    if metric.takes_identities != used.takes_identities:
        raise NotAcceptable("The solution was read for another metric. Choose the metric in the setup.")
    if metric.takes_identities:
        return rules
    fixed = {name: getattr(used, name) for name in ("columns", "classes", "target", "groups")}
    if changed := [name for name, value in fixed.items() if getattr(metric, name) not in (value, None, ())]:
        raise NotAcceptable(f"The solution determines `{changed[0]}`. Rescore with a corrected solution.")
    metric = metric.model_copy(update={**fixed, "scored_groups": metric.scored_groups or used.scored_groups})
    if problems := metric.problems():
        raise NotAcceptable(" ".join(problems))
    if metric.name not in used.alternatives:
        raise NotAcceptable(
            f"{metric.describe().title} needs other columns. Metrics for the columns of this competition: "
            f"{', '.join(used.alternatives)}."
        )
    return Rules(metric=metric)


def newest_settings_check(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest check of changed settings against the live version, unless dismissed."""
    jobs = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.SETTINGS)
    live_id = competition.live_scoring_version_id
    return next((job for job in jobs if asked_settings(job).live_scoring_version_id == live_id), None)


def asked_settings(job: OrganizerJob) -> SettingsCheckParameters:
    """Return the parameters of a settings check."""
    return SettingsCheckParameters.from_dict(job.parameters)


def accepted_settings(session: Session, *, competition: Competition, job_id: int) -> StoredSolution:
    """Return the solution of an accepted settings check; raise NotAcceptable."""
    job = organizer_jobs.get(session, competition=competition, job_id=job_id, kind=OrganizerJobKind.SETTINGS)
    if job.state is not JobState.DONE:
        raise NotAcceptable("The settings check has not finished or has found problems.")
    if asked_settings(job).live_scoring_version_id != competition.live_scoring_version_id:
        raise NotAcceptable("Another scoring version went live after this check. Check the settings again.")
    return _stored(job)


def newest_report(session: Session, *, competition: Competition) -> Mapping[str, Any] | None:
    """Return the report on the current solution or, if there is none, that of the newest check."""
    version = competition.live_scoring_version
    if version is not None:
        report: Mapping[str, Any] = version.solution.report
        return report
    job = _checked(session, competition)
    return None if job is None else job.result["report"]


def check_choice(act: Act, *, choice: MetricChoice) -> OrganizerJob | None:
    """Check a draft's solution with other metric settings; return the job, or None if there is no solution.

    The current solution is kept until the check is accepted. If there is no current solution, the newest
    check is repeated. Raise NotAcceptable if nothing would change.
    """
    session, competition = act.session, act.competition
    live = competition.live_scoring_version
    if live is not None and Rules.of(live).metric.takes_identities and choice.identities is not None:
        earlier = newest_settings_check(session, competition=competition)
        if earlier is not None:
            organizer_jobs.dismiss(session, job=earlier, now=act.now)
        return add_settings_check(act, rules=Rules(identities=choice.identities, metric=choice.metric))
    job = _checked(session, competition)
    return None if job is None else add_again(act, job=job, roles=_roles_again(job, choice.metric))


def _roles_again(job: OrganizerJob, metric: NamedMetric) -> dict[str, ColumnRole] | None:
    """Return the roles of a check's columns for another check, or None to guess them for another metric."""
    if metric.takes_identities != CheckParameters.from_dict(job.parameters).choice.metric.takes_identities:
        return None
    roles = {each["name"]: ColumnRole(each["role"]) for each in job.result["columns"]}
    if metric.target in roles:
        roles |= {name: ColumnRole.UNUSED for name, role in roles.items() if role is ColumnRole.LABEL}
        roles[metric.target] = ColumnRole.LABEL
    return roles


def _checked(session: Session, competition: Competition) -> OrganizerJob | None:
    jobs = newest(session, competition=competition, limit=1)
    return next((job for job in jobs if job.state is JobState.DONE and job.result.get("report")), None)
