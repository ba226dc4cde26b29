"""Close & results page: reveal, results bundle, publication of the solution."""

from typing import Any

from flask import Blueprint, render_template, request, url_for

from grader import db
from grader.models import Role
from grader.services.closing import checklist
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import score_history
from webapp.closing.views import CloseView, ShakeUpView
from webapp.competitions.views import CompetitionView
from webapp.http.auth import organizers_only
from webapp.http.confirmation import Question
from webapp.http.context import competition_of, reading
from webapp.presentation import formats

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
        tokens=tokens(slug),
    )


REVEAL = "Reveal the private leaderboard?"
PUBLISH_SOLUTION = "Publish the solution?"
EFFECTS = {
    REVEAL: (
        "The private leaderboard and the tables of both splits become visible to everyone, and an open "
        "competition closes."
    ),
    PUBLISH_SOLUTION: "Everyone will see all labels.",
}


def close_now(act: Act) -> Question:
    """Return the question for closing a competition early. Call this before the close."""
    view = CompetitionView(act.competition, act.now)
    state = checklist.state(act.session, competition=act.competition, now=act.now)
    until = f"It closes on {formats.moment(view.closes_at)}." if view.closes_at else "It has no closing date."
    waiting = formats.counted(state.waiting_count, "submission")
    return Question(
        heading=f"Close {view.title} now?",
        sentences=(
            f"{until} After the close, participants can no longer join, merge teams or submit files that "
            "count.",
            "Teams can no longer change their final selection. Unused selections are filled automatically.",
            *(
                [f"{waiting} accepted in time will still be scored and will count."]
                if state.waiting_count
                else []
            ),
        ),
        button="Close now",
        back=url_for("organize_close.index", slug=view.slug),
        state=repr(view.closes_at),
    )


def irreversible(slug: str, heading: str, button: str) -> Question:
    """Return the question that the checkbox of a form on the page confirms."""
    back = url_for("organize_close.index", slug=slug)
    return Question(heading, (EFFECTS[heading],), button, back, is_final=True, can_change=True)


def tokens(slug: str) -> dict[str, str]:
    """Return the values of the page's checkboxes, by the names of the forms."""

    def token(form: str, heading: str, button: str) -> str:
        path = url_for(f"organize_close.{form}", slug=slug)
        return irreversible(slug, heading, button).token_at(path)

    return {
        "reveal": token("reveal", REVEAL, "Reveal"),
        "publish_solution": token("publish_solution", PUBLISH_SOLUTION, "Publish the solution"),
    }
