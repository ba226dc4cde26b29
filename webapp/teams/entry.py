"""Competition entry (pages and API): joining and join requests."""

from typing import Any, Self

from flask import Blueprint, request, url_for

from grader.models import Competition, RequestState, Role, User
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.teams import participations
from grader.services.teams.participations import EntryState
from webapp.competitions import prose
from webapp.http import auth
from webapp.http.fields import Answer, Moment, Number, Sent, Text
from webapp.http.organizer_operations import DESK
from webapp.surface import Access, Ask, Surface

blueprint = Blueprint("entry", __name__, url_prefix="/competitions/<slug>")
JOINING = Surface(blueprint, tag="teams", role=Access.PUBLIC, acts=Access.USER)
ENTRIES = Surface(blueprint, tag="running", role=Role.VIEWER, acts=Role.EDITOR, api=DESK)


class JoinRequest(Sent):
    """A request to join, with the version of the rules that the user read, and an entry code."""

    accepted_rules_version: Number | None = None
    code: Text | None = None


class Entry(Answer):
    """The user's participation, and the accepted version of the rules."""

    entry: EntryState
    accepted_rules_version: int | None
    joined_at: Moment | None

    @classmethod
    def of_person(cls, session: Any, *, competition: Competition, user: User, **others: Any) -> Self:
        """Return the entry of a user, with further fields."""
        entered = participations.known(session, competition=competition, user=user)
        return cls(
            entry=participations.state(competition, entered),
            accepted_rules_version=entered.rules_version if entered else None,
            joined_at=entered.joined_at if entered else None,
            **others,
        )


@JOINING.read("/join", None, endpoint="show", page="teams/join.html")
def join_page(ask: Ask) -> dict[str, Any]:
    """Show the rules and the form to join."""
    person: dict[str, Any] = {"competition": ask.competition, "user": ask.user}
    entered = participations.known(ask.session, **person) if ask.user else None
    return {
        "rules": prose.stored(ask.competition, ask.competition.slug, ask.competition.rules),
        "participation": entered,
        "state": participations.state(ask.competition, entered),
        "is_expected": bool(ask.user) and participations.is_expected(ask.session, **person),
        "next": request.values.get("next", ""),
    }


def _joined(entered: Entry, slug: str) -> tuple[str, str]:
    """Return the message and the next page."""
    if entered.entry is EntryState.WAITING:
        return "Your request was sent to the organizers.", url_for("entry.show", slug=slug)
    target = request.form.get("next")
    next_page = auth.safe_target(target) if target else url_for("competitions.show", slug=slug)
    return "You joined the competition.", next_page


@JOINING.act("/join", form="join", back=join_page, done=_joined, answers=Entry)
def join(act: Act, sent: JoinRequest) -> Entry:
    """Join, ask to join, or accept the rules again; joining twice has no effect."""
    participations.join(act, accepted_rules_version=sent.accepted_rules_version, code=sent.code or "")
    return Entry.of_person(act.session, competition=act.competition, user=act.user)


class EntryRequest(Answer):
    """A request to join."""

    user_id: int
    name: str
    requested_at: Moment


class EntryRequestList(Answer):
    """The pending requests to join, and the rejected ones."""

    waiting: list[EntryRequest]
    refused: list[EntryRequest]


class EntryDecision(Sent):
    """The decision on a user's request to join, by user name."""

    name: Text
    admit: bool


def _lines(ask: Ask, state: RequestState) -> list[EntryRequest]:
    requests = participations.in_state(ask.session, competition=ask.competition, wanted=state)
    return [EntryRequest.of(each, name=each.user.name) for each in requests]


@ENTRIES.read("/entries", EntryRequestList, endpoint="requests", page="teams/requests_to_join.html")
def entry_requests(ask: Ask) -> EntryRequestList:
    """List the pending requests to join, and the rejected ones."""
    return EntryRequestList(waiting=_lines(ask, RequestState.OPEN), refused=_lines(ask, RequestState.REFUSED))


@ENTRIES.act("/entries", form="decide", back=entry_requests, status=204)
def decide_entry(act: Act, sent: EntryDecision) -> str:
    """Admit a user or reject the request to join."""
    user = names.get_user(act.session, name=sent.name)
    participations.decide(act, user=user, admits=sent.admit)
    return f"{user.name} was {'admitted' if sent.admit else 'not admitted'}."
