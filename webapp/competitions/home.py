"""Home page of a competition: leaderboard summary, dates, next step for the viewer."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from flask import g, url_for

from grader.charts.strips import StripChart, strip_chart
from grader.models import Competition
from grader.services.leaderboards import glance
from grader.services.leaderboards.glance import Glance
from grader.services.limits.limits import DailyLimitReached
from grader.services.submissions import refusal, selections, situation
from grader.services.submissions.refusal import TeamDisqualified
from grader.services.submissions.selections import CurrentSelection, Reason
from grader.services.submissions.situation import Situation
from grader.services.teams import participations
from grader.services.teams.participations import (
    EntryPending,
    EntryRefused,
    EntryState,
    NotJoined,
    RulesChanged,
)
from grader.visibility import Phase
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.presentation import formats

NEAR_CLOSE = timedelta(days=3)
_AT_THE_END = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class NextStep:
    """A button with its label, URL, note and countdown, and an optional second button."""

    words: str
    address: str
    note: str = ""
    until: datetime | None = None
    second: "NextStep | None" = None


def of_stranger(view: CompetitionView) -> NextStep:
    """Return the next step of a visitor who is not logged in."""
    if view.phase is Phase.SCHEDULED and not view.must_ask:
        return NextStep("How it is scored", _to("competitions.evaluation", view))
    if view.phase in (Phase.CLOSED, Phase.REVEALED) or not view.is_entry_open:
        return _board(view)
    aim = _to("entry.show" if view.must_ask else "submissions.index", view)
    return NextStep("Log in to join", url_for("account.log_in", next=aim))


def of_person(view: CompetitionView, situation: Situation, choice: CurrentSelection | None) -> NextStep:
    """Return a user's next step; `choice` is the current final selection, if it was read."""
    if situation.is_test:
        return NextStep("Organize", _to("organize_console.index", view))
    if view.is_revealed:
        has_results = situation.team is not None
        return NextStep("See results", _to("leaderboards.results", view)) if has_results else _board(view)
    finals = _finals(view, situation, choice)
    if view.phase is Phase.CLOSED:
        return finals or _board(view)
    entry = participations.refusal(situation.competition, situation.participation, now=situation.now)
    if entry is not None:
        return _entry(view, entry)
    if view.phase is Phase.SCHEDULED:
        return NextStep("How it is scored", _to("competitions.evaluation", view))
    refused = refusal.refusal(situation)
    if isinstance(refused, TeamDisqualified):
        note = "Your team cannot submit files, because the organizers disqualified it."
        return NextStep("Your team", _to("teams.show", view), note)
    if finals is not None and refused is not None:
        return finals
    if isinstance(refused, DailyLimitReached):
        note = "No submissions left today. The limit resets in"
        return NextStep("Submissions", _to("submissions.index", view), note, refused.retry_at)
    if refused is not None:
        return NextStep("Submissions", _to("submissions.index", view), refused.message)
    second = finals if _is_near_close(view, situation.now) else None
    return NextStep("Submit", _to("submissions.index", view), _left(situation), second=second)


def wants_choice(view: CompetitionView, situation: Situation) -> bool:
    """Return whether the next step may depend on the team's selection."""
    return situation.team is not None and not situation.is_test and view.phase in (Phase.OPEN, Phase.CLOSED)


def _finals(view: CompetitionView, situation: Situation, choice: CurrentSelection | None) -> NextStep | None:
    """Return the step that leads to the final selection, while that is open and incomplete."""
    is_open = selections.is_open(situation.competition, situation.now)
    if choice is None or not is_open or (situation.team and situation.team.is_disqualified):
        return None
    if not choice.filled_later and Reason.AUTOMATIC not in choice.reasons.values():
        return None
    free = choice.limit - len(choice.picked_ids)
    limit = formats.counted(choice.limit, "selection")
    if free == 1:
        rest = f"is unused. If you select nothing, it goes to your {view.chosen_for}."
    else:
        best = view.chosen_for.replace("submission", "submissions").replace("score", "scores")
        rest = f"are unused. If you select nothing, they go to your {best}."
    note = f"{free} of {limit} {rest}"
    return NextStep("Select submissions", _to("submissions.index", view), note)


