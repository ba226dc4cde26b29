"""Difference page: scores, ranks and top teams in two scoring versions, with a CSV file."""

from collections.abc import Iterator
from typing import Any

from flask import Response, render_template, stream_with_context
from flask.typing import ResponseReturnValue

from grader import db
from grader.models import Competition, Role, ScoringVersion
from grader.services.competitions import lookup
from grader.services.rescoring import difference as rescoring_difference
from grader.services.rescoring.difference import Changes, Compared, Preview
from webapp.competitions.views import CompetitionView
from webapp.http import lookups
from webapp.http.auth import organizers_only
from webapp.http.context import reading
from webapp.http.site import current_site
from webapp.organizers.rescoring.pages import blueprint
from webapp.organizers.rescoring.views import DifferenceView, movement


@blueprint.get("/<int:number>/difference")
@organizers_only(Role.VIEWER)
def difference(slug: str, number: int) -> ResponseReturnValue:
    """Show the changes that a version makes to the leaderboards, before and after its publication."""
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        versions = compared(session, competition, version)
        found = _preview(session, competition, versions)
        view = CompetitionView(competition, db.now(session))
    return render_template(
        "rescoring/difference.html",
        competition=view,
        scoring_version=version,
        difference=DifferenceView(found),
        movement=movement,
        changes=version.solution.report.get("changes") if versions.after is version else None,
    )


@blueprint.get("/<int:number>/submissions.csv")
@organizers_only(Role.VIEWER)
def table(slug: str, number: int) -> ResponseReturnValue:
    """Send the scores of all submissions under both versions as CSV."""
    return send_table(slug, number)


def send_table(slug: str, number: int) -> Response:
    """Stream the scores of all submissions; raise NothingToCompare."""
    database = current_site().database
    with reading() as session:
        competition, version = lookups.scoring_version_of(session, slug, number)
        before, after = (each.number for each in compared(session, competition, version))

    def pieces() -> Iterator[str]:
        with database.read() as session:
            competition, version = lookups.scoring_version_of(session, slug, number)
            versions = compared(session, competition, version)
            yield from rescoring_difference.submissions_csv(
                session, competition=competition, versions=versions
            )

    answer = Response(stream_with_context(pieces()), mimetype="text/csv")
    name = f"{slug}-submissions-v{before}-v{after}.csv"
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer


def _preview(session: Any, competition: Competition, versions: Compared) -> Preview:
    return current_site().differences.preview(session, competition=competition, versions=versions)


def summary(session: Any, competition: Competition, version: ScoringVersion) -> Changes | None:
    """Return a summary of the changes that making a version live would cause; None if it is live."""
    if competition.live_scoring_version_id == version.id:
        return None
    return Changes.of(_preview(session, competition, Compared(lookup.live(competition), version)))


def compared(session: Any, competition: Competition, version: ScoringVersion) -> Compared:
    """Return the versions to compare; raise NothingToCompare."""
    versions = rescoring_difference.versions_of(session, competition=competition, version=version)
    if versions is None:
        raise rescoring_difference.NothingToCompare(version=version)
    return versions
