"""Page of a draft without a solution in the place of its leaderboard and its submissions."""

from flask import Flask, render_template, request
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.competitions.lookup import NoScoringVersion
from webapp.competitions.views import CompetitionView
from webapp.http import errors, lookups
from webapp.http.site import current_site

# The pages that the tabs lead to; every other address answers with the error.
TABS = {"leaderboards.public": "Leaderboard", "submissions.index": "Submissions"}


def init_app(app: Flask) -> None:
    """Answer on the pages of the tabs where there is nothing to score with."""
    app.register_error_handler(NoScoringVersion, _answer)


def _answer(error: NoScoringVersion) -> ResponseReturnValue:
    title = TABS.get(request.endpoint or "")
    if title is None or errors.wants_json():
        return errors.fairboard_error(error)
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, (request.view_args or {})["slug"])
        view = CompetitionView(competition, db.now(session))
    return render_template("competitions/not_ready.html", competition=view, title=title)
