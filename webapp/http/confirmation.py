"""Confirmation of actions that have side effects or cannot be undone, for pages and the API.

An unconfirmed action is rejected with its question and a token. The action is confirmed by repeating the
request with the token as `confirm`. The token is bound to the reviewed state. If the state has changed in the
meantime, confirmation is requested again.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flask import Flask, g, render_template, request
from flask.typing import ResponseReturnValue

from grader.errors import ErrorKind, ParticipantError
from grader.services.site import outbox
from grader.text import counted
from webapp.http.errors import fairboard_error, status_of, wants_json
from webapp.http.site import current_site

FIELD = "confirm"
TICKED = "yes"  # the value of a checkbox that does not confirm the question itself
CHANGE = "change"
_NOT_KEPT = frozenset({FIELD, CHANGE, "csrf_token"})


@dataclass(frozen=True, slots=True)
class Question:
    """A question to confirm: heading, label of the confirmation page's button, and effects.

    The confirmation is bound to `state`, or to the sentences if `state` is empty. An action with `is_final`
    cannot be undone. With `can_change`, a button leads back to the form with the entered values. `problems`
    are the fields that need the confirmation. `template` renders the page with the further values `shown`.
    """

    heading: str
    button: str
    sentences: tuple[str, ...]
    state: str = ""
    is_final: bool = False
    can_change: bool = False
    problems: Sequence[Mapping[str, Any]] = ()
    template: str = "confirm.html"
    shown: Mapping[str, Any] = field(default_factory=dict)

    @property
    def token(self) -> str:
        """The value that confirms this action, and only in this state."""
        parts = (request.path, self.heading, self.state or self.sentences)
        return hashlib.sha256(repr(parts).encode()).hexdigest()


class Unconfirmed(ParticipantError):
    """An unconfirmed action. Raised inside a transaction, it rolls back the changes."""

    public_name = "unconfirmed"
    kind = ErrorKind.CONFLICT

    def __init__(self, question: Question) -> None:
        super().__init__(" ".join((question.heading, *question.sentences)))
        self.question = question

    @property
    def details(self) -> Mapping[str, Any]:
        """The question, and the token that confirms it."""
        asked = self.question
        question = {
            "heading": asked.heading,
            "sentences": list(asked.sentences),
            "is_final": asked.is_final,
        }
        problems = {"problems": list(asked.problems)} if asked.problems else {}
        return {"questions": [question], FIELD: asked.token, **problems}


def confirm(heading: str, button: str, *sentences: str, session: Any = None, **options: Any) -> None:
    """Raise Unconfirmed unless exactly this question was confirmed; `options` are fields of `Question`.

    With the `session` of the action, the question also states how many e-mails the action sends.
    """
    if session is not None:
        count = outbox.count_queued(session) if current_site().settings.sends_mail() else 0
        letters = f"{counted(count, 'e-mail')} will be sent." if count else "No e-mail will be sent."
        sentences = (*sentences, letters)
    question = Question(heading, button, sentences, **options)
    if _token() != question.token:
        raise Unconfirmed(question)


def _token() -> str | None:
    """Return the token of the request: a field of a page's form, or of an API operation's body."""
    if request.blueprint == "api":
        return getattr(g.get("sent"), FIELD, None)
    return request.form.get(FIELD)


def init_app(app: Flask) -> None:
    """Register the handler that shows the confirmation page of every unconfirmed action."""
    app.register_error_handler(Unconfirmed, _ask)


def _ask(unconfirmed: Unconfirmed) -> ResponseReturnValue:
    if wants_json():
        return fairboard_error(unconfirmed)
    kept = [(name, value) for name, value in request.form.items(multi=True) if name not in _NOT_KEPT]
    page = render_template(
        unconfirmed.question.template,
        **unconfirmed.question.shown,
        question=unconfirmed.question,
        back=g.back(),
        kept=kept,
        field=FIELD,
        change=CHANGE,
        is_asked_again=request.form.get(FIELD, TICKED) != TICKED,
    )
    return page, status_of(unconfirmed)
