"""Page of a team's submissions: what is left, the form, the final selection, the chart and the list."""

from dataclasses import dataclass, field
from typing import Any

from flask import flash, jsonify, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from grader.errors import ParticipantError
from grader.models import Split
from grader.ranking.order import SCORE_DECIMALS, Entry
from grader.services.competitions import lookup
from grader.services.leaderboards import own_scores, submission_results, team_results
from grader.services.solutions import other_labels
from grader.services.standings import places, shown_scores
from grader.services.submissions import accepting, repeats, selections
from grader.services.submissions import refusal as rules
from grader.services.submissions.situation import Situation
from grader.visibility import Field, Phase, Viewer, visible_fields
from webapp.competitions.views import CompetitionView
from webapp.http import auth, errors, lookups
from webapp.http.parameters import asked_page
from webapp.http.site import current_site
from webapp.submissions import own_list
from webapp.submissions.allowance import AllowanceView, Clock
from webapp.submissions.closed_door import closed_door
from webapp.submissions.pages import blueprint
from webapp.submissions.views import REASONS, statuses_json

__all__ = ["blueprint"]

SAMPLE_LINES = 4
_BOARD = {Field.PUBLIC_RANK, Field.PUBLIC_SCORE}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a file was not submitted: its problems, an earlier file with the same bytes, or another reason."""

    status: int
    name: str
    message: str
    problems: list[dict[str, Any]] = field(default_factory=list)
    identical_to: int | None = None
    details: dict[str, Any] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, error: ParticipantError) -> "Refusal":
        """Return the refusal for an error."""
        return cls(
            status=errors.status_of(error),
            name=error.public_name,
            message=error.message,
            identical_to=error.submission_id if isinstance(error, repeats.IdenticalFile) else None,
            details=errors.details_of(error),
            headers=errors.headers_of(error),
        )

    @classmethod
    def for_problems(cls, problems: list[dict[str, Any]]) -> "Refusal":
        """Return the refusal of a file that could not be scored."""
        messages = " ".join(problem["message"] for problem in problems)
        return cls(
            422, "file_rejected", f"{messages} No submission used.", problems, details={"problems": problems}
        )


@blueprint.get("/submissions")
@auth.login_required
def index(slug: str) -> ResponseReturnValue:
    """Show the form and the team's own submissions; or compare the two that were ticked."""
    ticked = sorted(set(request.args.getlist("tick", type=int)))
    if len(ticked) == 2:
        baseline, candidate = ticked
        return redirect(url_for("submissions.compare", slug=slug, candidate=candidate, baseline=baseline))
    if "compare" in request.args:
        flash(f"Tick two files to compare them; you ticked {len(ticked) or 'none'}.")
    return page(slug)


def page(slug: str, refusal: Refusal | None = None) -> str:
    """Return the page, with why a file was not submitted."""
    site = current_site()
    with site.database.read() as session:
        found = lookups.situation_in(session, slug)
        competition, team, now = found.competition, found.team, found.now
        version, view = lookup.live(competition), CompetitionView(competition, now)
        allowed = visible_fields(Viewer.TEAM, view.phase, competition.feedback)
        listed = accepting.list_of(session, team=team, page=asked_page())
        results = submission_results.public_scores(
            session, submissions=listed.rows, version=version, allowed=allowed, with_tables=True
        )
        scores = own_scores.of_team(session, team=team, version=version, allowed=allowed) if team else []
        choice = None
        is_out = team is not None and team.is_disqualified
        if team is not None and not found.is_test and not is_out:
            choice = selections.would_count(session, competition=competition, team=team, now=now)
        standing, leader = _places(session, found, view.phase)
        outcome = None
        if team is not None and view.is_revealed and not found.is_test:
            outcome = team_results.of_team(session, competition=competition, team=team, phase=view.phase)
        names = other_labels.names(session, competition_id=competition.id)
    best_id = standing.submission_id if standing else None
    leader_units = leader.score_units if leader else None
    decimals = SCORE_DECIMALS if Field.PUBLIC_EXACT in allowed else shown_scores.decimals(competition)
    live = statuses_json(listed.rows)
    shown = own_list.lines(listed.rows, results, scores, best_id=best_id, choice=choice)
    return render_template(
        "submissions/index.html",
        competition=view,
        refusal=refusal,
        door=closed_door(found, rules.refusal(found), view),
        clock=Clock.of(competition, now),
        sample=_first_lines(view),
        file_limit_bytes=accepting.size_cap(competition),
        other_labels=names,
        page=listed,
        lines=[line for line in shown if not line.is_rejected],
        rejected=[line for line in shown if line.is_rejected],
        has_cells=any(line.cells for line in shown),
        choice=choice,
        outcome=outcome,
        drawn_identities=own_list.DRAWN_IDENTITIES,
        slots=own_list.slots(choice, scores, decimals),
        trend=own_list.trend(scores, leader=leader_units, decimals=decimals),
        first_score=own_list.first_score(scores, leader=leader_units, decimals=decimals),
        reason_words=REASONS,
        can_select=selections.is_open(competition, now) and not is_out,
        selection_closes_at=selections.closes_at(competition),
        live=live,
        etag=_etag(live),
        **context(found),
    )


def context(found: Situation) -> dict[str, Any]:
    """Return what the parts of the page need that are also drawn alone."""
    return {
        "slug": found.competition.slug,
        "is_test": found.is_test,
        "now": found.now,
        "allowance": AllowanceView(found.allowance),
        "description": request.form.get("description", ""),
    }


def _places(session: Any, found: Situation, phase: Phase) -> tuple[Entry | None, Entry | None]:
    """Return a team's entry on the public board, and the leading one where it is another's and shown."""
    version, team = lookup.live(found.competition), found.team
    if team is None:
        return None, None
    own = places.standing_of(session, scoring_version_id=version.id, split=Split.PUBLIC, team_id=team.id)
    if not visible_fields(Viewer.PARTICIPANT, phase, found.competition.feedback) >= _BOARD:
        return own, None
    first = places.first(session, scoring_version_id=version.id, split=Split.PUBLIC)
    return own, None if first is None or first.team_id == team.id else first


def _first_lines(view: CompetitionView) -> str:
    with current_site().storage.open(view.sample_submission_sha256) as sample:
        return "".join(sample.readline(200).decode(errors="replace") for _ in range(SAMPLE_LINES))


def _etag(live: dict[str, Any]) -> str:
    answer = jsonify(live)
    answer.add_etag()
    return answer.headers["ETag"]
