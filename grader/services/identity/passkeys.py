"""Passkeys (WebAuthn): options for the browser, and verification of its responses.

Only requests for passkeys import this module, because the library would slow down the start of every process.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import webauthn
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    PublicKeyCredentialDescriptor,
    UserVerificationRequirement,
)

from grader.models import FactorKind, SecondFactor, User

REQUIRED = UserVerificationRequirement.REQUIRED
KEY_ID_MAX_LENGTH = 1400


@dataclass(frozen=True, slots=True)
class Ceremony:
    """The site and the challenge to which a response must belong.

    `origin` is the site's scheme, host and port. `rp_id` is its host, to which browsers bind passkeys.
    """

    origin: str
    rp_id: str
    challenge: bytes

    def creation_options(self, user: User, own: Sequence[SecondFactor]) -> dict[str, Any]:
        """Return the options with which a browser creates a passkey."""
        return _as_data(
            webauthn.generate_registration_options(
                rp_id=self.rp_id,
                rp_name=f"Fairboard at {self.rp_id}",
                user_id=f"fairboard {user.id}".encode(),
                user_name=user.name,
                challenge=self.challenge,
                authenticator_selection=AuthenticatorSelectionCriteria(user_verification=REQUIRED),
                exclude_credentials=_descriptors(own),
            )
        )

    def request_options(self, own: Sequence[SecondFactor]) -> dict[str, Any] | None:
        """Return the options with which a browser uses one of a user's passkeys; None if there is none."""
        if not (allowed := _descriptors(own)):
            return None
        return _as_data(
            webauthn.generate_authentication_options(
                rp_id=self.rp_id,
                challenge=self.challenge,
                allow_credentials=allowed,
                user_verification=REQUIRED,
            )
        )

    def created(self, response: str) -> tuple[str, str, int] | None:
        """Return the id, public key and signature counter of a new passkey; None for an invalid response."""
        try:
            verified = webauthn.verify_registration_response(
                credential=response,
                expected_challenge=self.challenge,
                expected_rp_id=self.rp_id,
                expected_origin=self.origin,
                require_user_verification=True,
            )
        except Exception:  # Malformed responses cause many kinds of errors in the library.
            return None
        key_id = bytes_to_base64url(verified.credential_id)
        public_key = bytes_to_base64url(verified.credential_public_key)
        return (key_id, public_key, verified.sign_count) if len(key_id) <= KEY_ID_MAX_LENGTH else None

    def used(self, response: str, own: Sequence[SecondFactor]) -> tuple[SecondFactor, int] | None:
        """Return the passkey of a valid response and its signature counter; None for an invalid response."""
        try:
            key_id = json.loads(response)["id"]
            factor = next(each for each in own if each.key_id == key_id and each.kind is FactorKind.PASSKEY)
            verified = webauthn.verify_authentication_response(
                credential=response,
                expected_challenge=self.challenge,
                expected_rp_id=self.rp_id,
                expected_origin=self.origin,
                credential_public_key=base64url_to_bytes(factor.public_key or ""),
                credential_current_sign_count=0,  # The caller compares the counters and reports copies.
                require_user_verification=True,
            )
        except Exception:  # Malformed responses cause many kinds of errors in the library.
            return None
        return factor, verified.new_sign_count


def _descriptors(own: Sequence[SecondFactor]) -> list[PublicKeyCredentialDescriptor]:
    keys = (each.key_id for each in own if each.kind is FactorKind.PASSKEY)
    return [PublicKeyCredentialDescriptor(id=base64url_to_bytes(each)) for each in keys]


def _as_data(options: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(webauthn.options_to_json(options))
    return data
