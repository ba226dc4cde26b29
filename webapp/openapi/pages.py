"""The API's description for programs (OpenAPI 3.1), and as a page for people."""

from typing import Any

from flask import Blueprint, current_app, render_template
from flask.typing import ResponseReturnValue

from grader.prose import markdown
from webapp.http.conditional import conditional
from webapp.openapi.document import METHODS, SCOPES, document

blueprint = Blueprint("openapi", __name__)
KEPT = "fairboard_openapi"


@blueprint.get("/api/openapi.json")
def description() -> ResponseReturnValue:
    """Return the OpenAPI document."""
    return conditional(_document())


@blueprint.get("/api")
def show() -> ResponseReturnValue:
    """Show the description of the API as a page."""
    described = _document()
    families: dict[str, list[dict[str, Any]]] = {tag["name"]: [] for tag in described["tags"]}
    for path, methods in described["paths"].items():
        for method in METHODS:
            if one := methods.get(method):
                families[one["tags"][0]].append({"path": path, "method": method.upper(), **one})
    return render_template(
        "openapi/show.html",
        introduction=markdown.render(described["info"]["description"]),
        markdown=markdown.render,
        families=families,
        scopes=SCOPES,
        schemas=described["components"]["schemas"],
    )


def _document() -> dict[str, Any]:
    """Return the document, which is made once for each process."""
    extensions = current_app.extensions
    if KEPT not in extensions:
        extensions[KEPT] = document()
    return extensions[KEPT]  # type: ignore[no-any-return]
