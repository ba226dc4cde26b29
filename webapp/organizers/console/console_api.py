"""API for organizers: console, pauses, questions, announcements, organizers, audit, exports, ties."""

from typing import Any

from flask import Response, url_for

from grader import db
from grader.models import Competition, Role
from grader.services.accounts.api_tokens import Scope
from grader.services.audit import log
from grader.services.competitions import announcements, organizers, pauses, phases
from grader.services.competitions import settings as competition_settings
from grader.services.exports import tables
from grader.services.leaderboards import ties as tied_teams
from grader.services.moderation import activity, disputes
from grader.services.people import names
from grader.services.scoring import queue_health, retries
from grader.services.setup import leak_budget
from webapp.competitions import prose
from webapp.competitions.leaks import leak_budget_answer
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint, ending, operation
from webapp.http.auth import admin_required
from webapp.http.context import competition_of, reading
from webapp.http.fields import Asked
from webapp.http.organizer_operations import DESK, Confirmation, Started, act, organizers_operation
from webapp.organizers.console import answers, exports_page, organizers_page
from webapp.organizers.console.answers import (
    AnnouncementEdit,
    AnnouncementLine,
    AnnouncementList,
    AnnouncementRequest,
    AuditList,
    AuditQuery,
    ClassAccounts,
    ClassRequest,
    Console,
    DisputeAnswer,
    DisputeList,
    ExportQuery,
    OrganizerList,
    OrganizerRequest,
    PauseRequest,
    ResumeRequest,
    RoleRequest,
    Ties,
)

TAG = "running"
EXPORT = f"{DESK}/exports/<any(submissions, standings, scores, audit):kind>"
ANNOUNCEMENTS = f"{DESK}/announcements"
ORGANIZERS = f"{DESK}/organizers"
ORGANIZER = f"{ORGANIZERS}/<int:user_id>"


@blueprint.get(DESK)
@organizers_operation(Role.VIEWER, answers=Console, tag=TAG)
def console(slug: str) -> Console:
    """Return how a competition goes: its queue, and what waits for an organizer."""
    return _console(slug)


@blueprint.post(f"{DESK}/pause")
@organizers_operation(Role.EDITOR, answers=Console, tag=TAG)
def pause_submissions(slug: str, json: PauseRequest) -> Console:
    """Pause submissions, or change the sentence that uploaders read; the close can move too."""
    act(slug, pauses.pause, message=json.message, closes_at=json.closes_at)
    return _console(slug)


@blueprint.post(f"{DESK}/resume")
@organizers_operation(Role.EDITOR, answers=Console, tag=TAG)
def resume_submissions(slug: str, json: ResumeRequest) -> Console:
    """Resume submissions; the close can move too."""
    act(slug, pauses.resume, closes_at=json.closes_at)
    return _console(slug)


@blueprint.get(f"{DESK}/disputes")
@organizers_operation(Role.VIEWER, answers=DisputeList, tag=TAG)
def dispute_list(slug: str, query: Asked) -> DisputeList:
    """List the teams' questions about scores, the newest first."""
    with reading() as session:
        competition = competition_of(session, slug)
        found = disputes.slice_of(session, competition=competition, part=query.part)
        open_count = disputes.count_open(session, competition=competition)
    return DisputeList(
        disputes=[answers.dispute(each) for each in found.rows], open_count=open_count, **ending(found)
    )


@blueprint.post(f"{DESK}/disputes/<int:dispute_id>")
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def answer_dispute(slug: str, dispute_id: int, json: DisputeAnswer) -> Any:
    """Answer a question, or replace the answer."""
    act(slug, disputes.answer, dispute_id=dispute_id, answer=json.answer)
    return "", 204


@blueprint.get(ANNOUNCEMENTS)
@organizers_operation(Role.VIEWER, answers=AnnouncementList, tag=TAG)
def announcement_list(slug: str) -> AnnouncementList:
    """List all announcements."""
    with reading() as session:
        posted = announcements.list_all(session, competition=competition_of(session, slug))
    return AnnouncementList(announcements=[answers.announcement(each) for each in posted])


@blueprint.post(ANNOUNCEMENTS)
@organizers_operation(Role.EDITOR, answers=AnnouncementLine, status=201, tag=TAG, creates=True)
def post_announcement(slug: str, json: AnnouncementRequest) -> Any:
    """Post an announcement, and e-mail it to everybody with `by_mail`."""
    posted = answers.announcement(act(slug, announcements.post, **dict(json)))
    prose.format_saved(slug)
    return posted, 201


@blueprint.patch(f"{ANNOUNCEMENTS}/<int:announcement_id>")
@organizers_operation(Role.EDITOR, answers=AnnouncementLine, tag=TAG)
def edit_announcement(slug: str, announcement_id: int, json: AnnouncementEdit) -> AnnouncementLine:
    """Change the title or the text of an announcement, which then shows that it was edited."""
    edited = act(slug, announcements.edit, announcement_id=announcement_id, title=json.title, body=json.body)
    prose.format_saved(slug)
    return answers.announcement(edited)


@blueprint.delete(f"{ANNOUNCEMENTS}/<int:announcement_id>")
@organizers_operation(Role.EDITOR, status=204, tag=TAG)
def withdraw_announcement(slug: str, announcement_id: int) -> Any:
    """Withdraw an announcement; e-mails that were already sent cannot be withdrawn."""
    act(slug, announcements.withdraw, announcement_id=announcement_id)
    return "", 204


@blueprint.get(ORGANIZERS)
@organizers_operation(Role.VIEWER, answers=OrganizerList, tag=TAG)
def organizer_list(slug: str) -> OrganizerList:
    """List the organizers and their roles."""
    return _organizers(slug)


