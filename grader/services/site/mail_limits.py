"""Daily limits on e-mails, invitation links and merge requests."""

import hashlib
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import LinkPurpose, Team, User
from grader.services.site import counting
from grader.services.site import mail_addresses as addresses
from grader.services.site.counting import DAY, HOUR, RateLimit

TO_ADDRESS = (RateLimit(5, HOUR), RateLimit(20, DAY))
LINKS = (RateLimit(50, DAY),)
MERGE_REQUESTS = (RateLimit(10, DAY),)
MERGE_REQUESTS_OF_PERSON = (RateLimit(20, DAY),)
STUDENTS = (RateLimit(1_000, DAY),)
TO_PERSON = (RateLimit(3, DAY),)  # from the same sender, including withdrawn messages


class TooMuchMail(ParticipantError):
    """A limit has been reached; `retry_after` is the time until the next message is allowed."""

    public_name = "too_much_mail"
    kind = ErrorKind.LIMITED

    def __init__(self, message: str, *, free_at: datetime, now: datetime) -> None:
        self.retry_after = max(free_at - now, timedelta(seconds=1))
        super().__init__(f"{message} You can send the next one {counting.when(free_at, now)}.")


def count_for_address(session: Session, *, address: str, purpose: LinkPurpose, now: datetime) -> None:
    """Count an e-mail that sends a link to an address; raise InvalidAddress or TooMuchMail.

    Each purpose has its own limit, so that invitations to a class cannot delay a password reset.
    """
    key = addresses.key(addresses.clean_address(address))
    whose = hashlib.sha256(key.encode()).hexdigest()
    sentence = "This address has reached its limit of {} e-mails with a link in {}."
    _count(session, f"mail.{purpose}", whose, TO_ADDRESS, sentence, now)


def count_student_invitation(session: Session, *, by: User | None, now: datetime) -> None:
    """Count an invitation or its renewal by a person or, for None, by the shell; raise TooMuchMail."""
    sentence = "You have reached your limit of {:,} student invitations in {}."
    _count(session, "students.person", f"{by.id}" if by else "shell", STUDENTS, sentence, now)


def count_link(session: Session, *, team: Team, now: datetime) -> None:
    """Count a new invitation link of a team; raise TooMuchMail."""
    sentence = "Your team has reached its limit of {} invitation links in {}."
    _count(session, "link.team", f"{team.id}", LINKS, sentence, now)


def count_merge_request(session: Session, *, team: Team, by: User, to: User, now: datetime) -> None:
    """Count a merge request, even if it is withdrawn or rejected later; raise TooMuchMail."""
    sentence = "Your team has reached its limit of {} merge requests in {}. Withdrawn requests count."
    _count(session, "merge.team", f"{team.id}", MERGE_REQUESTS, sentence, now)
    sentence = "You have reached your limit of {} merge requests in {}."
    _count(session, "merge.person", f"{by.id}", MERGE_REQUESTS_OF_PERSON, sentence, now)
    sentence = "You have sent {} merge requests to the leader of this team in {}, which is the limit."
    _count(session, "merge.to", f"{by.id} {to.id}", TO_PERSON, sentence, now)


def _count(
    session: Session, kind: str, whose: str, limits: tuple[RateLimit, ...], sentence: str, now: datetime
) -> None:
    if reached := counting.add_within(session, kind=kind, whose=whose, limits=limits, now=now):
        limit, free_at = reached
        raise TooMuchMail(sentence.format(limit.count, limit.period), free_at=free_at, now=now)
