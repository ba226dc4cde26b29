"""Middleware: request checks, security headers, rate limits, CSRF and compression."""

import time
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from http.client import OK, PARTIAL_CONTENT, TOO_MANY_REQUESTS
from itertools import chain
from typing import Any

from flask import Flask, Request, Response, current_app, g, request
from flask.typing import ResponseReturnValue
from flask_compress import Compress
from flask_limiter import Limiter
from flask_wtf.csrf import CSRFError, CSRFProtect
from redis.exceptions import RedisError
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.middleware.proxy_fix import ProxyFix

from grader import logs
from grader.counters import HTTP_ERRORS, HTTP_REQUESTS, HTTP_SECONDS
from grader.hosts import client_address, network
from grader.maintenance.exporter import PATIENCE
from grader.settings import Settings
from grader.text import is_storable
from webapp.http import auth
from webapp.http.bodies import FairboardRequest, require_few_fields
from webapp.http.context import TOKEN_BLUEPRINTS
from webapp.http.errors import unreadable
from webapp.http.site import Site, refuse_unknown_host
from webapp.server.requests import HEAD, Head

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "form-action 'self'",
        "base-uri 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
HSTS = "max-age=31536000"
# Files are not compressed: they are streamed, and clients rely on their lengths and ranges.
TYPES = ["text/html", "text/css", "text/javascript", "application/json", "image/svg+xml"]


def address() -> str:
    """Return the client's address; for IPv6, only the prefix that is assigned to one customer."""
    return network(request.remote_addr)


def person() -> str:
    """Return the rate-limit key: the user, or a visitor's address."""
    return f"user {g.user.id}" if g.user is not None else address()


# The limit of each endpoint, and its key function. A class of 200 users behind one address must be able to
# sign up at the same time. Wrong passwords and e-mails to one address are counted in the database; see
# `login_guesses` and `mail_limits`.
RATES: dict[str, tuple[str, Callable[[], str]]] = {
    **dict.fromkeys(
        (
            *("account.sign_up", "account.sign_up_by_link", "account.sign_up_with", "account.join_class"),
            *("account.log_in_with", "account.arrive", "account.logged_out", "account.second_factor"),
            *("account.reset", "account.verify", "account.ask_for_reset", "account.set_up"),
        ),
        ("60/minute;400/hour", address),
    ),
    **dict.fromkeys(
        (
            *("account.change_password", "account.delete_account", "account.unlock_factors"),
            *("account.link_identity", "account.create_token", "api.create_token", "entry.join", "api.join"),
            "account.change_email",
        ),
        ("10/minute;60/hour", person),
    ),
    "api.check": ("30/minute;300/hour", person),
}
# These pages have no form, but send requests to identity providers.
CALLING = frozenset({"account.log_in_with", "account.arrive", "account.logged_out"})
# The kaggle command crashes if this call is rejected. Each call costs one database query.
UNLIMITED = frozenset({"kaggle.introspect_token"})
# This limit applies per user or, without a token, per address. A client may poll 15 files about once a
# second.
API_RATE = "1200/minute"


def init_app(app: Flask, site: Site, *, body_limits: Mapping[str, Callable[[], None]]) -> None:
    """Register the hooks before and after each view, in the order in which they run."""
    settings = site.settings
    app.request_class = FairboardRequest
    if proxies := settings.trusted_proxies:
        wrapped = ProxyFix(app.wsgi_app, x_for=0, x_proto=proxies, x_host=proxies)
        app.wsgi_app = partial(_with_client_address, wrapped, proxies)  # type: ignore[method-assign]
    if settings.metrics_dir():
        count_requests(app)
    _compress_responses(app)  # This is registered first, so that it runs last.
    app.after_request(_mark_for_excel)
    app.before_request(_bind_route)
    app.before_request(refuse_unknown_host)
    if settings.rate_limits:
        _limit_rates(app, settings)
    # `refuse_foreign_forms` checks the CSRF token after the body limit is set.
    app.config["WTF_CSRF_CHECK_DEFAULT"] = False
    # A CSRF token lives as long as the cookie to which it is bound.
    app.config["WTF_CSRF_TIME_LIMIT"] = None
    CSRFProtect(app)
    app.after_request(partial(_set_headers, is_https=site.is_https))
    auth.init_app(app, site)

    def limit_body() -> None:
        if request.method == "POST" and (limit := body_limits.get(request.endpoint or "")):
            limit()

    for check in (refuse_unreadable_query, limit_body, _answer_early, refuse_foreign_forms):
        app.before_request(check)


