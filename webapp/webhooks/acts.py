"""What people do with webhooks on pages: show, create, change, test, switch on and off, delete them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ParticipantError
from grader.models import Competition, Team, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.audit.log import Actor
from grader.services.teams import rosters
from grader.services.webhooks import subscriptions
from grader.services.webhooks.addresses import InvalidWebhookUrl
from grader.services.webhooks.subscriptions import (
    MOST_OF_ORGANIZERS,
    MOST_OF_TEAM,
    InvalidWebhook,
    Rules,
    TooManyTests,
    TooManyWebhooks,
    UnknownWebhook,
    Wanted,
)
from webapp.competitions.views import CompetitionView
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading, writing
from webapp.http.errors import headers_of, status_of, wants_json
from webapp.http.site import current_site
from webapp.webhooks.views import FORMAT_WORDS, AttemptView, WebhookView, choices

REFUSALS = (InvalidWebhook, InvalidWebhookUrl, TooManyTests, TooManyWebhooks)


@dataclass(frozen=True, slots=True)
class Place:
    """Whose webhooks a page is about: a team's, or the organizers'."""

    family: str
    template: str
    is_of_team: bool

    def team(self, session: Any, competition: Competition) -> Team | None:
        """Return the person's team, None for organizers; raise rosters.TeamRefusal."""
        if not self.is_of_team:
            return None
        return rosters.require_team(session, competition=competition, user=g.user)

    def url(self, slug: str, webhook_id: int | None = None) -> str:
        """Return the address of the list, or of one webhook."""
        if webhook_id is None:
            return url_for(f"{self.family}.index", slug=slug)
        return url_for(f"{self.family}.show", slug=slug, webhook_id=webhook_id)


def rules() -> Rules:
    """Return what the operator allows of URLs."""
    settings = current_site().settings
    return Rules(allows_http=settings.webhook_http, networks=settings.webhook_networks())


def found(session: Any, competition: Competition, team: Team | None, webhook_id: int) -> Webhook:
    """Return a webhook of this team or of these organizers; raise UnknownWebhook."""
    webhook = subscriptions.get(session, competition=competition, team=team, webhook_id=webhook_id)
    if webhook is None:
        raise UnknownWebhook(webhook_id=webhook_id)
    return webhook


def show_list(place: Place, slug: str, *, problem: ParticipantError | None = None, secret: str = "") -> str:
    """Show the webhooks and the form of a new one, with a secret that was just made."""
    with reading() as session:
        competition = competition_of(session, slug)
        team = place.team(session, competition)
        webhooks = subscriptions.list_of(session, competition=competition, team=team)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "integrations/webhooks.html",
        layout=place.template,
        place=place,
        competition=view,
        team=team,
        webhooks=[WebhookView(each) for each in webhooks],
        most=MOST_OF_TEAM if team else MOST_OF_ORGANIZERS,
        events=choices(),
        formats=FORMAT_WORDS,
        form=request.form,
        problem=problem,
        secret=secret,
    )


def show_one(
    place: Place, slug: str, webhook_id: int, *, problem: ParticipantError | None = None, secret: str = ""
) -> str:
    """Show a webhook with its log, the form that changes it, and a secret that was just made."""
    with reading() as session:
        competition = competition_of(session, slug)
        team = place.team(session, competition)
        webhook = found(session, competition, team, webhook_id)
        attempts = outbox.log_of(session, webhook=webhook)
        view = CompetitionView(competition, db.now(session))
        shown = WebhookView(webhook)
    return render_template(
        "integrations/webhook.html",
        layout=place.template,
        place=place,
        competition=view,
        webhook=shown,
        attempts=[AttemptView(each) for each in attempts],
        events=choices(),
        formats=FORMAT_WORDS,
        problem=problem,
        secret=secret,
    )


