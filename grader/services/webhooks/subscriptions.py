"""Webhooks of a team or of the organizers: list, create, change, test, switch on and off, delete.

The secret is returned when it is made and never again. Whoever changes a webhook becomes its owner: it is
told what this person may see, and ends when this person leaves.
"""

import secrets
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

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
from grader.services.audit import log
from grader.services.audit.log import Actor
from grader.services.competitions import organizers
from grader.services.counting import HOUR, MINUTE, Limit
from grader.services.mail import outbox as mail
from grader.services.webhook_outbox import EVENTS, Event
from grader.services.webhooks import addresses
from grader.services.webhooks.addresses import Network
from grader.visibility import Viewer

MOST_OF_TEAM = 5
MOST_OF_ORGANIZERS = 10
PREFIX = "whsec_"
TESTS = (Limit(5, MINUTE), Limit(30, HOUR))


class UnknownWebhook(ParticipantError):
    """There is no such webhook, or it is not the person's to see."""

    public_name = "unknown_webhook"
    kind = ErrorKind.NOT_FOUND
    message = "There is no webhook {webhook_id} that you may see."


class UnknownDelivery(ParticipantError):
    """The log of a webhook has no such event."""

    public_name = "unknown_delivery"
    kind = ErrorKind.NOT_FOUND
    message = "The log of this webhook has no delivery {token!r}."


class TooManyWebhooks(ParticipantError):
    """A team, or the organizers, have as many webhooks as they may."""

    public_name = "too_many_webhooks"
    kind = ErrorKind.CONFLICT
    message = "There are {most} webhooks already, the most that may be. Delete one first."


class InvalidWebhook(ParticipantError):
    """A webhook that is told of nothing, or of what there is not."""

    public_name = "invalid_webhook"


