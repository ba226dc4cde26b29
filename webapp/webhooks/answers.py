"""The API's requests and answers about webhooks."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from grader.models import BodyFormat, Delivery, Webhook
from grader.services.webhook_outbox import Event
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.webhooks.views import AttemptView, WebhookView


def _several(value: object) -> object:
    return value.split(",") if isinstance(value, str) else value


Events = Annotated[
    list[Text], BeforeValidator(_several), Field(description="In a form: separated by commas.")
]


class WebhookRequest(Sent):
    """A new webhook."""

    url: Text
    events: Events
    format: Annotated[Text, Field(description="`json`, or `slack` for one sentence.")] = "json"


class WebhookChange(Sent):
    """What is to change of a webhook."""

    url: Text | None = None
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
    """A webhook whose secret was just made; no other answer holds it."""

    secret: str


class WebhookList(Answer):
    """The webhooks of a team or of the organizers."""

    webhooks: list[WebhookAnswer]
    next: str | None


class DeliveryAnswer(Answer):
    """How the last attempt at sending an event went; the status is null where nothing answered."""

    delivery: str
    event: Event
    at: Moment | None
    attempt: int
    status: int | None
    duration_ms: int | None
    is_delivered: bool


class DeliveryList(Answer):
    """The events of a webhook that were tried, the newest first."""

    deliveries: list[DeliveryAnswer]
    next: str | None


def webhook(found: Webhook) -> WebhookAnswer:
    """Return a webhook."""
    return WebhookAnswer(**_fields(found))


def with_secret(made: Webhook) -> NewWebhook:
    """Return a webhook with the secret that was just made."""
    return NewWebhook(**_fields(made), secret=made.secret)


def delivery(found: Delivery) -> DeliveryAnswer:
    """Return how the last attempt at sending an event went."""
    return DeliveryAnswer(
        delivery=found.token,
        event=Event(found.event),
        at=found.attempted_at,
        attempt=found.attempt_count,
        status=found.status,
        duration_ms=found.duration_ms,
        is_delivered=AttemptView(found).is_delivered,
    )


def _fields(found: Webhook) -> dict[str, Any]:
    view = WebhookView(found)
    return {
        "id": view.id,
        "url": view.origin,
        "events": view.events,
        "format": view.format,
        "owner": view.owner,
        "is_on": view.is_on,
        "state": view.state,
        "created_at": found.created_at,
        "failing_since": view.failing_since,
    }
