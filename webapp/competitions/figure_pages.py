"""Figures of a competition's texts, for everybody who may see the competition."""

from flask import Blueprint, Response, send_file

from grader.services.figures import figures
from webapp.http import lookups
from webapp.http.site import current_site

blueprint = Blueprint("figures", __name__)
KEPT_SECONDS = 86_400  # by the browser of whoever saw it: other bytes get another address


@blueprint.get("/competitions/<slug>/figures/<name>")
def show(slug: str, name: str) -> Response:
    """Send a figure as what it was checked to be."""
    site = current_site()
    with site.database.read() as session:
        competition = lookups.competition_of(session, slug)
        figure = figures.get(session, competition=competition, name=name)
    answer = send_file(site.storage.open(figure.sha256), mimetype=figure.media_type, etag=figure.sha256)
    answer.cache_control.private, answer.cache_control.max_age = True, KEPT_SECONDS
    return answer
