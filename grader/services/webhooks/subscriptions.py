"""Webhooks of a team or competition: creation, changes, tests, deletion.

The secret is shown only once, when it is created. A user who changes a webhook becomes its owner. The webhook
receives only data that its owner may see, and is switched off when the owner leaves.
"""

import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, func, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, ParticipantError
from grader.models import (
    BodyFormat,
    Competition,
    OffReason,
    Team,
    TeamMember,
    User,
    Webhook,
)
from grader.services import counting
from grader.services import webhook_outbox as outbox
from grader.services.competitions import organizers
from grader.services.competitions.acting import Act
from grader.services.counting import HOUR, MINUTE, RateLimit
from grader.services.mail import outbox as mail
from grader.services.webhook_outbox import EVENTS, Event
from grader.services.webhooks import addresses
from grader.services.webhooks.addresses import Network
from grader.visibility import Viewer

MOST_OF_TEAM = 5
MOST_OF_ORGANIZERS = 10
PREFIX = "whsec_"
TESTS = (RateLimit(5, MINUTE), RateLimit(30, HOUR))


class UnknownWebhook(ParticipantError):
    """The webhook does not exist or has another owner."""

    public_name = "unknown_webhook"
    kind = ErrorKind.NOT_FOUND
    message = "Webhook {webhook_id} does not exist or is not visible to you."


class UnknownDelivery(ParticipantError):
    """The delivery is not in the webhook's log."""

    public_name = "unknown_delivery"
    kind = ErrorKind.NOT_FOUND
    message = "This webhook's log has no delivery {token!r}."


class TooManyWebhooks(ParticipantError):
    """The team or the organizers have reached the limit on webhooks."""

    public_name = "too_many_webhooks"
    kind = ErrorKind.CONFLICT
    message = "The limit of {most} webhooks is reached. Delete one first."


class InvalidWebhook(ParticipantError):
    """The webhook has no events, an unknown event or an unknown format, or it is switched off."""

    public_name = "invalid_webhook"


class TooManyTests(ParticipantError):
    """The user has reached the limit on tests; `retry_after` is the time until the next test is allowed."""

    public_name = "too_many_tests"
    kind = ErrorKind.LIMITED

    def __init__(self, *, free_at: datetime, now: datetime) -> None:
        self.retry_after = max(free_at - now, timedelta(seconds=1))
        super().__init__(f"You have sent too many tests. Try again {counting.when(free_at, now)}.")


@dataclass(frozen=True, slots=True)
class WebhookFields:
    """The requested fields of a webhook."""

    url: str
    events: Collection[str]
    format: str = BodyFormat.JSON


@dataclass(frozen=True, slots=True)
class AddressRules:
    """The operator's settings that allow addresses other than public HTTPS URLs."""

    allows_http: bool = False
    networks: Sequence[Network] = ()


def list_of(session: Session, *, competition: Competition, team: Team | None) -> list[Webhook]:
    """Return the webhooks of a team, or of the organizers if the team is None, oldest first."""
    query = select(Webhook).where(*_of(competition, team)).options(joinedload(Webhook.owner))
    return list(session.scalars(query.order_by(Webhook.id)))


def get(session: Session, *, competition: Competition, team: Team | None, webhook_id: int) -> Webhook:
    """Return a webhook of a team, or of the organizers if the team is None; raise UnknownWebhook."""
    query = select(Webhook).where(Webhook.id == webhook_id, *_of(competition, team))
    webhook = session.scalar(query.options(joinedload(Webhook.competition), joinedload(Webhook.owner)))
    if webhook is None:
        raise UnknownWebhook(webhook_id=webhook_id)
    return webhook


