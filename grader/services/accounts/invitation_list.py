"""Invitations to the site in bulk: read a CSV file of e-mail addresses, make a link for each."""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.services.accounts import email_addresses, sign_ups
from grader.services.mail import addresses
from grader.services.mail.addresses import InvalidAddress

MAX_COUNT = 1_000
COLUMN = "email"


class InvalidInvitations(ParticipantError):
    """A file of addresses with problems, each with its line."""

    public_name = "invalid_invitations"
    kind = ErrorKind.MISMATCH

    def __init__(self, problems: list[tuple[int, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"Line {line}: {sentence}" for line, sentence in problems))

    @property
    def details(self) -> Mapping[str, Any]:
        """All problems, each with its line."""
        return {"problems": [{"line": line, "message": sentence} for line, sentence in self.problems]}


def invite_all(session: Session, *, file: bytes, created_by: str, now: datetime) -> list[tuple[str, str]]:
    """Make an invitation for each address of a file; return the addresses with their tokens.

    All or none: raises InvalidInvitations with all problems. The links are not mailed and not bound to their
    addresses.
    """
    found = _read(file)
    problems = []
    lines: dict[str, int] = {}
    for line, address in found:
        if problem := _problem(session, address, lines):
            problems.append((line, problem))
        lines.setdefault(address.casefold(), line)
    if problems:
        raise InvalidInvitations(problems)
    return [(address, sign_ups.invite(session, created_by=created_by, now=now)) for _, address in found]


def _read(file: bytes) -> list[tuple[int, str]]:
    """Return the addresses with their lines: of the column `email`, without a header of the first one."""
    try:
        rows = csv.reader(io.StringIO(file.decode("utf-8-sig"), newline=""), strict=True)
        found = list(_addresses(rows))
    except UnicodeDecodeError as error:
        line = file[: error.start].count(b"\n") + 1
        raise InvalidInvitations([(line, "The file is not UTF-8.")]) from None
    except csv.Error as error:
        raise InvalidInvitations([(rows.line_num, f"This is not CSV: {error}.")]) from None
    if not found:
        raise InvalidInvitations([(1, "The file has no addresses.")])
    if len(found) > MAX_COUNT:
        line = found[MAX_COUNT][0]
        raise InvalidInvitations([(line, f"A file has at most {MAX_COUNT:,} addresses, not {len(found):,}.")])
    return found


def _addresses(rows: Any) -> Iterator[tuple[int, str]]:
    column: int | None = None
    for row in rows:
        cells = [cell.strip() for cell in row]
        if not any(cells):
            continue
        if column is None:
            names = [cell.casefold() for cell in cells]
            column = names.index(COLUMN) if COLUMN in names else 0
            if COLUMN in names:
                continue
        yield rows.line_num, cells[column] if column < len(cells) else ""


def _problem(session: Session, address: str, lines: Mapping[str, int]) -> str:
    """Return why an address cannot be invited, empty where it can."""
    try:
        clean = addresses.clean_address(address)
    except InvalidAddress as error:
        return error.message
    if earlier := lines.get(address.casefold()):
        return f"{address} is already on line {earlier}."
    if owner := email_addresses.owner(session, address=clean):
        return f"{address} has an account: {owner.name}."
    return ""
