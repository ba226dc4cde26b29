"""Request context: the user, their role, and the shared transaction.

A GET request has one read-only transaction. An action has one write transaction, which identifies the user,
checks the role and runs the action, so that an expired session or role is never used.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from flask import Flask, Response, g, request
from werkzeug.exceptions import Unauthorized

from grader import db, logs
from grader.errors import ErrorKind, ParticipantError, Refusal
from grader.models import ApiToken, Competition, CompetitionState, Login, Role
from grader.services.competitions import organizers
from grader.services.competitions.lookup import UnknownCompetition
from grader.services.competitions.organizers import Membership
from grader.services.identity import api_tokens, logins, second_factors
from grader.services.identity.api_tokens import other_competition
from grader.services.site.log import Actor
from grader.services.submissions import situation
from grader.services.submissions.situation import SentFile, Situation
from grader.services.teams import participations
from grader.storage import disk
from grader.visibility import Visibility
from webapp.http.site import current_site

# Users who must set up a second factor can only use these endpoints.
WITHOUT_FACTOR = frozenset(
    {
        *("account.log_in", "account.log_in_by_link", "account.log_out", "account.second_factor"),
        *("account.second_factors", "account.unlock_factors", "account.add_factor"),
    }
)
# With these endpoints, users join an unlisted competition, which only its participants can read.
TO_JOIN = frozenset({"entry.show", "entry.join", "api.join", "teams.invitation", "api.team_of_link"})
log = logging.getLogger(__name__)
# These endpoints are called before the client has a token, or their URL is the secret.
OPEN_CALLS = frozenset({"kaggle.introspect_token", "kaggle.receive", "kaggle.signed_file"})
# These responses are the same for everyone.
WITHOUT_USER = OPEN_CALLS | {None, "static"}
LOGIN_COOKIE = "fairboard_login"
TOKEN_BLUEPRINTS = frozenset({"api", "kaggle"})  # clients that send a token instead of a cookie


class SecondFactorMissing(ParticipantError):
    """A request of a user who must set up a second factor first."""

    public_name = "second_factor_missing"
    kind = ErrorKind.FORBIDDEN
    message = "This site requires a second factor for your account. Set one up first."


class LoginNeeded(ParticipantError):
    """A request for a page that requires a login."""

    public_name = "login_needed"
    kind = ErrorKind.LOGIN_NEEDED
    message = "Log in first."


def init_app(app: Flask) -> None:
    """Identify the user of every request, and end its transaction when the response is complete."""
    app.before_request(_begin)
    app.after_request(_end)
    app.teardown_request(lambda _error: end_reading())


@contextmanager
def reading() -> Iterator[Any]:
    """Return the open transaction of the request, or begin a read-only one.

    A GET request keeps it, so that its whole response shows one state of the database.
    """
    if g.get("session") is None and request.method in ("GET", "HEAD"):
        g.session = g.reading = current_site().database.read()
    if g.get("session") is not None:
        yield g.session
    else:
        with current_site().database.read() as session:
            yield session


def end_reading() -> None:
    """End the transaction of a GET request before it waits, writes, or streams its response."""
    if (session := g.pop("reading", None)) is not None:
        g.session = None
        try:
            session.close()
        except Exception as error:
            if not db.is_unavailable(error):  # nothing to commit
                raise


@contextmanager
def writing() -> Iterator[Any]:
    """Open an action's write transaction, and check the user and their role again within it.

    Raises LoginNeeded or Refusal if the session or the role has ended in the meantime.
    """
    end_reading()
    with current_site().database.write() as session:
        g.session = session
        try:
            _identify_again(session)
            yield session
        finally:
            g.session = None


def time_of(session: Any) -> datetime:
    """Return the time by the database's clock, which the check of the login has read for its transaction."""
    time: datetime = session.info.get("time") or db.now(session)
    return time


def actor() -> Actor:
    """Return the user who acts in this request."""
    return Actor.of(g.user)


def require_login() -> None:
    """Raise LoginNeeded for a visitor without a login."""
    if g.user is None:
        raise LoginNeeded


def competition_of(session: Any, slug: str) -> Competition:
    """Return a competition, and store the current user's role and team in it, as `show` does.

    Raises UnknownCompetition, including for other users' drafts, so that the response does not reveal them.
    """
    known: dict[str, tuple[Competition, Membership]] = session.info.setdefault("competitions", {})
    if slug not in known:
        known[slug] = organizers.competition_and_membership(session, slug=slug, user=g.user)
    competition, membership = known[slug]
    show(session, competition, membership)
    return competition


