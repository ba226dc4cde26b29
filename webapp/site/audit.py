"""Audit log (page and API): all actions with previous and new values."""

import json
from datetime import datetime
from typing import Any

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import AuditEntry, Competition, Role
from grader.services.identity.api_tokens import Scope
from grader.services.site import log
from grader.services.site.log import AuditPage
from webapp.competitions.views import CompetitionView
from webapp.http import api
from webapp.http.api import ending, operation
from webapp.http.auth import admin_required, organizers_only
from webapp.http.context import competition_of, reading
from webapp.http.fields import Answer, Asked, Moment, PageSize, Text
from webapp.http.organizer_operations import DESK, organizers_operation
from webapp.http.parameters import asked_page, asked_text
from webapp.presentation import formats

blueprint = Blueprint("organize_audit", __name__, url_prefix="/competitions/<slug>/organize/audit")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show a page of the audit log, optionally filtered by action or user."""
    action, person = asked_text("action"), asked_text("by")
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        found = log.list_page(
            session,
            competition=competition,
            action=action,
            person=person,
            page=asked_page(),
        )
        actions = log.actions(session, competition=competition)
        people = log.people(session, competition=competition)
    return render_template(
        "site/audit.html",
        competition=view,
        page=found,
        entries=[EntryView(entry, found) for entry in found.rows],
        actions=[(each, log.action_label(each)) for each in actions],
        people=people,
        action=action,
        person=person,
    )


SHOWN_LENGTH = 300


class EntryView:
    """One audit entry; `sentence` continues after the actor's name.

    `changes` contains the name and both values of each field, in the order in which they were recorded. The
    previous value is empty if there was none.
    """

    def __init__(self, entry: AuditEntry, page: AuditPage) -> None:
        self.at, self.action, self.reason = entry.at, entry.action, entry.reason
        self.by = entry.actor.name if entry.actor else entry.origin
        self.sentence = page.sentence(entry)
        self.public_text = page.with_names(entry.public_text)
        fields = [*entry.after, *(name for name in entry.before if name not in entry.after)]
        self.changes = [
            (
                name.replace("_", " "),
                _words(entry.before[name], is_time=name in entry.times) if name in entry.before else "",
                _words(entry.after.get(name), is_time=name in entry.times),
            )
            for name in fields
        ]


def _words(value: Any, *, is_time: bool) -> str:
    """Return a stored value in human-readable form."""
    match value:
        case None | "" | []:
            return "none"
        case bool():
            return "yes" if value else "no"
        case int():
            return formats.count(value)
        case str():
            text = formats.moment(datetime.fromisoformat(value)) if is_time else value
        case list() if all(isinstance(each, str | int | float) for each in value):
            text = ", ".join(map(str, value))
        case _:
            text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"


class AuditQuery(Asked):
    """The filters of the audit log: an action or the noun of an action, and the actor's name."""

    action: Text = ""
    by: Text = ""


class AuditLine(Answer):
    """An audit entry: the actor, and the values before and after the action."""

    entry: int
    at: Moment
    actor: str | None
    origin: str
    action: str
    subject: str
    before: dict[str, Any]
    after: dict[str, Any]
    reason: str
    is_public: bool
    public_text: str


class AuditList(Answer):
    """One page of the audit log, newest entries first."""

    entries: list[AuditLine]
    page_size: PageSize
    next: str | None


@api.blueprint.get(f"{DESK}/audit")
@organizers_operation(Role.VIEWER, answers=AuditList, tag="running")
def audit_list(slug: str, query: AuditQuery) -> AuditList:
    """List the audit entries of a competition, newest first."""
    with reading() as session:
        return _audit(session, competition_of(session, slug), query)


@api.blueprint.get("/audit")
@admin_required
@operation(Scope.ADMIN, answers=AuditList, tag="running")
def site_audit_list(query: AuditQuery) -> AuditList:
    """List the audit entries of the site itself and of deleted drafts, newest first."""
    with reading() as session:
        return _audit(session, None, query)


def _audit(session: Any, competition: Competition | None, query: AuditQuery) -> AuditList:
    found, names = log.list_after(
        session, competition=competition, action=query.action, person=query.by, part=query.part
    )
    return AuditList(entries=[_answer(entry, names) for entry in found.rows], **ending(found))


def _answer(entry: AuditEntry, names: dict[str, str]) -> AuditLine:
    """Return an audit entry with current names, using the fields of the export."""
    return AuditLine.of(
        entry,
        entry=entry.id,
        actor=entry.actor.name if entry.actor else None,
        subject=log.with_names(entry.subject, names),
        public_text=log.with_names(entry.public_text, names),
    )
