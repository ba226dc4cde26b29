"""Second factors: authenticator apps, passkeys, recovery codes, and the accounts that need them.

The secret of an app is derived from the site's secret key and a random text, so a copy of the database
contains no secret. Each code is accepted only once. All functions that verify or change factors hold the
lock of the user.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Self

import pyotp
from sqlalchemy import delete, exists, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    FactorKind,
    FactorPurpose,
    FactorStep,
    Login,
    Organizer,
    RecoveryCode,
    SecondFactor,
    User,
)
from grader.services.competitions import acting
from grader.services.competitions.acting import Act
from grader.services.identity import logins, one_time_links
from grader.services.site import letters, log
from grader.services.site.log import Actor
from grader.settings import RequiredFactor
from grader.text import one_line

if TYPE_CHECKING:
    from grader.services.identity.passkeys import Ceremony

NAME_MAX_LENGTH = 64
MOST = 10  # per user
RECOVERY_CODE_COUNT = 10
DRIFT_STEPS = 1  # An app's clock may be up to 30 seconds fast or slow.


def _invalid(message: str) -> Refusal:
    return Refusal("invalid_factor", ErrorKind.MISMATCH, message)


def _unknown(message: str = "This second factor does not exist anymore.") -> Refusal:
    return Refusal("unknown_factor", ErrorKind.NOT_FOUND, message)


@dataclass(frozen=True, slots=True)
class Proof:
    """The input for a second-factor check: a typed code, or a passkey's response as JSON."""

    code: str = ""
    passkey: str = ""


@dataclass(frozen=True, slots=True)
class NewApp:
    """An authenticator app that is being added."""

    key_id: str
    secret: str

    @classmethod
    def of(cls, user: User, *, key_id: str, key: str) -> Self:
        """Return the app of a user with this random text; `key` is the site's secret key."""
        return cls(key_id, _app_secret(user.id, key_id, key))

    def uri(self, user: User, *, site: str) -> str:
        """Return the URI for the QR code."""
        return pyotp.TOTP(self.secret).provisioning_uri(name=user.name, issuer_name=site)


def is_missing(session: Session, *, user: User, required: RequiredFactor) -> bool:
    """Return whether an account must set up a second factor first."""
    if required is RequiredFactor.NONE:
        return False
    if not user.is_admin:
        organizes = select(exists().where(Organizer.user_id == user.id))
        if required is RequiredFactor.ADMINISTRATORS or not session.scalar(organizes):
            return False
    return not logins.has_factor(session, user=user)


def list_own(session: Session, *, user: User) -> list[SecondFactor]:
    """Return a user's second factors, oldest first."""
    query = select(SecondFactor).where(SecondFactor.user_id == user.id).order_by(SecondFactor.id)
    return list(session.scalars(query.execution_options(populate_existing=True)))


def recovery_codes_left(session: Session, *, user: User) -> int:
    """Return the number of a user's unused recovery codes."""
    query = select(func.count()).select_from(RecoveryCode).where(RecoveryCode.user_id == user.id)
    return session.scalar(query) or 0


def verify(
    session: Session, *, user: User, proof: Proof, ceremony: "Ceremony | None", key: str, now: datetime
) -> bool:
    """Return whether a code or a response is valid, and make sure that it is never accepted again.

    Raises Refusal for a code that was used before, which is not a wrong guess.
    """
    logins.hold_factors(session, user=user)
    act = acting.of_site(session, Actor.of(user), now)
    if proof.passkey:
        return ceremony is not None and _verify_passkey(act, proof.passkey, ceremony)
    code = "".join(proof.code.split()).replace("-", "").lower()
    if code.isdecimal():
        apps = [each for each in list_own(session, user=user) if each.kind is FactorKind.APP]
        return any(_verify_app(each, code, key, now) for each in apps)
    return _use_recovery_code(act, code)


