"""Data files for participants, such as train.csv: upload, remove, download one or all as a ZIP."""

import re
from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, OrganizerError, ParticipantError
from grader.models import Competition, DataFile
from grader.services.audit.log import Actor
from grader.services.competitions import acting, phases
from grader.services.data_files import checks
from grader.storage.stores import StoredBlob
from grader.text import is_storable, one_line
from grader.visibility import Phase

MAX_BYTES = 2_000_000_000
MAX_COUNT = 100
DESCRIPTION_MAX_LENGTH = 500
SAMPLE_SUBMISSION = "sample_submission.csv"

_NAME = re.compile(r"[\w][\w .()+-]{0,199}")


class InvalidDataFile(OrganizerError):
    """A data file cannot be added like this."""

    public_name = "invalid_data_file"


class UnknownDataFile(ParticipantError):
    """The competition has no such file, or not for this person."""

    public_name = "unknown_data_file"
    kind = ErrorKind.NOT_FOUND
    message = "There is no file {name!r} here."


class DataNotOpen(ParticipantError):
    """Data files cannot be downloaded before the opening."""

    public_name = "data_not_open"
    kind = ErrorKind.FORBIDDEN

    def __init__(self, competition: Competition) -> None:
        when = f" on {competition.opens_at:%Y-%m-%d %H:%M} UTC" if competition.opens_at else ""
        super().__init__(f"The files can be downloaded once the competition opens{when}.")


def list_all(session: Session, *, competition: Competition) -> Sequence[DataFile]:
    """Return the files of a competition by name."""
    return session.scalars(
        select(DataFile).where(DataFile.competition_id == competition.id).order_by(DataFile.name)
    ).all()


def get(session: Session, *, competition: Competition, name: str) -> DataFile:
    """Return a file of a competition; raise UnknownDataFile."""
    if not is_storable(name):
        raise UnknownDataFile(name=name)
    found = session.scalar(
        select(DataFile).where(DataFile.competition_id == competition.id, DataFile.name == name)
    )
    if found is None:
        raise UnknownDataFile(name=name)
    return found


def require_open(competition: Competition, *, now: datetime) -> None:
    """Raise DataNotOpen before the opening."""
    if phases.phase(competition, now) is Phase.SCHEDULED:
        raise DataNotOpen(competition)


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
    """Add a stored file, in place of one of the same name, and have it checked; raise InvalidDataFile."""
    name = checked_name(name)
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    competition = act.competition
    files = {each.name: each for each in list_all(session, competition=competition)}
    earlier = files.get(name)
    if earlier is None and len(files) >= MAX_COUNT:
        raise InvalidDataFile(f"A competition has at most {MAX_COUNT} data files.")
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


def remove(session: Session, *, competition: Competition, name: str, actor: Actor, now: datetime) -> None:
    """Take a file away; raise UnknownDataFile. Its bytes stay until orphans are collected."""
    act = acting.begin(session, competition=competition, actor=actor, now=now)
    file = get(session, competition=act.competition, name=name)
    session.delete(file)
    act.record("data.remove", f"data file {name}", before=_facts(file))


def checked_name(name: str) -> str:
    """Return the last part of a file's name; raise InvalidDataFile where it can be no part of an address."""
    last = one_line(name.replace("\\", "/").rpartition("/")[2], 255)
    if not _NAME.fullmatch(last):
        raise InvalidDataFile(
            f"The file name {last!r} must be 1 to 200 letters, digits, spaces and characters of . _ - + ( ), "
            "beginning with a letter or digit."
        )
    if last == SAMPLE_SUBMISSION:
        raise InvalidDataFile(
            f"{SAMPLE_SUBMISSION} is created from the solution; choose another name for your file."
        )
    return last


def _facts(file: DataFile) -> dict[str, object]:
    return {"sha256": file.sha256, "size_bytes": file.size_bytes, "description": file.description}
