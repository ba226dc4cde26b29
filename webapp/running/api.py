"""API: run a competition: console, submissions, teams, disputes, announcements, organizers, audit, ties."""

from typing import Any

from flask import Response, url_for

from grader import db
from grader.models import Competition, Role
from grader.reports import html_page
from grader.services.analysis import diagnoses
from grader.services.audit import log
from grader.services.competitions import announcements, organizers, pauses, phases
from grader.services.exports import tables
from grader.services.leaderboards import ties as tied_teams
from grader.services.moderation import decisions, disputes, equal_files, submission_search, team_search
from grader.services.moderation.submission_search import Wanted
from grader.services.people import directory
from grader.services.quotas import grants, limits
from grader.services.scoring import queue_health, retries
from grader.services.teams import admissions, given_names
from webapp.http import lookups
from webapp.http import organizer_operations as organizing
from webapp.http.api import blueprint
from webapp.http.fields import Asked
from webapp.http.lists import following
from webapp.http.organizer_operations import DESK, Confirmation, Reasoned, Started, act, organizers_operation
from webapp.http.site import current_site
from webapp.running import answers, exports_page
from webapp.running.answers import (
    AnnouncementLine,
    AnnouncementList,
    AnnouncementRequest,
    AuditList,
    AuditQuery,
    Console,
    Diagnosis,
    DiagnosisRequest,
    DisputeAnswer,
    DisputeList,
    EqualFileList,
    ExportQuery,
    Grant,
    GrantList,
    GrantRequest,
    KindRequest,
    Marked,
    OrganizerList,
    OrganizerRequest,
    OrganizersSubmissionList,
    OrganizersTeamDetails,
    OrganizersTeamList,
    PauseRequest,
    ReportQuery,
    ResumeRequest,
    Retried,
    RoleRequest,
    SubmissionQuery,
    TeamNameRequest,
    TeamQuery,
    Ties,
)
from webapp.submissions.answers import allowance

TAG = "running"
SUBMISSIONS = f"{DESK}/submissions"
SUBMISSION = f"{SUBMISSIONS}/<int:submission_id>"
DIAGNOSIS = f"{SUBMISSION}/diagnosis"
TEAMS = f"{DESK}/teams"
TEAM = f"{TEAMS}/<int:team_id>"
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


@blueprint.get(SUBMISSIONS)
@organizers_operation(Role.VIEWER, answers=OrganizersSubmissionList, tag=TAG)
def organized_submissions(slug: str, query: SubmissionQuery) -> OrganizersSubmissionList:
    """List the submissions of all teams that are asked for, the newest first."""
    wanted = Wanted(status=query.state, kind=query.kind, team_id=query.team, text=query.q)
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        found = submission_search.find_after(
            session, competition=competition, wanted=wanted, after=query.after
        )
    return OrganizersSubmissionList(
        submissions=[answers.submission(line) for line in found.rows], next=following(found)
    )


@blueprint.get(f"{SUBMISSIONS}/equal-files")
@organizers_operation(Role.VIEWER, answers=EqualFileList, tag=TAG)
def equal_file_list(slug: str) -> EqualFileList:
    """List the files that more than one team sent."""
    with current_site().database.read() as session:
        groups = equal_files.find(session, competition=lookups.competition_of(session, slug))
    return EqualFileList(files=[answers.equal_file(group) for group in groups])


@blueprint.post(f"{SUBMISSION}/retry")
@organizers_operation(Role.EDITOR, answers=Retried, status=202, tag=TAG)
def retry_submission(slug: str, submission_id: int) -> Any:
    """Retry a failed submission."""
    return _retried(act(slug, retries.retry, submission_id=submission_id))


@blueprint.post(f"{SUBMISSIONS}/retry")
@organizers_operation(Role.EDITOR, answers=Retried, status=202, tag=TAG)
def retry_submissions(slug: str) -> Any:
    """Retry all failed submissions."""
    return _retried(act(slug, retries.retry_all))


@blueprint.post(f"{SUBMISSION}/kind")
@organizers_operation(Role.EDITOR, answers=Marked, tag=TAG)
def mark_submission(slug: str, submission_id: int, json: KindRequest) -> Marked:
    """Make a submission a benchmark, hide it, or let it rank again."""
    marked = act(slug, decisions.mark, submission_id=submission_id, kind=json.kind)
    return Marked(id=marked.id, kind=marked.kind.value)


@blueprint.get(DIAGNOSIS)
@organizers_operation(Role.VIEWER, answers=Diagnosis, tag=TAG)
def organized_diagnosis(slug: str, submission_id: int) -> Diagnosis:
    """Return the newest diagnosis of a submission, or how far it is."""
    return _diagnosis(slug, submission_id)


