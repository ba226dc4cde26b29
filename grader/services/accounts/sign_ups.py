"""Sign-ups by e-mailed link or invitation; invitations from a CSV list."""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

from argon2 import PasswordHasher
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import AccountLink, LinkPurpose, User
from grader.services.accounts import (
    accounts,
    email_addresses,
    kept_identities,
    one_time_links,
    password_resets,
)
from grader.services.mail import addresses, letters
from grader.services.mail import addresses as mail_addresses
from grader.services.mail.addresses import InvalidAddress

MAILED_FOR = timedelta(days=1)
INVITED_FOR = timedelta(days=14)
MAX_COUNT = 1_000
COLUMN = "email"


def ask(session: Session, *, address: str, then: str = "/", now: datetime) -> None:
    """E-mail a sign-up link, or a reset link if the address has an account; raise InvalidAddress.

    Both cases take the same time, so only the recipient can find out whether an account exists. `then` is the
    path to open afterwards.
    """
    address = mail_addresses.clean_address(address)
    user = email_addresses.owner(session, address=address)
    token = one_time_links.create(
        session,
        purpose=LinkPurpose.SIGN_UP if user is None else LinkPurpose.RESET_PASSWORD,
        user=user,
        address=address,
        created_by="mail",
        lifetime=MAILED_FOR if user is None else password_resets.MAILED_FOR,
        now=now,
    )
    letter = "sign-up" if user is None else "sign-up-of-account"
    onward = one_time_links.onward(then)
    letters.send_to_address(session, letter, address, user=user, token=token, onward=onward, now=now)


def invite(session: Session, *, created_by: str, now: datetime) -> str:
    """Create an invitation for one account, for an administrator to pass on, and return its token."""
    return one_time_links.create(
        session,
        purpose=LinkPurpose.SIGN_UP,
        created_by=created_by,
        lifetime=INVITED_FOR,
        now=now,
    )


def find(session: Session, *, token: str, now: datetime) -> AccountLink:
    """Return the sign-up link with this token; raise InvalidLink."""
    return one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now)


def use(
    session: Session,
    *,
    token: str,
    name: str,
    password: str,
    passwords: PasswordHasher,
    secret: str,
    now: datetime,
) -> User:
    """Create an account from a sign-up link, and verify the address to which the link was sent.

    Raise InvalidLink, InvalidAccount, NameTaken, AddressTaken or SuspendedPerson.
    """
    user = accounts.draft(session, name=name, password=password, passwords=passwords, now=now)
    link = one_time_links.require(session, purpose=LinkPurpose.SIGN_UP, token=token, now=now, lock=True)
    if link.email is not None:
        email_addresses.require_free(session, address=link.email)
        user.email, user.email_key = link.email, mail_addresses.key(link.email)
        user.email_verified_at = now
    accounts.add(session, user=user)
    kept_identities.keep_new(session, user=user, secret=secret)
    one_time_links.spend(session, link=link, now=now)
    return user


class InvalidInvitations(ParticipantError):
    """The list of invitations has problems."""

    public_name = "invalid_invitations"
    kind = ErrorKind.MISMATCH

    def __init__(self, problems: list[tuple[int, str]]) -> None:
        self.problems = problems
        super().__init__("\n".join(f"Line {line}: {sentence}" for line, sentence in problems))

    @property
    def details(self) -> Mapping[str, Any]:
        """All problems with their line numbers."""
        return {"problems": [{"line": line, "message": sentence} for line, sentence in self.problems]}


def invite_all(session: Session, *, file: bytes, created_by: str, now: datetime) -> list[tuple[str, str]]:
    """Create invitations for the addresses in a CSV file; return each address with its token.

    Raise InvalidInvitations.
    """
    addresses = _read(file)
    problems = []
    lines: dict[str, int] = {}
    for line, address in addresses:
        if problem := _problem(session, address, lines):
            problems.append((line, problem))
        lines.setdefault(address.casefold(), line)
    if problems:
        raise InvalidInvitations(problems)
    return [(address, invite(session, created_by=created_by, now=now)) for _, address in addresses]


def _read(file: bytes) -> list[tuple[int, str]]:
    """Return the addresses in the column `email` or, without one, in the first column, with line numbers."""
    try:
        rows = csv.reader(io.StringIO(file.decode("utf-8-sig"), newline=""), strict=True)
        addresses = list(_addresses(rows))
    except UnicodeDecodeError as error:
        line = file[: error.start].count(b"\n") + 1
        raise InvalidInvitations([(line, "The file is not valid UTF-8.")]) from None
    except csv.Error as error:
        raise InvalidInvitations([(rows.line_num, f"The file is not valid CSV: {error}.")]) from None
    if not addresses:
        raise InvalidInvitations([(1, "The file contains no addresses.")])
    if len(addresses) > MAX_COUNT:
        line = addresses[MAX_COUNT][0]
        raise InvalidInvitations(
            [(line, f"The file has {len(addresses):,} addresses. The limit is {MAX_COUNT:,}.")]
        )
    return addresses


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
    """Return the reason why an address cannot be invited, or an empty string."""
    try:
        clean = addresses.clean_address(address)
    except InvalidAddress as error:
        return error.message
    if earlier := lines.get(address.casefold()):
        return f"{address} is already on line {earlier}."
    if owner := email_addresses.owner(session, address=clean):
        return f"{address} already has an account: {owner.name}."
    return ""
