"""Read models and actions, each declared once for both a page and an API operation.

A read is a function that returns one read model: the page renders it with a template, the operation returns
it as JSON. An action is a function that changes something in one transaction: the form of a page and the
operation call it with the same validated input.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from functools import cached_property, partial, wraps
from typing import Any, TypeVar, cast

from flask import Blueprint, Response, flash, g, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from pydantic import BaseModel
from werkzeug.exceptions import Forbidden

from grader import db
from grader.errors import ErrorKind, FairboardError, ParticipantError
from grader.models import Competition, Role, User
from grader.services.competitions import acting
from grader.services.competitions.acting import Act
from grader.services.identity.api_tokens import Scope
from webapp.competitions.competition_view import CompetitionView
from webapp.http import api
from webapp.http.api import body_of, operation, texts_of, validated
from webapp.http.confirmation import CHANGE, Unconfirmed
from webapp.http.context import (
    actor,
    competition_of,
    reading,
    require_login,
    require_role,
    time_of,
    writing,
)
from webapp.http.errors import headers_of, status_of, wants_json
from webapp.http.fields import FileForm, entered, is_list
from webapp.http.responses import conditional

Function = TypeVar("Function", bound=Callable[..., Any])
Model = TypeVar("Model", bound=BaseModel)
Done = str | Callable[..., Any]
# These errors are shown on the general error page, not on the page of the form.
ELSEWHERE = frozenset(
    {ErrorKind.LOGIN_NEEDED, ErrorKind.TOO_LARGE, ErrorKind.NO_ROOM, ErrorKind.NOT_YET, ErrorKind.GONE}
)


class Access(Enum):
    """Who may use an operation that is not only for a competition's organizers."""

    PUBLIC = "public"
    USER = "user"
    ADMIN = "admin"


@dataclass
class Ask:
    """A request for a read model: session, competition, time and, on pages, the error of a rejected action.

    `arguments` are the URL parameters. `is_page` is false if the model is returned as JSON. The function adds
    further values for the template to `shown`, and further data on which the ETag of the JSON depends to
    `state`.
    """

    session: Any
    arguments: Mapping[str, Any]
    find: Callable[..., Any]
    is_page: bool = False
    problem: FairboardError | None = None
    shown: dict[str, Any] = field(default_factory=dict)
    state: Any = None

    @property
    def user(self) -> User:
        """The current user; None for a visitor of a public page."""
        user: User = g.user
        return user

    @cached_property
    def competition(self) -> Competition:
        """The competition of the URL; raises UnknownCompetition, also for other users' drafts."""
        competition: Competition = self.find(self.session, **self.arguments)
        return competition

    @cached_property
    def now(self) -> datetime:
        """The time by the database's clock."""
        return time_of(self.session)

    @cached_property
    def competition_view(self) -> CompetitionView:
        """The competition as the templates show it."""
        return CompetitionView(self.competition, self.now)


def _of_slug(session: Any, slug: str | None = None, **_: Any) -> Competition | None:
    return None if slug is None else competition_of(session, slug)


