"""Data page of a competition, where participants download the data files."""

from flask import Blueprint, Response, g, render_template
from flask.typing import ResponseReturnValue

from grader import db
from grader.services.data_files import archive, checks
from grader.services.data_files import files as data_files
from grader.services.teams import participations
from grader.services.teams.participations import EntryRefused
from grader.visibility import Phase
from webapp.competitions import downloads, prose
from webapp.competitions.views import CompetitionView
from webapp.http import auth, responses
from webapp.http.context import competition_of, reading
from webapp.http.site import current_site

blueprint = Blueprint("competition_data", __name__, url_prefix="/competitions/<slug>/data")


@blueprint.get("")
def show(slug: str) -> ResponseReturnValue:
    """Show the text on the data and list the files."""
    entry_fault = None
    with reading() as session:
        competition, now = competition_of(session, slug), db.now(session)
        listed = data_files.list_all(session, competition=competition)
        view = CompetitionView(competition, now)
        text = prose.stored(competition, slug, competition.data_description)
        if g.user is not None and g.organizer_role is None and view.phase is not Phase.SCHEDULED:
            try:
                participations.require_data_access(session, competition=competition, user=g.user, now=now)
            except EntryRefused as refused:
                entry_fault = refused.message
    return render_template(
        "competitions/data.html",
        competition=view,
        text=text,
        files=listed,
        are_given_out={file.name: data_files.is_given_out(competition, file) for file in listed},
        previews={file.name: checks.preview_of(file) for file in listed},
        is_given_out=g.organizer_role is not None or view.phase is not Phase.SCHEDULED,
        entry_fault=entry_fault,
    )


@blueprint.get("/all.zip")
@auth.login_required
def all_files(slug: str) -> Response:
    """Download all files that the current user may download as one zip."""
    site = current_site()
    with reading() as session:
        packed, modified = downloads.packed(session, competition_of(session, slug))
    opened = archive.opened(site.storage, site.checksums, packed)
    return responses.send(opened, name=f"{slug}.zip", etag=archive.version_of(packed), modified=modified)


@blueprint.get("/files/<name>")
@auth.login_required
def file(slug: str, name: str) -> Response:
    """Download a file: participants from the opening on and once it is checked, organizers at any time."""
    site = current_site()
    with reading() as session:
        found = downloads.data_file(session, competition_of(session, slug), name)
    return responses.send(
        site.storage.open(found.sha256), name=found.name, etag=found.sha256, modified=found.uploaded_at
    )
