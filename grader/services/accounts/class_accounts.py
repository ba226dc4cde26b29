"""Class accounts, each with a one-time link or an API token for the competition."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from grader.errors import ErrorKind, OrganizerError, SeveralProblems
from grader.services import counting
from grader.services.accounts import accounts, api_tokens, password_resets, sign_ups
from grader.services.competitions.acting import Act
from grader.services.counting import DAY, RateLimit

KIND = "class accounts"
MOST = 200
CLASSES = (RateLimit(5, DAY),)
TOKEN_LIFETIME = timedelta(days=365)


class InvalidClass(SeveralProblems, OrganizerError):
    """Some of the names cannot be used, so no account is created."""

    public_name = "invalid_class"
    kind = ErrorKind.MISMATCH


class TooManyClasses(OrganizerError):
    """The competition or the user has reached the daily limit on class lists."""

    public_name = "too_many_classes"
    kind = ErrorKind.LIMITED

    def __init__(self, *, free_at: datetime, now: datetime) -> None:
        self.retry_after = free_at - now
        super().__init__(
            f"Each user and each competition is limited to {CLASSES[0].count} lists of accounts per day. Try "
            f"again {counting.when(free_at, now)}."
        )


@dataclass(frozen=True, slots=True)
class NewAccount:
    """An account with a secret that is shown only once: a link to set its password, or a token."""

    name: str
    link_token: str | None
    api_token: str | None


def create_all(act: Act, *, names: Sequence[str], with_tokens: bool, password_hash: str) -> list[NewAccount]:
    """Create an account for each nonblank name, or none at all; raise InvalidClass or TooManyClasses.

    `password_hash` is the hash of a random password. Each link can be used once within 14 days. The tokens
    allow reading and submitting in this competition for a year.
    """
    session, competition, actor, now = act.session, act.competition, act.actor, act.now
    nonblank = [name for name in names if name.strip()]
    if not 1 <= len(nonblank) <= MOST:
        raise InvalidClass([f"The list has {len(nonblank):,} names. Enter 1 to {MOST} names, one per line."])
    counted = [f"{competition.id}"]
    if actor.user is not None:  # A limit per competition is not enough: users can own any number of drafts.
        counted.append(f"of {actor.user.id}")
        counting.hold_lock(session, f"class accounts of {actor.user.id}")
    for whose in counted:
        if reached := counting.free_at(session, kind=KIND, whose=whose, limits=CLASSES, now=now):
            raise TooManyClasses(free_at=reached[1], now=now)
    made, problems = [], []
    for name in nonblank:
        try:
            user = accounts.named(name, password_hash=password_hash, now=now)
            made.append(accounts.add(session, user=user))
        except accounts.InvalidAccount as error:
            problems.append(f"{name}: {error.message}")
    if problems:
        raise InvalidClass(problems)
    for whose in counted:
        counting.add(session, kind=KIND, whose=whose, now=now)
    created = []
    for user in made:
        link = token = None
        if with_tokens:
            _, token = api_tokens.create(
                session,
                user=user,
                name=competition.slug,
                competition=competition,
                lifetime=TOKEN_LIFETIME,
                now=now,
            )
        else:
            link = password_resets.create_link(
                session, user=user, created_by=actor.name, lifetime=sign_ups.INVITED_FOR, now=now
            )
        created.append(NewAccount(user.name, link, token))
    act.record(
        "accounts.create",
        f"{len(made)} accounts",
        after={"accounts": [user.id for user in made], "with_tokens": with_tokens},
    )
    return created