@dataclass(frozen=True)
class Surface:
    """Reads and acts with the same blueprint, documentation tag and audience.

    `role` may read and `acts` may act; `scope` overrides the scope of a token that the role implies. `api` is
    the URL prefix of the operations if it differs from that of the pages. `find` returns, and may lock, the
    competition of the URL parameters, or None without one. `unchanged` raises an error if what the
    user has read has changed since. With `spans`, tokens bound to one competition are accepted although the
    URL contains none. Without `has_operations`, acts are only forms of pages. Variants for single
    declarations are made with `dataclasses.replace`.
    """

    pages: Blueprint
    tag: str
    role: Role | Access
    acts: Role | Access | None = None
    scope: Scope | None = None
    api: str | None = None
    find: Callable[..., Any] = _of_slug
    unchanged: Callable[..., None] | None = None
    spans: bool = False
    has_operations: bool = True

    def read(
        self,
        path: str,
        model: type[BaseModel] | None,
        *,
        endpoint: str = "",
        page: str = "",
        api_path: str | None = None,
        file: str = "",
    ) -> "Callable[[Callable[..., Any]], Read]":
        """Register a function as a page with a template, if any, and as the operation with its name.

        The function receives the `Ask`, the validated `query` if it has this parameter, and the URL
        parameters except `slug`. A page without operation has no `model`; its function returns the values for
        its template. A page without template returns the model as JSON. `api_path` is the operation's path if
        it differs. A download returns a response with the media type `file`, for both the page and the
        operation.
        """

        def register(run: Callable[..., Any]) -> Read:
            rule = f"{self.pages.url_prefix or ''}{path}"
            declared = Read(self, run, model, rule, f"{self.pages.name}.{endpoint}", page)
            if endpoint:
                self.pages.add_url_rule(path, endpoint, wraps(run)(partial(declared.page)), methods=["GET"])
            if model is not None or file:
                api_rule = self._address(path if api_path is None else api_path)
                api.blueprint.add_url_rule(api_rule, run.__name__, declared.operation(file), methods=["GET"])
            return declared

        return register

    def act(
        self,
        path: str,
        *,
        back: "Read",
        form: str = "",
        done: Done = "",
        method: str = "POST",
        answers: type[BaseModel] | None = None,
        status: int = 200,
        before: Callable[..., Any] | None = None,
    ) -> Callable[[Function], Function]:
        """Register a function as the page's form with the endpoint `form`, if any, and as an operation.

        The function receives the `Act`, the validated input `sent` if it has this parameter, and the URL
        parameters except `slug`. An error is shown on the page `back`, and a success leads there with the
        message `done`: a text, or a function of the outcome and the URL parameters, including `slug`, that
        returns a text, a text and another URL, values for the page, which is then shown at once, or a
        response. Without `done`, the message is the outcome if it is a text. The
        operation answers with the outcome, as `answers`; without an outcome, with the read model of `back`;
        with status 204, with nothing. `before` runs before the transaction, such as to store a file; the
        function receives its result, if any, as `prepared`.
        """

        def register(run: Function) -> Function:
            declared = _Declared(self, run, back, done, answers or back.model, status, before)
            if form:
                rule = path if method in ("POST", "PUT") else f"{path}/{form.replace('_', '-')}"
                view = wraps(run)(partial(declared.form))
                self.pages.add_url_rule(rule, form, view, methods=["POST"])
            if self.has_operations:
                api.blueprint.add_url_rule(
                    self._address(path), run.__name__, declared.operation(), methods=[method]
                )
            return run

        return register

    def needed_scope(self, role: Role | Access, *, usual: Scope) -> Scope | None:
        """Return the scope that a token needs for an operation, `usual` for those of users."""
        if isinstance(role, Role):
            return self.scope or Scope.ORGANIZE
        return self.scope or {Access.PUBLIC: None, Access.USER: usual, Access.ADMIN: Scope.ADMIN}[role]

    def _address(self, path: str) -> str:
        return f"{self.pages.url_prefix or '' if self.api is None else self.api}{path}"


