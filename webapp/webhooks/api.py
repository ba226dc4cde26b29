"""API: webhooks of a team and of organizers, and a competition's events as they happen."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from flask import Response, g, request

from grader import db
from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, Role, Team, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.accounts.api_tokens import Scope
from grader.services.audit.log import Actor
from grader.services.competitions import organizers
from grader.services.leaderboards import changes
from grader.services.leaderboards.changes import Watcher
from grader.services.teams import rosters
from grader.services.webhooks import subscriptions
from grader.services.webhooks.subscriptions import Wanted
from webapp.http import lookups
from webapp.http.api import blueprint, operation
from webapp.http.context import competition_of, reading, writing
from webapp.http.site import current_site
from webapp.webhooks import acts, answers
from webapp.webhooks.answers import (
    DeliveryList,
    NewWebhook,
    WebhookAnswer,
    WebhookChange,
    WebhookList,
    WebhookRequest,
)
from webapp.webhooks.streams import OVERLAP, Place, Stream

TAG = "events"
STREAM_TYPE = "text/event-stream"


class NoPlaceToWait(ParticipantError):
    """As many requests wait on this server as may."""

    public_name = "no_place_to_wait"
    kind = ErrorKind.NOT_YET

    def __init__(self, seconds: int) -> None:
        self.retry_after = timedelta(seconds=seconds)
        super().__init__(f"Too many programs are waiting here. Try again in {seconds} seconds.")


@dataclass(frozen=True, slots=True)
class Owners:
    """Whose webhooks some operations are about: a team's, or the organizers'."""

    name: str
    path: str
    reading: Scope
    changing: Scope

    def find(self, session: Any, slug: str, *, role: Role = Role.VIEWER) -> tuple[Competition, Team | None]:
        """Return the competition, and the person's team; raise where the person is none of these."""
        competition = competition_of(session, slug)
        if self.changing is Scope.ORGANIZE:
            organizers.require(session, competition=competition, user=g.user, role=role)
            return competition, None
        return competition, rosters.require_team(session, competition=competition, user=g.user)

    def open(self, session: Any, slug: str, webhook_id: int, *, role: Role = Role.EDITOR) -> Webhook:
        """Return one of these webhooks; raise UnknownWebhook."""
        competition, team = self.find(session, slug, role=role)
        return acts.found(session, competition, team, webhook_id)


TEAM = Owners("team_webhook", "/competitions/<slug>/team/webhooks", Scope.READ, Scope.SUBMIT)
ORGANIZERS = Owners("webhook", "/competitions/<slug>/webhooks", Scope.ORGANIZE, Scope.ORGANIZE)


