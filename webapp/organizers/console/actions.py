"""Organizers' actions while a competition runs, on their pages and in the API: teams, submissions."""

from datetime import UTC, date, datetime, time
from typing import Any

from flask import request, url_for

from grader.models import Role, Submission, SubmissionKind
from grader.services.competitions.acting import Act
from grader.services.limits import grants
from grader.services.limits.grants import GivenGrant
from grader.services.moderation import decisions, team_search
from grader.services.people import names
from grader.services.scoring import retries
from grader.services.teams import moderation
from webapp.http.actions import Family, is_form
from webapp.http.confirmation import Question, confirm
from webapp.http.organizer_operations import Reasoned
from webapp.http.parameters import UnreadableEntry, entered_number
from webapp.http.site import current_site
from webapp.organizers.console import answers, submissions_page, teams_api, teams_page
from webapp.organizers.console.answers import (
    Disqualification,
    Grant,
    GrantRequest,
    KindRequest,
    Marked,
    OrganizersTeamDetails,
    Retried,
    TeamNameRequest,
)
from webapp.presentation import formats

TEAM = Family(
    pages=teams_page.blueprint,
    tag="running",
    refusals=(
        grants.InvalidGrant,
        moderation.ReasonNeeded,
        decisions.AlreadyDisqualified,
        decisions.NotDisqualified,
        moderation.MergedTeam,
        moderation.NameTaken,
        moderation.NotGiven,
        moderation.SameName,
        names.InvalidName,
        UnreadableEntry,
    ),
    show=teams_page.page,
    home=lambda slug, team_id=None: url_for(
        "organize_teams.show" if team_id else "organize_teams.index", slug=slug, team_id=team_id
    ),
    answers=OrganizersTeamDetails,
    answer=lambda act, _outcome, team_id: teams_api.team(act.session, act.competition, team_id),
    role=Role.EDITOR,
)


def _name(act: Act, team_id: int) -> str:
    return team_search.get_team(act.session, competition=act.competition, team_id=team_id).name


@TEAM.action("/<int:team_id>/name", method="PUT", page="rename", done="Team renamed.")
def give_team_name(act: Act, sent: TeamNameRequest, team_id: int) -> None:
    """Give a team another name."""
    moderation.rename(act, team=_name(act, team_id), name=sent.name, reason=sent.reason)


@TEAM.action(
    "/<int:team_id>/name",
    method="DELETE",
    page="free_name",
    page_path="/<int:team_id>/name/free",
    done="The team can choose its name again.",
)
def free_team_name(act: Act, team_id: int) -> None:
    """Let a team that was renamed choose its name again."""
    moderation.free_name(act, team=_name(act, team_id))


@TEAM.action("/<int:team_id>/disqualification", page="disqualify", done="Team disqualified.")
def disqualify_team(act: Act, sent: Disqualification, team_id: int) -> None:
    """Disqualify a team: its members are notified, and it cannot submit until it is reinstated."""
    team = decisions.disqualify(act, team=_name(act, team_id), reason=sent.reason)
    if is_form():
        why = team.disqualification_reason
        confirm(
            Question(
                heading=f"Disqualify {team.name}?",
                sentences=(
                    "The team is removed from every leaderboard, and the teams below it move up.",
                    "It cannot submit files any more.",
                    f"Its members see this reason on this competition's pages: {why}",
                    "The public log shows the disqualification, but not the reason.",
                    "You can reinstate the team later.",
                ),
                button="Disqualify the team",
                back=url_for("organize_teams.show", slug=act.competition.slug, team_id=team_id),
                can_change=True,
            )
        )


@TEAM.action("/<int:team_id>/reinstatement", page="reinstate", done="Team reinstated.")
def reinstate_team(act: Act, sent: Reasoned, team_id: int) -> None:
    """Reinstate a team."""
    decisions.reinstate(act, team=_name(act, team_id), reason=sent.reason)


