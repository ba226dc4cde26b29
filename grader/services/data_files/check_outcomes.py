"""Outcome of a data file's leak check: released, or held back with a mail to the organizers."""

from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.disclosure import Examined
from grader.models import Competition, DataCheckState, DataFile
from grader.services.audit.log import Actor
from grader.services.competitions import lookup, organizers
from grader.services.competitions.acting import Act
from grader.services.data_files import findings as data_findings
from grader.services.mail import letters
from grader.services.mail.outbox import Notice

BROKEN = "its check broke"


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
