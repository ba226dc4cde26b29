"""Release of data files that the leak check held back: allow the download, or check again.

Files of before there were checks stay downloadable until something is found in them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, ParticipantError
from grader.models import Competition, DataCheckState, DataFile, JobState
from grader.services.audit.log import Actor
from grader.services.competitions import acting, lookup
from grader.services.competitions.settings_problems import Fault
from grader.services.data_files import checks, files, findings
from grader.services.jobs import organizer_jobs
from grader.text import plain_text

DATA = "data"
CHECK_TIME = timedelta(seconds=30)  # a usual time until a check is done
GIVEN_OUT = (DataCheckState.PASSED, DataCheckState.ALLOWED)


class BeingChecked(ParticipantError):
    """A file cannot be downloaded before its check."""

    public_name = "being_checked"
    kind = ErrorKind.NOT_YET
    retry_after = CHECK_TIME
    message = "{name} is being checked. Try again in a few minutes."


class NotTyped(OrganizerError):
    """Giving out what a check found needs the words typed."""

    public_name = "not_typed"
    kind = ErrorKind.MISMATCH
    message = "The file was not released. Type “{phrase}” to release it anyway."


class NotHeld(OrganizerError):
    """The file is not held back."""

    public_name = "not_held"
    message = "{name} is not held back by its check."


class DataUnchecked(OrganizerError):
    """Data files have not been checked with the current solutions."""

    public_name = "data_unchecked"
    retry_after = CHECK_TIME

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(names)}: being checked with this solution. Try again in some minutes; the page of "
            "the data files shows how it goes."
        )


def is_given_out(competition: Competition, file: DataFile) -> bool:
    """Return whether participants may download a file."""
    if competition.solution_published_at is not None:
        return True
    if file.check_state is DataCheckState.UNCHECKED:
        return True
    return file.check_state in GIVEN_OUT and file.findings.get("sha256") == file.sha256


def require_given_out(competition: Competition, file: DataFile) -> None:
    """Raise BeingChecked unless participants may download a file."""
    if not is_given_out(competition, file):
        raise BeingChecked(name=file.name)


def allow(
    session: Session,
    *,
    competition: Competition,
    name: str,
    typed: str,
    reason: str = "",
    actor: Actor,
    now: datetime,
) -> DataFile:
    """Release a file that is held back; raise NotHeld, or NotTyped unless the confirming text was typed."""
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    file = files.get(session, competition=act.competition, name=name)
    is_unopened = file.check_state is DataCheckState.UNCHECKED and file.findings.get("unopened_count")
    if file.check_state is not DataCheckState.HELD and not is_unopened:
        raise NotHeld(name=name)
    found = findings.found_in(file)
    if " ".join(typed.split()).casefold() != found.phrase.casefold():
        raise NotTyped(phrase=found.phrase)
    file.check_state = DataCheckState.ALLOWED
    covers = sorted(findings.covered(file.findings))
    file.allowed = {"typed": found.phrase, "at": now.isoformat(), "covers": covers}
    act.record(
        "data.allow",
        f"data file {file.name}",
        after={"typed": found.phrase, "discloses": list(found.discloses), "unopened": list(found.unopened)},
        reason=plain_text(reason),
    )
    return file


def check_again(
    session: Session, *, competition: Competition, name: str, actor: Actor, now: datetime
) -> None:
    """Check one file again, for example after a failed check; meanwhile nobody can download it."""
    competition = lookup.lock(session, competition_id=competition.id)
    file = files.get(session, competition=competition, name=name)
    file.check_key, file.check_state, file.findings = None, DataCheckState.WAITING, {}
    session.flush()
    last = checks.newest(session, competition=competition)
    if last is not None and last.state is JobState.FAILED:
        organizer_jobs.dismiss(session, job=last, now=now)
    checks.request(session, competition=competition, now=now, actor=actor)


def faults(session: Session, *, competition: Competition) -> list[Fault]:
    """Return what about the data files keeps a draft from being published."""
    waiting = [file.name for file in checks.stale(session, competition=competition)]
    found = [
        Fault((f"{name} is still being checked; try again in a few minutes."), (DATA,)) for name in waiting
    ]
    for file in session.scalars(select(DataFile).where(DataFile.competition_id == competition.id)):
        if file.check_state is DataCheckState.HELD and file.name not in waiting:
            seen = findings.found_in(file)
            told = "; ".join((seen.discloses + seen.unopened)[: findings.SHOWN_NAMES])
            found.append(
                Fault(f"{file.name} is held back: {told}. Remove it, or say that it may be public.", (DATA,))
            )
    return found


def require_checked(session: Session, *, competition: Competition) -> None:
    """Raise DataUnchecked if a file has not been checked with the current solutions."""
    names = [file.name for file in checks.stale(session, competition=competition)]
    if names:
        raise DataUnchecked(names)
