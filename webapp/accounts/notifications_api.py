"""API: a person's notifications, in all competitions."""

from typing import Annotated, Any

from flask import g
from pydantic import Field

from grader.services.accounts.api_tokens import Scope
from grader.services.notifications import inbox
from grader.services.notifications.inbox import NotificationKind
from webapp.accounts.notifications_page import NotificationView
from webapp.http.api import blueprint
from webapp.http.fields import Answer, Asked, Moment, Number, PageSize, Sent
from webapp.http.lists import ending
from webapp.http.operations import operation
from webapp.http.site import current_site

TAG = "account"


class NotificationAnswer(Answer):
    """An event of a competition, of a team or of the person."""

    id: Annotated[int, Field(description="Its number, for `ids`.")]
    kind: Annotated[NotificationKind, Field(description="The kind of event.")]
    competition: Annotated[str, Field(description="The slug of the competition.")]
    text: Annotated[str, Field(description="The event in one sentence.")]
    url: Annotated[str, Field(description="The page that shows more.")]
    at: Annotated[Moment, Field(description="When it happened.")]
    is_read: Annotated[bool, Field(description="Whether the person has marked it as read.")]


class NotificationList(Answer):
    """Notifications, the newest first."""

    notifications: Annotated[list[NotificationAnswer], Field(description="The notifications.")]
    unread_count: Annotated[int, Field(description="The number of unread ones in the whole list.")]
    page_size: PageSize
    next: Annotated[str | None, Field(description="The address of the next ones; null at the end.")]


class ReadRequest(Sent):
    """Which notifications to mark as read."""

    ids: Annotated[
        list[Number] | None,
        Field(max_length=500, description="Their ids; without `ids` all are marked."),
    ] = None


@blueprint.get("/notifications")
@operation(Scope.READ, answers=NotificationList, tag=TAG)
def notification_list(query: Asked) -> NotificationList:
    """List the person's notifications: announcements, answers, rescorings, decisions and results."""
    with current_site().database.read() as session:
        found = inbox.slice_of(session, user=g.user, part=query.part)
        unread = inbox.unread_ids(session, user=g.user)
    views = [NotificationView(each, each.id not in unread) for each in found.rows]
    return NotificationList(
        notifications=[
            NotificationAnswer(
                id=each.row.id,
                kind=NotificationKind(each.row.kind),
                competition=each.row.competition.slug,
                text=each.text,
                url=each.url,
                at=each.row.created_at,
                is_read=each.is_read,
            )
            for each in views
        ],
        unread_count=len(unread),
        **ending(found),
    )


@blueprint.post("/notifications/read")
@operation(Scope.SUBMIT, status=204, tag=TAG)
def mark_notifications_read(json: ReadRequest) -> Any:
    """Mark notifications as read; ids that the person may not see are skipped."""
    with current_site().database.write() as session:
        inbox.mark_read(session, user=g.user, ids=json.ids)
    return "", 204
