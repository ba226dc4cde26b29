"""Confirmation questions of the close: close now, reveal, publish the solution."""

from flask import url_for

from grader.services.closing import checklist
from grader.services.competitions.acting import Act
from webapp.competitions.views import CompetitionView
from webapp.http.confirmation import Question
from webapp.presentation import formats

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
