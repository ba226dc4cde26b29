"""HTTP transport of the client: retries, errors, pagination."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self, TypeVar
from urllib.parse import urljoin, urlsplit

import httpx

from grader.client.errors import (
    LimitReached,
    Refused,
    TokenRefused,
    Unreachable,
    Unusable,
)

PATIENCE_SECONDS = 60.0
TIMEOUT = httpx.Timeout(60.0, connect=10.0)  # seconds, for each piece of a response
LOOPBACK = ("localhost", "127.0.0.1", "::1")
KEY_HEADER = "Idempotency-Key"
PAUSES = (0.25, 1.0, 2.0, 4.0)  # seconds before each retry without a response
PASSING = (502, 503, 504)  # status codes while the server is busy or restarts behind its proxy
API = "api/v1/"
BINARY = "application/octet-stream"
FIRST_POLL_SECONDS, LONGEST_POLL_SECONDS = 0.2, 5.0

Answer = TypeVar("Answer")
Json = dict[str, Any]
OnQuestion = Callable[[Mapping[str, Any]], bool]


class Transport:
    """Base class of `Client`, which sends requests to a server with a token.

    GET requests and those with an ``Idempotency-Key`` are retried without a response, or with status 502 to
    504, because they cannot take effect twice. Every request is retried after a rejection by a rate limit.
    ``Retry-After`` is respected unless the total wait would exceed `patience_seconds`.
    """

    def __init__(
        self,
        server: str,
        token: str | None = None,
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        http: httpx.BaseTransport | None = None,
    ) -> None:
        self.server = site_address(server)
        self._patience_seconds = patience_seconds
        headers = {"User-Agent": "fairboard-client", "Accept-Encoding": "gzip"}
        if token and not token.isascii():
            raise Unusable("The token contains characters that are not ASCII. Copy the API token again.")
        if token:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(
            headers=headers,
            timeout=TIMEOUT,
            transport=http,
            # A proxy of this machine's environment cannot reach this machine.
            trust_env=urlsplit(self.server).hostname not in LOOPBACK,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def get(self, path: str, /, **query: Any) -> Json:
        """Return the JSON at a path below ``/api/v1/``; raise Refused or Unreachable."""
        return self.call("GET", path, query)

    def call(self, method: str, path: str, fields: Mapping[str, Any] | None = None, **options: Any) -> Json:
        """Send a request below ``/api/v1/`` and return the JSON of its response; empty if there is none.

        The parameters are those of `ask`.
        """
        return read_json(self.ask(method, path, fields, **options))

    def pages_of(self, path: str, /, **query: Any) -> Iterator[Json]:
        """Yield the pages of an API list by following ``next``; omit parameters that are None."""
        while True:
            page = self.get(path, **query)
            yield page
            if not page.get("next"):
                return
            path, query = urljoin(self.server, page["next"]), {}

    def ask(
        self,
        method: str,
        path: str,
        fields: Mapping[str, Any] | None = None,
        *,
        headers: Mapping[str, str] = MappingProxyType({}),
        confirm: "bool | OnQuestion" = False,
    ) -> httpx.Response:
        """Send a request with retries and return the response; raise Refused or Unreachable.

        The fields become the query of a GET request, without those that are None, and the body of other
        requests. A `Path` is sent as a file, and lists and objects in the same request as JSON text.
        `confirm` is that of `organize`.
        """
        fields = fields or {}
        files = {name: value for name, value in fields.items() if isinstance(value, Path)}
        body = "data" if files else "json"
        sent: Json = {body: {name: value for name, value in fields.items() if name not in files} or None}
        if method == "GET":
            # For an empty mapping, httpx would remove the query of a URL.
            sent = {"params": {name: value for name, value in fields.items() if value is not None} or None}
        with ExitStack() as stack:
            if files:
                sent["files"] = {
                    name: (file.name, stack.enter_context(file.open("rb")), BINARY)
                    for name, file in files.items()
                }
                for name, value in (sent.get(body) or {}).items():  # forms have only texts
                    sent[body][name] = json.dumps(value) if isinstance(value, dict | list) else value

            def once() -> httpx.Response:
                with self.streamed(method, path, headers=headers, **sent) as response:
                    response.read()
                    return response

            while True:
                try:
                    is_repeatable = method == "GET" or KEY_HEADER in headers
                    return self.persistently(once, is_repeatable=is_repeatable)
                except Refused as error:
                    token, before = error.details.get("confirm"), sent.get(body) or {}
                    if error.name != "unconfirmed" or before.get("confirm") == token:
                        raise
                    if not (all(map(confirm, error.details["questions"])) if callable(confirm) else confirm):
                        raise
                    sent[body] = {**before, "confirm": token}

    @contextmanager
    def streamed(self, method: str, path: str, **sent: Any) -> Iterator[httpx.Response]:
        """Send a request once and yield its response before the body is received."""
        url = path if path.startswith(self.server) else f"{self.server}{API}{path}"
        try:
            with self._http.stream(method, url, **sent) as response:
                if response.status_code >= 300 and response.status_code != 304:
                    response.read()
                    raise _refused(response)
                yield response
        except (UnicodeEncodeError, httpx.InvalidURL, httpx.LocalProtocolError) as error:
            raise Unusable(f"The request cannot be sent: {error}.") from error
        except httpx.HTTPError as error:
            is_late = isinstance(error, httpx.TimeoutException)
            reason = "the request timed out" if is_late else str(error).rstrip(".") or type(error).__name__
            raise Unreachable(f"{self.server} did not respond: {reason}.") from error

    def persistently(self, attempt: Callable[[], Answer], *, is_repeatable: bool = True) -> Answer:
        """Return the result of `attempt`; retry it if the same request may succeed later.

        Unless it `is_repeatable`, only an attempt that a rate limit rejected is retried.
        """
        waited, pauses = 0.0, iter(PAUSES)
        while True:
            try:
                return attempt()
            except (Unreachable, Refused) as error:
                status = error.status if isinstance(error, Refused) else PASSING[0]
                pause = next(pauses, None) if status in PASSING else None
                if error.retry_after is not None and status in (429, *PASSING):
                    pause = max(error.retry_after.total_seconds(), PAUSES[0])
                is_allowed = is_repeatable or status == 429
                if pause is None or not is_allowed or waited + pause > self._patience_seconds:
                    raise
            time.sleep(pause)
            waited += pause


def polls(timeout_seconds: float) -> Iterator[None]:
    """Yield at once, and then after each of several growing pauses until the timeout."""
    deadline, pause = time.monotonic() + timeout_seconds, FIRST_POLL_SECONDS
    yield
    while (left := deadline - time.monotonic()) > 0:
        time.sleep(min(left, pause))
        pause = min(pause * 1.5, LONGEST_POLL_SECONDS)
        yield


def site_address(text: str) -> str:
    """Return the address of a site with a trailing slash.

    >>> site_address(" https://Fairboard.example.org ")
    'https://fairboard.example.org/'
    """
    try:
        url = httpx.URL(text.strip())
        host = url.host.encode("idna")  # raises ValueError for an invalid name
    except (httpx.InvalidURL, ValueError):
        url, host = httpx.URL(""), b""
    if url.scheme not in ("http", "https") or not host or url.userinfo or url.query:
        raise Unusable(
            f"{text.strip()!r} is not the address of a site, such as https://fairboard.example.org."
        )
    return f"{str(url.copy_with(query=None, fragment=None)).rstrip('/')}/"


def read_json(response: httpx.Response) -> Json:
    """Return a response's JSON object; raise Unusable if it is not one."""
    try:
        data = response.json() if response.content else {}
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise Unusable(
            f"{response.url} did not return a JSON object. Check that this is the address of a "
            "Fairboard site."
        )
    return data


def _refused(response: httpx.Response) -> Refused:
    status, seconds = response.status_code, response.headers.get("Retry-After", "")
    try:
        answer = read_json(response)
    except Unusable:  # the error page of a proxy
        answer = {}
    if status < 400:
        answer = {"error": "moved", "message": f"The server has moved to {response.headers.get('Location')}."}
    kind = {401: TokenRefused, 429: LimitReached}.get(status, Refused)
    retry_after = timedelta(seconds=int(seconds)) if seconds.isdecimal() else None
    return kind(status, answer, retry_after=retry_after)