def show(session: Any, competition: Competition, membership: Membership) -> None:
    """Store `g.organizer_role`, `g.team_id` and `g.disqualification` of the current user in a competition.

    Raises UnknownCompetition for a draft in which the user has no role, Refusal if the token is bound to
    another competition, and LoginNeeded or Refusal for an unlisted competition that the user may not read.
    """
    role, team_id, disqualification = membership
    if competition.state is CompetitionState.DRAFT and role is None:
        raise UnknownCompetition(slug=competition.slug)
    if g.token is not None and g.token.competition_id not in (None, competition.id):
        raise other_competition(g.token)
    if request.endpoint not in TO_JOIN and not may_read(session, competition, role):
        if g.user is None:
            raise LoginNeeded
        message = "Only participants can see this competition. If you were invited, open its Join page."
        raise Refusal("not_a_participant", ErrorKind.FORBIDDEN, message)
    g.organizer_role, g.team_id, g.disqualification = role, team_id, disqualification
    logs.bind(competition=competition.id)


def may_read(session: Any, competition: Competition, role: Role | None) -> bool:
    """Return whether the current user may read a published competition."""
    is_public = competition.visibility is Visibility.PUBLIC
    takes_part = not is_public and competition.id in participations.competition_ids(session, user=g.user)
    return competition.visibility.is_readable(takes_part=takes_part, organizes=role is not None)


def situation_in(session: Any, slug: str, *, file: SentFile | None = None) -> Situation:
    """Return the current user's situation in a competition, for an upload or its form.

    Stores their role and team, as `show` does. Raises UnknownCompetition, as `competition_of` does.
    """
    state = situation.read(session, slug=slug, user=g.user, file=file)
    own = state.own_team
    team = (own.id, own.disqualification) if own else ()
    show(session, state.competition, Membership(state.role, *team))
    return state


def require_role(session: Any, slug: str, role: Role) -> Competition:
    """Return a competition; raise Refusal unless the user has this role or a higher one."""
    competition = competition_of(session, slug)
    if not organizers.reaches(g.organizer_role, role):
        raise organizers.not_organizer(role, g.organizer_role)
    return competition


def _begin() -> None:
    g.user = g.login = g.token = g.organizer_role = g.asked_at = g.session = None
    g.team_id = g.disqualification = None
    if _secret() is None:  # /livez needs no database
        return
    with reading() as session:
        _identify(session)
        session.info["time"] = g.asked_at
    used = g.token or g.login
    if used is not None and logins.needs_touch(used, now=g.asked_at):
        end_reading()
        _note_use(used, g.asked_at)


def _end(response: Response) -> Response:
    end_reading()
    return response


def _identify(session: Any) -> None:
    """Set `g.user` and `g.login` from the session cookie; in the API, use the bearer token only.

    `g.asked_at` is the database's time of the check. Raises SecondFactorMissing.
    """
    g.user = g.login = g.token = None
    secret = _secret()
    if not secret:
        return
    credential: tuple[ApiToken | Login, datetime] | None
    if request.blueprint in TOKEN_BLUEPRINTS:
        if credential := api_tokens.find(session, token=secret):
            g.token = credential[0]
    elif credential := logins.find(session, token=secret):
        g.login = credential[0]
    if credential is not None:
        g.user, g.asked_at = credential[0].user, credential[1]
        session.expunge_all()  # The values are needed after this transaction, even if it is rolled back.
    if g.login is not None and request.endpoint not in WITHOUT_FACTOR:
        required = current_site().settings.require_second_factor
        if second_factors.is_missing(session, user=g.user, required=required):
            raise SecondFactorMissing


def _identify_again(session: Any) -> None:
    was_known = g.user is not None
    if request.endpoint in OPEN_CALLS:
        return
    _identify(session)
    if was_known and g.user is None:
        raise Unauthorized if request.blueprint in TOKEN_BLUEPRINTS else LoginNeeded


def _secret() -> str | None:
    """Return the token or cookie that identifies the user; None for endpoints that need none."""
    if request.endpoint in WITHOUT_USER or request.blueprint == "health":
        return None
    if request.blueprint in TOKEN_BLUEPRINTS:
        return _sent_token()
    return request.cookies.get(current_site().cookie_name(LOGIN_COOKIE))


def _sent_token() -> str | None:
    """Return a request's API token; old versions of the kaggle command send it as a password."""
    authorization = request.authorization
    if authorization is not None and authorization.type == "basic" and request.blueprint == "kaggle":
        return authorization.password
    return authorization.token if authorization and authorization.type == "bearer" else None


def _note_use(used: ApiToken | Login, now: datetime) -> None:
    try:
        with current_site().database.write() as session:
            logins.touch(session, used=used, now=now)
    except Exception as error:
        if not (disk.is_full(error) or db.is_unavailable(error)):
            raise
        # A failed write must not break pages that only read.
        log.warning("Could not store the last use of a session or token: %s", error)
