"""Leak checks of data files: scheduling, results and messages.

A file is checked against every solution that is or was live or is being prepared. The check is repeated
whenever a solution or the file changes. For the release to participants, see `files`.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.disclosure.findings import ORDER, Examined, TargetKind
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
from grader.services.competitions import lookup, organizers
from grader.services.competitions.acting import Act
from grader.services.site import letters, organizer_jobs
from grader.services.site.log import Actor
from grader.services.site.outbox import Notice

BROKEN = "its check failed"
CHECK = Actor(None, "check")
WITHOUT_PREVIEW = (".py", ".ipynb", ".md", ".txt")  # The check tries to read any text file as a table.
# For each kind of hidden values: its name in messages, and what participants get by the release of a file.
_KINDS = {
    TargetKind.LABEL: ("the label", "the labels (anyone who submits them gets a perfect score)"),
    TargetKind.USAGE: ("the column", "which rows decide the final standings"),
    TargetKind.IDENTITY: (
        "the identity",
        "which rows mention the identities (models can be tuned to them)",
    ),
}


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
    """Store the result of a check; return None if the file has been replaced or deleted."""
    competition = lookup.lock(session, competition_id=competition_id)
    file = session.get(DataFile, file_id, populate_existing=True)
    if file is None or file.sha256 != sha256:
        return None
    _settle(Act(session, competition, CHECK, now), file, examined, key)
    return file


def _hold(act: Act, file: DataFile, key: str, incident: str | None) -> None:
    """Hold back a file whose check failed."""
    reason = f"{BROKEN} (incident {incident})" if incident else BROKEN
    _settle(act, file, Examined(unopened={"": reason}), key)


def _settle(act: Act, file: DataFile, examined: Examined, key: str) -> None:
    before = file.check_state
    file.findings, file.check_key = asdict(examined), key
    covering = covered(file)
    if not covering:
        file.check_state = DataCheckState.PASSED
    elif covering <= set(file.allowed.get("covers", ())):
        file.check_state = DataCheckState.ALLOWED
    else:
        file.check_state = DataCheckState.HELD
    act.session.flush()
    if file.check_state is not DataCheckState.HELD or before is DataCheckState.HELD:
        return
    findings = findings_of(file)
    act.record(
        "data.hold",
        f"data file {file.name}",
        after={"discloses": list(findings.discloses), "unopened": list(findings.unopened)},
    )
    letters.send(
        act.session,
        "data-file-held",
        organizers.to_notify(act.session, competition=act.competition),
        kind=Notice.ORGANIZER,
        key=f"data-held:{file.id}:{file.check_key}",
        competition=act.competition,
        file=file,
        findings=findings.discloses + findings.unopened,
        now=act.now,
    )


def solutions_of(session: Session, *, competition: Competition) -> list[Solution]:
    """Return the solutions that the competition's data files must not disclose."""
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
    """Return a hash of a file's bytes and of the solutions against which it is checked."""
    parts = sorted({f"{each.row_ids_sha256} {each.prepared_sha256}" for each in solutions})
    return hashlib.sha256("\n".join([file.sha256, *parts]).encode()).hexdigest()


def stale(session: Session, *, competition: Competition) -> list[DataFile]:
    """Return the files that need a check; empty if the solution is public."""
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
    """Mark a new or replaced file as waiting for its check."""
    file.check_state, file.check_key = DataCheckState.WAITING, None
    file.findings, file.allowed = {}, {}


def request(
    session: Session, *, competition: Competition, now: datetime, actor: Actor | None = None
) -> OrganizerJob | None:
    """Add a job for the files that need a check; None if there are no such files or a job is in progress.

    If the job of the same files fails, they are held back until an organizer requests another check.
    """
    files, last = stale(session, competition=competition), newest(session, competition=competition)
    if not files or (last is not None and not last.is_final):
        return None
    solutions = solutions_of(session, competition=competition)
    keys = [key_of(file, solutions) for file in files]
    if last is not None and last.state is JobState.FAILED and last.parameters == {"keys": keys}:
        for file, key in zip(files, keys, strict=True):
            _hold(Act(session, competition, CHECK, now), file, key, last.incident)
        organizer_jobs.dismiss(session, job=last, now=now)
        return None
    return organizer_jobs.add(
        session,
        competition=competition,
        kind=OrganizerJobKind.DATA,
        parameters={"keys": keys},
        created_by=actor.user if actor else None,
        now=now,
    )


def request_due(session: Session, *, now: datetime) -> None:
    """Request all due checks, for example of a file that changed while being checked."""
    with_files = select(DataFile.competition_id).distinct()
    competitions = select(Competition).where(Competition.id.in_(with_files)).order_by(Competition.id)
    for each in session.scalars(competitions).all():
        request(session, competition=each, now=now)


def newest(session: Session, *, competition: Competition) -> OrganizerJob | None:
    """Return the newest job that checks a competition's files, or None."""
    job = organizer_jobs.newest(session, competition=competition, kind=OrganizerJobKind.DATA)
    return job[0] if job else None


@dataclass(frozen=True, slots=True)
class DataFindings:
    """The findings of a check as texts.

    `discloses` contains a text for each column that discloses hidden values; `unopened` contains one for each
    part that could not be read.
    """

    discloses: tuple[str, ...]
    unopened: tuple[str, ...]
    consequence: str

    @property
    def sentences(self) -> tuple[str, ...]:
        """All findings for organizers."""
        return self.discloses + self.unopened


def findings_of(file: DataFile) -> DataFindings:
    """Return the findings of a file's check."""
    # Labels come first because there are few of them, and identities last because there may be many.
    disclosures = sorted(
        file.findings.get("disclosures", ()), key=lambda each: [*_KINDS].index(TargetKind(each["kind"]))
    )
    unopened = [
        f"{name or file.name} was not checked: {reason}"
        for name, reason in file.findings.get("unopened", {}).items()
    ]
    public = [_KINDS[kind][1] for kind in dict.fromkeys(TargetKind(each["kind"]) for each in disclosures)]
    if unopened:
        public.append("everything in the parts that were not checked")
    return DataFindings(tuple(map(_disclosed, disclosures)), tuple(unopened), "; ".join(public))


def _disclosed(disclosure: Mapping[str, Any]) -> str:
    within = f" of {disclosure['table']}" if disclosure["table"] else ""
    is_order = disclosure["column"] == ORDER
    place = f"{ORDER.capitalize()}{within}" if is_order else f"Column {disclosure['column']!r}{within}"
    kind, _ = _KINDS[TargetKind(disclosure["kind"])]
    return f"{place} agrees with {kind} {disclosure['name']} ({disclosure['rows']:,} rows)"


def preview_of(file: DataFile) -> Mapping[str, Any] | None:
    """Return a file's first rows and column statistics for users who may download it, or None."""
    return None if file.name.lower().endswith(WITHOUT_PREVIEW) else file.findings.get("preview")


def covered(file: DataFile) -> set[str]:
    """Return the disclosures that a release allows; "unopened" stands for parts that were not checked."""
    disclosed = {f"{each['kind']}: {each['name']}" for each in file.findings["disclosures"]}
    return disclosed | ({"unopened"} if file.findings["unopened"] else set())
