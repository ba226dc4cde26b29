"""A team's submissions as page and API, and the upload form or why there is none."""

from typing import Any

from flask import request

from grader.errors import FairboardError
from grader.models import Split
from grader.services.competitions import lookup
from grader.services.leaderboards import score_history, team_results
from grader.services.leaderboards.ranks import Standings
from grader.services.leaderboards.score_history import OwnScore
from grader.services.site.paging import slice_of_list
from grader.services.solutions import intake
from grader.services.submissions import accepting, selections
from grader.services.submissions import refusal as rules
from grader.services.submissions.situation import Situation
from webapp.competitions.home import ENTRY
from webapp.competitions.pages import first_lines
from webapp.http.api import ending
from webapp.http.context import situation_in
from webapp.http.fields import Asked
from webapp.submissions import api_models
from webapp.submissions.api_models import SubmissionLine, SubmissionList
from webapp.submissions.pages import TAG, blueprint
from webapp.surface import Access, Ask, Surface

__all__ = ["blueprint"]


OWN = Surface(blueprint, tag=TAG, role=Access.USER)


def _of_page(ask: Ask, state: Situation) -> dict[str, Any]:
    """Return what the page shows beside the list: the form or its absence, the selection and ranks."""
    session, competition, team, view = ask.session, state.competition, state.team, ask.competition_view
    standings = Standings(session, lookup.live(competition).id, Split.PUBLIC)
    best = standings.entry_of(team.id) if team else None
    is_out = team is not None and team.is_disqualified
    outcome = None
    if team is not None and view.is_revealed and not state.is_test:
        outcome = team_results.of_team(session, competition=competition, team=team, phase=view.phase)
    door = rules.refusal(state)
    is_short = door is not None and door.public_name == "too_many_pending"
    return {
        "door": door,
        "entry_label": door and ENTRY.get(door.public_name),
        "until": None if is_short else getattr(door, "retry_at", None) or getattr(door, "opens_at", None),
        "is_short": is_short,
        "sample": first_lines(competition),
        "metric": view.metric,
        "file_limit_bytes": accepting.size_cap(competition),
        "other_labels": intake.other_labels(session, competition_id=competition.id),
        "best_id": best.submission_id if best else None,
        "outcome": outcome,
        "results": {each.submission_id: each for each in outcome.lines} if outcome else {},
        "is_out": is_out,
        "can_select": selections.is_open(competition, state.now, team) and not is_out,
        "selection_closes_at": selections.closes_at(competition, team),
        **context(state, ask.problem),
    }


@OWN.read("/submissions", SubmissionList, endpoint="index", page="submissions/index.html")
def submission_list(ask: Ask, query: Asked) -> SubmissionList:
    """List the team's submissions, newest first, with the remaining limits and the selection."""
    session = ask.session
    state = situation_in(session, ask.arguments["slug"])
    ask.competition, ask.now = competition, now = state.competition, state.now
    choice, files = None, list[OwnScore]()
    if state.team is not None:
        files = score_history.own_files(session, competition=competition, team=state.team, now=now)
        if not state.is_test:
            choice = selections.counting(competition, files, now=now)
    known = {each.submission.id: each for each in files}
    submissions = slice_of_list(
        [each.submission for each in files], key=lambda each: each.id, part=query.part
    )
    if ask.is_page:
        selectable = {each.id for each in submissions.rows if selections.is_selectable(each)}
        values = {"state": state, "rows": submissions.rows, "choice": choice, "known": known}
        ask.shown |= _of_page(ask, state) | values | {"selectable": selectable}
    return SubmissionList.of(
        submissions,
        submissions=[SubmissionLine.of(each, public_score=known[each.id].score) for each in submissions.rows],
        selection=api_models.selection(choice) if choice else None,
        limits=state.allowance,
        **ending(submissions),
    )


def context(state: Situation, problem: FairboardError | None) -> dict[str, Any]:
    """Return the context of the page parts that are also rendered separately."""
    return {
        "slug": state.competition.slug,
        "is_test": state.is_test,
        "now": state.now,
        "allowance": state.allowance,
        "description": request.form.get("description", ""),
        "problem": problem,
    }