@blueprint.post(ORGANIZERS)
@organizers_operation(Role.OWNER, answers=OrganizerList, status=201, tag=TAG, creates=True)
def add_organizer(slug: str, json: OrganizerRequest) -> Any:
    """Make a person an organizer."""
    with reading() as session:
        user = names.get_user(session, name=json.name)
    act(slug, organizers.add, user=user, role=json.role)
    return _organizers(slug), 201


@blueprint.post(f"{DESK}/accounts")
@organizers_operation(Role.OWNER, answers=ClassAccounts, status=201, tag=TAG, creates=True, shows_secret=True)
def create_accounts(slug: str, json: ClassRequest) -> Any:
    """Create accounts for a class, all or none, each with a one-time link or an API token."""
    made = organizers_page.class_of(slug, json.names, with_tokens=json.with_tokens)
    return ClassAccounts(accounts=[answers.ClassAccount(**each) for each in made]), 201


@blueprint.patch(ORGANIZER)
@organizers_operation(Role.OWNER, answers=OrganizerList, tag=TAG)
def change_organizer(slug: str, user_id: int, json: RoleRequest) -> OrganizerList:
    """Change the role of an organizer."""
    act(slug, organizers.change, user=_organizer(slug, user_id), role=json.role)
    return _organizers(slug)


@blueprint.delete(ORGANIZER)
@organizers_operation(Role.OWNER, status=204, tag=TAG)
def remove_organizer(slug: str, user_id: int) -> Any:
    """Remove an organizer."""
    act(slug, organizers.remove, user=_organizer(slug, user_id))
    return "", 204


@blueprint.get(f"{DESK}/audit")
@organizers_operation(Role.VIEWER, answers=AuditList, tag=TAG)
def audit_list(slug: str, query: AuditQuery) -> AuditList:
    """List the acts of organizers, the newest first."""
    with reading() as session:
        return _audit(session, competition_of(session, slug), query)


@blueprint.get("/audit")
@admin_required
@operation(Scope.ADMIN, answers=AuditList, tag=TAG)
def site_audit_list(query: AuditQuery) -> AuditList:
    """List the acts on the site as a whole, and on drafts that were deleted, the newest first."""
    with reading() as session:
        return _audit(session, None, query)


@blueprint.get(f"{EXPORT}.csv")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="text/csv")
def export_csv(slug: str, kind: str, query: ExportQuery) -> Response:
    """Return all submissions, standings, scores or acts as CSV."""
    return exports_page.send_export(slug, tables.Kind(kind), tables.Format.CSV, query.version)


@blueprint.get(f"{EXPORT}.json")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="application/json")
def export_json(slug: str, kind: str, query: ExportQuery) -> Response:
    """Return all submissions, standings, scores or acts as JSON."""
    return exports_page.send_export(slug, tables.Kind(kind), tables.Format.JSON, query.version)


@blueprint.get(f"{DESK}/ties")
@organizers_operation(Role.VIEWER, answers=Ties, tag=TAG)
def organized_ties(slug: str) -> Ties:
    """Return which teams were tied with the one above when they were compared last."""
    return _ties(slug)


@blueprint.post(f"{DESK}/ties")
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG)
def compare_teams(slug: str) -> Any:
    """Compare the teams of both leaderboards, each with the team directly above."""
    return organizing.started(act(slug, tied_teams.request), url_for("api.organized_ties", slug=slug))


@blueprint.post(f"{DESK}/ties/publish")
@organizers_operation(Role.EDITOR, answers=Ties, tag=TAG)
def publish_ties(slug: str, json: Confirmation) -> Ties:
    """Let everybody see which teams are tied on the private leaderboard."""
    act(slug, tied_teams.publish)
    return _ties(slug)


def _audit(session: Any, competition: Competition | None, query: AuditQuery) -> AuditList:
    found, names = log.list_after(
        session, competition=competition, action=query.action, person=query.by, part=query.part
    )
    return AuditList(entries=[answers.audit(entry, names) for entry in found.rows], **ending(found))


def _console(slug: str) -> Console:
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        health = queue_health.of_competition(session, competition=competition, now=now)
        counts = activity.counts(session, competition=competition)
        return Console(
            state=competition.state,
            phase=phases.phase(competition, now),
            paused_at=competition.paused_at,
            pause_message=competition.pause_message,
            health=health.sign.value,
            queues=answers.queues(health),
            last_finished_at=health.last_finished_at,
            failed_count=retries.count_failed(session, competition=competition),
            open_dispute_count=disputes.count_open(session, competition=competition),
            waiting_count=counts.asking,
            people_count=counts.people,
            team_count=counts.teams,
            submission_counts=dict(counts.files),
            leak_budget=leak_budget_answer(
                leak_budget.of(competition, competition_settings.of(competition), now=now)
            ),
        )


def _organizer(slug: str, user_id: int) -> Any:
    """Return the organizer of an id; of others nothing is said, not even a name."""
    with reading() as session:
        found = organizers.list_all(session, competition=competition_of(session, slug))
    user = next((each.user for each in found if each.user_id == user_id), None)
    if user is None:
        raise names.UnknownUser(name=f"#{user_id}")
    return user


def _organizers(slug: str) -> OrganizerList:
    with reading() as session:
        found = organizers.list_all(session, competition=competition_of(session, slug))
        return OrganizerList(organizers=[answers.organizer(each) for each in found])


def _ties(slug: str) -> Ties:
    with reading() as session:
        competition = competition_of(session, slug)
        job = tied_teams.newest(session, competition=competition)
        boards = tied_teams.found(session, competition=competition, job=job)
    return Ties(
        job=organizing.job(job) if job else None,
        is_published=job is not None and tied_teams.is_published(job),
        boards=[answers.tied_board(board) for board in boards],
    )
