"""Notifications: creation, lists and read marks.

Each event adds one row for its whole audience. The recipients are determined when notifications are read:
users who leave a team or are no longer admitted lose access to its notifications, and new members do not see
earlier ones.
"""

import enum
from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import BindParameter, CompoundSelect, Select, and_, func, select, union, union_all, update
from sqlalchemy.orm import Session, joinedload

from grader.db import insert_new
from grader.models import (
    Announcement,
    Competition,
    CompetitionState,
    Notification,
    NotificationRead,
    Organizer,
    Participation,
    RequestState,
    Team,
    TeamMember,
    User,
)
from grader.services.paging import Part, Slice, slice_of_query

MOST_MARKED = 5_000  # rows per statement, because the number of parameters is limited


class NotificationKind(enum.StrEnum):
    """The kinds of notifications: about a competition, a team or a user."""

    ANNOUNCEMENT = "announcement"
    RESCORED = "rescored"
    ROLLED_BACK = "rolled_back"
    CLOSED = "closed"
    REVEALED = "revealed"
    ANSWER = "answer"
    DISQUALIFIED = "disqualified"
    REINSTATED = "reinstated"
    RENAMED = "renamed"
    NAME_FREED = "name_freed"
    MERGED = "merged"
    MERGE_REFUSED = "merge_refused"
    ADMITTED = "admitted"
    REFUSED = "refused"
    CARRIED = "carried"


def tell(
    session: Session,
    *,
    competition: Competition,
    kind: NotificationKind,
    now: datetime,
    team: Team | None = None,
    user: User | None = None,
    subject_id: int | None = None,
    by: User | None = None,
) -> None:
    """Notify a team, a user or, by default, all participants; mark the notification as read for `by`."""
    made = Notification(
        competition_id=competition.id,
        team_id=team and team.id,
        user_id=user and user.id,
        kind=kind.value,
        subject_id=subject_id,
        created_at=now,
    )
    session.add(made)
    session.flush()
    if by is not None:
        insert_new(session, NotificationRead, {"user_id": by.id, "notification_id": made.id})


def unread(user_id: int | BindParameter[int]) -> Select[int]:
    """Return a query for the ids of a user's unread notifications."""
    read = select(NotificationRead.notification_id).where(NotificationRead.user_id == user_id)
    visible = _visible(user_id).subquery()
    return select(visible.c.id).where(visible.c.id.not_in(read))


def unread_ids(session: Session, *, user: User) -> set[int]:
    """Return the ids of a user's unread notifications."""
    return set(session.scalars(unread(user.id)))


def slice_of(session: Session, *, user: User, part: Part) -> Slice[Notification]:
    """Return a slice of a user's notifications, newest first."""
    query = (
        select(Notification)
        .where(Notification.id.in_(_visible(user.id)))
        .options(
            joinedload(Notification.competition).load_only(
                Competition.slug, Competition.title, Competition.stage_name
            ),
            joinedload(Notification.team),
            joinedload(Notification.announcement).defer(Announcement.body),
        )
    )
    return slice_of_query(session, query, key=Notification.__table__.c.id, part=part)


def mark_read(session: Session, *, user: User, ids: Collection[int] | None = None) -> Sequence[Notification]:
    """Mark the given or all notifications of a user as read, and return them."""
    query = select(Notification).limit(MOST_MARKED)
    if ids is None:
        query = query.where(Notification.id.in_(unread(user.id)))
    else:
        query = query.where(Notification.id.in_(ids), Notification.id.in_(_visible(user.id)))
    marked = session.scalars(query).all()
    if marked:
        rows = [{"user_id": user.id, "notification_id": each.id} for each in marked]
        insert_new(session, NotificationRead, rows)
    return marked


def follow_merger(session: Session, *, taken: Team, into: Team) -> None:
    """Move a team's notifications to the team into which it was merged."""
    of_taken = Notification.competition_id == taken.competition_id, Notification.team_id == taken.id
    session.execute(update(Notification).where(*of_taken).values(team_id=into.id))


def _visible(user_id: int | BindParameter[int]) -> CompoundSelect[int]:
    id_, at, here = Notification.id, Notification.created_at, Notification.competition_id
    is_seen = Competition.state != CompetitionState.DRAFT
    own = select(id_).join(Notification.competition).where(Notification.user_id == user_id, is_seen)
    is_theirs = and_(TeamMember.competition_id == here, TeamMember.team_id == Notification.team_id)
    of_team = (
        select(id_)
        .join(TeamMember, is_theirs)
        .where(TeamMember.user_id == user_id, at >= TeamMember.joined_at)
    )
    admitted = func.coalesce(Participation.joined_at, Participation.requested_at)
    since = union_all(
        select(TeamMember.competition_id, TeamMember.joined_at).where(TeamMember.user_id == user_id),
        select(Participation.competition_id, admitted).where(
            Participation.user_id == user_id, Participation.state == RequestState.ACCEPTED
        ),
        select(Organizer.competition_id, Organizer.added_at).where(Organizer.user_id == user_id),
    ).subquery()
    is_for_all = and_(Notification.team_id.is_(None), Notification.user_id.is_(None))
    of_all = (
        select(id_)
        .join(since, since.c.competition_id == here)
        .outerjoin(Notification.announcement)
        .where(is_for_all, at >= since.c.joined_at, Announcement.withdrawn_at.is_(None))
    )
    return union(own, of_team, of_all)
