"""Close (page and API): open items, shake-up, close now, reveal, publish the solution."""

from collections.abc import Iterator

from flask import Blueprint

from grader.models import Role, SubmissionStatus
from grader.services.closing import close as closing
from grader.services.closing.close import CloseState
from grader.services.competitions.acting import Act
from grader.services.competitions.phases import Stage
from grader.services.leaderboards import score_history
from grader.services.rescoring import preparation
from grader.services.solutions import publication
from grader.services.submissions import selections
from grader.text import counted
from webapp.competitions.competition_view import CompetitionView
from webapp.http.confirmation import confirm
from webapp.http.fields import Answer, Confirmation, Moment
from webapp.http.organizer_operations import ConfirmedReason, Extension
from webapp.presentation import formats
from webapp.surface import Ask, Surface

EXPLANATIONS = {
    Stage.RUNNING: "Submissions are accepted until the close.",
    Stage.CLOSED: (
        "The private standings are computed once all submissions accepted in time are scored and all final "
        "selections have ended."
    ),
    Stage.SETTLED: "The private standings are computed and hidden until you reveal them.",
    Stage.REVEALED: "The private leaderboard is public.",
}


def missing(state: CloseState) -> Iterator[str]:
    """Yield the tasks that remain before the reveal."""
    if state.selection_open_until is not None:
        yield (
            "At least one team can change its final selection until "
            f"{formats.moment(state.selection_open_until)}. The private standings are computed and can be "
            "revealed after that."
        )
    if state.waiting_count:
        yield f"{_files(state.waiting_count)} still being scored, which delays the reveal."
    if state.failed_count:
        yield f"{_files(state.failed_count)} not scored because of a server error and would not be ranked."
    if state.preparing is not None:
        yield f"Scoring version {state.preparing} is not published. Publish or cancel it."


def _files(count: int) -> str:
    return f"{counted(count, 'submission')} accepted in time {'is' if count == 1 else 'are'}"


blueprint = Blueprint("organize_close", __name__, url_prefix="/competitions/<slug>/organize/close")
CLOSE = Surface(blueprint, tag="closing", role=Role.VIEWER, acts=Role.EDITOR)


class CloseAnswer(Answer):
    """The stage of a competition's close, and the open items."""

    stage: Stage
    explanation: str
    missing: list[str]
    waiting_count: int
    failed_count: int
    selection_open_until: Moment | None
    revealed_at: Moment | None
    solution_published_at: Moment | None
    commitment: str | None


@CLOSE.read("", CloseAnswer, endpoint="index", page="closing/show.html")
def closing_state(ask: Ask) -> CloseAnswer:
    """Return the stage of the close and its open items."""
    session, competition = ask.session, ask.competition
    state = closing.state(session, competition=competition, now=ask.now)
    version = competition.live_scoring_version
    if ask.is_page:
        place = list(Stage).index(state.stage)
        moves = score_history.shake_up(session, competition=competition) if place > 1 else []
        ask.shown |= {
            "preparing": state.preparing,
            "steps": [(stage.capitalize(), number - place) for number, stage in enumerate(Stage)],
            "moves": moves,
            "moved_count": sum(bool(each.places) for each in moves),
        }
    return CloseAnswer.of(
        state,
        explanation=EXPLANATIONS[state.stage],
        missing=list(missing(state)),
        revealed_at=competition.revealed_at,
        solution_published_at=competition.solution_published_at,
        commitment=version.solution.commitment if version else None,
    )


@CLOSE.act("/now", form="now", back=closing_state, done="The competition is closed.")
def close_competition(act: Act, sent: ConfirmedReason) -> None:
    """Close an open competition now. Entry and mergers end too; unset dates depend on the new close."""
    competition, now = act.competition, act.now
    closing.close_now(act, reason=sent.reason.strip())
    count = closing.unscored(act.session, competition=competition, status=SubmissionStatus.PENDING)
    extended = selections.extended_count(act.session, competition=competition, now=now)
    deadline, until, others = competition.selection_deadline, competition.extended_until, ""
    if extended and until:
        others = (
            f", except {counted(extended, 'team')} with an extension until "
            f"{formats.moment(until)} at the latest"
        )
    selection = "can no longer change their final selection"
    if deadline and deadline > now:
        selection = f"can change their final selection until {formats.moment(deadline)}"
    view = CompetitionView(competition, now)
    effects = (
        "Participants can no longer join or merge teams.",
        f"Teams can no longer submit files that count{others}.",
        f"Teams {selection}{others}. Unused selections are filled automatically.",
        f"{counted(count, 'accepted submission')} will still be scored and will count.",
        view.reveal_sentence(view.reveals_at),
    )
    confirm(f"Close {competition.title} now?", "Close now", *effects)


@CLOSE.act("/selection", form="reopen_selection", back=closing_state, done="The final selection is open.")
def reopen_selection(act: Act, sent: Extension) -> None:
    """Let teams change their final selection until a time after the close, which delays the reveal."""
    selections.reopen(act, until=sent.until, reason=preparation.checked_reason(sent.reason))


@CLOSE.act("/reveal", form="reveal", back=closing_state, done="The private leaderboard is revealed.")
def reveal_standings(act: Act, sent: Confirmation) -> None:
    """Make the private leaderboard public, and close the competition if it is still open."""
    closing.reveal(act)
    effect = (
        "The private leaderboard and the tables of both splits become visible to everyone, and an open "
        "competition closes."
    )
    confirm("Reveal the private leaderboard?", "Reveal", effect, is_final=True, session=act.session)


@CLOSE.act("/solution", form="publish_solution", back=closing_state, done="The solution is public.")
def publish_solution(act: Act, sent: ConfirmedReason) -> None:
    """Publish the solution."""
    publication.publish(**act.parts, reason=sent.reason.strip())
    effect, button = "Everyone will see all labels.", "Publish the solution"
    confirm("Publish the solution?", button, effect, is_final=True, can_change=True)
