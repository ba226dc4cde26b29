"""Submissions page: limits, form, final selection, chart, list."""

from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from flask import flash, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.errors import ParticipantError
from grader.models import Split
from grader.services.competitions import lookup
from grader.services.competitions.pauses import SubmissionsPaused
from grader.services.leaderboards import score_history, shown_scores, submission_results, team_results
from grader.services.leaderboards.ranks import Standings
from grader.services.solutions import intake
from grader.services.submissions import accepting, refusal, repeats, selections
from grader.services.submissions import refusal as rules
from grader.services.submissions.situation import Situation
from grader.services.teams import limits, participations
from grader.visibility import Field, Viewer, visible_fields
from webapp.competitions.pages import first_lines
from webapp.competitions.views import CompetitionView
from webapp.http import auth, errors, lookups
from webapp.http.context import reading
from webapp.http.parameters import asked_page
from webapp.presentation import formats
from webapp.submissions import own_list
from webapp.submissions.pages import blueprint
from webapp.submissions.views import REASONS, AllowanceView, Clock, statuses_json

FINALS, LIST, REJECTED = "#finals", "#submissions", "#rejected"
__all__ = ["blueprint"]


@dataclass(frozen=True, slots=True)
class ClosedDoor:
    """The message that replaces the form; `is_short` is true if the form returns with the next score."""

    title: str
    reason: str
    until: datetime | None = None
    left: str = ""
    link: str = ""
    link_words: str = ""
    is_short: bool = False
    is_limit: bool = False


def closed_door(
    state: Situation, refused: ParticipantError | None, competition: CompetitionView
) -> ClosedDoor | None:
    """Return the reason why the user cannot submit a file, or None if they can."""
    if refused is None:
        return None
    if isinstance(refused, limits.SubmissionLimitReached):
        return replace(_of_limit(refused, state), is_limit=True)
    if isinstance(refused, participations.EntryRefused):
        return _of_entry(refused, competition)
    if isinstance(refused, refusal.TeamDisqualified):
        team = url_for("teams.show", slug=competition.slug)
        return _door("Disqualified", refused.message, team, "Your team")
    return _of_phase(refused, state, competition)


def _of_limit(refused: limits.SubmissionLimitReached, state: Situation) -> ClosedDoor:
    finals = (FINALS, "Select submissions") if selections.is_open(state.competition, state.now) else ("", "")
    match refused.public_name:
        case "daily_limit_reached":
            used = formats.counted(refused.limit, "submission")
            reason = f"Your team has reached today's limit of {used}."
            title = "No submissions left today"
            return _door(title, reason, *finals, until=refused.retry_at, now=state.now)
        case "total_limit_reached":
            used = formats.counted(refused.limit, "submission")
            reason = f"Your team has reached the limit of {used} in this competition."
            return _door("No submissions left", reason, *finals)
        case "too_many_pending":
            limit = formats.counted(refused.limit, "file")
            reason = f"Your team can have at most {limit} pending. Submit again once one of them is scored."
            return _door("Waiting for your scores", reason, LIST, "See pending submissions", is_short=True)
        case _:
            limit = formats.counted(refused.limit, "rejected file")
            reason = f"Your team has reached its limit of {limit} per hour."
            return _door(
                "Too many rejected files", reason, REJECTED, "See the problems",
                until=refused.retry_at, now=state.now,
            )  # fmt: skip


def _of_entry(refused: participations.EntryRefused, competition: CompetitionView) -> ClosedDoor:
    join = url_for("entry.show", slug=competition.slug)
    match refused.public_name:
        case "not_joined":
            words = "Read and accept the rules" if competition.rules else "Join"
            return _door("Join first", refused.message, join, words)
        case "rules_changed":
            return _door("The rules have changed", refused.message, join, "Read and accept the rules")
        case "competes_elsewhere":
            team = url_for("teams.show", slug=competition.slug)
            return _door("You compete in another team", refused.message, team, "Your team")
        case "not_admitted" if competition.contact_link:
            return _door("Not admitted", refused.message, competition.contact_link, "Ask the organizers")
        case "entry_pending":
            return _door("Request pending", refused.message, join, "See your request")
        case _:
            return _door("You cannot take part", refused.message, join, competition.entry_page)


def _of_phase(refused: ParticipantError, state: Situation, competition: CompetitionView) -> ClosedDoor:
    home = url_for("competitions.show", slug=competition.slug)
    match refused:
        case SubmissionsPaused():
            return _door("Paused", competition.why_not_open, home, "See the announcements")
        case refusal.CompetitionNotOpen():
            return _door(
                "Not open yet", competition.why_not_open, home, "See the competition",
                until=refused.opens_at, now=state.now,
            )  # fmt: skip
        case refusal.CompetitionClosed() if selections.is_open(state.competition, state.now) and not (
            state.team and state.team.is_disqualified
        ):
            return _door("Closed", competition.why_not_open, FINALS, "Select submissions")
        case _:
            board = "leaderboards.private" if competition.is_revealed else "leaderboards.public"
            words = competition.why_not_open
            title = "Archived" if competition.is_archived else "Closed"
            return _door(title, words, url_for(board, slug=competition.slug), "Leaderboard")


