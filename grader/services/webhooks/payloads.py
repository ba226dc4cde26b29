"""Webhook payloads and their signatures.

A payload is built for each attempt. It contains the fields that the owner may see in the current phase and
feedback mode. Withdrawn announcements and moved deadlines have no payload.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session, joinedload

from grader.models import (
    Announcement,
    BodyFormat,
    Competition,
    Delivery,
    ScoringVersion,
    Split,
    Submission,
    Team,
    Webhook,
)
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import submission_results
from grader.services.standings.ranks import Standings
from grader.services.webhook_outbox import Event
from grader.services.webhooks import subscriptions
from grader.text import counted
from grader.visibility import Field, visible_fields

RANK_FIELDS = {Split.PUBLIC: Field.PUBLIC_RANK, Split.PRIVATE: Field.PRIVATE_RANK}
_SLACK_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

SIGNATURE_VERSION = "v1"

Fields = dict[str, Any]


class OwnerLeft(Exception):
    """The webhook's owner has left the team or the organizers."""


@dataclass(frozen=True, slots=True)
class SignedPayload:
    """A payload with its URL and the values for its headers."""

    url: str
    secret: str
    event: str
    token: str
    body: bytes


@dataclass(frozen=True, slots=True)
class _Case:
    """An event with its recipient and the visible fields."""

    session: Session
    delivery: Delivery
    competition: Competition
    team_id: int | None
    allowed: frozenset[Field]
    site: str
    now: datetime

    @property
    def page(self) -> str:
        return f"{self.site}/competitions/{self.competition.slug}"


def letter_of(session: Session, *, delivery_id: int, site: str, now: datetime) -> SignedPayload | None:
    """Return the payload of an event, or None if the event no longer has content; raise OwnerLeft."""
    delivery = session.scalar(
        select(Delivery)
        .where(Delivery.id == delivery_id)
        .options(
            joinedload(Delivery.webhook).options(
                joinedload(Webhook.competition), joinedload(Webhook.owner), joinedload(Webhook.team)
            )
        )
    )
    if delivery is None:
        return None
    webhook = delivery.webhook
    viewer = subscriptions.viewer_of(session, webhook=webhook)
    if viewer is None:
        raise OwnerLeft
    competition, phase = webhook.competition, phases.phase(webhook.competition, now)
    allowed = visible_fields(viewer, phase, competition.feedback)
    case = _Case(session, delivery, competition, webhook.team_id, allowed, site, now)
    written = _WRITERS[Event(delivery.event)](case)
    if written is None:
        return None
    fields, sentence, link = written
    body = _slack(competition, sentence, link) if webhook.format is BodyFormat.SLACK else _json(case, fields)
    return SignedPayload(webhook.url, webhook.secret, delivery.event, delivery.token, body)


def sign(body: bytes, *, secret: str, timestamp: int) -> str:
    """Return `v1=` and the hexadecimal HMAC-SHA256 of the timestamp, a period and the body."""
    signed = b"%d." % timestamp + body
    return f"{SIGNATURE_VERSION}={hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()}"


def _json(case: _Case, fields: Fields) -> bytes:
    competition = case.competition
    details = case.delivery.details
    again = {"redelivery_of": details["redelivery_of"]} if "redelivery_of" in details else {}
    happened_at = datetime.fromisoformat(details["happened_at"]) if again else case.delivery.created_at
    everything = {
        "event": case.delivery.event,
        "delivery": case.delivery.token,
        **again,
        "happened_at": _iso(happened_at),
        "competition": {"slug": competition.slug, "title": competition.title, "url": case.page},
        **fields,
    }
    return json.dumps(everything, ensure_ascii=False).encode()


def _slack(competition: Competition, sentence: str, link: str) -> bytes:
    text = f"{competition.title}: {sentence}".translate(_SLACK_ESCAPES)
    return json.dumps({"text": f"{text} {link}"}, ensure_ascii=False).encode()


_Told = tuple[Fields, str, str] | None  # fields, sentence, link


