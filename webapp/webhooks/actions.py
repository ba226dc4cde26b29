"""Webhooks for teams and organizers: pages, actions, API."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.errors import ParticipantError
from grader.models import Competition, Role, Team, Webhook
from grader.services import webhook_outbox as outbox
from grader.services.accounts.api_tokens import Scope
from grader.services.competitions.acting import Act
from grader.services.teams import rosters
from grader.services.webhooks import subscriptions
from grader.services.webhooks.addresses import InvalidWebhookUrl
from grader.services.webhooks.subscriptions import (
    MOST_OF_ORGANIZERS,
    MOST_OF_TEAM,
    AddressRules,
    InvalidWebhook,
    TooManyTests,
    TooManyWebhooks,
    WebhookFields,
)
from webapp.competitions.views import CompetitionView
from webapp.http import auth
from webapp.http.actions import Family, entered
from webapp.http.api import blueprint, operation
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question, confirm
from webapp.http.context import competition_of, reading
from webapp.http.fields import Confirmation
from webapp.http.site import current_site
from webapp.webhooks import views
from webapp.webhooks.views import (
    AttemptView,
    DeliveryList,
    NewWebhook,
    WebhookAnswer,
    WebhookChange,
    WebhookList,
    WebhookRequest,
    WebhookView,
)

TAG = "events"


@dataclass(frozen=True, slots=True)
class Owners:
    """A team, or the organizers with the `role` that may change their webhooks."""

    noun: str
    pages: Blueprint
    api: str
    layout: str
    role: Role | None = None

    @property
    def is_of_team(self) -> bool:
        return self.role is None

    def team(self, session: Any, competition: Competition) -> Team | None:
        """Return the user's team, or None for organizers; raise rosters.TeamRefusal."""
        if not self.is_of_team:
            return None
        return rosters.require_team(session, competition=competition, user=g.user)

    def get(self, session: Any, competition: Competition, webhook_id: int) -> Webhook:
        """Return a webhook of these owners; raise UnknownWebhook."""
        team = self.team(session, competition)
        return subscriptions.get(session, competition=competition, team=team, webhook_id=webhook_id)

    def url(self, slug: str, webhook_id: int | None = None, verb: str = "") -> str:
        """Return the URL of the list, of one webhook, or of an action."""
        if webhook_id is None:
            return url_for(f"{self.pages.name}.index", slug=slug)
        page = url_for(f"{self.pages.name}.show", slug=slug, webhook_id=webhook_id)
        return f"{page}/{verb}" if verb else page

    def show_list(self, slug: str, *, problem: ParticipantError | None = None) -> str:
        """Render the list of webhooks with the form to add one."""
        with reading() as session:
            competition = competition_of(session, slug)
            team = self.team(session, competition)
            webhooks = subscriptions.list_of(session, competition=competition, team=team)
            view = CompetitionView(competition, db.now(session))
        return render_template(
            "webhooks/list.html",
            layout=self.layout,
            owners=self,
            competition=view,
            team=team,
            webhooks=[WebhookView(each) for each in webhooks],
            most=MOST_OF_TEAM if team else MOST_OF_ORGANIZERS,
            events=views.CHOICES,
            formats=views.FORMAT_WORDS,
            form=request.form,
            problem=problem,
        )

    def show(
        self,
        slug: str,
        webhook_id: int | None = None,
        *,
        problem: ParticipantError | None = None,
        secret: str = "",
        **_: Any,
    ) -> str:
        """Render the list, or a webhook with its log, form and new secret."""
        if webhook_id is None:
            return self.show_list(slug, problem=problem)
        with reading() as session:
            competition = competition_of(session, slug)
            webhook = self.get(session, competition, webhook_id)
            attempts = outbox.log_of(session, webhook=webhook)
            view = CompetitionView(competition, db.now(session))
        return render_template(
            "webhooks/show.html",
            layout=self.layout,
            owners=self,
            competition=view,
            webhook=WebhookView(webhook),
            attempts=[AttemptView(each) for each in attempts],
            events=views.CHOICES,
            formats=views.FORMAT_WORDS,
            problem=problem,
            secret=secret,
        )