def _entry(view: CompetitionView, refused: EntryRefused) -> NextStep:
    match refused:
        case NotJoined():
            return NextStep("Join", _to("entry.show", view))
        case RulesChanged():
            return NextStep("Accept the changed rules", _to("entry.show", view))
        case EntryPending():
            return NextStep(
                "See your request", _to("entry.show", view), "Waiting for an organizer's decision."
            )
        case _:
            board = _board(view)
            return NextStep(board.words, board.address, refused.message)


def _board(view: CompetitionView) -> NextStep:
    if view.is_revealed:
        return NextStep("See results", _to("leaderboards.private", view))
    return NextStep("See the leaderboard", _to("leaderboards.public", view))


def _left(situation: Situation) -> str:
    left = situation.allowance.left
    if left is None:
        return ""
    is_of_day = left == situation.allowance.left_today
    return f"{left:,} left {'today' if is_of_day else 'in total'}"


def _is_near_close(view: CompetitionView, now: datetime) -> bool:
    return view.closes_at is not None and view.closes_at - now <= NEAR_CLOSE


def _to(endpoint: str, view: CompetitionView) -> str:
    return url_for(endpoint, slug=view.slug)


@dataclass(frozen=True, slots=True)
class Moment:
    """A date of a competition; `at` is None if the date is not set."""

    words: str
    at: datetime | None
    is_past: bool


def dates_of(competition: Competition, now: datetime) -> list[Moment]:
    """Return the dates in order; a reveal without a date is last."""
    moments = [
        Moment(past if is_past else words, at, is_past)
        for words, past, at in _dates(competition)
        for is_past in [at is not None and at <= now]
    ]
    return sorted(moments, key=lambda moment: moment.at or _AT_THE_END)


def _dates(competition: Competition) -> Iterator[tuple[str, str, datetime | None]]:
    """Yield each date with two labels: one for before the date and one for after it."""
    closes_at, revealed_at = competition.closes_at, competition.revealed_at
    if competition.opens_at is not None:
        yield "Opens", "Opened", competition.opens_at
    if _is_before(competition.entry_deadline, closes_at):
        yield "Entry ends", "Entry ended", competition.entry_deadline
    if _is_before(competition.merger_deadline, closes_at):
        yield "Mergers end", "Mergers ended", competition.merger_deadline
    if closes_at is not None:
        yield "Closes", "Closed", closes_at
    if competition.selection_deadline is not None and competition.selection_deadline != closes_at:
        yield "Selection ends", "Selection ended", competition.selection_deadline
    if revealed_at is not None or closes_at is not None:
        yield "Results", "Results", revealed_at or competition.reveals_at


def _is_before(deadline: datetime | None, closes_at: datetime | None) -> bool:
    """Return whether a deadline is before the close. A later one has no effect of its own."""
    return deadline is not None and (closes_at is None or deadline < closes_at)


@dataclass(frozen=True, slots=True)
class Home:
    """The Home page's content for one viewer."""

    board: Glance
    strip: StripChart | None
    step: NextStep
    moments: list[Moment]
    entry: EntryState
    has_joined: bool
    own_team_id: int | None
    own_team_name: str


def read(session: Any, competition: Competition, view: CompetitionView, now: datetime) -> Home:
    """Return the Home page's content for the current user. Call `competition_of` first."""
    own_situation: Situation | None = None
    if g.user is not None:
        own_situation = situation.read(session, slug=competition.slug, user=g.user, now=now)
    team = own_situation.team if own_situation is not None and not own_situation.is_test else None
    kept = lookups.snapshot(session, competition, now)
    board = glance.of(session, competition=competition, team=team, now=now, snapshot=kept)
    own = board.own.score_units if board.own else None
    entry = participations.state(competition, own_situation.participation if own_situation else None)
    return Home(
        board=board,
        strip=kept.page(("strip", own), lambda: strip_chart(board.scores, own=own, scale=board.scale)),
        step=_step(session, view, own_situation),
        moments=dates_of(competition, now),
        entry=entry,
        has_joined=entry is EntryState.JOINED,
        own_team_id=team.id if team else None,
        own_team_name=team.name if team else "",
    )


def _step(session: Any, view: CompetitionView, own_situation: Situation | None) -> NextStep:
    if own_situation is None:
        return of_stranger(view)
    choice = None
    if view.has_solution and own_situation.team is not None and wants_choice(view, own_situation):
        choice = selections.would_count(
            session, competition=own_situation.competition, team=own_situation.team, now=own_situation.now
        )
    return of_person(view, own_situation, choice)
