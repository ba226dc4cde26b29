"""Competition entry (pages and API): joining and join requests."""

from typing import Any

from flask import Blueprint, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Participation, RequestState, Role
from grader.services.competitions.acting import Act
from grader.services.identity import names
from grader.services.teams import memberships, participations
from grader.services.teams.participations import EntryRefused
from webapp.competitions import prose
from webapp.competitions.views import CompetitionView
from webapp.http import api, auth
from webapp.http.actions import Family
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Moment, Sent, Text
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.teams import answers
from webapp.teams.answers import Entry, JoinRequest

blueprint = Blueprint("entry", __name__, url_prefix="/competitions/<slug>")
TAG = "running"


@blueprint.get("/join")
def show(slug: str) -> ResponseReturnValue:
    """Show the rules and the form to join."""
    return _page(slug)


@blueprint.get("/entries")
@auth.organizers_only(Role.VIEWER)
def requests(slug: str) -> ResponseReturnValue:
    """Show the requests to join."""
    return _requests_page(slug)


def _page(slug: str, *, problem: Any = None) -> str:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        rules = prose.stored(competition, slug, competition.rules)
        membership = g.user and memberships.of_person(session, competition=competition, user=g.user, now=now)
    view = CompetitionView(competition, now)
    return render_template(
        "teams/join.html",
        competition=view,
        rules=rules,
        membership=membership,
        problem=problem.message if problem else "",
        next=request.values.get("next", ""),
    )


def _joined(entered: Participation, slug: str) -> ResponseReturnValue:
    if entered.state is RequestState.OPEN:
        flash("Your request was sent to the organizers.")
        return redirect(url_for("entry.show", slug=slug), 303)
    flash("You joined the competition.")
    target = request.form.get("next")
    return redirect(auth.safe_target(target) if target else url_for("submissions.index", slug=slug), 303)


def _entry(act: Act, _entered: Participation) -> Entry:
    membership = memberships.of_person(act.session, competition=act.competition, user=act.user, now=act.now)
    return answers.entry(membership)


JOINING = Family(
    pages=blueprint,
    tag="teams",
    refusals=(EntryRefused,),
    show=_page,
    home=lambda slug: url_for("entry.show", slug=slug),
    answers=Entry,
    answer=_entry,
)


@JOINING.action("/join", page="join", shown=_joined)
def join(act: Act, sent: JoinRequest) -> Participation:
    """Join, ask to join, or accept the rules again; joining twice has no effect."""
    return participations.join(act, accepted_rules_version=sent.accepted_rules_version, code=sent.code or "")


def _requests_page(slug: str, *, problem: Any = None) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        waiting = participations.waiting(session, competition=competition)
        refused = participations.refused(session, competition=competition)
    return render_template(
        "teams/requests_to_join.html",
        competition=view,
        waiting=waiting,
        refused=refused,
        problem=problem.message if problem else "",
    )


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
    """The decision whether to admit a user, by name."""

    name: Text
    admit: bool


@api.blueprint.get(f"{DESK}/entries")
@organizers_operation(Role.VIEWER, answers=EntryRequestList, tag=TAG)
def entry_requests(slug: str) -> EntryRequestList:
    """List the pending requests to join, and the rejected ones."""
    with reading() as session:
        competition = competition_of(session, slug)
        return EntryRequestList(
            waiting=[_line(each) for each in participations.waiting(session, competition=competition)],
            refused=[_line(each) for each in participations.refused(session, competition=competition)],
        )


def _line(found: Participation) -> EntryRequest:
    return EntryRequest(user_id=found.user_id, name=found.user.name, requested_at=found.requested_at)


ENTRIES = Family(
    pages=blueprint,
    api=DESK,
    tag=TAG,
    refusals=(names.UnknownUser,),
    show=_requests_page,
    home=lambda slug: url_for("entry.requests", slug=slug),
    role=Role.EDITOR,
)


@ENTRIES.action("/entries", page="decide", done=lambda decision: decision, status=204)
def decide_entry(act: Act, sent: EntryDecision) -> str:
    """Admit a user or reject the request to join."""
    user = names.get_user(act.session, name=sent.name)
    participations.decide(act, user=user, admits=sent.admit)
    return f"{user.name} was {'admitted' if sent.admit else 'not admitted'}."
