"""Leaderboard pages: public, private, final, CSV, team results, published rescorings."""

from datetime import datetime
from functools import partial
from typing import Any

from flask import Blueprint, Response, abort, g, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Split
from grader.services.closing import close
from grader.services.competitions import phases
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import changes, leaderboard, score_history, team_results, ties
from grader.services.leaderboards.submission_results import Counted
from grader.services.moderation import diagnoses
from grader.services.rescoring import mail
from grader.services.standings import final_standings
from grader.services.submissions import comparison
from grader.services.teams import rosters
from grader.visibility import Field, Viewer, visible
from webapp.competitions.views import CompetitionView
from webapp.http import auth, lookups
from webapp.http.caches import Frontier
from webapp.http.context import competition_of, reading
from webapp.http.parameters import asked_page
from webapp.http.responses import conditional
from webapp.http.site import current_site
from webapp.leaderboards import charts, requests
from webapp.leaderboards.views import BoardView, ResultsView, board_csv, change
from webapp.presentation import formats
from webapp.presentation.terms import IDENTITY_TERMS
from webapp.submissions.views import SplitView

LATE_WARNING = (
    "Late submissions are accepted. They are scored on both splits but not ranked. The hidden labels can be "
    "derived from late scores, so late scores prove little."
)
blueprint = Blueprint("leaderboards", __name__, url_prefix="/competitions/<slug>")
WHOLE = 10**9


class CountedView:
    """The submission behind a row of the private leaderboard."""

    def __init__(self, counted: Counted, *, own_team_id: int | None) -> None:
        self.submission_id = counted.submission_id
        self.team = counted.team
        self.is_own = counted.team_id == own_team_id
        self.place = f"{formats.ordinal(counted.rank)} of {counted.team_count:,}"
        self.public = SplitView.of(counted.results.get(Split.PUBLIC))
        self.private = SplitView.of(counted.results.get(Split.PRIVATE))


def stage_sentence(competition: Competition, stage: Stage, *, pending_count: int) -> str:
    """Return the public sentence about the state of the private leaderboard; may be empty."""
    match stage:
        case Stage.RUNNING:
            return _until(competition.reveals_at)
        case Stage.CLOSED:
            if pending_count:
                left = formats.counted(pending_count, "submission")
                verb = "is" if pending_count == 1 else "are"
                return f"Closed. {left} accepted in time {verb} still being scored and will count. " + _until(
                    competition.reveals_at
                )
            return "Closed. " + _until(competition.reveals_at)
        case Stage.SETTLED:
            return "Closed. All submissions accepted in time have been processed. " + _until(
                competition.reveals_at
            )
        case Stage.PROVISIONAL:
            return "These standings are provisional until the organizers make them final."
        case Stage.FINAL:
            moment = formats.moment(competition.finalized_at) if competition.finalized_at else ""
            return f"The standings became final on {moment}."


def _until(reveals_at: datetime | None) -> str:
    if reveals_at is None:
        return ""
    return (
        "The organizers will reveal the private leaderboard. If they do not, it is revealed automatically on "
        f"{formats.moment(reveals_at)}, or later when all submissions are scored."
    )


@blueprint.get("/leaderboard")
def public(slug: str) -> ResponseReturnValue:
    """Show a page of the public leaderboard."""
    return conditional(_board_page(slug, Split.PUBLIC))


@blueprint.get("/leaderboard/version")
def version(slug: str) -> ResponseReturnValue:
    """Return the leaderboard's version and its number of entries as JSON, for polling."""
    with reading() as session:
        competition = competition_of(session, slug)
        phase = phases.phase(competition, db.now(session))
        is_shown = visible(Field.PUBLIC_RANK, lookups.viewer(), phase, competition.feedback)
        found = {
            "version": changes.board_version(session, competition_id=competition.id),
            "entries": changes.count_entries(session, competition_id=competition.id) if is_shown else None,
        }
    return conditional(jsonify(found))


@blueprint.get("/leaderboard/private")
def private(slug: str) -> ResponseReturnValue:
    """Show a page of the private leaderboard, after the reveal."""
    return conditional(_board_page(slug, Split.PRIVATE))