@dataclass(frozen=True)
class Read:
    """A declared read; calling it runs its function."""

    surface: Surface
    run: Callable[..., Any]
    model: type[BaseModel] | None
    rule: str
    endpoint: str
    template: str

    def __call__(self, ask: Ask, **arguments: Any) -> Any:
        """Return the read model."""
        model = self.run(ask, **arguments)
        if "slug" in ask.arguments:
            _ = ask.competition  # denies a draft even if the function has not read the competition
        return model

    def url(self, **arguments: Any) -> str:
        """Return the URL of the page for an act's URL parameters."""
        return url_for(self.endpoint, **self.taken(arguments))

    def taken(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the URL parameters of this read among those of an act."""
        return {name: value for name, value in arguments.items() if f"{name}>" in self.rule}

    def page(
        self, problem: FairboardError | None = None, shown: Mapping[str, Any] | None = None, **arguments: Any
    ) -> str | Response:
        """Return the page; `shown` are further values for its template."""
        if self.surface.role is not Access.PUBLIC:
            require_login()
        with reading() as session:
            can_be_json = problem is None and request.method == "GET" and self.model is not None
            is_json = not self.template or (can_be_json and wants_json())
            ask = self._ask(session, arguments, is_page=not is_json, problem=problem, shown=dict(shown or {}))
            query = {} if self.query is None else {"query": query_of(self.query)}
            made = self(ask, **_others(ask.arguments), **query)
            if isinstance(made, Response):
                return made
            if is_json:
                return _json(made, ask)
            values = {
                "page": made,
                "query": query.get("query"),
                "etag": lambda: f'"{_etag(made, ask)}"',
                "problem": problem,
                "problems": getattr(problem, "problems", [problem.message]) if problem is not None else [],
                "form": request.form,
                **({"competition": ask.competition_view} if "slug" in ask.arguments else {}),
                **(made if isinstance(made, Mapping) else {}),
                **ask.shown,
                **(shown or {}),
            }
            return render_template(self.template, **values)

    def refused(self, error: FairboardError, **arguments: Any) -> ResponseReturnValue:
        """Return the page with the error of an act."""
        g.error_name = error.public_name
        return self.page(error, **arguments), status_of(error), headers_of(error)

    @property
    def query(self) -> type[BaseModel] | None:
        """The model of the query."""
        query: type[BaseModel] | None = self.run.__annotations__.get("query")
        return query

    def operation(self, file: str = "") -> Callable[..., Any]:
        """Return the view of the operation."""
        role, query = self.surface.role, self.query

        @wraps(self.run)
        def view(**arguments: Any) -> Any:
            with reading() as session:
                ask = self._ask(session, arguments)
                asked = {} if query is None else {"query": validated(query, texts_of(query, request.args))}
                return self(ask, **_others(arguments), **asked)

        return operation(
            self.surface.needed_scope(role, usual=Scope.READ),
            answers=self.model,
            tag=self.surface.tag,
            spans=self.surface.spans,
            query=query,
            answers_file=file or None,
        )(view)

    def _ask(self, session: Any, arguments: Mapping[str, Any], **options: Any) -> Ask:
        """Check the role, and return the request for the read model."""
        _require_role(session, self.surface.role, arguments)
        return Ask(session, self.taken(arguments), self.surface.find, **options)


def _etag(made: Any, ask: Ask) -> str:
    body = made.model_dump_json(exclude_unset=True)
    return hashlib.sha256(f"{body} {ask.state!r}".encode()).hexdigest()[:32]


def _json(made: Any, ask: Ask) -> Response:
    """Return a read model as JSON, with an ETag for a page that polls it."""
    response = Response(made.model_dump_json(exclude_unset=True) + "\n", mimetype="application/json")
    response.set_etag(_etag(made, ask))
    response.vary.add("Accept")
    return conditional(response)


@dataclass(frozen=True)
class _Declared:
    """A declared act."""

    surface: Surface
    run: Callable[..., Any]
    back: Read
    done: Done
    answers: type[BaseModel] | None
    status: int
    before: Callable[..., Any] | None

    @property
    def takes(self) -> type[BaseModel] | None:
        """The model of the input."""
        taken: type[BaseModel] | None = self.run.__annotations__.get("sent")
        return taken

    @property
    def role(self) -> Role | Access:
        """The role that may act."""
        return self.surface.acts or self.surface.role

    def form(self, **arguments: Any) -> ResponseReturnValue:
        """Act for the page's form, and redirect to the page or show it with the error."""
        if CHANGE in request.form or request.form.get("act") == "preview":
            return self.back.page(**arguments)
        try:
            outcome = self._act(arguments)
        except FairboardError as error:
            if not self._is_shown(error):
                raise
            try:
                return self.back.refused(error, **arguments)
            except FairboardError:  # The page itself cannot be shown, such as that of a missing object.
                raise error from None
        done = self.done(outcome, **arguments) if callable(self.done) else self.done
        if not done and isinstance(outcome, str):
            done = outcome
        if isinstance(done, Mapping):
            return self.back.page(shown=done, **arguments), 200 if self.status == 204 else self.status
        if isinstance(done, Response):
            return done
        message, target = (done, self.back.url(**arguments)) if isinstance(done, str) else done
        if message:
            flash(message)
        if self.takes is not None and issubclass(self.takes, FileForm) and wants_json():
            return {"location": target}, 201, {"Location": target}  # the page's script opens it
        return redirect(target, 303)

    def operation(self) -> Callable[..., Any]:
        """Return the view of the operation."""

        @wraps(self.run)
        def view(**arguments: Any) -> Any:
            return self._act(arguments, is_operation=True)

        return operation(
            self.surface.needed_scope(self.role, usual=Scope.SUBMIT),
            answers=None if self.status == 204 else self.answers,
            status=self.status,
            tag=self.surface.tag,
            spans=self.surface.spans,
            takes=self.takes,
            checks_version=self.surface.unchanged is not None,
        )(view)

    def _act(self, arguments: dict[str, Any], *, is_operation: bool = False) -> Any:
        """Act in one transaction, which identifies the user and checks the role again."""
        require_login()
        others, further = _others(arguments), dict[str, Any]()
        if self.before is not None:
            with reading() as session:
                _require_role(session, self.role, arguments)
            if (prepared := self.before(**arguments)) is not None:
                further["prepared"] = prepared
        g.after_commit, g.back = [], partial(self.back.url, **arguments)
        with writing() as session:
            _require_role(session, self.role, arguments)
            competition = self.surface.find(session, **arguments)
            if competition is None:
                act = acting.of_site(session, actor(), db.now(session))
            else:
                act = acting.begin(session, competition=competition, actor=actor())
            if self.surface.unchanged is not None:
                self.surface.unchanged(act, **others)
            if self.takes is not None:
                further["sent"] = self._sent(self.takes, act, others, is_operation=is_operation)
            outcome = self.run(act, **further, **others)
            answered = self._answer(act, outcome, arguments) if is_operation else outcome
        for after in g.after_commit:
            after()
        return answered

    @staticmethod
    def _sent(takes: type[BaseModel], act: Act, others: dict[str, Any], *, is_operation: bool) -> BaseModel:
        """Return the input; a model whose fields are named otherwise in the form has a function `of_form`."""
        if is_operation and not issubclass(takes, FileForm):
            g.sent = validated(takes, body_of(takes))
            return cast(BaseModel, g.sent)
        of_form = getattr(takes, "of_form", None)
        return validated(takes, entered(takes) if of_form is None else of_form(act, **others))

    def _answer(self, act: Act, outcome: Any, arguments: dict[str, Any]) -> Any:
        """Return the operation's response."""
        if self.status == 204:
            return "", 204
        if outcome is None:
            ask = Ask(act.session, self.back.taken(arguments), self.surface.find)
            ask.competition, ask.now = act.competition, act.now
            outcome = self.back(ask, **_others(ask.arguments))
        elif not isinstance(outcome, BaseModel) and self.answers is not None:
            outcome = self.answers.model_validate(outcome)
        url = getattr(outcome, "url", None)
        return outcome, self.status, {"Location": url} if url and self.status in (201, 202) else {}

    def _is_shown(self, error: FairboardError) -> bool:
        """Return whether the page shows an error; organizers' errors are hidden from others."""
        if isinstance(error, Unconfirmed) or error.kind in ELSEWHERE or wants_json():
            return False
        return isinstance(error, ParticipantError) or g.get("organizer_role") is not None


def after_commit(do: Callable[..., Any], *arguments: Any) -> None:
    """Call a function when the transaction of the current act is committed."""
    g.after_commit.append(lambda: do(*arguments))


def start_of_list() -> str | None:
    """Return the URL of the requested list without its `cursor`, or None at its start."""
    if "cursor" not in request.args:
        return None
    asked = {**request.args.to_dict(), **(request.view_args or {})}
    return url_for(str(request.endpoint), **{name: asked[name] for name in asked if name != "cursor"})


def _require_role(session: Any, role: Role | Access, arguments: Mapping[str, Any]) -> None:
    """Raise an error for a user without the role."""
    if isinstance(role, Role):
        require_role(session, str(arguments.get("slug")), role)
    elif role is Access.ADMIN and not g.user.is_admin:
        raise Forbidden


def _others(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name != "slug"}


def query_of(model: type[Model]) -> Model:
    """Return the query of a page: other and empty parameters are ignored, as forms send all of theirs."""
    sent = {
        name: request.args.getlist(name) if is_list(each.annotation) else request.args[name]
        for name, each in model.model_fields.items()
        if request.args.get(name)
    }
    return validated(model, sent)