def create(place: Place, slug: str) -> ResponseReturnValue:
    """Add a webhook and show its secret once: the answer itself holds it."""
    try:
        with writing() as session:
            competition = competition_of(session, slug)
            made = subscriptions.create(
                session,
                competition=competition,
                team=place.team(session, competition),
                wanted=_wanted(),
                rules=rules(),
                actor=Actor.of(g.user),
                owner=g.user,
                now=db.now(session),
            )
    except REFUSALS as error:
        if wants_json():
            raise
        return show_list(place, slug, problem=error), status_of(error)
    return show_one(place, slug, made.id, secret=made.secret), 201


def act(place: Place, slug: str, webhook_id: int, verb: str) -> ResponseReturnValue:
    """Do something with a webhook, and show what came of it."""
    done, secret, is_gone = _DONE[verb], "", verb == "delete"
    try:
        with writing() as session:
            competition = competition_of(session, slug)
            webhook = found(session, competition, place.team(session, competition), webhook_id)
            if question := _QUESTIONS.get(verb):
                heading, sentence, button = question
                back = place.url(slug, webhook_id)
                confirm(Question(heading, (sentence,), button, back, state=str(webhook_id), is_final=True))
            changed = _ACTS[verb](session, webhook)
            if verb == "rotate":
                secret = changed.secret
    except REFUSALS as error:
        if wants_json():
            raise
        answer = show_one(place, slug, webhook_id, problem=error)
        return answer, status_of(error), headers_of(error)
    if secret:
        return show_one(place, slug, webhook_id, secret=secret)
    flash(done)
    return redirect(place.url(slug, None if is_gone else webhook_id), 303)


def _wanted() -> Wanted:
    form = request.form
    return Wanted(form.get("url", "").strip(), form.getlist("events"), form.get("format", ""))


def _change(session: Any, webhook: Webhook) -> Webhook:
    return subscriptions.change(
        session,
        webhook=webhook,
        wanted=_wanted(),
        rules=rules(),
        actor=Actor.of(g.user),
        owner=g.user,
        now=db.now(session),
    )


def _rotate(session: Any, webhook: Webhook) -> Webhook:
    return subscriptions.rotate(session, webhook=webhook, actor=Actor.of(g.user), now=db.now(session))


def _switch(session: Any, webhook: Webhook, *, is_on: bool) -> Webhook:
    return subscriptions.switch(
        session, webhook=webhook, is_on=is_on, actor=Actor.of(g.user), owner=g.user, now=db.now(session)
    )


def _delete(session: Any, webhook: Webhook) -> None:
    subscriptions.remove(session, webhook=webhook, actor=Actor.of(g.user), now=db.now(session))


def _test(session: Any, webhook: Webhook) -> None:
    subscriptions.test(session, webhook=webhook, user=g.user, now=db.now(session))


def _redeliver(session: Any, webhook: Webhook) -> None:
    token = request.form.get("delivery", "")
    subscriptions.redeliver(session, webhook=webhook, token=token, user=g.user, now=db.now(session))


_ACTS: dict[str, Callable[[Any, Webhook], Any]] = {
    "change": _change,
    "rotate": _rotate,
    "on": lambda session, webhook: _switch(session, webhook, is_on=True),
    "off": lambda session, webhook: _switch(session, webhook, is_on=False),
    "delete": _delete,
    "test": _test,
    "redeliver": _redeliver,
}
_DONE = {
    "change": "Webhook changed.",
    "rotate": "",
    "on": "Webhook switched on.",
    "off": "Webhook switched off.",
    "delete": "Webhook deleted.",
    "redeliver": "The event is sent again. Reload this page in a few seconds to see the result.",
    "test": "A test is on its way. Reload this page in a few seconds to see how it went.",
}
_QUESTIONS = {
    "delete": ("Delete the webhook?", "Its log is deleted too. What waits for it is not sent.", "Delete"),
    "rotate": (
        "Make a new secret?",
        "The present secret stops working at once: the receiver needs the new one.",
        "Make a new secret",
    ),
}
