"""Organizers' page of the audit log: every act, and who did it."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Role
from grader.services.audit import log
from grader.services.audit import log as audit_actions
from webapp.competitions.views import CompetitionView
from webapp.http.context import competition_of, reading
from webapp.http.organizer_access import organizers_only
from webapp.http.parameters import asked_page, asked_text
from webapp.organizers.console.audit_view import EntryView

blueprint = Blueprint("organize_audit", __name__, url_prefix="/competitions/<slug>/organize/audit")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str) -> ResponseReturnValue:
    """Show a page of the audit, of one action or one person if asked."""
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
        "running/audit.html",
        competition=view,
        page=found,
        entries=[EntryView.of(entry, found) for entry in found.rows],
        actions=[(each, audit_actions.action_label(each)) for each in actions],
        people=people,
        action=action,
        person=person,
    )
