"""OpenID Connect client: authorization code flow with PKCE, ID token validation, key rotation.

Issuers are configured by the operator, so requests to private networks are allowed. Requests are limited in
time and size, follow no redirects and hold no transaction.
"""

import hmac
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, cast
from urllib.parse import quote, urlsplit

import httpx
from authlib.common.errors import AuthlibBaseError
from authlib.oauth2.client import OAuth2Client
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jws import JWSRegistry

from grader.errors import ErrorKind, ParticipantError
from grader.identity_providers import Attempt, Provider

TIMEOUT = httpx.Timeout(5.0, connect=3.0)  # for each read
MOST_SECONDS = 10.0  # for all requests of one login step
MOST_BYTES = 1_000_000  # per response
MOST_AT_ONCE = 4  # requests per provider and process, so that a slow provider cannot block all threads
LEEWAY_SECONDS = 120
KEPT_SECONDS = 3600.0  # discovery document and keys
# After a failure, and between two refetches of the keys because of unknown key ids.
PAUSE_SECONDS = 10.0
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")


class ProviderDown(ParticipantError):
    """The provider cannot be reached, responds with an error, or is misconfigured."""

    public_name = "provider_down"
    kind = ErrorKind.NOT_YET
    retry_after = timedelta(seconds=PAUSE_SECONDS)
    message = "{label} is not available at the moment. Try again later, or log in another way."

    def __init__(self, provider: Provider, reason: str) -> None:
        super().__init__(label=provider.label)
        self.reason = reason  # for the log


class LoginRefused(ParticipantError):
    """The provider or the validation of its response rejected the login."""

    public_name = "login_refused"
    kind = ErrorKind.FORBIDDEN
    message = "{label} did not confirm your login. Start again from the login page."

    def __init__(self, provider: Provider, reason: str) -> None:
        super().__init__(label=provider.label)
        self.reason = reason  # for the log


class _Client(httpx.Client):
    """HTTP client that limits the size of each response and the time of all requests together."""

    def __init__(self) -> None:
        headers = {"User-Agent": "Fairboard", "Accept-Encoding": "identity"}
        super().__init__(timeout=TIMEOUT, headers=headers)
        self._deadline = time.monotonic() + MOST_SECONDS

    def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        response = super().send(request, **(options | {"stream": True}))
        body = bytearray()
        try:
            for part in response.iter_bytes():
                body += part
                if len(body) > MOST_BYTES:
                    raise httpx.ReadError(f"{request.url} sends more than {MOST_BYTES:,} bytes")
                if time.monotonic() > self._deadline:
                    raise httpx.ReadTimeout(f"{request.url} is slow")
        finally:
            response.close()
        return httpx.Response(response.status_code, content=bytes(body), request=request)