def create(act: Act, *, team: Team | None, wanted: WebhookFields, rules: AddressRules) -> Webhook:
    """Create a webhook and its secret; raise InvalidWebhookUrl, InvalidWebhook or TooManyWebhooks."""
    session, competition = act.session, act.competition
    webhook = Webhook(
        competition_id=competition.id,
        team_id=team.id if team else None,
        owner_id=act.user.id,
        url=_url(wanted.url, rules),
        format=_format(wanted.format),
        events=_events(wanted.events),
        secret=_new_secret(),
        created_at=act.now,
        available_at=act.now,
    )
    most = MOST_OF_TEAM if team else MOST_OF_ORGANIZERS
    count = select(func.count()).select_from(Webhook).where(*_of(competition, team))
    if (session.scalar(count) or 0) >= most:
        raise TooManyWebhooks(most=most)
    session.add(webhook)
    session.flush()
    session.refresh(webhook, ("competition", "owner"))
    _record(act, webhook, "webhook.create", after=_recorded(webhook))
    return webhook


def change(act: Act, *, webhook: Webhook, wanted: WebhookFields, rules: AddressRules) -> Webhook:
    """Change a webhook, keeping its URL if none is given; raise InvalidWebhookUrl or InvalidWebhook."""
    locked, before = _lock(act.session, webhook)
    if wanted.url:
        locked.url = _url(wanted.url, rules)
    locked.events, locked.format = _events(wanted.events), _format(wanted.format)
    locked.owner_id = act.user.id
    _record(act, locked, "webhook.change", before=before, after=_recorded(locked))
    return locked


def rotate(act: Act, *, webhook: Webhook) -> Webhook:
    """Replace a webhook's secret with a new one, which the caller must show once."""
    locked, _ = _lock(act.session, webhook)
    locked.secret = _new_secret()
    _record(act, locked, "webhook.rotate")
    return locked


def switch(act: Act, *, webhook: Webhook, is_on: bool) -> Webhook:
    """Switch a webhook on or off.

    Switching it on makes the user its owner. Switching it off deletes its undelivered events.
    """
    locked, before = _lock(act.session, webhook)
    if is_on == (locked.off_at is None):
        return locked
    if is_on:
        locked.owner_id = act.user.id
        outbox.switch_on(act.session, webhook=locked, now=act.now)
    else:
        outbox.switch_off(act.session, webhook=locked, reason=OffReason.SWITCHED_OFF, now=act.now)
    _record(act, locked, "webhook.change", before=before, after=_recorded(locked))
    return locked


def remove(act: Act, *, webhook: Webhook) -> None:
    """Delete a webhook and its log."""
    locked, before = _lock(act.session, webhook)
    _record(act, locked, "webhook.delete", before=before)
    act.session.expunge(locked)
    outbox.remove(act.session, Webhook.id == webhook.id)


def test(act: Act, *, webhook: Webhook) -> None:
    """Write a test event, which is sent immediately and not retried.

    Raise TooManyTests or InvalidWebhook.
    """
    _send_now(act, webhook)
    outbox.write(act.session, webhook_ids=[webhook.id], event=Event.TEST, now=act.now)


def redeliver(act: Act, *, webhook: Webhook, token: str) -> None:
    """Send a logged event again; raise UnknownDelivery, TooManyTests or InvalidWebhook."""
    log = outbox.log_of(act.session, webhook=webhook)
    earlier = next((each for each in log if each.token == token), None)
    if earlier is None:
        raise UnknownDelivery(token=token)
    _send_now(act, webhook)
    first = {"redelivery_of": earlier.token, "happened_at": earlier.created_at.isoformat()}
    outbox.write(
        act.session,
        webhook_ids=[webhook.id],
        event=Event(earlier.event),
        subject_id=earlier.subject_id,
        details={**first, **earlier.details},
        now=act.now,
    )