def add(
    act: Act, *, name: str, proof: Proof, app: NewApp, ceremony: "Ceremony | None", keep: Login | None
) -> SecondFactor:
    """Add the passkey of a browser's response, or the app that shows the typed code; raise Refusal.

    The first second factor ends all sessions except `keep`, because they were started without it.
    """
    session, user = act.session, act.user
    logins.hold_factors(session, user=user)
    own = list_own(session, user=user)
    if len(own) >= MOST:
        raise _invalid(f"An account can have at most {MOST} second factors. Remove one first.")
    factor = _created(ceremony, proof.passkey) if proof.passkey else _paired(app, proof.code, act.now)
    factor.name = one_line(name, NAME_MAX_LENGTH) or factor.name
    if any(each.name == factor.name for each in own):
        raise _invalid(f"You already have a second factor named {factor.name!r}. Choose another name.")
    factor.user_id, factor.created_at, factor.last_used_at = user.id, act.now, None
    try:
        with session.begin_nested():
            session.add(factor)
    except IntegrityError:
        raise _invalid("This second factor already belongs to an account.") from None
    if not own:
        logins.end_all(session, user=user, but=keep)
    after = {"kind": factor.kind, "name": factor.name}
    _note(act, user, "add", f"{_phrase(factor)} was added", after=after)
    return factor


def remove(act: Act, *, factor_id: int) -> SecondFactor:
    """Remove a second factor, and the recovery codes with the last one; raise Refusal."""
    session, user = act.session, act.user
    logins.hold_factors(session, user=user)
    own = list_own(session, user=user)
    factor = next((each for each in own if each.id == factor_id), None)
    if factor is None:
        raise _unknown()
    session.delete(factor)
    session.flush()
    if len(own) == 1:
        session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
    before = {"name": factor.name}
    _note(act, user, "remove", f"{_phrase(factor)} was removed", before=before)
    return factor


def reset(act: Act, *, user: User) -> None:
    """Remove all second factors and sessions of a user who cannot log in.

    Raises Refusal.
    """
    session = act.session
    if act.actor.user is not None and act.actor.user.id == user.id:
        message = "Change your own second factors on your account page."
        raise Refusal("own_factors", ErrorKind.FORBIDDEN, message)
    logins.hold_factors(session, user=user)
    names = [each.name for each in list_own(session, user=user)]
    if not names:
        raise _unknown("This account has no second factor.")
    for table in (SecondFactor, RecoveryCode):
        session.execute(delete(table).where(table.user_id == user.id))
    logins.end_all(session, user=user)
    what, before = "all second factors were removed by an administrator", {"names": names}
    _note(act, user, "reset", what, before=before)


def new_recovery_codes(act: Act) -> list[str]:
    """Replace the user's recovery codes and return the new ones, which are not shown again."""
    session, user = act.session, act.user
    logins.hold_factors(session, user=user)
    session.execute(delete(RecoveryCode).where(RecoveryCode.user_id == user.id))
    codes = [base64.b32encode(secrets.token_bytes(10)).decode().lower() for _ in range(RECOVERY_CODE_COUNT)]
    session.add_all(
        RecoveryCode(user_id=user.id, code_sha256=one_time_links.sha256_of(each)) for each in codes
    )
    _note(act, user, "recovery_codes", "new recovery codes were generated")
    return ["-".join(code[place : place + 4] for place in range(0, len(code), 4)) for code in codes]


def _paired(app: NewApp, code: str, now: datetime) -> SecondFactor:
    step = _matching_step(app.secret, "".join(code.split()), now)
    if step is None:
        raise _invalid(
            "This code is wrong. Enter the code that the app shows now, and check the clock of its device."
        )
    return SecondFactor(kind=FactorKind.APP, name="Authenticator app", key_id=app.key_id, counter=step)


def _created(ceremony: "Ceremony | None", response: str) -> SecondFactor:
    passkey = ceremony.created(response) if ceremony is not None else None
    if passkey is None:
        raise _invalid("The passkey could not be verified. Try again.")
    key_id, public_key, counter = passkey
    return SecondFactor(
        kind=FactorKind.PASSKEY, name="Passkey", key_id=key_id, public_key=public_key, counter=counter
    )


def _verify_passkey(act: Act, response: str, ceremony: "Ceremony") -> bool:
    verified = ceremony.used(response, list_own(act.session, user=act.user))
    if verified is None:
        return False
    factor, counter = verified
    if counter <= factor.counter and (counter or factor.counter):
        what = f"{_phrase(factor)} was rejected because it may have been copied; remove it"
        _note(act, act.user, "copied", what, after={"name": factor.name})
        return False
    factor.counter, factor.last_used_at = counter, act.now
    act.session.flush()
    return True