class OpenIDConnect:
    """Client for one provider. It caches the provider's discovery document and keys."""

    def __init__(self, provider: Provider, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.provider = provider
        self._clock = clock
        self._lock = threading.Lock()
        self._places = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._metadata: dict[str, Any] | None = None
        self._keys: KeySet | None = None
        self._read_at = self._keys_read_at = self._failed_at = -2 * KEPT_SECONDS

    def authorization_url(self, attempt: Attempt, *, redirect_uri: str) -> str:
        """Return the URL of the provider's login page; raise ProviderDown."""
        with self._session() as http:
            endpoint = self._discovered(http)["authorization_endpoint"]
            url, _ = self._client(http, redirect_uri).create_authorization_url(
                endpoint, state=attempt.state, nonce=attempt.nonce, code_verifier=attempt.verifier
            )
        return cast(str, url)

    def claims(self, answer: Mapping[str, str], attempt: Attempt, *, redirect_uri: str) -> dict[str, Any]:
        """Return the claims about the person for the query of an authorization response.

        Raises LoginRefused if a check fails, or ProviderDown.
        """
        with self._session() as http:
            metadata = self._discovered(http)
            self._require_own(answer, attempt, metadata)
            token = self._token(http, metadata, answer["code"], attempt, redirect_uri)
            claims = self._validated(http, metadata, token, attempt)
            return self._userinfo(http, metadata, token, claims) | claims

    def logout_url(self, *, back: str) -> str | None:
        """Return the URL that ends the person's session at the provider; None if it offers none."""
        with self._session() as http:
            endpoint = self._discovered(http).get("end_session_endpoint")
        if not isinstance(endpoint, str) or not self._is_safe(endpoint):
            return None
        query = {"client_id": self.provider.client_id, "post_logout_redirect_uri": back}
        return str(httpx.URL(endpoint).copy_merge_params(query))

    def _require_own(self, answer: Mapping[str, str], attempt: Attempt, metadata: Mapping[str, Any]) -> None:
        """Reject the response of another provider or to another attempt, and errors."""
        issuer = answer.get("iss")
        if issuer is None and metadata.get("authorization_response_iss_parameter_supported") is True:
            raise LoginRefused(self.provider, "the response lacks the issuer")
        if issuer not in (None, self.provider.issuer):
            raise LoginRefused(self.provider, "the response is from another issuer")
        if not hmac.compare_digest(answer.get("state", "").encode(), attempt.state.encode()):
            raise LoginRefused(self.provider, "the state differs")
        if "error" in answer or "code" not in answer:
            raise LoginRefused(self.provider, f"error={answer.get('error', 'none')[:100]!r} without a code")

    def _token(
        self, http: httpx.Client, metadata: Mapping[str, Any], code: str, attempt: Attempt, redirect_uri: str
    ) -> dict[str, Any]:
        secret = self.provider.client_secret
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        auth, sent = httpx.Auth(), {"client_id": self.provider.client_id}
        if secret is not None and "client_secret_basic" in methods:
            # RFC 6749, section 2.3.1: both parts are form-encoded.
            parts = (quote(self.provider.client_id, safe=""), quote(secret.get_secret_value(), safe=""))
            auth, sent = httpx.BasicAuth(*parts), {}
        elif secret is not None:
            sent["client_secret"] = secret.get_secret_value()
        client = self._client(http, redirect_uri)
        try:
            token = client.fetch_token(
                metadata["token_endpoint"], code=code, code_verifier=attempt.verifier, auth=auth, **sent,
                grant_type="authorization_code",
            )  # fmt: skip
        except (AuthlibBaseError, httpx.HTTPStatusError, ValueError) as error:
            if isinstance(error, httpx.HTTPStatusError) and error.response.is_server_error:
                raise
            reason = getattr(error, "error", None) or type(error).__name__
            if reason == "invalid_client":
                raise ProviderDown(self.provider, "the client id or secret is wrong") from None
            raise LoginRefused(self.provider, f"the code was rejected: {reason[:100]!r}") from None
        return dict(token)

    def _validated(
        self, http: httpx.Client, metadata: Mapping[str, Any], token: Mapping[str, Any], attempt: Attempt
    ) -> dict[str, Any]:
        """Return the claims of the ID token; raise LoginRefused unless all checks succeed."""
        expected = {"iss": self.provider.issuer, "aud": self.provider.client_id}
        options = {name: {"essential": True, "value": value} for name, value in expected.items()}
        params = {
            "nonce": attempt.nonce,
            "client_id": self.provider.client_id,
            "access_token": token.get("access_token"),
        }
        try:
            decoded = self._decoded(http, metadata, token.get("id_token"))
            claims = CodeIDToken(decoded.claims, decoded.header, options, params)
            claims.validate(leeway=LEEWAY_SECONDS)
        except (JoseError, ValueError, TypeError) as error:
            reason = getattr(error, "description", "") or f"{error}" or type(error).__name__
            raise LoginRefused(self.provider, f"the ID token is invalid: {reason}") from None
        if not 0 < len(claims["sub"]) <= 255 or "\0" in claims["sub"]:
            raise LoginRefused(self.provider, "the subject has not 1 to 255 characters")
        return dict(claims)

    def _decoded(self, http: httpx.Client, metadata: Mapping[str, Any], text: Any) -> jwt.Token:
        if not isinstance(text, str):
            raise TypeError("it is missing")
        registry = JWSRegistry(algorithms=ALGORITHMS, strict_check_header=False)
        registry.max_header_length = 8192
        try:
            return jwt.decode(text, self._key_set(http, metadata), registry=registry)
        except InvalidKeyIdError:
            return jwt.decode(text, self._key_set(http, metadata, is_unknown=True), registry=registry)

    def _userinfo(
        self,
        http: httpx.Client,
        metadata: Mapping[str, Any],
        token: Mapping[str, Any],
        claims: Mapping[str, Any],
    ) -> dict[str, Any]:
        endpoint = metadata.get("userinfo_endpoint")
        if not isinstance(endpoint, str) or not self._is_safe(endpoint) or "access_token" not in token:
            return {}
        response = self._json(http, endpoint, headers={"Authorization": f"Bearer {token['access_token']}"})
        if response.get("sub") != claims["sub"]:
            raise LoginRefused(self.provider, "the user info is about another subject")
        return response

    def _client(self, http: httpx.Client, redirect_uri: str) -> OAuth2Client:
        return OAuth2Client(
            http,
            client_id=self.provider.client_id,
            scope=" ".join(self.provider.scopes),
            redirect_uri=redirect_uri,
            code_challenge_method="S256",
        )

    def _discovered(self, http: httpx.Client) -> dict[str, Any]:
        """Return the discovery document, at most an hour old."""
        if self._is_fresh():
            return cast(dict[str, Any], self._metadata)
        address = f"{self.provider.issuer.rstrip('/')}/.well-known/openid-configuration"
        config = self._json(http, address)
        if config.get("issuer") != self.provider.issuer:
            raise ProviderDown(self.provider, f"the issuer calls itself {str(config.get('issuer'))[:255]!r}")
        for name in ENDPOINTS:
            if not isinstance(config.get(name), str) or not self._is_safe(config[name]):
                raise ProviderDown(self.provider, f"{name} is missing or not an https:// URL")
        with self._lock:
            self._metadata, self._read_at = config, self._clock()
        return config

    def _key_set(
        self, http: httpx.Client, metadata: Mapping[str, Any], *, is_unknown: bool = False
    ) -> KeySet:
        """Return the provider's keys, read again if a key id is unknown, but not too often."""
        with self._lock:
            age = self._clock() - self._keys_read_at
            if self._keys is not None and age < (PAUSE_SECONDS if is_unknown else KEPT_SECONDS):
                return self._keys
            self._keys_read_at = self._clock()
        keys = KeySet.import_key_set(cast(Any, self._json(http, metadata["jwks_uri"])))
        with self._lock:
            self._keys = keys
        return keys

    def _json(self, http: httpx.Client, address: str, **options: Any) -> dict[str, Any]:
        answer = http.get(address, **options).raise_for_status().json()
        if not isinstance(answer, dict):
            raise ProviderDown(self.provider, f"{address} is not a JSON object")
        return answer

    def _is_fresh(self) -> bool:
        with self._lock:
            return self._metadata is not None and self._clock() - self._read_at < KEPT_SECONDS

    def _is_safe(self, address: str) -> bool:
        """Return whether an endpoint is encrypted; an issuer on this machine need not be."""
        return urlsplit(address).scheme in ("https", urlsplit(self.provider.issuer).scheme)

    @contextmanager
    def _session(self) -> Iterator[httpx.Client]:
        """Provide an HTTP client; raise ProviderDown for failures, and for a while after one."""
        if self._clock() - self._failed_at < PAUSE_SECONDS and not self._is_fresh():
            raise ProviderDown(self.provider, "the last request failed")
        if not self._places.acquire(timeout=1):
            raise ProviderDown(self.provider, "too many requests are waiting for a response")
        try:
            with _Client() as http:
                yield http
        except (httpx.HTTPError, httpx.InvalidURL, JoseError, ValueError, KeyError) as error:
            self._failed_at = self._clock()
            raise ProviderDown(self.provider, f"{type(error).__name__}: {error}") from None
        except ProviderDown:
            self._failed_at = self._clock()
            raise
        finally:
            self._places.release()