def _with_client_address(
    application: ProxyFix, proxies: int, environ: dict[str, Any], start_response: Any
) -> Iterable[bytes]:
    """Run the application with the address of the client instead of that of the nearest proxy."""
    peer, forwarded_for = environ.get("REMOTE_ADDR", ""), environ.get("HTTP_X_FORWARDED_FOR", "")
    environ["REMOTE_ADDR"] = client_address(peer, forwarded_for, proxies=proxies)
    return application(environ, start_response)


def _mark_for_excel(response: Response) -> Response:
    """Add a byte order mark to a CSV with ``?bom=1``, without which Excel does not read UTF-8."""
    if response.mimetype == "text/csv" and response.status_code == OK and request.args.get("bom") == "1":
        response.direct_passthrough = False
        response.call_on_close(getattr(response.response, "close", lambda: None))
        response.response = chain([BOM_UTF8], response.iter_encoded())
        response.headers.pop("Content-Length", None)
    return response


def _bind_route() -> None:
    """Log the rule instead of the path, because a path may contain a one-time token."""
    if request.url_rule is not None:
        logs.bind(route=request.url_rule.rule)


def refuse_unreadable_query() -> None:
    """Raise Refusal for a query string that is too long or cannot be stored in the database."""
    require_few_fields(request.query_string)
    for name, value in request.args.items(multi=True):
        if not (is_storable(name) and is_storable(value)):
            raise unreadable(f"`{ascii(name[:40])[1:-1]}` must be text without NUL characters (U+0000).")


def refuse_foreign_forms() -> None:
    """Reject unsafe cross-site requests. Bearer requests are exempt, because they use no cookie."""
    if request.method in SAFE_METHODS or request.blueprint in TOKEN_BLUEPRINTS or request.endpoint is None:
        return  # the response to such a request can only be 404 or 405
    if _is_foreign(request):
        raise CSRFError("The request comes from another site.")
    # Every page contains the logout form, and a token in it would change every page each second. For this
    # form, the `Sec-Fetch-Site` header is therefore sufficient.
    if request.endpoint == "account.log_out" and request.headers.get("Sec-Fetch-Site") == "same-origin":
        return
    try:
        current_app.extensions["csrf"].protect()
    except ValueError:  # from the library's parser of the Referer header
        raise CSRFError("The Referer header is invalid.") from None


def _is_foreign(request: Request) -> bool:
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("Origin")
    return origin is not None and origin.partition("://")[2] != request.host


def _limit_rates(app: Flask, settings: Settings) -> None:
    """Count the requests to all web processes in the broker or, if it is down, per process."""
    url = settings.redis_url()
    limiter = Limiter(
        address,
        app=app,
        storage_uri=url.replace("unix://", "redis+unix://", 1) if url else "memory://",
        storage_options=PATIENCE if url else {},  # type: ignore[arg-type]
        strategy="moving-window",
        swallow_errors=True,
        in_memory_fallback_enabled=True,
    )
    for endpoint, view in app.view_functions.items():
        is_call = endpoint.startswith(("api.", "kaggle.")) and endpoint not in UNLIMITED
        if endpoint in RATES or is_call:
            rate, key = RATES.get(endpoint, (API_RATE, person))
            methods = ["POST"] if endpoint in RATES and endpoint not in CALLING else None
            limit = limiter.limit(rate, key_func=key, methods=methods)
            app.view_functions[endpoint] = limit(view)  # type: ignore[assignment]
    app.after_request(partial(_tell_rate, limiter))


