"""Home page of a competition: leaderboard summary, dates, next step for the viewer."""

from datetime import datetime
from typing import Any, NamedTuple

from flask import url_for

from grader.models import Competition, SubmissionStatus, Team
from grader.services.competitions import lookup, phases
from grader.services.leaderboards import glance, score_history
from grader.services.leaderboards.glance import Glance
from grader.services.leaderboards.score_history import OwnScore
from grader.services.leaderboards.submission_results import SplitResult, split_results_of
from grader.services.submissions import refusal, selections
from grader.services.submissions.selections import CurrentSelection, Reason
from grader.services.submissions.situation import Situation
from grader.services.teams import participations
from grader.text import counted
from grader.visibility import Phase, Viewer, visible_fields
from webapp.competitions.competition_view import CompetitionView
from webapp.http import lookups

# For each refusal of an entry that leads to the entry page: the button.
ENTRY = {
    "not_joined": "Join",
    "rules_changed": "Accept the changed rules",
    "entry_pending": "See your request",
}


class NextStep(NamedTuple):
    """A button with its label, URL and note."""

    words: str
    address: str
    note: str = ""


def of_stranger(view: CompetitionView) -> NextStep:
    """Return the next step of a visitor who is not logged in."""
    if view.phase is Phase.SCHEDULED and not view.must_ask:
        return NextStep("How it is scored", _to("competitions.evaluation", view))
    if view.phase in (Phase.CLOSED, Phase.REVEALED) or not view.is_entry_open:
        return _board(view)
    aim = _to("entry.show" if view.must_ask else "competitions.show", view)
    return NextStep("Log in to join", url_for("account.log_in", next=aim))


def of_person(view: CompetitionView, situation: Situation, choice: CurrentSelection | None) -> NextStep:
    """Return a user's next step; `choice` is the current final selection, if it was read."""
    if situation.is_test:
        return NextStep("Organize", _to("organize_console.index", view))
    if view.is_revealed:
        return NextStep("See results", _to("submissions.index", view)) if situation.team else _board(view)
    finals = _finals(view, situation, choice)
    if phases.of_team(situation.competition, situation.team, situation.now) is Phase.CLOSED:
        return finals or _board(view)
    entry = participations.refusal(situation.competition, situation.participation, now=situation.now)
    if entry is not None:
        label = ENTRY.get(entry.public_name)
        step = NextStep(label, _to("entry.show", view)) if label else _board(view)
        return step._replace(note=entry.message)
    if view.phase is Phase.SCHEDULED:
        return NextStep("How it is scored", _to("competitions.evaluation", view))
    refused = refusal.refusal(situation)
    if refused is None:
        return NextStep("Submit", _to("submissions.index", view))
    return finals or NextStep("Submissions", _to("submissions.index", view), refused.message)


def _finals(view: CompetitionView, situation: Situation, choice: CurrentSelection | None) -> NextStep | None:
    """Return the step that leads to the final selection, while that is open and not full."""
    if choice is None or not selections.is_open(situation.competition, situation.now, situation.team):
        return None
    if not choice.filled_later and Reason.AUTOMATIC not in choice.reasons.values():
        return None
    unused = counted(choice.limit - len(choice.picked_ids), "unused selection")
    note = f"{unused} of {choice.limit}. If you select nothing, the {view.chosen_for} counts."
    return NextStep("Select submissions", _to("submissions.index", view), note)


def _board(view: CompetitionView) -> NextStep:
    if view.is_revealed:
        return NextStep("See results", _to("leaderboards.private", view))
    return NextStep("See the leaderboard", _to("leaderboards.public", view))


def _to(endpoint: str, view: CompetitionView) -> str:
    return url_for(endpoint, slug=view.slug)


def dates_of(competition: Competition, team: Team | None = None) -> list[tuple[str, datetime | None]]:
    """Return the dates in order, those of the close only once; the results are last and may have no date."""
    close, results = competition.closes_at, competition.revealed_at or phases.reveals_at(competition)
    others = {
        "Opening": competition.opens_at,
        "End of entry": competition.entry_deadline,
        "End of mergers": competition.merger_deadline,
        "End of selection": competition.selection_deadline,
        "Your team's deadline": phases.closes_at(competition, team),
    }
    dates = [(at, words) for words, at in others.items() if at is not None and at != close]
    dates += [(close, "Close")] if close else []
    end = [("Results", results)] if results or close else []
    return [*((words, at) for at, words in sorted(dates)), *end]


class OwnFiles(NamedTuple):
    """The team's latest file, its current final selection, and the visible result of its entry.

    `choice` is None for a disqualified team and after the reveal.
    """

    latest: OwnScore | None = None
    choice: CurrentSelection | None = None
    result: SplitResult | None = None


def read(session: Any, view: CompetitionView, own: Situation | None) -> dict[str, Any]:
    """Return the Home page's content by name; `own` is the current user's situation."""
    competition, now = view.row, view.now
    participant = own if own is not None and not own.is_test else None
    team = participant.team if participant else None
    phase = phases.of_team(competition, team, now)
    keep, viewer = lookups.keep(competition, now), lookups.viewer()
    board = glance.of(session, competition=competition, team=team, now=now, viewer=viewer, keep=keep)
    files = OwnFiles()
    if team is not None and view.has_solution:
        key = "own files", team.id, own and own.allowance, board.own
        files = keep(key, lambda: _files(session, competition, team, board, now))
    return {
        "board": board,
        "step": of_person(view, own, files.choice) if own else of_stranger(view),
        "moments": dates_of(competition, team),
        "deadline": view.deadline(team),
        "entry": participations.state(competition, own.participation if own else None),
        "team": team,
        "files": files,
        "shows_first_steps": participant is not None and _is_new(view, participant, files.latest),
        "allowance": participant.allowance if participant and phase is Phase.OPEN else None,
        "can_select": selections.is_open(competition, now, team),
        "selection_closes_at": selections.closes_at(competition, team),
    }


def _files(session: Any, competition: Competition, team: Team, board: Glance, now: datetime) -> OwnFiles:
    phase = phases.phase(competition, now)
    files = score_history.own_files(session, competition=competition, team=team, now=now)
    latest = files[-1] if files else None
    choice = result = None
    if files and phase is not Phase.REVEALED and not team.is_disqualified:
        choice = selections.counting(competition, files, now=now)
    if board.own:
        own_id, version = board.own.submission_id, lookup.live(competition)
        allowed = visible_fields(Viewer.TEAM, phase, competition.feedback)
        results = split_results_of(session, submission_ids=[own_id], version=version, allowed=allowed)
        result = results[own_id].get(board.split)
    return OwnFiles(latest, choice, result)


def _is_new(view: CompetitionView, own: Situation, latest: OwnScore | None) -> bool:
    """Return whether a person may take part and has no valid file."""
    if view.phase not in (Phase.SCHEDULED, Phase.OPEN) or not view.has_solution:
        return False
    if latest is not None and latest.submission.status is not SubmissionStatus.REJECTED:
        return False
    refused = participations.refusal(own.competition, own.participation, now=own.now)
    return refused is None or refused.public_name in ("not_joined", "rules_changed")
