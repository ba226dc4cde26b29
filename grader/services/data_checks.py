"""Checks of data files: nothing that the solution hides may be downloaded before an organizer says so.

A file is looked through against every solution that is live, was live, or is being prepared, and again as
soon as one of them or the file changes. Files of before there were checks stay downloadable until then.
"""

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.disclosure import Examined
from grader.errors import OrganizerError, ParticipantError
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
from grader.services import audit, competitions, data_findings, mail, organizer_jobs, organizers
from grader.services.audit import Actor
from grader.services.conditions import Fault
from grader.services.mail import Notice
from grader.services.texts import plain_text

DATA = "data"
GIVEN_OUT = (DataCheckState.PASSED, DataCheckState.ALLOWED)
BROKEN = "its check broke"


class BeingChecked(ParticipantError):
    """A file is not given out before its check."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is being checked. Try again in some minutes.")


class NotTyped(OrganizerError):
    """Giving out what a check found needs the words typed."""

    def __init__(self, phrase: str) -> None:
        super().__init__(f"Nothing is given out: type “{phrase}” to give the file out all the same.")
        self.phrase = phrase


class NotHeld(OrganizerError):
    """The file is not held back."""

    def __init__(self, name: str) -> None:
        super().__init__(f"{name} is not held back by its check.")


class DataUnchecked(OrganizerError):
    """Data files were not looked through yet with the solutions of now."""

    def __init__(self, names: Sequence[str]) -> None:
        super().__init__(
            f"{', '.join(names)}: being checked with this solution. Try again in some minutes; the page of "
            "the data files shows how it goes."
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
    return hashlib.sha256("\n".join([file.sha256, *parts]).encode()).hexdigest()


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
    keys = sorted(key_of(file, solutions_of(session, competition=competition)) for file in files)
    if last is not None and last.state is JobState.FAILED and last.parameters.get("keys") == keys:
        for file in files:
            _break(session, competition, file, last, now)
        return None
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.DATA,
        parameters={"keys": keys},
        created_by=actor.user if actor else None,
        now=now,
    )


def request_all(session: Session, *, now: datetime) -> int:
    """Have the files of every competition checked that need it: after an upgrade, or a process of before."""
    return sum(request(session, competition=each, now=now) is not None for each in _with_files(session))


def are_stale(session: Session) -> bool:
    """Tell whether there is anything for `request_all` to do."""
    return any(
        stale(session, competition=each) and under_way(session, competition=each) is None
        for each in _with_files(session)
    )


def request_again(
    session: Session, *, competition: Competition, name: str, actor: Actor, now: datetime
) -> None:
    """Have one file checked again, as where its check broke; meanwhile it is not given out."""
    file = _locked(session, competition, name)
    file.check_key, file.check_state, file.findings = None, DataCheckState.WAITING, {}
    session.flush()
    last = newest(session, competition=competition)
    if last is not None and last.state is JobState.FAILED:
        organizer_jobs.dismiss(session, job=last, now=now)
    request(session, competition=competition, now=now, actor=actor)


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest job that checks the files of a competition."""
    found = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.DATA)
    return found[0] if found else None