class TooManyTests(ParticipantError):
    """A person has sent many tests; `retry_after` says when the next can be."""

    public_name = "too_many_tests"
    kind = ErrorKind.LIMITED

    def __init__(self, *, free_at: datetime, now: datetime) -> None:
        self.retry_after = max(free_at - now, timedelta(seconds=1))
        super().__init__(f"You have sent many tests. The next one is possible {counting.when(free_at, now)}.")


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody entered for a webhook."""

    url: str
    events: Collection[str]
    format: str = BodyFormat.JSON


@dataclass(frozen=True, slots=True)
class Rules:
    """What the operator allows beside public https addresses."""

    allows_http: bool = False
    networks: Sequence[Network] = ()


def list_of(session: Session, *, competition: Competition, team: Team | None) -> list[Webhook]:
    """Return the webhooks of a team, or without one of the organizers, the first to come first."""
    query = select(Webhook).where(*_of(competition, team)).options(joinedload(Webhook.owner))
    return list(session.scalars(query.order_by(Webhook.id)))


def get(session: Session, *, competition: Competition, team: Team | None, webhook_id: int) -> Webhook | None:
    """Return a webhook of a team, or without one of the organizers; None if it is none of theirs."""
    query = select(Webhook).where(Webhook.id == webhook_id, *_of(competition, team))
    return session.scalar(query.options(joinedload(Webhook.competition), joinedload(Webhook.owner)))


def create(
    session: Session,
    *,
    competition: Competition,
    team: Team | None,
    wanted: Wanted,
    rules: Rules,
    actor: Actor,
    owner: User,
    now: datetime,
) -> Webhook:
    """Add a webhook, whose secret is to be shown now.

    Raises InvalidWebhookUrl, InvalidWebhook and TooManyWebhooks.
    """
    webhook = Webhook(
        competition_id=competition.id,
        team_id=team.id if team else None,
        owner_id=owner.id,
        url=_url(wanted.url, rules),
        format=_format(wanted.format),
        events=_events(wanted.events),
        secret=_new_secret(),
        created_at=now,
        available_at=now,
    )
    counting.hold_lock(session, f"webhooks {competition.id} {team.id if team else ''}")
    most = MOST_OF_TEAM if team else MOST_OF_ORGANIZERS
    count = select(func.count()).select_from(Webhook).where(*_of(competition, team))
    if (session.scalar(count) or 0) >= most:
        raise TooManyWebhooks(most=most)
    session.add(webhook)
    session.flush()
    session.refresh(webhook, ("competition", "owner"))
    _record(session, webhook, actor, "webhook.create", now, after=_told(webhook))
    return webhook


def change(
    session: Session,
    *,
    webhook: Webhook,
    wanted: Wanted,
    rules: Rules,
    actor: Actor,
    owner: User,
    now: datetime,
) -> Webhook:
    """Change a webhook, where an empty URL keeps its own; raise InvalidWebhookUrl and InvalidWebhook."""
    locked, before = _lock(session, webhook)
    if wanted.url:
        locked.url = _url(wanted.url, rules)
    locked.events, locked.format = _events(wanted.events), _format(wanted.format)
    locked.owner_id = owner.id
    session.flush()
    _record(session, locked, actor, "webhook.change", now, before=before, after=_told(locked))
    return locked


def rotate(session: Session, *, webhook: Webhook, actor: Actor, now: datetime) -> Webhook:
    """Give a webhook another secret, to be shown now; the one before signs nothing any more."""
    locked, _ = _lock(session, webhook)
    locked.secret = _new_secret()
    session.flush()
    _record(session, locked, actor, "webhook.rotate", now)
    return locked


def switch(
    session: Session, *, webhook: Webhook, is_on: bool, actor: Actor, owner: User, now: datetime
) -> Webhook:
    """Switch a webhook on, for its new owner, or off; what waits for it is forgotten."""
    locked, before = _lock(session, webhook)
    if is_on == (locked.off_at is None):
        return locked
    if is_on:
        locked.owner_id = owner.id
        outbox.switch_on(session, webhook=locked, now=now)
    else:
        outbox.switch_off(session, webhook=locked, reason=OffReason.SWITCHED_OFF, now=now)
    _record(session, locked, actor, "webhook.change", now, before=before, after=_told(locked))
    return locked


def remove(session: Session, *, webhook: Webhook, actor: Actor, now: datetime) -> None:
    """Delete a webhook with its log."""
    locked, before = _lock(session, webhook)
    _record(session, locked, actor, "webhook.delete", now, before=before)
    session.expunge(locked)
    outbox.remove(session, Webhook.id == webhook.id)


def test(session: Session, *, webhook: Webhook, user: User, now: datetime) -> None:
    """Write a test for a webhook, which is sent at once and once; raise TooManyTests and InvalidWebhook."""
    _send_now(session, webhook, user, now)
    outbox.write(session, webhook_ids=[webhook.id], event=Event.TEST, now=now)


def redeliver(session: Session, *, webhook: Webhook, token: str, user: User, now: datetime) -> None:
    """Send an event of the log once more, under a new name; it counts as a test.

    Raises UnknownDelivery, TooManyTests, InvalidWebhook.
    """
    earlier = next((each for each in outbox.log_of(session, webhook=webhook) if each.token == token), None)
    if earlier is None:
        raise UnknownDelivery(token=token)
    _send_now(session, webhook, user, now)
    first = {"redelivery_of": earlier.token, "happened_at": earlier.created_at.isoformat()}
    outbox.write(
        session,
        webhook_ids=[webhook.id],
        event=Event(earlier.event),
        subject_id=earlier.subject_id,
        details={**first, **earlier.details},
        now=now,
    )


def _send_now(session: Session, webhook: Webhook, user: User, now: datetime) -> None:
    """Count what a person sends by hand, and end the pause of a webhook that failed."""
    counting.hold_lock(session, f"webhook.test {user.id}")
    reached = counting.free_at(session, kind="webhook.test", whose=f"{user.id}", limits=TESTS, now=now)
    if reached is not None:
        raise TooManyTests(free_at=reached[1], now=now)
    counting.add(session, kind="webhook.test", whose=f"{user.id}", now=now)
    locked, _ = _lock(session, webhook)
    if locked.off_at is not None:
        raise InvalidWebhook("This webhook is switched off. Switch it on first.")
    if locked.available_at > now + outbox.LEASE:  # the pause after a failure, and nobody sends now
        locked.available_at = now
        session.flush()


def viewer_of(session: Session, *, webhook: Webhook) -> Viewer | None:
    """Return as whom a webhook is told what happens; None once its owner is gone."""
    if webhook.team_id is None:
        role = organizers.role_of(session, competition=webhook.competition, user=webhook.owner)
        return Viewer.ORGANIZER if role else None
    is_member = webhook.owner.deleted_at is None and _is_member(session, webhook.team_id, webhook.owner)
    return Viewer.TEAM if is_member else None


def tell_owner(session: Session, *, webhook: Webhook, now: datetime) -> None:
    """Write to the owner that their webhook was switched off."""
    competition = webhook.competition
    page = "team" if webhook.team_id else "organize/webhooks"
    hours = int(outbox.OFF_AFTER.total_seconds() // 3600)
    mail.notify(
        session,
        user=webhook.owner,
        kind=mail.Notice.TEAM if webhook.team_id else mail.Notice.ORGANIZER,
        key=f"webhook-off:{webhook.id}:{now:%Y%m%dT%H%M%S}",
        subject=f"{competition.title}: a webhook was switched off",
        body=f"Your webhook to {addresses.origin(webhook.url)} took nothing for {hours} hours and was "
        "switched off. What happened meanwhile is not sent again. When its address answers, switch it on:\n\n"
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
    """Return a webhook that nobody else changes, and what the audit tells of it; raise UnknownWebhook."""
    locked = session.get(Webhook, webhook.id, with_for_update=True, populate_existing=True)
    if locked is None:
        raise UnknownWebhook(webhook_id=webhook.id)
    return locked, _told(locked)


def _new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(24)


def _url(url: str, rules: Rules) -> str:
    return addresses.clean_url(url, allows_http=rules.allows_http, networks=rules.networks)


def _events(names: Collection[str]) -> list[str]:
    known = [event.value for event in EVENTS]
    if unknown := sorted(set(names) - set(known)):
        raise InvalidWebhook(f"There is no event {unknown[0][:40]!r}. The events are {', '.join(known)}.")
    if not names:
        raise InvalidWebhook("Choose at least one event.")
    return [name for name in known if name in names]


def _format(name: str) -> BodyFormat:
    try:
        return BodyFormat(name)
    except ValueError:
        raise InvalidWebhook(f"The format is {' or '.join(BodyFormat)}, not {name[:40]!r}.") from None


def _told(webhook: Webhook) -> dict[str, object]:
    return {
        "url": addresses.origin(webhook.url),
        "format": webhook.format.value,
        "events": webhook.events,
        "is_on": webhook.off_at is None,
    }


def _record(
    session: Session,
    webhook: Webhook,
    actor: Actor,
    action: str,
    now: datetime,
    before: dict[str, object] | None = None,
    after: dict[str, object] | None = None,
) -> None:
    """Add an organizer's change to the audit; a team's webhooks are its own affair."""
    if webhook.team_id is None:
        log.record(
            session,
            competition=webhook.competition,
            actor=actor,
            action=action,
            subject=f"webhook {webhook.id}",
            before=before,
            after=after,
            now=now,
        )