def _entered() -> GrantRequest:
    """Return the grant of a form; a day that is no date is None, and refused with the rest."""
    try:
        day = date.fromisoformat(request.form.get("day", ""))
    except ValueError:
        day = None
    reason = request.form.get("reason", "")
    return GrantRequest.model_construct(day=day, count=entered_number("count") or 0, reason=reason)


def _given(given: GivenGrant, **_: Any) -> str:
    """Return the message of success, with how long the extra submissions are valid."""
    granted_at = given.grant.granted_at
    beginning = max(datetime.combine(given.grant.day, time(tzinfo=UTC)), granted_at)
    valid = f"until {formats.moment(given.ends_at)}, for {formats.span(given.ends_at - beginning)}"
    if beginning != granted_at:
        valid = f"from {formats.moment(beginning)} {valid}"
    whom = "" if given.team else " to every team"
    return f"Extra submissions given{whom}. They are valid {valid}."


GRANT: dict[str, Any] = {
    "done": _given,
    "form": _entered,
    "answers": Grant,
    "answer": lambda _act, given, **_: answers.grant(given),
    "status": 201,
    "creates": True,
}


@TEAM.action("/<int:team_id>/grants", page="grant", **GRANT)
def grant_submissions(act: Act, sent: GrantRequest, team_id: int) -> GivenGrant:
    """Give a team extra submissions on a UTC day."""
    return _grant(act, sent, team_id)


@TEAM.action("/grants", page="grant_to_all", **GRANT)
def grant_submissions_to_all(act: Act, sent: GrantRequest) -> GivenGrant:
    """Give every team extra submissions on a UTC day."""
    return _grant(act, sent, None)


def _grant(act: Act, sent: GrantRequest, team_id: int | None) -> GivenGrant:
    team = None
    if team_id is not None:
        team = team_search.get_team(act.session, competition=act.competition, team_id=team_id)
    given = grants.grant(act, team=team, day=sent.day, count=sent.count, reason=sent.reason)
    ends_at = grants.ends_at(act.competition, day=given.day)
    return GivenGrant(given, team.name if team else None, ends_at)


def _wake_workers(_act: Act, job_ids: list[int]) -> None:
    current_site().hints.send(job_ids)


SUBMISSIONS = Family(
    pages=submissions_page.blueprint,
    tag="running",
    refusals=(),
    show=submissions_page.page,
    home=submissions_page.back,
    answers=Retried,
    answer=lambda _act, job_ids, **_: Retried(job_count=len(job_ids)),
    role=Role.EDITOR,
)


@SUBMISSIONS.action(
    "/<int:submission_id>/retry",
    page="retry",
    done=lambda _, submission_id: f"#{submission_id} is being retried.",
    status=202,
    after=_wake_workers,
)
def retry_submission(act: Act, submission_id: int) -> list[int]:
    """Retry a failed submission."""
    return retries.retry(act, submission_id=submission_id)


@SUBMISSIONS.action(
    "/retry",
    page="retry_all",
    done="All failed submissions are being retried.",
    status=202,
    after=_wake_workers,
)
def retry_submissions(act: Act) -> list[int]:
    """Retry all failed submissions."""
    return retries.retry_all(act)


def _chosen_kind() -> KindRequest:
    text = request.form.get("kind", "")
    return KindRequest.model_construct(
        kind=SubmissionKind(text) if text in set(SubmissionKind) else SubmissionKind.NORMAL
    )


@SUBMISSIONS.action(
    "/<int:submission_id>/kind",
    page="mark",
    done=lambda marked, **_: f"#{marked.id} is {marked.kind} now.",
    form=_chosen_kind,
    answers=Marked,
    answer=lambda _act, marked, **_: Marked(id=marked.id, kind=marked.kind),
)
def mark_submission(act: Act, sent: KindRequest, submission_id: int) -> Submission:
    """Make a submission a benchmark, hide it, or let it rank again."""
    return decisions.mark(act, submission_id=submission_id, kind=sent.kind)
