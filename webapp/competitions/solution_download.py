"""Download of a published solution, and the nonce of its commitment."""

from flask import Blueprint, Response, send_file

from grader.services.solutions import publication
from grader.services.solutions.publication import SolutionNotWritten
from grader.storage import BlobMissing
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
    answer = Response(f"{found}\n", mimetype="text/plain")
    answer.headers.set("Content-Disposition", "attachment", filename="solution-nonce.txt")
    return answer