TEAM = Owners(
    "team_webhook",
    Blueprint("team_webhooks", __name__, url_prefix="/competitions/<slug>/team/webhooks"),
    "/competitions/<slug>/team/webhooks",
    "competitions/base.html",
)
ORGANIZERS = Owners(
    "webhook",
    Blueprint("organize_webhooks", __name__, url_prefix="/competitions/<slug>/organize/webhooks"),
    "/competitions/<slug>/webhooks",
    "organizer_base.html",
    Role.EDITOR,
)


BLUEPRINTS = TEAM.pages, ORGANIZERS.pages


def _add_pages(owners: Owners) -> None:
    guard: Callable[[auth.View], auth.View] = (
        auth.login_required if owners.is_of_team else organizers_only(Role.VIEWER)
    )

    @owners.pages.get("")
    @guard
    def index(slug: str) -> ResponseReturnValue:
        """Show the webhooks."""
        return owners.show_list(slug)

    @owners.pages.get("/<int:webhook_id>")
    @guard
    def show(slug: str, webhook_id: int) -> ResponseReturnValue:
        """Show a webhook and its log."""
        return owners.show(slug, webhook_id)


def _add_lists(owners: Owners) -> None:
    """Add the operations that return webhooks and their deliveries."""

    def add(path: str, name: str, answers: type) -> Callable[[Callable[..., Any]], None]:
        def decorate(view: Callable[..., Any]) -> None:
            view.__name__ = name.format(owners.noun)
            scope = Scope.READ if owners.is_of_team else Scope.ORGANIZE
            checked = operation(scope, answers=answers, tag=TAG)(view)
            if not owners.is_of_team:
                checked = organizers_only(Role.VIEWER)(checked)
            blueprint.add_url_rule(owners.api + path, view.__name__, checked, methods=["GET"])

        return decorate

    @add("", "{}_list", WebhookList)
    def webhooks(slug: str) -> WebhookList:
        """List the webhooks."""
        with reading() as session:
            competition = competition_of(session, slug)
            team = owners.team(session, competition)
            found = subscriptions.list_of(session, competition=competition, team=team)
            return WebhookList(webhooks=[views.webhook(each) for each in found], next=None)

    @add("/<int:webhook_id>", "{}", WebhookAnswer)
    def webhook(slug: str, webhook_id: int) -> WebhookAnswer:
        """Return a webhook."""
        with reading() as session:
            return views.webhook(owners.get(session, competition_of(session, slug), webhook_id))

    @add("/<int:webhook_id>/deliveries", "{}_deliveries", DeliveryList)
    def deliveries(slug: str, webhook_id: int) -> DeliveryList:
        """List the last deliveries of a webhook, newest first."""
        with reading() as session:
            found = owners.get(session, competition_of(session, slug), webhook_id)
            attempts = outbox.log_of(session, webhook=found)
        return DeliveryList(deliveries=[views.delivery(each) for each in attempts], next=None)


def _entered_change(_act: Act, verb: str, **_: int) -> dict[str, Any]:
    return entered(WebhookRequest) if verb == "change" else {"is_on": verb == "on"}


def _rules() -> AddressRules:
    """Return the operator's rules for webhook URLs."""
    settings = current_site().settings
    return AddressRules(allows_http=settings.webhook_http, networks=settings.webhook_networks())


