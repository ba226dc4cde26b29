"""What a person may download of a competition's data: one file, or all of them."""

from typing import Any

from flask import g

from grader import db
from grader.models import Competition, DataFile
from grader.services.data_files import files as data_files
from grader.services.data_files import release
from grader.services.teams import participations


def data_file(session: Any, competition: Competition, name: str) -> DataFile:
    """Return a file that the current user may download; `competition_of` came before.

    Participants from the opening on and once it is checked, organizers at any time. Raises DataNotOpen,
    EntryRefused, UnknownDataFile, BeingChecked.
    """
    _require_access(session, competition)
    found = data_files.get(session, competition=competition, name=name)
    if g.organizer_role is None:
        release.require_given_out(competition, found)
    return found


def all_data_files(session: Any, competition: Competition) -> list[DataFile]:
    """Return all files that the current user may download now; raise DataNotOpen, EntryRefused."""
    _require_access(session, competition)
    return [
        file
        for file in data_files.list_all(session, competition=competition)
        if g.organizer_role is not None or release.is_given_out(competition, file)
    ]


def _require_access(session: Any, competition: Competition) -> None:
    if g.organizer_role is None:
        participations.require_data_access(session, competition=competition, user=g.user, now=db.now(session))
