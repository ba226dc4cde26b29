"""HTTP caching: ETag and 304 Not Modified."""

from typing import cast

from flask import Response, make_response, request
from flask.typing import ResponseReturnValue


def conditional(answer: ResponseReturnValue) -> Response:
    """Give an answer an ETag of its content, or say that the asker has it already."""
    response = make_response(answer)
    response.headers["Cache-Control"] = "private, no-cache"
    response.vary.add("Authorization")
    response.add_etag()
    return cast(Response, response.make_conditional(request))
