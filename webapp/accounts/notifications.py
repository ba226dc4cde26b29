"""User notifications: page and API."""

from dataclasses import dataclass
from typing import Annotated, Any

from flask import Blueprint, flash, g, redirect, render_template, url_for
from flask.typing import ResponseReturnValue
from pydantic import Field

from grader.models import Notification
from grader.services import notifications
from grader.services.accounts.api_tokens import Scope
from grader.services.notifications import NotificationKind
from grader.services.paging import Part
from webapp.http import auth, inbox
from webapp.http.api import blueprint as api
from webapp.http.api import ending, operation
from webapp.http.context import reading, writing
from webapp.http.fields import Answer, Asked, Moment, Number, PageSize, Sent
from webapp.http.parameters import asked_number, entered_number

blueprint = Blueprint("notifications", __name__, url_prefix="/notifications")

# The sentence and the linked page for each kind of notification.
SHOWN = {
    NotificationKind.ANNOUNCEMENT: ("Announcement: {name}", "competitions.show"),
    NotificationKind.RESCORED: ("A rescoring was published.", "leaderboards.rescored"),
    NotificationKind.ROLLED_BACK: ("A rescoring was rolled back.", "leaderboards.rescored"),
    NotificationKind.CLOSED: ("The competition is closed.", "competitions.show"),
    NotificationKind.REVEALED: ("The private leaderboard is revealed.", "leaderboards.private"),
    NotificationKind.ANSWER: ("The organizers answered your question about #{id}.", "submissions.show"),
    NotificationKind.DISQUALIFIED: ("The organizers disqualified your team {name}.", "teams.show"),
    NotificationKind.REINSTATED: ("The organizers reinstated your team {name}.", "teams.show"),
    NotificationKind.RENAMED: ("The organizers renamed your team to {name}.", "teams.show"),
    NotificationKind.NAME_FREED: ("Your team {name} can choose its name again.", "teams.show"),
    NotificationKind.MERGED: ("Two teams merged. Your team is now {name}.", "teams.show"),
    NotificationKind.MERGE_REFUSED: ("The other team declined to merge with {name}.", "teams.show"),
    NotificationKind.ADMITTED: ("The organizers admitted you to the competition.", "competitions.show"),
    NotificationKind.CARRIED: ("Your team {name} was carried over to this stage.", "competitions.show"),
    NotificationKind.REFUSED: ("The organizers did not admit you to the competition.", "competitions.show"),
}
TAG = "account"


@dataclass(frozen=True, slots=True)
class NotificationView:
    """A notification with its sentence and the URL of its page."""

    row: Notification
    is_read: bool

    @property
    def text(self) -> str:
        """The event in one sentence."""
        team, announcement = self.row.team, self.row.announcement
        name = team.name if team else announcement.title if announcement else ""
        return SHOWN[NotificationKind(self.row.kind)][0].format(name=name, id=self.row.subject_id)

    @property
    def url(self) -> str:
        """The URL of the related page."""
        endpoint = SHOWN[NotificationKind(self.row.kind)][1]
        number: dict[str, Any] = {}
        if endpoint == "submissions.show":
            number["submission_id"] = self.row.subject_id
        if self.row.announcement:
            number["_anchor"] = f"announcement-{self.row.subject_id}"
        return url_for(endpoint, slug=self.row.competition.slug, **number)


@blueprint.get("")
@auth.login_required
def index() -> ResponseReturnValue:
    """List pending requests and notifications, each with a link to its page."""
    with reading() as session:
        part = notifications.slice_of(session, user=g.user, part=Part(asked_number("cursor")))
        unread = notifications.unread_ids(session, user=g.user)
    views = [NotificationView(each, each.id not in unread) for each in part.rows]
    return render_template(
        "accounts/notifications.html",
        waiting=inbox.items(),
        views=views,
        has_unread=bool(unread),
        following=part.following,
    )


@blueprint.post("/read")
@auth.login_required
def mark_read() -> ResponseReturnValue:
    """Mark one notification as read and open its page, or mark all notifications as read."""
    number = entered_number("id")
    with writing() as session:
        marked = notifications.mark_read(session, user=g.user, ids=None if number is None else [number])
        if number is not None and marked:
            return redirect(NotificationView(marked[0], is_read=True).url, 303)
    if number is None:
        flash("All notifications are marked as read.")
    return redirect(url_for(".index"), 303)


class NotificationAnswer(Answer):
    """An event of a competition, of a team or of the user."""

    id: Annotated[int, Field(description="The id of the notification, for use in `ids`.")]
    kind: Annotated[NotificationKind, Field(description="The kind of event.")]
    competition: Annotated[str, Field(description="The slug of the competition.")]
    text: Annotated[str, Field(description="The event in one sentence.")]
    url: Annotated[str, Field(description="The URL of the related page.")]
    at: Annotated[Moment, Field(description="The time of the event.")]
    is_read: Annotated[bool, Field(description="Whether the user has marked it as read.")]


class NotificationList(Answer):
    """Notifications, newest first."""

    notifications: Annotated[list[NotificationAnswer], Field(description="The notifications.")]
    unread_count: Annotated[int, Field(description="The total number of unread notifications.")]
    page_size: PageSize
    next: Annotated[str | None, Field(description="The URL of the next part of the list; null at the end.")]


class ReadRequest(Sent):
    """The notifications to mark as read."""

    ids: Annotated[
        list[Number] | None,
        Field(max_length=500, description="The ids of the notifications; all notifications if omitted."),
    ] = None


@api.get("/notifications")
@operation(Scope.READ, answers=NotificationList, tag=TAG)
def notification_list(query: Asked) -> NotificationList:
    """List the current user's notifications."""
    with reading() as session:
        part = notifications.slice_of(session, user=g.user, part=query.part)
        unread = notifications.unread_ids(session, user=g.user)
    views = [NotificationView(each, each.id not in unread) for each in part.rows]
    return NotificationList(
        notifications=[
            NotificationAnswer.of(
                each, id=row.id, kind=row.kind, competition=row.competition.slug, at=row.created_at
            )
            for each in views
            for row in [each.row]
        ],
        unread_count=len(unread),
        **ending(part),
    )


@api.post("/notifications/read")
@operation(Scope.SUBMIT, status=204, tag=TAG)
def mark_notifications_read(json: ReadRequest) -> Any:
    """Mark notifications as read; unknown ids and those of other users are skipped."""
    with writing() as session:
        notifications.mark_read(session, user=g.user, ids=json.ids)
    return "", 204
