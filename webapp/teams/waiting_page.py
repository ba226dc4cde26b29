"""Page of what waits for the person's answer, in all competitions."""

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue

from webapp.http import auth, waiting

blueprint = Blueprint("waiting", __name__, url_prefix="/waiting")


@blueprint.get("")
@auth.login_required
def index() -> ResponseReturnValue:
    """List what waits, each with a link to where it is answered."""
    return render_template("teams/waiting.html", items=waiting.items())