def _submission(case: _Case) -> _Told:
    query = select(Submission).where(Submission.id == case.delivery.subject_id)
    submission = case.session.scalar(query.options(joinedload(Submission.team)))
    is_own = submission is not None and case.team_id in (None, submission.team_id)
    if submission is None or not is_own or Field.FILE not in case.allowed:
        return None
    results = submission_results.split_results(
        case.session, submission=submission, version=lookup.live(case.competition), allowed=case.allowed
    )
    link = f"{case.page}/submissions/{submission.id}"
    scores: Fields = {split.value: None for split in Split}
    for split, result in results.items():
        scores[split.value] = {"score": float(result.score), "terms": dict(result.terms) or None}
    fields = {
        "submission": {
            "id": submission.id,
            "url": link,
            "status": submission.status.value,
            "kind": submission.kind.value,
            "file_name": submission.file_name,
            "team": {"id": submission.team_id, "name": submission.team.name},
            "submitted_at": _iso(submission.submitted_at),
            "problem_count": len(submission.problems),
            **scores,
        }
    }
    listed = ", ".join(f"{split.value} score {each.score}" for split, each in sorted(results.items()))
    sentence = f"submission #{submission.id} of {submission.team.name}: {listed or submission.status.value}."
    return fields, sentence, link


def _ranks(case: _Case) -> _Told:
    split = Split(case.delivery.details["split"])
    if RANK_FIELDS[split] not in case.allowed:
        return None
    changes = case.delivery.details["changes"]
    query = select(Team.id, Team.name).where(Team.id.in_([each["team_id"] for each in changes]))
    names: Mapping[int, str] = dict(case.session.execute(query).all())
    sentences = [
        {
            "team": {"id": each["team_id"], "name": names[each["team_id"]]},
            "rank": each["rank"],
            "previous_rank": each["previous_rank"],
        }
        for each in changes
        if each["team_id"] in names
    ]
    if not sentences:
        return None
    first = sentences[0]
    before = f" (previously {first['previous_rank']:,})" if first["previous_rank"] else ""
    more = f" {counted(len(sentences) - 1, 'other team')} also moved." if len(sentences) > 1 else ""
    sentence = (
        f"{first['team']['name']} is ranked {first['rank']:,}{before} on the {split.value} leaderboard.{more}"
    )
    return {"leaderboard": split.value, "changes": sentences}, sentence, f"{case.page}/leaderboard"


def _announcement(case: _Case) -> _Told:
    post = case.session.get(Announcement, case.delivery.subject_id)
    if post is None or post.withdrawn_at is not None:
        return None
    fields = {
        "id": post.id,
        "title": post.title,
        "body": post.body,
        "posted_at": _iso(post.posted_at),
    }
    return {"announcement": fields}, post.title, case.page


def _rescoring(case: _Case) -> _Told:
    version = case.session.scalar(
        select(ScoringVersion).where(
            ScoringVersion.competition_id == case.competition.id,
            ScoringVersion.number == case.delivery.subject_id,
        )
    )
    if version is None or version.id != case.competition.live_scoring_version_id:
        return None
    fields = {"scoring_version": version.number, "reason": version.reason}
    sentence = f"all scores now use scoring version {version.number}: {version.reason}"
    return {"rescoring": fields}, sentence, f"{case.page}/leaderboard"


def _deadline(case: _Case) -> _Told:
    closes_at = case.competition.closes_at
    if closes_at is None or closes_at <= case.now or _iso(closes_at) != case.delivery.details["closes_at"]:
        return None
    sentence = f"submissions close at {closes_at:%Y-%m-%d %H:%M} UTC."
    return {"closes_at": _iso(closes_at)}, sentence, case.page


def _revealed(case: _Case) -> _Told:
    revealed_at = case.competition.revealed_at
    if revealed_at is None or Field.PRIVATE_RANK not in case.allowed:
        return None
    fields: Fields = {"revealed_at": _iso(revealed_at)}
    sentence = "the private leaderboard has been revealed."
    version_id = lookup.live(case.competition).id
    if case.team_id is not None:
        for split in Split:
            ranks = Standings(case.session, version_id, split).ranks([case.team_id])
            fields[f"{split.value}_rank"] = ranks.get(case.team_id)
        if rank := fields["private_rank"]:
            sentence = f"the private leaderboard has been revealed. Your team is ranked {rank:,}."
    fields["team_count"] = Standings(case.session, version_id, Split.PRIVATE).count_teams()
    return fields, sentence, f"{case.page}/leaderboard"


def _test(case: _Case) -> _Told:
    return {}, "this is a test of your webhook.", case.page


_WRITERS: Mapping[Event, Callable[[_Case], _Told]] = {
    Event.SCORED: _submission,
    Event.REJECTED: _submission,
    Event.RANK_CHANGED: _ranks,
    Event.ANNOUNCEMENT: _announcement,
    Event.RESCORING: _rescoring,
    Event.DEADLINE: _deadline,
    Event.REVEALED: _revealed,
    Event.TEST: _test,
}


def _iso(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")
