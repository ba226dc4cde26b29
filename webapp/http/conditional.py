"""HTTP caching: ETag and 304 Not Modified."""

import re
from typing import cast

from flask import Response, g, make_response, request
from flask.typing import ResponseReturnValue


def conditional(answer: ResponseReturnValue) -> Response:
    """Give an answer an ETag of its content, or say that the asker has it already.

    The ETag begins with `g.version` if the view has set it, for the `If-Match` of a later change.
    """
    response = make_response(answer)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Authorization")
    response.add_etag()
    if version := g.get("version"):
        response.set_etag(f"{version}.{response.get_etag()[0]}")
    return cast(Response, response.make_conditional(request))


def expected_versions() -> set[str] | None:
    """Return the versions that the request's `If-Match` names, None if it names none or accepts any."""
    if not request.if_match or request.if_match.star_tag:
        return None
    tags = re.findall(r'"([^"]*)"', request.headers["If-Match"])
    return {re.split(r"[.:]", tag, maxsplit=1)[0] for tag in tags}
