"""Close & results page: reveal, results bundle, publication of the solution."""

from typing import Any

from flask import Blueprint, render_template, request

from grader import db
from grader.models import Role
from grader.services.closing import checklist
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import score_history
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.context import competition_of, reading
from webapp.organizers.closing import questions
from webapp.organizers.closing.views import CloseView, ShakeUpView

blueprint = Blueprint("organize_close", __name__, url_prefix="/competitions/<slug>/organize/close")


@blueprint.get("")
@organizers_only(Role.VIEWER)
def index(slug: str, *, problem: Any = None) -> str:
    """Show the state of the close, or the reason why an action was rejected."""
    with reading() as session:
        now = db.now(session)
        competition = competition_of(session, slug)
        state = checklist.state(session, competition=competition, now=now)
        view = CompetitionView(competition, now)
        scale = competition.scale
        is_ranked = state.stage not in (Stage.RUNNING, Stage.CLOSED)
        moves = score_history.shake_up(session, competition=competition) if is_ranked else []
    version = competition.live_scoring_version
    return render_template(
        "closing/show.html",
        competition=view,
        close=CloseView(state),
        shake_up=ShakeUpView(moves, scale) if moves else None,
        revealed_at=competition.revealed_at,
        solution_published_at=competition.solution_published_at,
        commitment=version.solution.commitment if version else None,
        problem=problem.message if problem else "",
        reason=request.form.get("reason", ""),
        tokens=questions.tokens(slug),
    )
