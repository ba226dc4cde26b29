"""Start a check of changed metric settings before a rescoring, and read and accept its outcome.

The web opens no labels: a worker counts what the settings leave of every cell.
"""

from datetime import datetime

from sqlalchemy.orm import Session

from grader.models import Competition, JobState, OrganizerJob, OrganizerJobKind
from grader.services.audit.log import Actor
from grader.services.competitions import lookup
from grader.services.competitions.metric import Rules
from grader.services.jobs import organizer_jobs
from grader.services.solutions import checks
from grader.services.solutions.checks import NotAcceptable
from grader.services.solutions.intake import StoredSolution
from grader.services.stored_json import StoredJson


class SettingsCheckParameters(StoredJson):
    """What a check of changed settings was asked for."""

    rules: Rules
    live_scoring_version_id: int


def add(
    session: Session, *, competition: Competition, rules: Rules, actor: Actor, now: datetime
) -> OrganizerJob:
    """Add the job of checking settings; raise NotAcceptable if they are those in use."""
    live = lookup.live(competition)
    if rules == Rules.from_dict(live.metric_settings):
        raise NotAcceptable("These are the current settings. Change at least one.")
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.SETTINGS,
        parameters=SettingsCheckParameters(rules=rules, live_scoring_version_id=live.id).as_dict(),
        created_by=actor.user,
        now=now,
    )


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest check of settings of the live version that was not dismissed."""
    found = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.SETTINGS)
    live_id = competition.live_scoring_version_id
    return next((job for job in found if asked_of(job).live_scoring_version_id == live_id), None)


def asked_of(job: OrganizerJob) -> SettingsCheckParameters:
    """Return what a job was asked for."""
    return SettingsCheckParameters.from_dict(job.parameters)


def accepted(session: Session, *, competition: Competition, job_id: int) -> StoredSolution:
    """Return the solution as it was checked with the settings; raise NotAcceptable with the reason."""
    job = organizer_jobs.get(session, competition=competition, job_id=job_id, kind=OrganizerJobKind.SETTINGS)
    if job.state is not JobState.DONE:
        raise NotAcceptable("The check of the settings has not finished, or it found problems.")
    if asked_of(job).live_scoring_version_id != competition.live_scoring_version_id:
        raise NotAcceptable("Another scoring version has gone live since. Check the settings again.")
    return checks.stored_in(job)
