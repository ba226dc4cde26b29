"""Confirmation page before an action that cannot be undone or has side effects.

The answer is bound to what was shown. Where that is no longer so when the answer comes, it is asked again.
"""

import hashlib
from dataclasses import dataclass

from flask import Flask, Response, jsonify, render_template, request
from flask.typing import ResponseReturnValue

from webapp.http import context
from webapp.http.errors import wants_json

FIELD = "confirmed"
CHANGE = "change"
STATUS = 409
_NOT_KEPT = frozenset({FIELD, CHANGE, "csrf_token"})


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: the act as a question, what it does in sentences, the words of the button, the way back.

    The answer is bound to `state`, by default the sentences. What `is_final` cannot be undone. `links` are
    words and addresses of what to look at or do first. Where `can_change`, a button leads back to the form
    with what was entered: the page looks for it with `wants_to_change`.
    """

    heading: str
    sentences: tuple[str, ...]
    button: str
    back: str
    state: str = ""
    is_final: bool = False
    links: tuple[tuple[str, str], ...] = ()
    can_change: bool = False

    @property
    def token(self) -> str:
        """What the form of the page sends back: it fits this act and this state alone."""
        parts = (request.path, self.heading, self.state or self.sentences)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


class Unconfirmed(Exception):
    """An act that waits for a confirmation; raised inside a transaction, it undoes what was begun."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.heading)
        self.question = question


def confirm(question: Question) -> None:
    """Continue if this exact question was answered; otherwise ask it."""
    if request.form.get(FIELD) != question.token:
        raise Unconfirmed(question)


def wants_to_change() -> bool:
    """Return whether the answer was to change what was entered."""
    return CHANGE in request.form


def init_app(app: Flask) -> None:
    """Answer every act that waits for a confirmation with its question."""
    app.register_error_handler(Unconfirmed, _ask)


def _ask(unconfirmed: Unconfirmed) -> ResponseReturnValue:
    question = unconfirmed.question
    if wants_json():
        return _json(question), STATUS
    context.identify()
    kept = [(name, value) for name, value in request.form.items(multi=True) if name not in _NOT_KEPT]
    page = render_template(
        "confirm.html",
        question=question,
        kept=kept,
        field=FIELD,
        change=CHANGE,
        is_asked_again=FIELD in request.form,
    )
    return page, STATUS


def _json(question: Question) -> Response:
    message = " ".join((question.heading, *question.sentences))
    return jsonify({"code": STATUS, "error": "unconfirmed", "message": message, FIELD: question.token})
