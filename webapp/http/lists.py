"""Lists of the API: the address of the next part of one, by a cursor."""

from typing import Any, cast

from flask import request, url_for

from grader.services.paging import Slice


def ending(found: Slice[Any]) -> dict[str, Any]:
    """Return the fields with which the answer about a part of a list ends."""
    return {"page_size": found.size, "next": _following(found)}


def _following(found: Slice[Any]) -> str | None:
    """Return the address of the next part of the list that this request asks for, None at the end."""
    if found.following is None:
        return None
    asked = request.args.to_dict() | (request.view_args or {}) | {"cursor": str(found.following)}
    return url_for(cast(str, request.endpoint), **asked)
