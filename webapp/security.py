"""What holds for every request and every answer: headers, foreign forms, proxies, rates."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from urllib.parse import urlsplit

from flask import Flask, Request, Response, current_app, g, request
from flask_limiter import Limiter
from flask_limiter.util import get_remote_address
from flask_wtf.csrf import CSRFError, CSRFProtect  # type: ignore[import-untyped]
from werkzeug.middleware.proxy_fix import ProxyFix

from grader.services import addresses, names
from grader.settings import Settings
from webapp.broker import TIMEOUTS, broker_url
from webapp.site import Site

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


def account_name() -> str:
    """Return whose password is being tried, so that many addresses cannot share one account's guesses."""
    name = request.form.get("name", "")
    with suppress(names.InvalidName):
        return names.folded(names.clean_name(name))
    return name[: names.MAX_LENGTH]


def mail_address() -> str:
    """Return whose mailbox would be filled; where no address is asked for, the name."""
    return addresses.key(request.form.get("email", "").strip())[: addresses.MAX_LENGTH] or account_name()


def person() -> str:
    """Return whose session tries passwords, or asks for mail."""
    return f"user {g.user.id}" if g.user is not None else get_remote_address()


# endpoint: limit, what it is counted by. One class behind one address must be able to sign up together.
RATES: dict[str, tuple[tuple[str, Callable[[], str]], ...]] = {
    "account.log_in": (("20/minute;200/hour", get_remote_address), ("60/hour", account_name)),
    "account.sign_up": (("20/minute;100/hour", get_remote_address), ("10/hour", mail_address)),
    "account.sign_up_by_link": (("20/minute;100/hour", get_remote_address),),
    "account.set_up": (("10/minute", get_remote_address),),
    "account.ask_for_reset": (("10/minute;60/hour", get_remote_address), ("5/hour", mail_address)),
    "account.reset": (("10/minute", get_remote_address),),
    "account.verify": (("10/minute", get_remote_address),),
    "account.change_email": (("10/minute;20/hour", person), ("5/hour", mail_address)),
    "account.change_password": (("10/minute;60/hour", person),),
    "account.delete": (("10/minute;60/hour", person),),
    "entry.join": (("10/minute;60/hour", person),),
    "api.join": (("10/minute;60/hour", person),),
}


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
    if request.method in SAFE_METHODS or request.blueprint == "api" or request.endpoint is None:
        return  # without an endpoint nothing will happen but a 404 or 405
    if _is_foreign(request):
        raise CSRFError("The request comes from another site.")
    current_app.extensions["csrf"].protect()


def _is_foreign(request: Request) -> bool:
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc != request.host


def _limit_rates(app: Flask, settings: Settings) -> None:
    """Count tries at the broker, for all web processes together, else in this one; its loss lets all pass."""
    url = broker_url(settings)
    limiter = Limiter(
        get_remote_address,
        app=app,
        storage_uri=url.replace("unix://", "redis+unix://", 1) if url else "memory://",
        storage_options=TIMEOUTS if url else {},  # type: ignore[arg-type]
        strategy="moving-window",
        swallow_errors=True,
    )
    for endpoint, rates in RATES.items():
        for rate, counted_by in rates:
            limit = limiter.limit(rate, key_func=counted_by, methods=["POST"])
            app.view_functions[endpoint] = limit(app.view_functions[endpoint])  # type: ignore[assignment]


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
