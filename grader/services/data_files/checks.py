"""Leak checks of data files: when one is due, start it, record its outcome.

A file is looked through against every solution that is live, was live, or is being prepared, and again as
soon as one of them or the file changes. The release to participants is in `release`.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.disclosure import Examined
from grader.models import (
    Competition,
    DataCheckState,
    DataFile,
    JobState,
    OrganizerJob,
    OrganizerJobKind,
    ScoringVersion,
    ScoringVersionState,
    Solution,
)
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, organizers
from grader.services.competitions.acting import Act
from grader.services.data_files import findings as data_findings
from grader.services.jobs import organizer_jobs
from grader.services.mail import letters
from grader.services.mail.outbox import Notice

BROKEN = "its check broke"
WITH_PREVIEW = "preview 1"  # files that were checked before there were previews are checked once more


def record_outcome(
    session: Session,
    *,
    competition_id: int,
    file_id: int,
    sha256: str,
    key: str,
    examined: Examined,
    now: datetime,
) -> DataFile | None:
    """Write what came of looking through a file; None if it was replaced or removed meanwhile."""
    competition = lookup.lock(session, competition_id=competition_id)
    file = session.get(DataFile, file_id, populate_existing=True)
    if file is None or file.sha256 != sha256:
        return None
    _settle(session, competition, file, data_findings.stored(examined, sha256), key, now)
    return file


def hold_unchecked(
    session: Session,
    *,
    competition: Competition,
    file: DataFile,
    key: str,
    incident: str | None,
    now: datetime,
) -> None:
    """Note that a file cannot be checked, for its check broke."""
    reason = f"{BROKEN} (incident {incident})" if incident else BROKEN
    findings = {
        "sha256": file.sha256,
        "disclosures": [],
        "unopened": [{"name": "", "reason": reason}],
        "unopened_count": 1,
        "tables": 0,
        "rows": 0,
    }
    _settle(session, competition, file, findings, key, now)


def _settle(
    session: Session,
    competition: Competition,
    file: DataFile,
    findings: dict[str, Any],
    key: str,
    now: datetime,
) -> None:
    before = file.check_state
    file.findings, file.check_key = findings, key
    found = data_findings.covered(findings)
    if not found:
        file.check_state = DataCheckState.PASSED
    elif found <= set(file.allowed.get("covers", ())):
        file.check_state = DataCheckState.ALLOWED
    elif before is DataCheckState.UNCHECKED and not findings["disclosures"]:
        pass  # it was given out before; that it cannot be opened is told, and takes nobody's download away
    elif before is DataCheckState.PASSED and not findings["disclosures"]:
        file.check_state = before  # it was opened before: that its check broke now says nothing new
    else:
        file.check_state = DataCheckState.HELD
    session.flush()
    if file.check_state is DataCheckState.HELD and before is not DataCheckState.HELD:
        _tell_held(session, competition, file, now)


def _tell_held(session: Session, competition: Competition, file: DataFile, now: datetime) -> None:
    found = data_findings.found_in(file)
    Act(session, competition, Actor(None, "check"), now).record(
        "data.hold",
        f"data file {file.name}",
        after={"discloses": list(found.discloses), "unopened": list(found.unopened)},
    )
    letters.send(
        session,
        "data-file-held",
        organizers.to_notify(session, competition=competition),
        kind=Notice.ORGANIZER,
        key=f"data-held:{file.id}:{file.check_key}",
        competition=competition,
        file=file,
        findings=found.discloses + found.unopened,
        now=now,
    )


def solutions_of(session: Session, *, competition: Competition) -> list[Solution]:
    """Return the solutions that a file of a competition must not give away."""
    return list(
        session.scalars(
            select(Solution)
            .join(ScoringVersion, ScoringVersion.solution_id == Solution.id)
            .where(
                ScoringVersion.competition_id == competition.id,
                ScoringVersion.state != ScoringVersionState.DROPPED,
            )
            .distinct()
            .order_by(Solution.id)
        )
    )


def key_of(file: DataFile, solutions: Iterable[Solution]) -> str:
    """Return what names a file's bytes and the solutions that they are checked with."""
    parts = sorted({f"{each.row_ids_sha256} {each.prepared_sha256}" for each in solutions})
    return hashlib.sha256("\n".join([WITH_PREVIEW, file.sha256, *parts]).encode()).hexdigest()


def stale(session: Session, *, competition: Competition) -> list[DataFile]:
    """Return the files that are not checked as they are now; none once everybody may see the solution."""
    if competition.solution_published_at is not None:
        return []
    solutions = solutions_of(session, competition=competition)
    if not solutions:
        return []
    files = session.scalars(
        select(DataFile).where(DataFile.competition_id == competition.id).order_by(DataFile.name)
    )
    return [file for file in files if file.check_key != key_of(file, solutions)]


def begin(file: DataFile) -> None:
    """Let a file that was added or replaced wait for its check."""
    file.check_state, file.check_key = DataCheckState.WAITING, None
    file.findings, file.allowed = {}, {}


def request(
    session: Session, *, competition: Competition, now: datetime, actor: Actor | None = None
) -> OrganizerJob | None:
    """Have the files checked that need it; None where none does, or a job is under way.

    After a job that broke, the files that it left are held back instead, until an organizer asks again.
    """
    files = stale(session, competition=competition)
    if not files:
        return None
    if under_way(session, competition=competition) is not None:
        return None
    last = newest(session, competition=competition)
    solutions = solutions_of(session, competition=competition)
    keys = {file.id: key_of(file, solutions) for file in files}
    asked = {"keys": sorted(keys.values())}
    if last is not None and last.state is JobState.FAILED and last.parameters.get("keys") == asked["keys"]:
        for file in files:
            hold_unchecked(
                session,
                competition=competition,
                file=file,
                key=keys[file.id],
                incident=last.incident,
                now=now,
            )
        return None
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.DATA,
        parameters=asked,
        created_by=actor.user if actor else None,
        now=now,
    )


def request_all(session: Session, *, now: datetime) -> int:
    """Request the checks that are due, such as those of files that changed during a check."""
    return sum(request(session, competition=each, now=now) is not None for each in _with_files(session))


def are_stale(session: Session) -> bool:
    """Return whether there is anything for `request_all` to do."""
    return any(
        stale(session, competition=each) and under_way(session, competition=each) is None
        for each in _with_files(session)
    )


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest job that checks the files of a competition."""
    found = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.DATA)
    return found[0] if found else None


def under_way(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the job that checks the files now, or waits for a worker."""
    last = newest(session, competition=competition)
    return last if last is not None and organizer_jobs.is_open(last) else None


def _with_files(session: Session) -> Sequence[Competition]:
    with_files = select(DataFile.competition_id).distinct()
    return session.scalars(
        select(Competition).where(Competition.id.in_(with_files)).order_by(Competition.id)
    ).all()
