"""Answer, before a large upload is received, whether it is allowed and how large it may be."""

from flask import Flask, current_app, request
from flask.typing import ResponseReturnValue

from webapp.server.application import HEAD, Head


def init_app(app: Flask) -> None:
    """Answer such questions after who asks and what they may send is known, and before a body is read."""
    app.before_request(answer)


def answer() -> ResponseReturnValue | None:
    """Set how large the body may be, or answer as the request would be answered; no view is called."""
    head: Head | None = request.environ.get(HEAD)
    if head is None:
        return None
    if request.routing_exception is not None:
        raise request.routing_exception
    for name in request.blueprints:
        for check in current_app.before_request_funcs.get(name, ()):
            refusal: ResponseReturnValue | None = current_app.ensure_sync(check)()
            if refusal is not None:
                return refusal
    head.limit_bytes = request.max_content_length
    return "", 204


def receiving_bytes() -> int:
    """Return how much the bodies that this process is receiving may still write to the disk."""
    head: Head | None = request.environ.get(HEAD)
    return head.receiving_bytes if head is not None else 0
