"""Draw a text that an organizer is writing: the same as participants will see, and what is wrong with it."""

from flask import Blueprint, render_template, request
from flask.typing import ResponseReturnValue

from grader.models import Role
from webapp.competitions import prose
from webapp.http.context import competition_of, reading
from webapp.http.organizer_access import organizers_only

blueprint = Blueprint("organize_preview", __name__, url_prefix="/competitions/<slug>/organize/preview")


@blueprint.post("")
@organizers_only(Role.EDITOR)
def draw(slug: str) -> ResponseReturnValue:
    """Return a text as a piece of a page; nothing is stored."""
    with reading() as session:
        texts = prose.Texts.of(session, competition_of(session, slug))
    drawn = texts.preview(request.form.get("text", ""))
    return render_template("setup/preview.html", drawn=drawn)