@blueprint.get("/leaderboard/private/<int:submission_id>")
def counted(slug: str, submission_id: int) -> ResponseReturnValue:
    """Show the results of a team's counted submission on both splits, after the reveal."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        found = requests.counted(session, competition, submission_id)
        own_id = comparison.own_counted(session, competition=competition, team=team, phase=view.phase)
        diagnosed = requests.newest_diagnosis(session, competition, submission_id)
    return conditional(
        render_template(
            "leaderboards/counted_submission.html",
            competition=view,
            has_diagnosis=diagnosed is not None,
            submission=CountedView(found, own_team_id=team.id if team else None),
            own_counted_id=own_id,
            identity_terms=IDENTITY_TERMS,
            shades=formats.SHADES,
        )
    )


@blueprint.get("/leaderboard/private/<int:submission_id>/diagnosis")
def diagnosis(slug: str, submission_id: int) -> ResponseReturnValue:
    """Show the published diagnosis of a counted submission, after the reveal."""
    with reading() as session:
        competition = competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        found = requests.counted(session, competition, submission_id)
        job = requests.diagnosis(session, competition, submission_id)
    split = Split.PRIVATE if request.args.get("split") == "private" else Split.PUBLIC
    reports = diagnoses.reports(current_site().storage, job)
    return conditional(
        render_template(
            "leaderboards/diagnosis.html",
            competition=view,
            submission=found,
            is_current=diagnoses.is_current(job, competition),
            splits=list(reports),
            split=split.value,
            report=reports[split.value],
        )
    )


@blueprint.get("/leaderboard.csv")
def public_csv(slug: str) -> ResponseReturnValue:
    """Download the whole public leaderboard."""
    return conditional(_csv(slug, Split.PUBLIC))


@blueprint.get("/leaderboard/private.csv")
def private_csv(slug: str) -> ResponseReturnValue:
    """Download the whole private leaderboard, after the reveal."""
    return conditional(_csv(slug, Split.PRIVATE))


@blueprint.get("/leaderboard/final/<int:number>")
def final(slug: str, number: int) -> ResponseReturnValue:
    """Show a page of stored final standings."""
    page = asked_page()
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        found = final_standings.page_of(session, competition=competition, number=number, page=page)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        with_pages = team_results.listed_profiles(
            session, competition=competition, team_ids=[row.team_id for row in found.rows], now=now
        )
    own_id = team.id if team else None
    return conditional(
        render_template(
            "leaderboards/final.html",
            competition=view,
            board=found,
            rows=[(row, *change(row.rank_change), row.team_id == own_id) for row in found.rows],
            with_pages=with_pages,
        )
    )


@blueprint.get("/results")
@auth.login_required
def results(slug: str) -> ResponseReturnValue:
    """Show the team's results after the reveal: the scores of all files, the counted file and the reason."""
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        team = rosters.find_team(session, competition=competition, user=g.user)
        found = team and team_results.of_team(
            session, competition=competition, team=team, phase=view.phase, viewer=Viewer.TEAM
        )
        stage = phases.stage(competition, now)
    if found is None and not view.is_revealed:
        raise leaderboard.NotRevealed
    return render_template(
        "leaderboards/results.html",
        competition=view,
        results=found and ResultsView(found),
        stage=stage_sentence(competition, stage, pending_count=0),
    )


def _board_page(slug: str, split: Split) -> str:
    with reading() as session:
        competition = competition_of(session, slug)
        now = db.now(session)
        view = CompetitionView(competition, now)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        own_team_id = team.id if team else None
        asked = requests.asked_lines(own_team_id=own_team_id)
        board = requests.board(session, competition, split, asked, now=now)
        top = charts.top(board, asked, own_team_id=own_team_id) if split is Split.PUBLIC else []
        top_ids = [row.team_id for row in top]
        steps = score_history.of_teams(session, competition=competition, team_ids=top_ids)
        others = score_history.sample(session, competition=competition, but=top_ids) if top else []
        frontier = _frontier(session, competition, split) if charts.has_terms(board, asked) else None
        named = [frontier.points[place].team_id for place in frontier.named(own_team_id)] if frontier else []
        names = score_history.names(session, team_ids=named) if named else {}
        stage = phases.stage(competition, now)
        pending_count = close.count_pending(session, competition=competition) if stage is Stage.CLOSED else 0
        newest_final = final_standings.newest(session, competition=competition) if stage is Stage.FINAL else 0
        tied = (
            ties.published_marks(session, competition=competition) if split is Split.PRIVATE else frozenset()
        )
    is_private = split is Split.PRIVATE
    return render_template(
        "leaderboards/show.html",
        competition=view,
        board=BoardView(
            board,
            asked,
            own_team_id=own_team_id,
            classes=competition,
            tied_team_ids=tied,
            is_revealed=view.is_revealed,
            is_final=stage is Stage.FINAL,
        ),
        is_running=stage is Stage.RUNNING,
        stage=stage_sentence(competition, stage, pending_count=pending_count),
        late_warning=LATE_WARNING if is_private and competition.takes_late_submissions else "",
        finals=range(1, newest_final + 1),
        steps=charts.steps(
            top,
            steps,
            others,
            team_count=board.team_count,
            own_team_id=own_team_id,
            until=competition.closes_at,
            now=now,
            decimals=board.decimals,
        ),
        frontier=charts.frontier(frontier, names, own_team_id=own_team_id),
        slopes=charts.slopes(board, asked, own_team_id=own_team_id) if is_private else None,
    )


def _frontier(session: Any, competition: Competition, split: Split) -> Frontier | None:
    """Return the terms of all teams if the viewer may see them."""
    version = changes.board_version(session, competition_id=competition.id)
    read = partial(score_history.terms_of_board, session, competition=competition, split=split)
    return current_site().frontiers.get((competition.id, split, version), read)


def _csv(slug: str, split: Split) -> Response:
    with reading() as session:
        competition = competition_of(session, slug)
        asked = leaderboard.Asked(page_size=WHOLE)
        board = requests.board(session, competition, split, asked, now=db.now(session))
    response = Response(board_csv(board), mimetype="text/csv")
    name = f"{competition.slug}-{split.value}-leaderboard.csv"
    response.headers.set("Content-Disposition", "attachment", filename=name)
    return response


@blueprint.get("/rescoring")
def rescored(slug: str) -> ResponseReturnValue:
    """Show the message of a rescoring and the team's public scores before and after it."""
    with reading() as session:
        competition = competition_of(session, slug)
        published = mail.latest(competition)
        if published is None:
            abort(404)
        team = rosters.find_team(session, competition=competition, user=g.user) if g.user else None
        lines = mail.of_team(session, competition=competition, team=team) if team else []
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "leaderboards/rescored.html", competition=view, published=published, team=team, lines=lines
    )