@blueprint.post(DIAGNOSIS)
@organizers_operation(Role.EDITOR, answers=Started, status=202, tag=TAG)
def diagnose_submission(slug: str, submission_id: int, json: DiagnosisRequest) -> Any:
    """Diagnose a submission, and compare it with another one if that is named."""
    job = act(slug, diagnoses.request, submission_id=submission_id, against_id=json.against)
    return organizing.started(job, url_for("api.organized_diagnosis", slug=slug, submission_id=submission_id))


@blueprint.post(f"{DIAGNOSIS}/publish")
@organizers_operation(Role.EDITOR, answers=Diagnosis, tag=TAG)
def publish_diagnosis(slug: str, submission_id: int, json: Confirmation) -> Diagnosis:
    """Let everybody see the diagnosis of a submission that counted."""
    act(slug, diagnoses.publish, submission_id=submission_id)
    return _diagnosis(slug, submission_id)


@blueprint.get(f"{DIAGNOSIS}.html")
@organizers_operation(Role.VIEWER, tag=TAG, answers_file="text/html")
def diagnosis_page(slug: str, submission_id: int, query: ReportQuery) -> Response:
    """Return one split of a diagnosis as a page that needs nothing else."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
    reports = diagnoses.reports(current_site().storage, job)
    if query.split.value not in reports:
        raise diagnoses.NoDiagnosis(submission_id)
    answer = Response(html_page(reports[query.split.value]), mimetype="text/html")
    name = f"diagnosis-{submission_id}-{query.split.value}.html"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


@blueprint.get(TEAMS)
@organizers_operation(Role.VIEWER, answers=OrganizersTeamList, tag=TAG)
def organized_teams(slug: str, query: TeamQuery) -> OrganizersTeamList:
    """List the teams that are asked for, the newest first."""
    with current_site().database.read() as session:
        found = team_search.find_after(
            session,
            competition=lookups.competition_of(session, slug),
            text=query.q,
            disqualified_only=query.disqualified,
            after=query.after,
        )
    return OrganizersTeamList(
        teams=[answers.OrganizersTeam(**answers.team_fields(line)) for line in found.rows],
        next=following(found),
    )


@blueprint.get(TEAM)
@organizers_operation(Role.VIEWER, answers=OrganizersTeamDetails, tag=TAG)
def organized_team(slug: str, team_id: int) -> OrganizersTeamDetails:
    """Return a team with what it may still send and the extra submissions it got."""
    return _team(slug, team_id)


@blueprint.put(f"{TEAM}/name")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def give_team_name(slug: str, team_id: int, json: TeamNameRequest) -> OrganizersTeamDetails:
    """Give a team another name."""
    return _decide(slug, team_id, given_names.rename, name=json.name, reason=json.reason)


@blueprint.delete(f"{TEAM}/name")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def free_team_name(slug: str, team_id: int) -> OrganizersTeamDetails:
    """Let a team that was renamed choose its name again."""
    return _decide(slug, team_id, given_names.free)


@blueprint.post(f"{TEAM}/disqualification")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def disqualify_team(slug: str, team_id: int, json: Reasoned) -> OrganizersTeamDetails:
    """Disqualify a team."""
    return _decide(slug, team_id, decisions.disqualify, reason=json.reason)


@blueprint.post(f"{TEAM}/reinstatement")
@organizers_operation(Role.EDITOR, answers=OrganizersTeamDetails, tag=TAG)
def reinstate_team(slug: str, team_id: int, json: Reasoned) -> OrganizersTeamDetails:
    """Reinstate a team."""
    return _decide(slug, team_id, decisions.reinstate, reason=json.reason)


@blueprint.get(f"{TEAMS}/grants")
@organizers_operation(Role.VIEWER, answers=GrantList, tag=TAG)
def grant_list(slug: str) -> GrantList:
    """List the newest extra submissions, of one team or of all."""
    with current_site().database.read() as session:
        given = grants.list_newest(session, competition=lookups.competition_of(session, slug))
    return GrantList(grants=[answers.grant(each) for each in given])


@blueprint.post(f"{TEAM}/grants")
@organizers_operation(Role.EDITOR, answers=Grant, status=201, tag=TAG, creates=True)
def grant_submissions(slug: str, team_id: int, json: GrantRequest) -> Any:
    """Give a team extra submissions on a UTC day."""
    return _grant(slug, team_id, json)


@blueprint.post(f"{TEAMS}/grants")
@organizers_operation(Role.EDITOR, answers=Grant, status=201, tag=TAG, creates=True)
def grant_submissions_to_all(slug: str, json: GrantRequest) -> Any:
    """Give every team extra submissions on a UTC day."""
    return _grant(slug, None, json)


@blueprint.get(f"{DESK}/disputes")
@organizers_operation(Role.VIEWER, answers=DisputeList, tag=TAG)
def dispute_list(slug: str, query: Asked) -> DisputeList:
    """List the teams' questions about scores, the newest first."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        found = disputes.slice_of(session, competition=competition, after=query.after)
        open_count = disputes.count_open(session, competition=competition)
    return DisputeList(
        disputes=[answers.dispute(each) for each in found.rows], open_count=open_count, next=following(found)
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
    with current_site().database.read() as session:
        posted = announcements.list_all(session, competition=lookups.competition_of(session, slug))
    return AnnouncementList(announcements=[answers.announcement(each) for each in posted])


@blueprint.post(ANNOUNCEMENTS)
@organizers_operation(Role.EDITOR, answers=AnnouncementLine, status=201, tag=TAG, creates=True)
def post_announcement(slug: str, json: AnnouncementRequest) -> Any:
    """Post an announcement, and e-mail it to everybody with `by_mail`."""
    return answers.announcement(act(slug, announcements.post, **dict(json))), 201


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
    with current_site().database.read() as session:
        user = directory.get(session, name=json.name)
    act(slug, organizers.add, user=user, role=json.role)
    return _organizers(slug), 201


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
    with current_site().database.read() as session:
        found, names = log.list_after(
            session,
            competition=lookups.competition_of(session, slug),
            action=query.action,
            person=query.by,
            after=query.after,
        )
        entries = [answers.audit(entry, names) for entry in found.rows]
    return AuditList(entries=entries, next=following(found))


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


def _console(slug: str) -> Console:
    with current_site().database.read() as session:
        competition, now = lookups.competition_of(session, slug), db.now(session)
        health = queue_health.of_competition(session, competition=competition, now=now)
        return Console(
            state=competition.state.value,
            phase=phases.phase(competition, now).value,
            paused_at=competition.paused_at,
            pause_message=competition.pause_message,
            health=health.sign.value,
            queues=answers.queues(health),
            last_finished_at=health.last_finished_at,
            failed_count=retries.count_failed(session, competition=competition),
            open_dispute_count=disputes.count_open(session, competition=competition),
            waiting_count=len(admissions.waiting(session, competition=competition)),
        )


def _retried(job_ids: list[int]) -> Any:
    current_site().hints.send(job_ids)
    return Retried(job_count=len(job_ids)), 202


def _diagnosis(slug: str, submission_id: int) -> Diagnosis:
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        diagnoses.get(session, competition=competition, submission_id=submission_id)
        job = diagnoses.newest(session, competition=competition, submission_id=submission_id)
    reports = diagnoses.reports(current_site().storage, job)
    return Diagnosis(
        job=organizing.job(job) if job else None,
        is_published=job is not None and diagnoses.is_published(job),
        is_current=job is not None and diagnoses.is_current(job, competition),
        reports={split: report.as_dict() for split, report in reports.items()},
    )


def _team(slug: str, team_id: int) -> OrganizersTeamDetails:
    with current_site().database.read() as session:
        competition, now = lookups.competition_of(session, slug), db.now(session)
        line = team_search.get(session, competition=competition, team_id=team_id)
        given = grants.list_newest(session, competition=competition, team=line.team)
        left = limits.allowance(session, competition=competition, team=line.team, now=now)
        named = given_names.given(session, competition=competition, team=line.team)
        return OrganizersTeamDetails(
            **answers.team_fields(line),
            name_is_given=named is not None,
            limits=allowance(left),
            grants=[answers.grant(each) for each in given],
        )


def _decide(slug: str, team_id: int, service: Any, **given: Any) -> OrganizersTeamDetails:
    def decide(session: Any, *, competition: Competition, **others: Any) -> None:
        team = team_search.get(session, competition=competition, team_id=team_id).team
        service(session, competition=competition, team=team.name, **others)

    act(slug, decide, **given)
    return _team(slug, team_id)


def _grant(slug: str, team_id: int | None, json: GrantRequest) -> Any:
    def give(session: Any, *, competition: Competition, **others: Any) -> Grant:
        team = None
        if team_id is not None:
            team = team_search.get(session, competition=competition, team_id=team_id).team
        given = grants.grant(session, competition=competition, team=team, **others)
        until = grants.ends_at(competition, day=given.day)
        return answers.grant(grants.GivenGrant(given, team.name if team else None, until))

    return act(slug, give, **dict(json)), 201


def _organizer(slug: str, user_id: int) -> Any:
    """Return the organizer of an id; of others nothing is said, not even a name."""
    with current_site().database.read() as session:
        found = organizers.list_all(session, competition=lookups.competition_of(session, slug))
    user = next((each.user for each in found if each.user_id == user_id), None)
    if user is None:
        raise directory.UnknownUser(f"#{user_id}")
    return user


def _organizers(slug: str) -> OrganizerList:
    with current_site().database.read() as session:
        found = organizers.list_all(session, competition=lookups.competition_of(session, slug))
        return OrganizerList(organizers=[answers.organizer(each) for each in found])


def _ties(slug: str) -> Ties:
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        job = tied_teams.newest(session, competition=competition)
        boards = tied_teams.found(session, competition=competition, job=job)
    return Ties(
        job=organizing.job(job) if job else None,
        is_published=job is not None and tied_teams.is_published(job),
        boards=[answers.tied_board(board) for board in boards],
    )
