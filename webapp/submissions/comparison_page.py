"""Page that compares two submissions: own ones, a benchmark, after the reveal any team's that counted."""

from collections.abc import Sequence
from typing import Any

from flask import g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition
from grader.services.submissions import comparison
from grader.services.submissions.comparison import Choice, Side
from grader.visibility import Phase
from webapp.competitions.views import CompetitionView
from webapp.http import auth, lookups
from webapp.http.parameters import asked_number
from webapp.http.site import current_site
from webapp.submissions.comparison_view import compared, label, option
from webapp.submissions.pages import blueprint


@blueprint.get("/submissions/compare")
@auth.login_required
def compare(slug: str) -> ResponseReturnValue:
    """Compare two submissions: those that the address names, else the newest scored one with the best."""
    asked = [asked_number(name) for name in ("candidate", "baseline")]
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        known = comparison.choices(
            session,
            competition=competition,
            team=lookups.own_team(session, competition),
            viewer=lookups.viewer(),
            phase=view.phase,
        )
        sides = [
            _side(session, competition, view.phase, known, each) if each is not None else None
            for each in _pair(asked, known)
        ]
    candidate, baseline = sides
    return render_template(
        "submissions/compare.html",
        competition=view,
        groups=_groups(known, [each.choice for each in sides if each]),
        candidate=candidate,
        baseline=baseline,
        option=option,
        label=label,
        splits=compared(candidate, baseline) if candidate and baseline else [],
    )


def _side(
    session: Any, competition: Competition, phase: Phase, known: Sequence[Choice], submission_id: int
) -> Side:
    return comparison.side(
        session,
        competition=competition,
        user=g.user,
        submission_id=submission_id,
        known=known,
        viewer=lookups.viewer(),
        phase=phase,
    )


def _pair(asked: Sequence[int | None], known: Sequence[Choice]) -> list[int | None]:
    """Return whom to compare: as asked, else the newest own file and the best of the other own files."""
    candidate, baseline = asked
    own = [each for each in known if not each.team]
    if candidate is None:
        candidate = next((each.id for each in own if each.id != baseline), None)
    if baseline is None:
        others = [each for each in own if each.id != candidate] or [
            each for each in known if each.id != candidate
        ]
        baseline = max(others, key=_merit).id if others else None
    return [candidate, baseline]


def _merit(choice: Choice) -> tuple[int, int]:
    """Return the sort key by which the best is the greatest, the earlier of two equal ones."""
    return (-1 if choice.score_units is None else choice.score_units), -choice.id


def _groups(known: Sequence[Choice], picked: Sequence[Choice]) -> list[tuple[str, list[Choice]]]:
    """Return what the pickers offer, in groups; what is picked is there in any case."""
    ids = {each.id for each in known}
    everything = [*known, *{each.id: each for each in picked if each.id not in ids}.values()]
    groups = (
        ("Your submissions", [each for each in everything if not each.team]),
        ("Benchmarks", [each for each in everything if each.is_benchmark]),
        ("Other teams", [each for each in everything if each.team and not each.is_benchmark]),
    )
    return [(name, found) for name, found in groups if found]
