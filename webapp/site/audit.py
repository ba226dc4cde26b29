"""Audit log (page and API): all actions with previous and new values."""

import json
from datetime import datetime
from typing import Any, cast

from flask import Blueprint

from grader.models import AuditEntry, Role
from grader.services.site import log
from webapp.http.api import ending
from webapp.http.fields import Answer, Asked, Moment, PageSize, Text
from webapp.presentation import formats
from webapp.surface import Access, Ask, Surface

SHOWN_LENGTH = 300
blueprint = Blueprint("organize_audit", __name__, url_prefix="/competitions/<slug>/organize/audit")
AUDIT = Surface(blueprint, tag="running", role=Role.VIEWER)
OF_SITE = Surface(blueprint, tag="running", role=Access.ADMIN, api="")


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


@AUDIT.read("", AuditList, endpoint="index", page="site/audit.html")
def audit_list(ask: Ask, query: AuditQuery) -> AuditList:
    """List the audit entries of a competition, newest first."""
    competition = ask.competition if "slug" in ask.arguments else None
    entries, names = log.list_after(
        ask.session, competition=competition, action=query.action, person=query.by, part=query.part
    )
    if ask.is_page:
        ask.shown |= {
            "changes": {entry.id: changes_of(entry) for entry in entries.rows},
            "actions": log.actions(ask.session, competition=ask.competition),
            "people": log.people(ask.session, competition=ask.competition),
        }
    lines = [
        AuditLine.of(
            entry,
            entry=entry.id,
            actor=entry.actor.name if entry.actor else None,
            subject=log.with_names(entry.subject, names),
            public_text=log.with_names(entry.public_text, names),
        )
        for entry in entries.rows
    ]
    return AuditList(entries=lines, **ending(entries))


@OF_SITE.read("/audit", AuditList)
def site_audit_list(ask: Ask, query: AuditQuery) -> AuditList:
    """List the audit entries of the site itself and of deleted drafts, newest first."""
    return cast(AuditList, audit_list.run(ask, query))


def changes_of(entry: AuditEntry) -> list[tuple[str, str, str]]:
    """Return the name and both values of each field in the order in which they were recorded, as text."""
    fields = [*entry.after, *(name for name in entry.before if name not in entry.after)]
    return [
        (
            name.replace("_", " "),
            _words(entry.before[name], is_time=name in entry.times) if name in entry.before else "",
            _words(entry.after.get(name), is_time=name in entry.times),
        )
        for name in fields
    ]


def _words(value: Any, *, is_time: bool) -> str:
    """Return a stored value in human-readable form."""
    if value in (None, "", []):
        return "none"
    if isinstance(value, str):
        text = formats.moment(datetime.fromisoformat(value)) if is_time else value
    else:
        text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…"