def _add_actions(owners: Owners) -> None:
    family = Family(
        pages=owners.pages,
        api=owners.api,
        tag=TAG,
        refusals=(InvalidWebhook, InvalidWebhookUrl, TooManyTests, TooManyWebhooks),
        show=owners.show,
        home=lambda slug, webhook_id, **_: owners.url(slug, webhook_id),
        answers=WebhookAnswer,
        answer=lambda _act, changed, **_: views.webhook(changed),
        role=owners.role,
    )

    def add(name: str, path: str = "", **described: Any) -> Callable[[Callable[..., Any]], None]:
        def decorate(run: Callable[..., Any]) -> None:
            run.__name__ = f"{name}_{owners.noun}"
            family.action(path, page=name, **described)(run)

        return decorate

    def get(act: Act, webhook_id: int) -> Webhook:
        return owners.get(act.session, act.competition, webhook_id)

    def ask(slug: str, webhook_id: int, heading: str, sentence: str, button: str) -> None:
        back = owners.url(slug, webhook_id)
        confirm(Question(heading, (sentence,), button, back, state=str(webhook_id), is_final=True))

    def with_secret(made: Webhook, slug: str, **_: Any) -> str:
        """Show a new secret once, in this response only."""
        return owners.show(slug, made.id, secret=made.secret)

    def deleted(_: None, slug: str, **__: Any) -> ResponseReturnValue:
        flash("Webhook deleted.")
        return redirect(owners.url(slug), 303)

    secret: dict[str, Any] = {
        "done": "",
        "answers": NewWebhook,
        "answer": lambda _act, made, **_: views.with_secret(made),
        "status": 201,
        "shows_secret": True,
    }

    @add(
        "create",
        shown=lambda made, **given: (with_secret(made, **given), 201),
        creates=True,
        **secret,
    )
    def create(act: Act, sent: WebhookRequest) -> Webhook:
        """Add a webhook. Its secret is shown only in this response."""
        wanted = WebhookFields(sent.url, sent.events, sent.format)
        team = owners.team(act.session, act.competition)
        return subscriptions.create(act, team=team, wanted=wanted, rules=_rules())

    @add(
        "change",
        "/<int:webhook_id>",
        method="PATCH",
        page_path="/<int:webhook_id>/<any(change, on, off):verb>",
        form=_entered_change,
        done={"change": "Webhook changed.", "on": "Webhook switched on.", "off": "Webhook switched off."},
    )
    def change(act: Act, sent: WebhookChange, webhook_id: int, **_: str) -> Webhook:
        """Change the given fields of a webhook; the user becomes its owner."""
        found = get(act, webhook_id)
        if {sent.url, sent.format} != {None} or sent.events is not None:
            events = found.events if sent.events is None else sent.events
            wanted = WebhookFields(sent.url or "", events, sent.format or found.format.value)
            found = subscriptions.change(act, webhook=found, wanted=wanted, rules=_rules())
        if sent.is_on is not None:
            found = subscriptions.switch(act, webhook=found, is_on=sent.is_on)
        return found

    @add(
        "delete",
        "/<int:webhook_id>",
        method="DELETE",
        page_path="/<int:webhook_id>/delete",
        shown=deleted,
        answer=lambda *_, **__: "",
        status=204,
    )
    def delete(act: Act, sent: Confirmation, webhook_id: int) -> None:  # noqa: ARG001
        """Delete a webhook and its log."""
        found = get(act, webhook_id)
        sentence = "The webhook's log is also deleted, and pending deliveries are not sent."
        ask(act.competition.slug, webhook_id, "Delete this webhook?", sentence, "Delete")
        subscriptions.remove(act, webhook=found)

    @add(
        "rotate",
        "/<int:webhook_id>/secret",
        page_path="/<int:webhook_id>/rotate",
        shown=with_secret,
        **secret,
    )
    def rotate(act: Act, sent: Confirmation, webhook_id: int) -> Webhook:  # noqa: ARG001
        """Generate a new secret, which is shown only in this response; the old one stops working."""
        found = get(act, webhook_id)
        sentence = "The current secret stops working immediately. Configure the new one at the receiver."
        ask(act.competition.slug, webhook_id, "Generate a new secret?", sentence, "Generate secret")
        return subscriptions.rotate(act, webhook=found)

    @add(
        "test",
        "/<int:webhook_id>/test",
        done="The test is being sent. Reload this page in a few seconds to see the result.",
        status=202,
        creates=True,
    )
    def test(act: Act, webhook_id: int) -> Webhook:
        """Send a test event immediately, without retries."""
        found = get(act, webhook_id)
        subscriptions.test(act, webhook=found)
        return found

    @add(
        "redeliver",
        "/<int:webhook_id>/deliveries/<delivery>/again",
        page_path="/<int:webhook_id>/redeliver",
        done="The event is being sent again. Reload this page in a few seconds to see the result.",
        status=202,
        creates=True,
    )
    def redeliver(act: Act, webhook_id: int, delivery: str | None = None) -> Webhook:
        """Send an event from the log again, as a new delivery.

        The new delivery has its own `delivery` id; `redelivery_of` contains the old id.
        """
        found = get(act, webhook_id)
        token = request.form.get("delivery", "") if delivery is None else delivery
        subscriptions.redeliver(act, webhook=found, token=token)
        return found


for _owners in (TEAM, ORGANIZERS):
    _add_pages(_owners)
    _add_lists(_owners)
    _add_actions(_owners)