def _verify_app(factor: SecondFactor, code: str, key: str, now: datetime) -> bool:
    secret = _app_secret(factor.user_id, factor.key_id, key)
    step = _matching_step(secret, code, now, after=factor.counter)
    if step is None and _matching_step(secret, code, now) is not None:
        message = "You have already used this code. Wait until your app shows the next one."
        raise Refusal("code_used", ErrorKind.MISMATCH, message)
    if step is None:
        return False
    factor.counter, factor.last_used_at = step, now
    return True


def _matching_step(secret: str, code: str, now: datetime, *, after: int = -1) -> int | None:
    """Return the time step of a code that is valid now; None for a wrong code or one that was used."""
    totp = pyotp.TOTP(secret)
    current = totp.timecode(now)
    steps = range(max(current - DRIFT_STEPS, after + 1), current + DRIFT_STEPS + 1)
    sent = code.encode()
    matching = [step for step in steps if hmac.compare_digest(totp.generate_otp(step).encode(), sent)]
    return min(matching, default=None)


def _use_recovery_code(act: Act, code: str) -> bool:
    session, user = act.session, act.user
    unused_code = session.scalar(
        select(RecoveryCode)
        .where(RecoveryCode.user_id == user.id, RecoveryCode.code_sha256 == one_time_links.sha256_of(code))
        .execution_options(populate_existing=True)
    )
    if unused_code is None:
        return False
    session.delete(unused_code)
    session.flush()
    left = recovery_codes_left(session, user=user)
    _note(act, user, "recover", f"a recovery code was used; {left} of {RECOVERY_CODE_COUNT} are left")
    return True


def _app_secret(user_id: int, key_id: str, key: str) -> str:
    digest = hmac.digest(key.encode(), f"authenticator app: {user_id}: {key_id}".encode(), hashlib.sha256)
    return base64.b32encode(digest[:20]).decode()


def _phrase(factor: SecondFactor) -> str:
    return f"the {'passkey' if factor.kind is FactorKind.PASSKEY else 'authenticator app'} “{factor.name}”"


def _note(
    act: Act,
    user: User,
    action: str,
    what: str,
    *,
    before: Mapping[str, Any] | None = None,
    after: Mapping[str, Any] | None = None,
) -> None:
    """Record an action in the audit log, and e-mail it to the user's verified address."""
    act.record(f"second_factor.{action}", f"person {log.mention(user)}", before=before, after=after)
    if user.email and user.email_verified_at:
        letters.send_to_address(
            act.session, "second-factors-changed", user.email, user=user, what=what, now=act.now
        )


LIFETIME = timedelta(minutes=10)


def begin(
    session: Session, *, user: User, purpose: FactorPurpose, is_confirmed: bool = False, now: datetime
) -> str:
    """Start a step, delete expired ones and return the token for the browser."""
    session.execute(delete(FactorStep).where(FactorStep.expires_at <= now))
    token = one_time_links.new_secret()
    session.add(
        FactorStep(
            user_id=user.id,
            purpose=purpose,
            token_sha256=one_time_links.sha256_of(token),
            is_confirmed=is_confirmed,
            expires_at=now + LIFETIME,
        )
    )
    session.flush()
    return token


def find(
    session: Session, *, token: str, purpose: FactorPurpose, now: datetime, lock: bool = False
) -> FactorStep | None:
    """Return the step of a browser's token, or None if it has ended.

    With `lock`, first hold the lock of the user's second factors: resets also lock in this order.
    """
    query = (
        select(FactorStep)
        .where(
            FactorStep.token_sha256 == one_time_links.sha256_of(token),
            FactorStep.purpose == purpose,
            FactorStep.expires_at > now,
        )
        .options(joinedload(FactorStep.user))
        .execution_options(populate_existing=True)
    )
    step = session.scalar(query)
    if step is None or not lock:
        return step
    logins.hold_factors(session, user=step.user)
    return session.scalar(query.with_for_update(of=FactorStep))


def renew(session: Session, *, step: FactorStep, now: datetime) -> str:
    """Replace a step by a confirmed one with a new token, so that no response to its challenge is reused."""
    end(session, step=step)
    return begin(session, user=step.user, purpose=step.purpose, is_confirmed=True, now=now)


def end(session: Session, *, step: FactorStep) -> None:
    """End a step, so that its token and its challenge are never accepted again."""
    session.delete(step)
    session.flush()


def key_of(token: str, *, secret: str, use: str) -> bytes:
    """Return the 32 bytes for one use of a step, such as its challenge, which only the server can derive."""
    return hmac.digest(secret.encode(), f"second factor: {use}: {token}".encode(), hashlib.sha256)
