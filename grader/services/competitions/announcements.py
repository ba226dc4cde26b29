"""Announcements to participants: post, e-mail, edit and withdraw."""

from datetime import datetime

from sqlalchemy import Select, or_, select
from sqlalchemy.orm import Session, undefer

from grader.errors import ErrorKind, OrganizerRefusal
from grader.models import (
    Announcement,
    Competition,
    Participation,
    RequestState,
    TeamMember,
    User,
)
from grader.services.competitions.acting import Act
from grader.services.site import letters, outbox
from grader.services.site.outbox import Notice
from grader.text import one_line, plain_text

TITLE_MAX_LENGTH = 200
BODY_MAX_LENGTH = 20_000


def post(act: Act, *, title: str, body: str, by_mail: bool) -> Announcement:
    """Post an announcement, and e-mail it if `by_mail` is true; raise OrganizerRefusal."""
    session, competition, now = act.session, act.competition, act.now
    title, body = _checked(title, body)
    made = Announcement(competition_id=competition.id, title=title, body=body, posted_at=now)
    session.add(made)
    session.flush()
    mail_count = _mail(session, competition, made, now) if by_mail else 0
    act.record(
        "announcement.post",
        f"announcement {made.id}",
        after={"title": title, "body": body, "mails": mail_count},
    )
    return made


def edit(
    act: Act, *, announcement_id: int, title: str | None = None, body: str | None = None
) -> Announcement:
    """Edit an announcement; fields that are None stay unchanged. Raise OrganizerRefusal."""
    post = get(act.session, competition=act.competition, announcement_id=announcement_id, lock=True)
    title, body = _checked(post.title if title is None else title, post.body if body is None else body)
    before, after = {"title": post.title, "body": post.body}, {"title": title, "body": body}
    if before != after:
        post.title, post.body, post.edited_at = title, body, act.now
        act.record("announcement.edit", f"announcement {post.id}", before=before, after=after)
    return post


def withdraw(act: Act, *, announcement_id: int) -> Announcement:
    """Hide an announcement but keep its row; raise OrganizerRefusal."""
    post = get(act.session, competition=act.competition, announcement_id=announcement_id, lock=True)
    post.withdrawn_at = act.now
    act.record("announcement.withdraw", f"announcement {post.id}", before={"title": post.title})
    return post


def shown(session: Session, *, competition: Competition) -> list[Announcement]:
    """Return the announcements that have not been withdrawn, newest first."""
    return list(session.scalars(_newest(competition).where(Announcement.withdrawn_at.is_(None))))


def list_all(session: Session, *, competition: Competition) -> list[Announcement]:
    """Return all announcements including withdrawn ones, newest first."""
    return list(session.scalars(_newest(competition)))


def _newest(competition: Competition) -> Select[Announcement]:
    return (
        select(Announcement)
        .where(Announcement.competition_id == competition.id)
        .options(undefer(Announcement.formatted))
        .order_by(Announcement.id.desc())
    )


def get(
    session: Session, *, competition: Competition, announcement_id: int, lock: bool = False
) -> Announcement:
    """Return an announcement; raise OrganizerRefusal if it is missing or withdrawn."""
    post = session.get(Announcement, announcement_id, with_for_update=True if lock else None)
    if post is None or post.competition_id != competition.id or post.withdrawn_at is not None:
        message = f"Announcement {announcement_id} does not exist or was withdrawn."
        raise OrganizerRefusal("unknown_announcement", ErrorKind.NOT_FOUND, message)
    return post


def _checked(title: str, body: str) -> tuple[str, str]:
    """Return the title and text in their stored form; raise OrganizerRefusal."""
    title, body = one_line(title, TITLE_MAX_LENGTH), plain_text(body)
    if not title or not 0 < len(body) <= BODY_MAX_LENGTH:
        message = f"An announcement needs a title and a text of at most {BODY_MAX_LENGTH:,} characters."
        raise OrganizerRefusal("invalid_announcement", ErrorKind.CONFLICT, message)
    return title, body


def count_readers(session: Session, *, competition: Competition) -> int:
    """Return the number of participants who would receive an announcement by e-mail."""
    return outbox.count_readers(session, _participants(competition), Notice.ORGANIZER)


def _mail(session: Session, competition: Competition, announcement: Announcement, now: datetime) -> int:
    return letters.send(
        session,
        "announcement",
        session.scalars(_participants(competition)),
        kind=Notice.ORGANIZER,
        key=f"announcement:{announcement.id}",
        competition=competition,
        announcement=announcement,
        now=now,
    )


def _participants(competition: Competition) -> Select[User]:
    """Return a query for all users who have joined or are in a team."""
    joined = select(Participation.user_id).where(
        Participation.competition_id == competition.id, Participation.state == RequestState.ACCEPTED
    )
    in_teams = select(TeamMember.user_id).where(TeamMember.competition_id == competition.id)
    return select(User).where(or_(User.id.in_(joined), User.id.in_(in_teams))).order_by(User.id)
