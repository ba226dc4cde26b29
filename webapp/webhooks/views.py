"""Webhook view for pages and API, without secrets or URL paths."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, StringConstraints

from grader.models import BodyFormat, Delivery, OffReason, Webhook
from grader.services.webhook_outbox import EVENTS, Event
from grader.services.webhooks import addresses
from webapp.http.fields import Answer, Moment, Sent, Text

EVENT_WORDS: Mapping[Event, str] = {
    Event.SCORED: "A submission was scored",
    Event.REJECTED: "A submission was rejected",
    Event.RANK_CHANGED: "A rank changed",
    Event.ANNOUNCEMENT: "Organizers posted an announcement",
    Event.RESCORING: "A rescoring was published",
    Event.DEADLINE: "The competition closes within 24 hours",
    Event.REVEALED: "The private leaderboard was revealed",
    Event.TEST: "A test",
}
CHOICES = [(event.value, EVENT_WORDS[event]) for event in EVENTS]
FORMAT_WORDS: Mapping[BodyFormat, str] = {
    BodyFormat.JSON: "JSON with all fields",
    BodyFormat.SLACK: "One sentence, for Slack",
}
OFF_WORDS: Mapping[OffReason, str] = {
    OffReason.SWITCHED_OFF: "switched off",
    OffReason.FAILING: "switched off after 24 hours of failures",
    OffReason.OWNER_LEFT: "switched off because its owner left",
}


@dataclass(frozen=True, slots=True)
class WebhookView:
    """A webhook without the path of its URL."""

    row: Webhook

    @property
    def url(self) -> str:
        return addresses.origin(self.row.url)

    @property
    def is_on(self) -> bool:
        return self.row.off_at is None

    @property
    def state(self) -> str:
        """The state in words."""
        if self.row.off_reason is not None:
            return OFF_WORDS[self.row.off_reason]
        return "failing" if self.row.failing_since else "on"

    @property
    def failing_since(self) -> datetime | None:
        return self.row.failing_since if self.is_on else None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """The last attempt to deliver an event."""

    row: Delivery

    @property
    def status(self) -> str:
        return "no response" if self.row.status is None else str(self.row.status)

    @property
    def is_delivered(self) -> bool:
        return self.row.status is not None and 200 <= self.row.status < 300

    @property
    def duration(self) -> str:
        return "" if self.row.duration_ms is None else f"{self.row.duration_ms:,} ms"


def _several(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


Events = Annotated[
    list[Text],
    BeforeValidator(_several),
    Field(description="The events to send. In a form, separate them with commas."),
]


class WebhookRequest(Sent):
    """A new webhook."""

    url: Annotated[Text, StringConstraints(strip_whitespace=True)]
    events: Events
    format: Annotated[
        Text, Field(description="The format of the requests: `json`, or `slack` for one sentence.")
    ] = "json"


class WebhookChange(Sent):
    """The changes to a webhook; omitted fields stay the same."""

    url: Annotated[Text, StringConstraints(strip_whitespace=True)] | None = None
    events: Events | None = None
    format: Text | None = None
    is_on: bool | None = None


class WebhookAnswer(Answer):
    """A webhook, without its secret and without the path of its URL."""

    id: int
    url: str
    events: list[Event]
    format: BodyFormat
    owner: str
    is_on: bool
    state: str
    created_at: Moment
    failing_since: Moment | None


class NewWebhook(WebhookAnswer):
    """A webhook with its new secret, which is shown only in this response."""

    secret: str


class WebhookList(Answer):
    """The webhooks of a team or of the organizers."""

    webhooks: list[WebhookAnswer]
    next: str | None


class DeliveryAnswer(Answer):
    """The last attempt of a delivery; the status is null if there was no response."""

    delivery: str
    event: Event
    at: Moment | None
    attempt: int
    status: int | None
    duration_ms: int | None
    is_delivered: bool


class DeliveryList(Answer):
    """The deliveries of a webhook, newest first."""

    deliveries: list[DeliveryAnswer]
    next: str | None


def webhook(found: Webhook) -> WebhookAnswer:
    """Return a webhook as the API model."""
    return WebhookAnswer(**_fields(found))


def with_secret(made: Webhook) -> NewWebhook:
    """Return a webhook with its new secret as the API model."""
    return NewWebhook(**_fields(made), secret=made.secret)


def _fields(found: Webhook) -> dict[str, Any]:
    view = WebhookView(found)
    words = {name: getattr(view, name) for name in ("url", "is_on", "state", "failing_since")}
    columns = {name: getattr(found, name) for name in ("id", "events", "format", "created_at")}
    return {**columns, **words, "owner": found.owner.name}


def delivery(found: Delivery) -> DeliveryAnswer:
    """Return a delivery as the API model."""
    return DeliveryAnswer.of(
        found,
        delivery=found.token,
        at=found.attempted_at,
        attempt=found.attempt_count,
        is_delivered=AttemptView(found).is_delivered,
    )
