"""Download of a published solution, the nonce of its commitment, and the list of its canary rows."""

from flask import Blueprint, Response, send_file

from grader.services.solutions import publication
from grader.services.solutions.publication import SolutionNotWritten
from grader.storage.stores import BlobMissing
from webapp.http import lookups
from webapp.http.site import current_site

blueprint = Blueprint("competition_solution", __name__, url_prefix="/competitions/<slug>")


@blueprint.get("/data/solution.csv")
def download(slug: str) -> Response:
    """Download the published solution in its canonical form."""
    site = current_site()
    with site.database.read() as session:
        digest = publication.digest(lookups.competition_of(session, slug))
    try:
        stream = site.storage.open(digest)
    except BlobMissing as error:
        raise SolutionNotWritten from error
    return send_file(
        stream, mimetype="text/csv", as_attachment=True, download_name="solution.csv", etag=digest
    )


@blueprint.get("/data/solution-nonce.txt")
def nonce(slug: str) -> Response:
    """Download the nonce with which every receipt has committed to the published solution."""
    with current_site().database.read() as session:
        found = publication.nonce(lookups.competition_of(session, slug))
    return _attached(f"{found}\n", "text/plain", "solution-nonce.txt")


@blueprint.get("/data/solution-canaries.csv")
def canaries(slug: str) -> Response:
    """Download the list of the canary rows: the altered labels, and the true ones."""
    with current_site().database.read() as session:
        found = publication.canaries(lookups.competition_of(session, slug))
    return _attached(found, "text/csv", "solution-canaries.csv")


def _attached(text: str, media_type: str, name: str) -> Response:
    answer = Response(text, mimetype=media_type)
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    return answer