def _add(owners: Owners) -> None:
    """Add the operations on the webhooks of a team, or of organizers."""

    def add(method: str, path: str, name: str, **options: Any) -> Callable[[Callable[..., Any]], None]:
        scope = owners.reading if method == "GET" else owners.changing

        def decorate(view: Callable[..., Any]) -> None:
            view.__name__ = name.format(owners.name)
            checked = operation(scope, tag=TAG, **options)(view)
            blueprint.add_url_rule(owners.path + path, view.__name__, checked, methods=[method])

        return decorate

    @add("GET", "", "{}_list", answers=WebhookList)
    def webhooks(slug: str) -> WebhookList:
        """List the webhooks."""
        with reading() as session:
            competition, team = owners.find(session, slug)
            found = subscriptions.list_of(session, competition=competition, team=team)
            return WebhookList(webhooks=[answers.webhook(each) for each in found], next=None)

    @add("POST", "", "create_{}", answers=NewWebhook, status=201, creates=True, shows_secret=True)
    def create(slug: str, json: WebhookRequest) -> tuple[NewWebhook, int]:
        """Add a webhook. Its secret is shown in this answer alone."""
        with writing() as session:
            competition, team = owners.find(session, slug, role=Role.EDITOR)
            made = subscriptions.create(
                session,
                competition=competition,
                team=team,
                wanted=Wanted(json.url, json.events, json.format),
                rules=acts.rules(),
                actor=Actor.of(g.user),
                owner=g.user,
                now=db.now(session),
            )
            return answers.with_secret(made), 201

    @add("GET", "/<int:webhook_id>", "{}", answers=WebhookAnswer)
    def webhook(slug: str, webhook_id: int) -> WebhookAnswer:
        """Return a webhook."""
        with reading() as session:
            return answers.webhook(owners.open(session, slug, webhook_id, role=Role.VIEWER))

    @add("PATCH", "/<int:webhook_id>", "change_{}", answers=WebhookAnswer)
    def change(slug: str, webhook_id: int, json: WebhookChange) -> WebhookAnswer:
        """Change what is given of a webhook; the person becomes its owner."""
        with writing() as session:
            found = owners.open(session, slug, webhook_id)
            given: dict[str, Any] = {"actor": Actor.of(g.user), "owner": g.user, "now": db.now(session)}
            if {json.url, json.format} != {None} or json.events is not None:
                events = found.events if json.events is None else json.events
                wanted = Wanted(json.url or "", events, json.format or found.format.value)
                found = subscriptions.change(
                    session, webhook=found, wanted=wanted, rules=acts.rules(), **given
                )
            if json.is_on is not None:
                found = subscriptions.switch(session, webhook=found, is_on=json.is_on, **given)
            return answers.webhook(found)

    @add("DELETE", "/<int:webhook_id>", "delete_{}", status=204)
    def delete(slug: str, webhook_id: int) -> tuple[str, int]:
        """Delete a webhook with its log."""
        with writing() as session:
            found = owners.open(session, slug, webhook_id)
            subscriptions.remove(session, webhook=found, actor=Actor.of(g.user), now=db.now(session))
        return "", 204

    @add("POST", "/<int:webhook_id>/secret", "rotate_{}", answers=NewWebhook, status=201, shows_secret=True)
    def rotate(slug: str, webhook_id: int) -> tuple[NewWebhook, int]:
        """Make a new secret, which this answer alone shows; the old one stops working."""
        with writing() as session:
            found = owners.open(session, slug, webhook_id)
            made = subscriptions.rotate(session, webhook=found, actor=Actor.of(g.user), now=db.now(session))
            return answers.with_secret(made), 201

    @add("POST", "/<int:webhook_id>/test", "test_{}", answers=WebhookAnswer, status=202, creates=True)
    def test(slug: str, webhook_id: int) -> tuple[WebhookAnswer, int]:
        """Send a test at once, and once."""
        with writing() as session:
            found = owners.open(session, slug, webhook_id)
            subscriptions.test(session, webhook=found, user=g.user, now=db.now(session))
            return answers.webhook(found), 202

    @add(
        "POST",
        "/<int:webhook_id>/deliveries/<delivery>/again",
        "redeliver_{}",
        answers=WebhookAnswer,
        status=202,
        creates=True,
    )
    def redeliver(slug: str, webhook_id: int, delivery: str) -> tuple[WebhookAnswer, int]:
        """Send an event of the log once more, with a new `delivery` and the old one as `redelivery_of`."""
        with writing() as session:
            found = owners.open(session, slug, webhook_id)
            subscriptions.redeliver(session, webhook=found, token=delivery, user=g.user, now=db.now(session))
            return answers.webhook(found), 202

    @add("GET", "/<int:webhook_id>/deliveries", "{}_deliveries", answers=DeliveryList)
    def deliveries(slug: str, webhook_id: int) -> DeliveryList:
        """List how the last events were sent, the newest first."""
        with reading() as session:
            found = owners.open(session, slug, webhook_id, role=Role.VIEWER)
            attempts = outbox.log_of(session, webhook=found)
        return DeliveryList(deliveries=[answers.delivery(each) for each in attempts], next=None)


_add(TEAM)
_add(ORGANIZERS)


@blueprint.get("/competitions/<slug>/events")
@operation(Scope.READ, tag=TAG, answers_file=STREAM_TYPE)
def events(slug: str) -> Response:
    """Send events as they happen: `submission` of one's own team, `board` when the leaderboard has changed.

    It ends after a minute at most. Come again with the `id` of the last event as `Last-Event-ID`.
    """
    site, user_id = current_site(), g.user.id
    read_to = Place.read(request.headers.get("Last-Event-ID", ""))
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        team = lookups.own_team(session, competition)
        since = now if read_to is None else read_to.at - OVERLAP
        if team is None:
            first = []
        elif read_to is None:
            first = changes.pending_of(session, team_id=team.id)
        else:
            first = changes.changed_since(session, team_ids=[team.id], since=since)
    version = read_to.version if read_to else ""
    watcher = Watcher(competition.id, user_id, is_organizer=g.organizer_role is not None)
    stream = Stream(site.waits, watcher, first, since, version)
    headers = {"X-Accel-Buffering": "no"}
    if request.method == "HEAD":
        return Response(mimetype=STREAM_TYPE, headers=headers)
    if not site.waits.take(user_id):
        raise NoPlaceToWait(site.waits.retry_after())
    response = Response(stream.events(), mimetype=STREAM_TYPE, headers=headers)
    response.call_on_close(lambda: site.waits.give_back(user_id))
    return response
