"""Data files for participants: upload, download, deletion and release after a check."""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerRefusal, Refusal
from grader.models import Competition, DataCheckState, DataFile
from grader.services.competitions import acting, phases
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_problems import Fault
from grader.services.site.log import Actor
from grader.services.solutions import data_checks as checks
from grader.storage.stores import StoredBlob
from grader.text import is_storable, one_line, plain_text
from grader.visibility import Phase

MAX_BYTES = 2_000_000_000
MAX_COUNT = 100
DESCRIPTION_MAX_LENGTH = 500
SHOWN_FINDINGS = 3
SAMPLE_SUBMISSION = "sample_submission.csv"

_NAME = re.compile(r"[\w][\w .()+-]{0,199}")


def list_all(session: Session, *, competition: Competition) -> Sequence[DataFile]:
    """Return the data files of a competition, sorted by name."""
    return session.scalars(
        select(DataFile).where(DataFile.competition_id == competition.id).order_by(DataFile.name)
    ).all()


def get(session: Session, *, competition: Competition, name: str) -> DataFile:
    """Return a data file of a competition; raise Refusal."""
    wanted = select(DataFile).where(DataFile.competition_id == competition.id, DataFile.name == name)
    file = session.scalar(wanted) if is_storable(name) else None
    if file is None:
        raise Refusal("unknown_data_file", ErrorKind.NOT_FOUND, f"This competition has no file {name!r}.")
    return file


def require_open(competition: Competition, *, now: datetime) -> None:
    """Raise Refusal before the competition opens."""
    if phases.phase(competition, now) is Phase.SCHEDULED:
        when = f" on {competition.opens_at:%-d %b %Y, %H:%M} UTC" if competition.opens_at else ""
        message = f"The files are not available yet. Download them when the competition opens{when}."
        raise Refusal("data_not_open", ErrorKind.FORBIDDEN, message)


def add(
    session: Session,
    *,
    competition: Competition,
    name: str,
    description: str = "",
    blob: StoredBlob,
    actor: Actor,
    now: datetime,
) -> DataFile:
    """Add a file or replace the one with the same name, and request a check; raise OrganizerRefusal."""
    name = checked_name(name)
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    competition = act.competition
    files = {each.name: each for each in list_all(session, competition=competition)}
    earlier = files.get(name)
    if earlier is None and len(files) >= MAX_COUNT:
        raise _invalid(f"This competition has reached the limit of {MAX_COUNT} data files. Remove one first.")
    before = {} if earlier is None else _facts(earlier)
    file = earlier or DataFile(competition_id=competition.id, name=name)
    if description or earlier is None:
        file.description = one_line(description, DESCRIPTION_MAX_LENGTH)
    file.sha256, file.size_bytes, file.uploaded_at = blob.sha256, blob.size, now
    checks.begin(file)
    session.add(file)
    session.flush()
    checks.request(session, competition=competition, now=now, actor=actor)
    act.record("data.upload", f"data file {name}", before=before, after=_facts(file))
    return file


def remove(act: Act, *, name: str) -> None:
    """Delete a file; raise Refusal. Its blob is deleted later, with other orphaned blobs."""
    file = get(act.session, competition=act.competition, name=name)
    act.session.delete(file)
    act.record("data.remove", f"data file {name}", before=_facts(file))


def checked_name(name: str) -> str:
    """Return the last part of a path as a file name; raise OrganizerRefusal if it is not allowed."""
    last = one_line(name.replace("\\", "/").rpartition("/")[2], 255)
    if not _NAME.fullmatch(last):
        raise _invalid(
            f"The file name {last!r} is invalid. Use 1 to 200 characters (letters, digits, spaces, and "
            ". _ - + ( )) and start with a letter, digit or underscore."
        )
    if last == SAMPLE_SUBMISSION:
        raise _invalid(f"{last} is generated from the solution. Choose another name for your file.")
    return last


def _invalid(message: str) -> OrganizerRefusal:
    return OrganizerRefusal("invalid_data_file", ErrorKind.CONFLICT, message)


def _facts(file: DataFile) -> dict[str, object]:
    return {"sha256": file.sha256, "size_bytes": file.size_bytes, "description": file.description}


DATA = "data"
CHECK_TIME = timedelta(seconds=30)  # typical duration of a check
GIVEN_OUT = (DataCheckState.PASSED, DataCheckState.ALLOWED)


def is_given_out(competition: Competition, file: DataFile) -> bool:
    """Return whether participants may download a file."""
    return competition.solution_published_at is not None or file.check_state in GIVEN_OUT


def require_given_out(competition: Competition, file: DataFile) -> None:
    """Raise Refusal unless participants may download a file."""
    if not is_given_out(competition, file):
        message = f"{file.name} is being checked. Try again in a few minutes."
        raise Refusal("being_checked", ErrorKind.NOT_YET, message, retry_after=CHECK_TIME)


def allow(act: Act, *, name: str, reason: str = "") -> DataFile:
    """Release a file that is held back; raise OrganizerRefusal."""
    file = get(act.session, competition=act.competition, name=name)
    if file.check_state is not DataCheckState.HELD:
        raise OrganizerRefusal("not_held", ErrorKind.CONFLICT, f"{name} is not held back by its check.")
    seen = checks.findings_of(file)
    file.check_state = DataCheckState.ALLOWED
    file.allowed = {"at": act.now.isoformat(), "covers": sorted(checks.covered(file))}
    act.record(
        "data.allow",
        f"data file {file.name}",
        after={
            "discloses": list(seen.discloses),
            "unopened": list(seen.unopened),
        },
        reason=plain_text(reason),
    )
    return file


def check_again(act: Act, *, name: str) -> None:
    """Check a file again; it cannot be downloaded until the check has finished."""
    session, competition = act.session, act.competition
    file = get(session, competition=competition, name=name)
    file.check_key, file.check_state, file.findings = None, DataCheckState.WAITING, {}
    session.flush()
    checks.request(session, competition=competition, now=act.now, actor=act.actor)


def faults(session: Session, *, competition: Competition) -> list[Fault]:
    """Return the problems with data files that prevent the publication of a draft."""
    waiting = {file.name for file in checks.stale(session, competition=competition)}
    problems = []
    for file in list_all(session, competition=competition):
        if file.name in waiting:
            text = f"{file.name} is still being checked. Try again in a few minutes."
        elif file.check_state is DataCheckState.HELD:
            names = "; ".join(checks.findings_of(file).sentences[:SHOWN_FINDINGS])
            text = f"{file.name} is held back: {names}. Remove it, or confirm its release."
        else:
            continue
        problems.append(Fault(text, (DATA,)))
    return problems


def require_checked(session: Session, *, competition: Competition) -> None:
    """Raise OrganizerRefusal if a file has not been checked against the current solutions."""
    names = [file.name for file in checks.stale(session, competition=competition)]
    if names:
        message = (
            f"These files are being checked against the solution: {', '.join(names)}. Try again in a few "
            "minutes. The organizers' Data files page shows the progress."
        )
        raise OrganizerRefusal("data_unchecked", ErrorKind.CONFLICT, message, retry_after=CHECK_TIME)
