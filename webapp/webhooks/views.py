"""Webhooks as pages show them: no path of a URL, no secret, and of an attempt its status and time alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from grader.models import BodyFormat, Delivery, OffReason, Webhook
from grader.services.webhook_outbox import EVENTS, Event
from grader.services.webhooks import addresses

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
FORMAT_WORDS: Mapping[BodyFormat, str] = {
    BodyFormat.JSON: "JSON with all fields",
    BodyFormat.SLACK: "One sentence, as Slack reads it",
}
OFF_WORDS: Mapping[OffReason, str] = {
    OffReason.SWITCHED_OFF: "switched off",
    OffReason.FAILING: "switched off after 24 hours of failures",
    OffReason.OWNER_LEFT: "switched off: its owner left",
}


@dataclass(frozen=True, slots=True)
class WebhookView:
    """One webhook."""

    webhook: Webhook

    @property
    def id(self) -> int:
        return self.webhook.id

    @property
    def origin(self) -> str:
        """The URL without its path."""
        return addresses.origin(self.webhook.url)

    @property
    def events(self) -> list[str]:
        return self.webhook.events

    @property
    def format(self) -> str:
        return self.webhook.format.value

    @property
    def owner(self) -> str:
        return self.webhook.owner.name

    @property
    def is_on(self) -> bool:
        return self.webhook.off_at is None

    @property
    def state(self) -> str:
        """Whether it works, in words."""
        if self.webhook.off_reason is not None:
            return OFF_WORDS[self.webhook.off_reason]
        return "failing" if self.webhook.failing_since else "on"

    @property
    def failing_since(self) -> datetime | None:
        return self.webhook.failing_since if self.is_on else None


@dataclass(frozen=True, slots=True)
class AttemptView:
    """The last attempt at sending one event."""

    delivery: Delivery

    @property
    def token(self) -> str:
        return self.delivery.token

    @property
    def event(self) -> str:
        return self.delivery.event

    @property
    def at(self) -> datetime | None:
        return self.delivery.attempted_at

    @property
    def attempt(self) -> int:
        return self.delivery.attempt_count

    @property
    def status(self) -> str:
        """The status of the answer, or that there was none."""
        return "no answer" if self.delivery.status is None else str(self.delivery.status)

    @property
    def is_delivered(self) -> bool:
        return self.delivery.status is not None and 200 <= self.delivery.status < 300

    @property
    def duration(self) -> str:
        return "" if self.delivery.duration_ms is None else f"{self.delivery.duration_ms:,} ms"


def choices() -> list[tuple[str, str]]:
    """Return the events that can be chosen, with their words."""
    return [(event.value, EVENT_WORDS[event]) for event in EVENTS]
