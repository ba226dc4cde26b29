"""OpenID Connect client based on Authlib, with the checks that Authlib leaves to applications.

Issuers are configured by the operator, so requests to private networks are allowed. Requests hold no
transaction.
"""

import logging
from base64 import b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from urllib.parse import quote, urlsplit

from authlib.common.urls import add_params_to_uri
from authlib.integrations.flask_client import FlaskOAuth2App, OAuthError
from joserfc.errors import JoseError
from requests import RequestException

from grader.errors import ErrorKind, Refusal
from grader.identity_providers import Provider

TIMEOUT_SECONDS = 5.0
RETRY_AFTER = timedelta(seconds=10)
LEEWAY_SECONDS = 120
ENDPOINTS = ("authorization_endpoint", "token_endpoint", "jwks_uri")
OPTIONAL_ENDPOINTS = ("userinfo_endpoint", "end_session_endpoint")
# Of those that a provider supports, Authlib would also accept unsigned tokens.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512")
log = logging.getLogger(__name__)


class OpenIDConnect:
    """Client for one provider. It keeps the provider's discovery document and keys."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._app: FlaskOAuth2App = None

    def attempt(self, *, redirect_uri: str) -> dict[str, str]:
        """Return the `url` of the provider's login page and the secrets of a new attempt; raise Refusal.

        The secrets (`state`, `nonce` and `code_verifier`) may be known only to the browser.
        """
        with self._discovered() as app:
            return dict(app.create_authorization_url(redirect_uri))

    def claims(
        self, answer: Mapping[str, str], attempt: Mapping[str, str], *, redirect_uri: str
    ) -> dict[str, Any]:
        """Return the claims about the person for the query of an authorization response.

        Raises Refusal if a check fails or the provider is not available.
        """
        if "error" in answer or "code" not in answer:
            raise self._refused(f"error={answer.get('error', 'none')[:100]!r} without a code")
        expected = {"iss": self.provider.issuer, "aud": self.provider.client_id}
        options = {name: {"essential": True, "value": value} for name, value in expected.items()}
        with self._discovered() as app:
            needs_issuer = app.server_metadata.get("authorization_response_iss_parameter_supported")
            if answer.get("iss", "" if needs_issuer else self.provider.issuer) != self.provider.issuer:
                raise self._refused("the response does not name this issuer")
            try:
                token = app.fetch_access_token(
                    redirect_uri, code=answer["code"], code_verifier=attempt["code_verifier"]
                )
                claims = app.parse_id_token(token, attempt["nonce"], options, leeway=LEEWAY_SECONDS)
            except OAuthError as error:
                if error.error == "invalid_client":
                    raise self._down("the client id or secret is wrong") from None
                raise self._refused(f"the code was rejected: {str(error.error)[:100]!r}") from None
            except (JoseError, ValueError, TypeError) as error:
                raise self._refused(f"the ID token is invalid: {error}") from None
            if claims is None or not 0 < len(claims["sub"]) <= 255 or "\0" in claims["sub"]:
                raise self._refused("there is no subject of 1 to 255 characters")
            if not app.server_metadata.get("userinfo_endpoint") or "access_token" not in token:
                return dict(claims)
            more = app.userinfo(token=token)
            if more.get("sub") != claims["sub"]:
                raise self._refused("the user info is about another subject")
            return dict(more | claims)

    def logout_url(self, *, back: str) -> str | None:
        """Return the URL that ends the person's session at the provider; None if it offers none."""
        with self._discovered() as app:
            endpoint = app.server_metadata.get("end_session_endpoint")
        query = {"client_id": self.provider.client_id, "post_logout_redirect_uri": back}
        return str(add_params_to_uri(endpoint, query)) if endpoint else None

    @contextmanager
    def _discovered(self) -> Iterator[FlaskOAuth2App]:
        """Provide Authlib's client with metadata; raise Refusal if the provider is not available."""
        try:
            if self._app is None:
                self._app = self._discover()
            yield self._app
        except (RequestException, JoseError, ValueError, KeyError, TypeError) as error:
            raise self._down(f"{type(error).__name__}: {error}") from None

    def _discover(self) -> FlaskOAuth2App:
        issuer, secret = self.provider.issuer, self.provider.client_secret
        app = FlaskOAuth2App(
            None,
            self.provider.slug,
            client_id=self.provider.client_id,
            client_secret=secret and secret.get_secret_value(),
            server_metadata_url=f"{issuer.rstrip('/')}/.well-known/openid-configuration",
            client_auth_methods=[("client_secret_basic", _basic)],
            client_kwargs={
                "scope": " ".join(self.provider.scopes),
                "code_challenge_method": "S256",
                "default_timeout": TIMEOUT_SECONDS,
            },
            user_agent="Fairboard",
        )
        metadata = app.load_server_metadata()
        if metadata.get("issuer") != issuer:
            raise ValueError(f"the issuer calls itself {str(metadata.get('issuer'))[:255]!r}")
        schemes = {"https", urlsplit(issuer).scheme}  # an issuer on this machine need not be encrypted
        for name in (*ENDPOINTS, *filter(metadata.get, OPTIONAL_ENDPOINTS)):
            if urlsplit(metadata[name]).scheme not in schemes:
                raise ValueError(f"{name} is not an https:// URL")
        metadata["id_token_signing_alg_values_supported"] = ALGORITHMS
        methods = metadata.get("token_endpoint_auth_methods_supported", ["client_secret_basic"])
        if secret is not None and "client_secret_basic" not in methods:
            app.client_kwargs["token_endpoint_auth_method"] = "client_secret_post"  # noqa: S105
        return app

    def _down(self, reason: str) -> Refusal:
        log.warning("Single sign-on failed: %s", reason)
        message = (
            f"{self.provider.label} is not available at the moment. Try again later, or log in another way."
        )
        return Refusal("provider_down", ErrorKind.NOT_YET, message, retry_after=RETRY_AFTER)

    def _refused(self, reason: str) -> Refusal:
        log.warning("Single sign-on failed: %s", reason)
        message = f"{self.provider.label} did not confirm your login. Start again from the login page."
        return Refusal("login_refused", ErrorKind.FORBIDDEN, message)


def _basic(client: Any, _method: str, uri: str, headers: Any, body: str) -> tuple[str, Any, str]:
    """Add the client id and secret to the header, both form-encoded (RFC 6749, section 2.3.1)."""
    parts = f"{quote(client.client_id, safe='')}:{quote(client.client_secret, safe='')}"
    headers["Authorization"] = f"Basic {b64encode(parts.encode()).decode()}"
    return uri, headers, body
