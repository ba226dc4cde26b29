"""Competition API: texts, data files, public log."""

from flask import Response

from grader import db
from grader.services.competitions import announcements
from grader.services.identity.api_tokens import Scope
from webapp.competitions import answers, downloads, pages
from webapp.competitions.answers import (
    CompetitionDetails,
    CompetitionList,
    CompetitionPages,
    DataFileList,
    PostedText,
)
from webapp.competitions.views import CompetitionView
from webapp.http import lookups, responses
from webapp.http.api import blueprint, ending, operation
from webapp.http.context import competition_of, reading
from webapp.http.fields import Asked

TAG = "competitions"


@blueprint.get("/competitions")
@operation(Scope.READ, answers=CompetitionList, tag=TAG, spans=True)
def competition_list(query: Asked) -> CompetitionList:
    """List the competitions, newest first."""
    with reading() as session:
        now = db.now(session)
        competitions = lookups.listed_slice(session, part=query.part)
        lines = [answers.line(CompetitionView(competition, now)) for competition in competitions.rows]
    return CompetitionList(competitions=lines, **ending(competitions))


@blueprint.get("/competitions/<slug>")
@operation(Scope.READ, answers=CompetitionDetails, tag=TAG)
def competition(slug: str) -> CompetitionDetails:
    """Return a competition with its rules, limits and scoring."""
    with reading() as session:
        return answers.details(CompetitionView(competition_of(session, slug), db.now(session)))


@blueprint.get("/competitions/<slug>/pages")
@operation(None, answers=CompetitionPages, tag=TAG)
def competition_pages(slug: str) -> CompetitionPages:
    """Return the texts of a competition's pages, in Markdown, and its announcements."""
    with reading() as session:
        competition = competition_of(session, slug)
        posted = announcements.shown(session, competition=competition)
    return CompetitionPages.of(
        competition,
        data=competition.data_description,
        announcements=[PostedText.model_validate(each) for each in posted],
    )


@blueprint.get("/competitions/<slug>/data")
@operation(Scope.READ, answers=DataFileList, tag=TAG)
def data_file_list(slug: str) -> DataFileList:
    """List the data files that the user may download now."""
    with reading() as session:
        files = downloads.all_data_files(session, competition_of(session, slug))
    return DataFileList(files=[answers.data_file(each) for each in files], next=None)


@blueprint.get("/competitions/<slug>/data/<name>")
@operation(Scope.READ, tag=TAG, answers_file=responses.BINARY)
def data_file(slug: str, name: str) -> Response:
    """Download a data file or a range of it."""
    return downloads.send_data_file(slug, name)


@blueprint.get("/competitions/<slug>/sample-submission")
@operation(None, tag=TAG, answers_file="text/csv")
def sample_submission(slug: str) -> Response:
    """Download the sample submission, ordered by id."""
    return pages.sample_submission(slug)


@blueprint.get("/competitions/<slug>/solution")
@operation(None, tag=TAG, answers_file="text/csv")
def published_solution(slug: str) -> Response:
    """Download the solution in its canonical form, once it is published."""
    return downloads.solution(slug)


@blueprint.get("/competitions/<slug>/solution-nonce")
@operation(None, tag=TAG, answers_file="text/plain")
def published_nonce(slug: str) -> Response:
    """Download the nonce of the commitment to the published solution."""
    return downloads.nonce(slug)
