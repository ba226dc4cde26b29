"""Confirmation pages for actions that have side effects or cannot be undone.

A confirmation is bound to the displayed state. If the state has changed in the meantime,
confirmation is requested again.
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
    """The content of a confirmation page: question, effects, button label and return URL.

    The confirmation is bound to `state`, or to the sentences if `state` is empty. An action with `is_final`
    cannot be undone. `links` are texts and URLs of related pages. With `can_change`, a button leads back to
    the form with the entered values; that page checks `wants_to_change`.
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
        """The value that confirms this action, and only in this state."""
        parts = (request.path, self.heading, self.state or self.sentences)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


class Unconfirmed(Exception):
    """An unconfirmed action. Raised inside a transaction, it rolls back the changes."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.heading)
        self.question = question


def confirm(question: Question) -> None:
    """Raise Unconfirmed unless exactly this question was confirmed."""
    if request.form.get(FIELD) != question.token:
        raise Unconfirmed(question)


def wants_to_change() -> bool:
    """Return whether the user wants to change the entered values."""
    return CHANGE in request.form


def init_app(app: Flask) -> None:
    """Register the handler that shows the confirmation page of every unconfirmed action."""
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