def under_way(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the job that checks the files now, or waits for a worker."""
    last = newest(session, competition=competition)
    return last if last is not None and organizer_jobs.is_open(last) else None


def begin(file: DataFile) -> None:
    """Let a file that was added or replaced wait for its check."""
    file.check_state, file.check_key = DataCheckState.WAITING, None
    file.findings, file.allowed = {}, {}


def is_given_out(competition: Competition, file: DataFile) -> bool:
    """Tell whether participants may download a file."""
    if competition.solution_published_at is not None:
        return True
    if file.check_state is DataCheckState.UNCHECKED:
        return True
    return file.check_state in GIVEN_OUT and file.findings.get("sha256") == file.sha256


def require_given_out(competition: Competition, file: DataFile) -> None:
    """Raise BeingChecked unless participants may download a file."""
    if not is_given_out(competition, file):
        raise BeingChecked(file.name)


def record(
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
    competition = competitions.lock(session, competition_id=competition_id)
    file = session.get(DataFile, file_id, populate_existing=True)
    if file is None or file.sha256 != sha256:
        return None
    _settle(session, competition, file, data_findings.stored(examined, sha256), key, now)
    return file


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
    """Give a file out all the same; raise NotHeld, and NotTyped unless what becomes public was typed."""
    file = _locked(session, competition, name)
    is_unopened = file.check_state is DataCheckState.UNCHECKED and file.findings.get("unopened_count")
    if file.check_state is not DataCheckState.HELD and not is_unopened:
        raise NotHeld(name)
    found = data_findings.found_in(file)
    if " ".join(typed.split()).casefold() != found.phrase.casefold():
        raise NotTyped(found.phrase)
    file.check_state = DataCheckState.ALLOWED
    covers = sorted(data_findings.covered(file.findings))
    file.allowed = {"typed": found.phrase, "at": now.isoformat(), "covers": covers}
    session.flush()
    audit.record(
        session,
        competition=competition,
        actor=actor,
        action="data.allow",
        subject=f"data file {file.name}",
        after={"typed": found.phrase, "discloses": list(found.discloses), "unopened": list(found.unopened)},
        reason=plain_text(reason),
        now=now,
    )
    return file


def faults(session: Session, *, competition: Competition) -> list[Fault]:
    """Return what about the data files keeps a draft from being published."""
    waiting = [file.name for file in stale(session, competition=competition)]
    found = [Fault(f"{name} is still being checked; try again in some minutes.", (DATA,)) for name in waiting]
    for file in session.scalars(select(DataFile).where(DataFile.competition_id == competition.id)):
        if file.check_state is DataCheckState.HELD and file.name not in waiting:
            seen = data_findings.found_in(file)
            told = "; ".join((seen.discloses + seen.unopened)[: data_findings.SHOWN_NAMES])
            found.append(
                Fault(f"{file.name} is held back: {told}. Remove it, or say that it may be public.", (DATA,))
            )
    return found


def require_checked(session: Session, *, competition: Competition) -> None:
    """Raise DataUnchecked where a file was not looked through with the solutions of now."""
    names = [file.name for file in stale(session, competition=competition)]
    if names:
        raise DataUnchecked(names)


def _with_files(session: Session) -> Sequence[Competition]:
    with_files = select(DataFile.competition_id).distinct()
    return session.scalars(
        select(Competition).where(Competition.id.in_(with_files)).order_by(Competition.id)
    ).all()


def _locked(session: Session, competition: Competition, name: str) -> DataFile:
    from grader.services import data_files  # it has files checked: this is the way back

    competition = competitions.lock(session, competition_id=competition.id)
    return data_files.get(session, competition=competition, name=name)


def _break(
    session: Session, competition: Competition, file: DataFile, job: OrganizerJob, now: datetime
) -> None:
    """Note that a file cannot be checked, for its check broke."""
    reason = f"{BROKEN} (incident {job.incident})" if job.incident else BROKEN
    findings = {
        "sha256": file.sha256,
        "disclosures": [],
        "unopened": [{"name": "", "reason": reason}],
        "unopened_count": 1,
        "tables": 0,
        "rows": 0,
    }
    key = key_of(file, solutions_of(session, competition=competition))
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
    audit.record(
        session,
        competition=competition,
        actor=Actor(None, "check"),
        action="data.hold",
        subject=f"data file {file.name}",
        after={"discloses": list(found.discloses), "unopened": list(found.unopened)},
        now=now,
    )
    sentences = "\n".join(f"- {each}" for each in found.discloses + found.unopened)
    for organizer in organizers.to_notify(session, competition=competition):
        mail.notify(
            session,
            user=organizer,
            kind=Notice.ORGANIZER,
            key=f"data-held:{file.id}:{file.check_key}",
            subject=f"{file.name} of {competition.title} is held back",
            body=f"Participants cannot download {file.name}:\n\n{sentences}\n\n"
            f"{mail.SITE}/competitions/{competition.slug}/organize/data\n",
            now=now,
        )
