"""List of competitions (home page), and a competition's overview, evaluation and sample submission."""

from flask import Blueprint, Response, g, render_template, send_file
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.competitions import announcements
from grader.services.competitions.lookup import NoScoringVersion
from grader.services.rescoring import mail
from grader.services.setup import drafts
from grader.services.solutions import other_labels
from webapp.competitions import cards, home, prose
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.parameters import asked_page, asked_text
from webapp.http.site import current_site

blueprint = Blueprint("competitions", __name__)


@blueprint.get("/")
@blueprint.get("/competitions", alias=True)
def index() -> ResponseReturnValue:
    """List the competitions, those that run first, or those that match a search."""
    number, search = asked_page(), asked_text("q")
    with current_site().database.read() as session:
        now = db.now(session)
        page = lookups.listed_page(session, page=number, now=now, search=search)
        groups = cards.read(session, page.rows, now)
        may_create = g.user is not None and drafts.may_create(session, user=g.user)
    return render_template(
        "competitions/index.html", groups=groups, may_create=may_create, page=page, search=search
    )


@blueprint.get("/competitions/<slug>")
def show(slug: str) -> ResponseReturnValue:
    """Show what a competition is about, how it goes, and what to do next."""
    with current_site().database.read() as session:
        competition, now = lookups.competition_of(session, slug), db.now(session)
        view = CompetitionView(competition, now)
        posted = announcements.shown(session, competition=competition)
        found = home.read(session, competition, view, now)
        overview = prose.stored(competition, slug, competition.overview)
    return render_template(
        "competitions/show.html",
        competition=view,
        home=found,
        metric=view.metric(),
        overview=overview,
        rescored=mail.news(competition),
        announcements=[(each, prose.stored(each, slug, each.body)) for each in posted],
    )


@blueprint.get("/competitions/<slug>/evaluation")
def evaluation(slug: str) -> ResponseReturnValue:
    """Show how a competition scores."""
    with current_site().database.read() as session:
        competition = lookups.competition_of(session, slug)
        view = CompetitionView(competition, db.now(session))
        names = other_labels.names(session, competition_id=competition.id)
        text = prose.stored(competition, slug, competition.evaluation)
    return render_template(
        "competitions/evaluation.html",
        competition=view,
        metric=view.metric(),
        text=text,
        other_labels=names,
    )


@blueprint.get("/competitions/<slug>/data/sample_submission.csv")
def sample_submission(slug: str) -> Response:
    """Download the sample submission, whose ids are in id order."""
    site = current_site()
    with site.database.read() as session:
        competition = lookups.competition_of(session, slug)
        if competition.live_scoring_version is None:
            raise NoScoringVersion
        solution = competition.live_scoring_version.solution
    return send_file(
        site.storage.open(solution.sample_submission_sha256),
        mimetype="text/csv",
        as_attachment=True,
        download_name="sample_submission.csv",
        etag=solution.sample_submission_sha256,
    )