def _door(
    title: str,
    reason: str,
    link: str = "",
    link_words: str = "",
    *,
    until: datetime | None = None,
    now: datetime | None = None,
    **flags: Any,
) -> ClosedDoor:
    left = formats.span(until - now) if until and now else ""
    return ClosedDoor(title, reason, until, left, link, link_words, **flags)


@dataclass(frozen=True, slots=True)
class FileRefusal:
    """The reason why a file was not submitted: problems, an earlier identical file, or an error."""

    status: int
    name: str
    message: str
    problems: list[dict[str, Any]] = field(default_factory=list)
    identical_to: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ParticipantError) -> "FileRefusal":
        """Return the reason for an error."""
        return cls(
            status=errors.status_of(error),
            name=error.public_name,
            message=error.message,
            identical_to=error.submission_id if isinstance(error, repeats.IdenticalFile) else None,
            details=errors.details_of(error),
            headers=errors.headers_of(error),
        )

    @classmethod
    def for_problems(cls, problems: list[dict[str, Any]]) -> "FileRefusal":
        """Return the reason why a file was not accepted."""
        messages = " ".join(problem["message"] for problem in problems)
        return cls(
            422,
            "file_rejected",
            f"{messages} No submission was used.",
            problems,
            details={"problems": problems},
        )


@blueprint.get("/submissions")
@auth.login_required
def index(slug: str) -> ResponseReturnValue:
    """Show the form and the team's submissions, or compare two ticked ones."""
    ticked = sorted(set(request.args.getlist("tick", type=int)))
    if len(ticked) == 2:
        baseline, candidate = ticked
        return redirect(url_for("submissions.compare", slug=slug, candidate=candidate, baseline=baseline))
    if "compare" in request.args:
        flash(f"Select two files to compare them. You selected {len(ticked) or 'none'}.")
    return page(slug)


def page(slug: str, refusal: FileRefusal | None = None) -> str:
    """Render the page, with the reason if a file was not submitted."""
    with reading() as session:
        state = lookups.situation_in(session, slug)
        competition, team, now = state.competition, state.team, state.now
        version, view = lookup.live(competition), CompetitionView(competition, now)
        allowed = visible_fields(Viewer.TEAM, view.phase, competition.feedback)
        listed = accepting.list_of(session, team=team, page=asked_page())
        results = lookups.keep(session, competition, now)(
            ("results", *((each.id, each.status) for each in listed.rows), allowed),
            lambda: submission_results.public_scores(
                session, submissions=listed.rows, version=version, allowed=allowed, with_tables=True
            ),
        )
        scores = (
            score_history.own_scores(session, team=team, version=version, allowed=allowed) if team else []
        )
        choice = None
        is_out = team is not None and team.is_disqualified
        if team is not None and not state.is_test and not is_out:
            choice = selections.would_count(session, competition=competition, team=team, now=now)
        standing = Standings(session, version.id, Split.PUBLIC).entry_of(team.id) if team else None
        outcome = None
        if team is not None and view.is_revealed and not state.is_test:
            outcome = team_results.of_team(session, competition=competition, team=team, phase=view.phase)
        names = intake.other_labels(session, competition_id=competition.id)
    best_id = standing.submission_id if standing else None
    scale = competition.scale if Field.PUBLIC_EXACT in allowed else shown_scores.scale(competition)
    live = statuses_json(listed.rows)
    shown = own_list.lines(listed.rows, results, scores, best_id=best_id, choice=choice)
    return render_template(
        "submissions/index.html",
        competition=view,
        refusal=refusal,
        door=closed_door(state, rules.refusal(state), view),
        clock=Clock.of(competition, now),
        sample=first_lines(view),
        metric=view.metric(),
        file_limit_bytes=accepting.size_cap(competition),
        other_labels=names,
        page=listed,
        lines=[line for line in shown if not line.is_rejected],
        rejected=[line for line in shown if line.is_rejected],
        choice=choice,
        outcome=outcome,
        slots=own_list.slots(choice, scores, scale),
        reason_words=REASONS,
        can_select=selections.is_open(competition, now) and not is_out,
        selection_closes_at=selections.closes_at(competition),
        live=live,
        etag=_etag(live),
        **context(state),
    )


def context(state: Situation) -> dict[str, Any]:
    """Return the context of the page parts that are also rendered separately."""
    return {
        "slug": state.competition.slug,
        "is_test": state.is_test,
        "now": state.now,
        "allowance": AllowanceView(state.allowance),
        "description": request.form.get("description", ""),
    }


def _etag(live: dict[str, Any]) -> str:
    answer = jsonify(live)
    answer.add_etag()
    return answer.headers["ETag"]