def _send_now(act: Act, webhook: Webhook) -> None:
    """Count a delivery that a user requested, and end the backoff of a failing webhook."""
    whose = f"{act.user.id}"
    reached = counting.add_within(act.session, kind="webhook.test", whose=whose, limits=TESTS, now=act.now)
    if reached is not None:
        raise TooManyTests(free_at=reached[1], now=act.now)
    locked, _ = _lock(act.session, webhook)
    if locked.off_at is not None:
        raise InvalidWebhook("This webhook is switched off. Switch it on first.")
    if locked.available_at > act.now + outbox.LEASE:  # this is a backoff, not the lease of a delivery
        locked.available_at = act.now
        act.session.flush()


def viewer_of(session: Session, *, webhook: Webhook) -> Viewer | None:
    """Return the viewer whose visible fields a webhook receives, or None if its owner has left."""
    if webhook.team_id is None:
        role = organizers.role_of(session, competition=webhook.competition, user=webhook.owner)
        return Viewer.ORGANIZER if role else None
    is_member = webhook.owner.deleted_at is None and _is_member(session, webhook.team_id, webhook.owner)
    return Viewer.TEAM if is_member else None


def tell_owner(session: Session, *, webhook: Webhook, now: datetime) -> None:
    """E-mail the owner of a webhook that was switched off."""
    competition = webhook.competition
    page = "team" if webhook.team_id else "organize/webhooks"
    hours = int(outbox.OFF_AFTER.total_seconds() // 3600)
    mail.notify(
        session,
        user=webhook.owner,
        kind=mail.Notice.TEAM if webhook.team_id else mail.Notice.ORGANIZER,
        key=f"webhook-off:{webhook.id}:{now:%Y%m%dT%H%M%S}",
        subject=f"{competition.title}: a webhook was switched off",
        body=f"Your webhook to {addresses.origin(webhook.url)} failed for {hours} hours and was switched "
        "off. Missed events are not sent again. When the receiver works again, switch the webhook on:\n\n"
        f"{mail.SITE}/competitions/{competition.slug}/{page}\n",
        now=now,
    )


def _of(competition: Competition, team: Team | None) -> tuple[ColumnElement[bool], ...]:
    of_team = Webhook.team_id.is_(None) if team is None else Webhook.team_id == team.id
    return Webhook.competition_id == competition.id, of_team


def _is_member(session: Session, team_id: int, user: User) -> bool:
    query = select(TeamMember.id).where(TeamMember.team_id == team_id, TeamMember.user_id == user.id)
    return session.scalar(query) is not None


def _lock(session: Session, webhook: Webhook) -> tuple[Webhook, dict[str, object]]:
    """Return a locked webhook and its fields for the audit log; raise UnknownWebhook."""
    locked = session.get(Webhook, webhook.id, with_for_update=True, populate_existing=True)
    if locked is None:
        raise UnknownWebhook(webhook_id=webhook.id)
    return locked, _recorded(locked)


def _new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(24)


def _url(url: str, rules: AddressRules) -> str:
    return addresses.clean_url(url, allows_http=rules.allows_http, networks=rules.networks)


def _events(names: Collection[str]) -> list[str]:
    known = [event.value for event in EVENTS]
    if unknown := sorted(set(names) - set(known)):
        raise InvalidWebhook(f"The event {unknown[0][:40]!r} is unknown. Use one of {', '.join(known)}.")
    if not names:
        raise InvalidWebhook("No event is selected. Choose at least one.")
    return [name for name in known if name in names]


def _format(name: str) -> BodyFormat:
    try:
        return BodyFormat(name)
    except ValueError:
        raise InvalidWebhook(f"The format {name[:40]!r} is unknown. Use {' or '.join(BodyFormat)}.") from None


def _recorded(webhook: Webhook) -> dict[str, object]:
    return {
        "url": addresses.origin(webhook.url),
        "format": webhook.format.value,
        "events": webhook.events,
        "is_on": webhook.off_at is None,
    }


def _record(
    act: Act,
    webhook: Webhook,
    action: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Flush the changes; for an organizers' webhook, also add an entry to the audit log."""
    act.session.flush()
    if webhook.team_id is None:
        act.record(action, f"webhook {webhook.id}", before=before, after=after)
