"""Confirmation questions of the close: close now, reveal, finalize, publish the solution."""

from flask import url_for

from grader.services.closing import checklist
from grader.services.closing.checklist import CloseState
from grader.services.competitions.acting import Act
from webapp.competitions.views import CompetitionView
from webapp.http.confirmation import TICKED, Question
from webapp.organizers.closing.views import CloseView
from webapp.presentation import formats

REVEAL = "Reveal the private leaderboard?"
FINALIZE = "Make the standings final?"
PUBLISH_SOLUTION = "Publish the solution?"
EFFECTS = {
    REVEAL: (
        "The private leaderboard and the tables of both splits become visible to everyone, and an open "
        "competition closes."
    ),
    FINALIZE: "The standings are stored permanently. Later changes create new final standings.",
    PUBLISH_SOLUTION: "Everyone will see all labels.",
}
BUTTONS = {
    REVEAL: ("Reveal", "Reveal without verification?", "Reveal anyway"),
    FINALIZE: ("Make final", "Make the standings final without verification?", "Make final anyway"),
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


def verified(slug: str, heading: str, state: CloseState) -> Question:
    """Return the question for a reveal or final standings; it names missing verification."""
    button, other_heading, other_button = BUTTONS[heading]
    if state.agrees:
        return irreversible(slug, heading, button)
    here = url_for("organize_close.index", slug=slug)
    can_verify = CloseView(state).can_verify
    if can_verify:
        advice = "Verify first. A large file takes about a second."
    else:
        advice = "You can verify after the close, once every submission accepted in time has its result."
    return Question(
        heading=other_heading,
        sentences=(EFFECTS[heading], state.unverified, advice),
        button=other_button,
        back=here,
        is_final=True,
        links=((("Verify", f"{here}#verify"),) if can_verify else ()),
        can_change=True,
    )


def tokens(slug: str, state: CloseState) -> dict[str, str]:
    """Return the values of the page's checkboxes, by the names of the forms.

    The checkbox does not confirm unverified standings, for which a confirmation page follows.
    """

    def token(form: str, heading: str, button: str) -> str:
        path = url_for(f"organize_close.{form}", slug=slug)
        return irreversible(slug, heading, button).token_at(path)

    return {
        "reveal": token("reveal", REVEAL, "Reveal") if state.agrees else TICKED,
        "finalize": token("finalize", FINALIZE, "Make final") if state.agrees else TICKED,
        "publish_solution": token("publish_solution", PUBLISH_SOLUTION, "Publish the solution"),
    }
