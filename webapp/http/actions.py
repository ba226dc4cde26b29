"""Actions, each declared once for both a page form and an API operation.

An action runs in one transaction, which identifies the user, locks the competition and checks the role. Its
function receives the `Act`, the input and the URL parameters. The same model validates the input of both.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, flash, g, redirect, request
from flask.typing import ResponseReturnValue
from pydantic import BaseModel, ValidationError

from grader.errors import ErrorKind, FairboardError, OrganizerRefusal, Refusal
from grader.models import Competition, Role
from grader.services.competitions import acting
from grader.services.competitions.acting import Act
from grader.services.identity.api_tokens import Scope
from webapp.http import api, auth, context
from webapp.http.api import UnreadableFields, operation
from webapp.http.auth import organizers_only
from webapp.http.confirmation import wants_to_change
from webapp.http.context import actor, competition_of, require_role, writing
from webapp.http.errors import headers_of, status_of, wants_json
from webapp.http.fields import FileForm, Sent
from webapp.presentation.form_fields import entered

Action = Callable[..., Any]
OWN_PAGE = (ErrorKind.LOGIN_NEEDED, ErrorKind.NOT_FOUND)


@dataclass(frozen=True, slots=True)
class Family:
    """Actions with the same page and the same kind of response.

    `show` renders the page, with an error as `problem`. `home` returns the URL to which a successful form
    redirects. Both receive the action's URL parameters. `answer` returns the API response; with status 204,
    the response is empty. Actions for organizers have the required `role`. `api` is the URL prefix of the
    operations if it differs from that of the pages.
    """

    pages: Blueprint
    tag: str
    refusals: tuple[type[FairboardError], ...]
    show: Callable[..., str]
    home: Callable[..., str]
    answers: type[BaseModel] | None = None
    answer: Callable[..., Any] = lambda _act, _outcome, **_: ""
    role: Role | None = None
    api: str | None = None

    def action(
        self,
        path: str,
        *,
        page: str | None = None,
        done: str | Mapping[str, str] | Callable[..., str] = "",
        method: str = "POST",
        page_path: str | None = None,
        form: Callable[..., Mapping[str, Any] | BaseModel] | None = None,
        checks_version: Callable[..., None] | None = None,
        before: Callable[..., Any] | None = None,
        find: Callable[[Any, str], Competition] = competition_of,
        home: Callable[..., str] | None = None,
        shown: Callable[..., ResponseReturnValue] | None = None,
        answers: type[BaseModel] | None = None,
        answer: Callable[..., Any] | None = None,
        status: int = 200,
        after: Callable[[Act, Any], None] = lambda _act, _outcome: None,
        **described: Any,
    ) -> Callable[[Action], Action]:
        """Register a function as the form `page`, if any, and as the operation with the function's name.

        `done` is the success message: a text, a text for each `verb` of the URL, or a function of the outcome
        and the URL parameters. `page_path` is the form's path if it differs from the operation's. `form`
        reads the input if the form's field names differ; it receives the `Act` and the URL parameters.
        `checks_version` raises an error if what the user has read has changed since. `before` runs before
        the transaction with the URL parameters, such as to store a file; the action receives its result, if
        any, as `prepared`. `find` returns the competition to which a form or an organizer's request belongs.
        `shown` and `answer` create the responses of an action whose outcome is shown. `after` runs after the
        commit. `home` overrides the family's redirect.
        """

        def register(run: Action) -> Action:
            takes = run.__annotations__.get("sent")
            is_upload = takes is not None and issubclass(takes, FileForm)
            body, file = (None, takes) if is_upload else (takes, None)
            if page is not None:
                rule = self._form(
                    run, takes, form, checks_version, before, done, home or self.home, shown, find, after
                )
                if before is None:
                    context.ACTIONS.add(f"{self.pages.name}.{page}")
                elif self.role is not None:
                    rule = organizers_only(self.role)(rule)
                self.pages.add_url_rule(page_path or path, page, rule, methods=["POST"])
            found = competition_of if self.role is None else find
            view = self._view(run, takes, checks_version, before, answer or self.answer, status, found, after)
            scope = Scope.SUBMIT if self.role is None else Scope.ORGANIZE
            model = None if status == 204 else answers or self.answers
            described_view = operation(
                scope,
                answers=model,
                status=status,
                tag=self.tag,
                takes=body,
                takes_file=file,
                checks_version=checks_version is not None,
                **described,
            )(view)
            if self.role is not None:
                described_view = organizers_only(self.role)(described_view)
            address = f"{self.pages.url_prefix if self.api is None else self.api}{path}"
            api.blueprint.add_url_rule(address, run.__name__, described_view, methods=[method])
            return run

        return register

    def _form(
        self,
        run: Action,
        takes: type[Sent] | None,
        read: Callable[..., Mapping[str, Any] | BaseModel] | None,
        checks_version: Callable[..., None] | None,
        before: Callable[..., Any] | None,
        done: str | Mapping[str, str] | Callable[..., str],
        home: Callable[..., str],
        shown: Callable[..., ResponseReturnValue] | None,
        find: Callable[[Any, str], Competition],
        after: Callable[[Act, Any], None],
    ) -> Callable[..., ResponseReturnValue]:
        def form(slug: str, **given: Any) -> ResponseReturnValue:
            if not context.has_login():
                return auth.ask_to_log_in()
            if self.role is not None and (wants_to_change() or request.form.get("act") == "preview"):
                context.identify()
                return organizers_only(self.role)(self.show)(slug=slug, problem=None, **given)
            try:
                prepared = _prepared(before, slug=slug, **given)
                with writing() as session:
                    if g.user is None:
                        return auth.ask_to_log_in()
                    competition = find(session, slug)
                    if self.role is not None:
                        require_role(session, slug, self.role)
                    act = acting.begin(session, competition=competition, actor=actor())
                    if checks_version is not None:
                        checks_version(act, **given)
                    sent = {}
                    if takes is not None:
                        sent["sent"] = _validated(takes, read(act, **given) if read else entered(takes))
                    outcome = run(act, **sent, **prepared, **given)
            except FairboardError as error:
                if wants_json() or not self._explains(error):
                    raise
                return self.show(slug=slug, problem=error, **given), status_of(error), headers_of(error)
            after(act, outcome)
            if shown is not None:
                return shown(outcome, slug=slug, **given)
            if callable(done):
                flash(done(outcome, **given))
            else:
                flash(done if isinstance(done, str) else done[given["verb"]])
            target = home(slug=slug, **given)
            if takes is not None and issubclass(takes, FileForm) and wants_json():
                return {"location": target}, 201, {"Location": target}  # the page's script opens it
            return redirect(target, 303)

        form.__module__ = run.__module__
        return form

    def _explains(self, error: FairboardError) -> bool:
        """Return whether the family's page shows the error."""
        if isinstance(error, (*self.refusals, UnreadableFields)):
            return True
        if self.role is None:
            return isinstance(error, Refusal) and error.kind not in OWN_PAGE
        return isinstance(error, Refusal | OrganizerRefusal) and error.kind not in (
            *OWN_PAGE,
            ErrorKind.FORBIDDEN,
        )

    def _view(
        self,
        run: Action,
        takes: type[Sent] | None,
        checks_version: Callable[..., None] | None,
        before: Callable[..., Any] | None,
        answer: Callable[..., Any],
        status: int,
        find: Callable[[Any, str], Competition],
        after: Callable[[Act, Any], None],
    ) -> Callable[..., Any]:
        def view(slug: str, **given: Any) -> Any:
            sent = {} if takes is None else {"sent": _body(takes)}
            prepared = _prepared(before, slug=slug, **given)
            with writing() as session:
                act = acting.begin(session, competition=find(session, slug), actor=actor())
                if checks_version is not None:
                    checks_version(act, **given)
                outcome = run(act, **sent, **prepared, **given)
                answered = "" if status == 204 else answer(act, outcome, **given)
            after(act, outcome)
            return answered if isinstance(answered, tuple) else (answered, status)

        view.__name__, view.__doc__, view.__module__ = run.__name__, run.__doc__, run.__module__
        return view


def _prepared(before: Callable[..., Any] | None, **given: Any) -> dict[str, Any]:
    found = None if before is None else before(**given)
    return {} if found is None else {"prepared": found}


def _body(takes: type[Sent]) -> Sent:
    """Return the input of an operation."""
    if issubclass(takes, FileForm):
        return _validated(takes, entered(takes))
    sent: Sent = g.sent
    return sent


def _validated(takes: type[Sent], fields: Mapping[str, Any] | BaseModel) -> Sent:
    """Return the input of a form; raise UnreadableFields."""
    try:
        return takes.model_validate(fields)
    except ValidationError as error:
        raise UnreadableFields(error) from None


def sentences(problem: FairboardError | None) -> list[str]:
    """Return the messages of an error that a page shows."""
    return [] if problem is None else list(getattr(problem, "problems", (problem.message,)))