def _tell_rate(limiter: Limiter, response: Response) -> Response:
    """Add the rate-limit headers to a response, unless the broker has ended since the request."""
    reached = limiter.current_limit
    if reached is None:
        return response
    with suppress(RedisError):
        seconds, remaining = max(1, reached.reset_at - int(time.time())), reached.remaining
        if request.blueprint == "api":
            response.headers["RateLimit-Limit"] = str(reached.limit.amount)
            response.headers["RateLimit-Remaining"] = str(remaining)
            response.headers["RateLimit-Reset"] = str(seconds)
        if response.status_code == TOO_MANY_REQUESTS:
            response.headers.setdefault("Retry-After", str(seconds))
    return response


def _set_headers(response: Response, *, is_https: bool) -> Response:
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)  # a view may have a stricter policy
    if is_https:
        response.headers["Strict-Transport-Security"] = HSTS
    if request.endpoint == "static":
        is_named_by_content = "v" in request.args and response.status_code == 200
        response.headers["Cache-Control"] = (
            "public, max-age=31536000, immutable" if is_named_by_content else "no-cache"
        )
    else:
        response.vary.add("Cookie")
        if not response.cache_control.private:  # views set this for leaderboards and ETags
            response.headers["Cache-Control"] = "no-store"  # pages show the logged-in user
    return response


def _answer_early() -> ResponseReturnValue | None:
    """Set the body's size limit, or return an early response based on the headers; call no view."""
    head: Head | None = request.environ.get(HEAD)
    if head is None:
        return None
    if request.routing_exception is not None:
        raise request.routing_exception
    for name in request.blueprints:
        for check in current_app.before_request_funcs.get(name, ()):
            check()
    limit_bytes = request.max_content_length or 0
    if (request.content_length or 0) > limit_bytes:
        raise RequestEntityTooLarge
    head.limit_bytes = limit_bytes
    return "", 204


def receiving_bytes() -> int:
    """Return the disk space that the request bodies now being received may still need."""
    head: Head | None = request.environ.get(HEAD)
    return head.receiving_bytes if head is not None else 0


def _compress_responses(app: Flask) -> None:
    """Compress pages, styles, scripts and JSON, but not streams or partial content."""
    app.config.update(
        COMPRESS_MIMETYPES=TYPES,
        COMPRESS_ALGORITHM=["br", "gzip"],
        COMPRESS_STREAMS=False,
        COMPRESS_REGISTER=False,
    )
    compress = Compress(app)

    @app.after_request
    def pack(response: Response) -> Response:
        if response.status_code == PARTIAL_CONTENT:
            return response
        return compress.after_request(response)


SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
UNKNOWN = "unknown"


def count_requests(app: Flask) -> None:
    """Count requests. This must be the first hook, so that the others are measured too."""

    def start() -> None:
        g.started = time.perf_counter()

    def count(response: Response) -> Response:
        if request.environ.get(HEAD) is not None and response.status_code == 204:
            return response  # only the headers were checked; the complete request follows
        group = _group(app, request.endpoint)
        interface = request.blueprint if request.blueprint in ("api", "kaggle") else "pages"
        method = "read" if request.method in SAFE_METHODS else "write"
        HTTP_REQUESTS.add(interface, group, method, str(response.status_code))
        HTTP_SECONDS.observe(time.perf_counter() - g.started, interface, group, method)
        if response.status_code >= 400:
            HTTP_ERRORS.add(interface, group, g.get("error_name", UNKNOWN))
        return response

    app.before_request(start)
    app.after_request(count)


def _group(app: Flask, endpoint: str | None) -> str:
    """Return the group of an endpoint, which is the package of its view."""
    return UNKNOWN if endpoint is None else app.view_functions[endpoint].__module__.split(".")[1]
