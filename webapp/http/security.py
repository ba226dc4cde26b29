"""Security of requests: headers, CSRF, client address behind proxies, rate limits (sign-ups an hour)."""

import time
from collections.abc import Callable
from functools import partial
from urllib.parse import urlsplit

from flask import Flask, Request, Response, current_app, g, request
from flask_limiter import Limiter, RequestLimit
from flask_wtf.csrf import CSRFError, CSRFProtect
from werkzeug.middleware.proxy_fix import ProxyFix

from grader.services.accounts import login_addresses
from grader.settings import Settings
from webapp.http import context
from webapp.http.context import TOKEN_BLUEPRINTS
from webapp.http.rate_limit_store import TIMEOUTS, broker_url
from webapp.http.site import Site

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
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


def address() -> str:
    """Return the address that a request comes from; of IPv6 the part that one holder has."""
    return login_addresses.network(request.remote_addr)


def person() -> str:
    """Return who asks: the person, or the address of somebody who is not logged in."""
    context.identify()
    return f"user {g.user.id}" if g.user is not None else address()


# endpoint: limit, what it is counted by. A class of 200 behind one address must be able to sign up together.
# Wrong passwords and mails to one address are counted in the database: `guesses`, `mail_limits`.
RATES: dict[str, tuple[tuple[str, Callable[[], str]], ...]] = {
    "account.sign_up": (("60/minute;400/hour", address),),
    "account.sign_up_by_link": (("60/minute;400/hour", address),),
    "account.set_up": (("10/minute", address),),
    "account.ask_for_reset": (("20/minute;100/hour", address),),
    "account.reset": (("60/minute;400/hour", address),),
    "account.verify": (("60/minute;400/hour", address),),
    "account.change_email": (("10/minute;20/hour", person),),
    "account.change_password": (("10/minute;60/hour", person),),
    "account.delete": (("10/minute;60/hour", person),),
    "entry.join": (("10/minute;60/hour", person),),
    "api.join": (("10/minute;60/hour", person),),
    "account.create_token": (("10/minute;60/hour", person),),
    "api.create_token": (("10/minute;60/hour", person),),
    "api.check": (("30/minute;300/hour", person), ("300/minute;3000/hour", address)),
}
# The kaggle command breaks where this is refused; it costs one look at the database.
UNLIMITED = frozenset({"kaggle.introspect_token"})
API_RATE = (
    "1200/minute"  # of a person, or an address without a token; 15 files may be asked about every second
)


def init_app(app: Flask, site: Site) -> None:
    """Set headers on every answer, refuse foreign forms, believe as many proxies as the settings say."""
    settings = site.settings
    if proxies := settings.trusted_proxies:
        wrapped = ProxyFix(app.wsgi_app, x_for=proxies, x_proto=proxies, x_host=proxies)
        app.wsgi_app = wrapped  # type: ignore[method-assign]
    if settings.rate_limits:
        _limit_rates(app, settings)
    # `refuse_foreign_forms` runs the check, once the body's limit is set.
    app.config["WTF_CSRF_CHECK_DEFAULT"] = False
    # A token lives as long as the cookie it is bound to.
    app.config["WTF_CSRF_TIME_LIMIT"] = None
    CSRFProtect(app)
    app.after_request(partial(_set_headers, is_https=site.is_https))


def refuse_foreign_forms() -> None:
    """Refuse an unsafe request that comes from no form of ours; bearer requests carry no cookie to abuse."""
    if request.method in SAFE_METHODS or request.blueprint in TOKEN_BLUEPRINTS or request.endpoint is None:
        return  # without an endpoint nothing will happen but a 404 or 405
    if _is_foreign(request):
        raise CSRFError("The request comes from another site.")
    # The menu of every page can log out: a token there would change the bytes of all pages each second.
    if request.endpoint == "account.log_out" and request.headers.get("Sec-Fetch-Site") == "same-origin":
        return
    current_app.extensions["csrf"].protect()


def _is_foreign(request: Request) -> bool:
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host


def _limit_rates(app: Flask, settings: Settings) -> None:
    """Count requests at the broker, for all web processes together; while it is down, in each process."""
    url = broker_url(settings)
    limiter = Limiter(
        address,
        app=app,
        storage_uri=url.replace("unix://", "redis+unix://", 1) if url else "memory://",
        storage_options=TIMEOUTS if url else {},  # type: ignore[arg-type]
        strategy="moving-window",
        swallow_errors=True,
        in_memory_fallback_enabled=True,
        on_breach=_note_wait,
    )
    for endpoint, rates in RATES.items():
        for rate, counted_by in rates:
            limit = limiter.limit(rate, key_func=counted_by, methods=["POST"])
            app.view_functions[endpoint] = limit(app.view_functions[endpoint])  # type: ignore[assignment]
    for endpoint, view in app.view_functions.items():
        if endpoint.startswith(("api.", "kaggle.")) and endpoint not in UNLIMITED | RATES.keys():
            app.view_functions[endpoint] = limiter.limit(API_RATE, key_func=person)(view)  # type: ignore[assignment]
    app.after_request(partial(_tell_rate, limiter))


def _tell_rate(limiter: Limiter, response: Response) -> Response:
    """Tell a program how many requests of this kind it has left, and when all are free again."""
    reached = limiter.current_limit
    if reached is not None and request.blueprint == "api":
        response.headers["RateLimit-Limit"] = str(reached.limit.amount)
        response.headers["RateLimit-Remaining"] = str(reached.remaining)
        response.headers["RateLimit-Reset"] = str(max(0, reached.reset_at - int(time.time())))
    return response


def _note_wait(reached: RequestLimit) -> None:
    """Keep for the answer in how many seconds the limit frees a place."""
    g.retry_seconds = max(1, reached.reset_at - int(time.time()))


def _set_headers(response: Response, *, is_https: bool) -> Response:
    response.headers.update(HEADERS)
    if is_https:
        response.headers["Strict-Transport-Security"] = HSTS
    if request.endpoint == "static":
        is_named_by_content = "v" in request.args and response.status_code == 200
        response.headers["Cache-Control"] = (
            "public, max-age=31536000, immutable" if is_named_by_content else "no-cache"
        )
    else:
        response.vary.add("Cookie")
        if not response.cache_control.private:  # boards are kept and asked about
            response.headers["Cache-Control"] = "no-store"  # every page shows who is logged in
    return response
