"""Names of users and teams: characters, length, reserved, look-alike and taken names.

Two names are the same if they differ only in case, look-alikes, punctuation and spaces. `name_key` folds the
case and replaces each character by its prototype, like the skeleton of Unicode Technical Standard 39.
`name_shape` is the key of the name without punctuation and spaces. The table of look-alikes is Unicode's,
from the package confusable-homoglyphs.
"""

import hashlib
import re
import unicodedata
from functools import cache
from typing import NamedTuple

import regex
from confusable_homoglyphs import utils as confusables
from sqlalchemy import ColumnElement, exists, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, ParticipantError
from grader.models import Competition, Team, User
from grader.services import counting
from grader.text import folded

MAX_LENGTH = 64  # characters as a reader counts them (grapheme clusters)
MAX_CODE_POINTS = 256
KEY_LENGTH = 256
MARKS_LIMIT = 8
LENGTH_LOOKED_AT = 4096

_WRONG_LENGTH = f"A name has 1 to {MAX_LENGTH} characters; this one has {{:,}}."
# Controls, direction characters, spaces but the usual one, and whatever else is drawn as nothing.
_HIDDEN = regex.compile(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800--\ ]", regex.VERSION1)
_EMOJI_STYLES = regex.compile("[\ufe0e\ufe0f]")
# They change what a name says (C, C++ and C#); other punctuation is what look-alikes are decorated with.
_SAYING_MARKS = frozenset("#%&+@")
_DECORATIONS = frozenset({"Sm", "Sk"})  # beside all punctuation and spaces: | ~ ^ and accents on their own

_OFFICES = (
    "admin",
    "administrator",
    "helpdesk",
    "moderator",
    "operator",
    "organiser",
    "organizer",
    "root",
    "security",
    "staff",
    "superuser",
    "support",
    "sysadmin",
    "system",
    "webmaster",
)
_NOBODYS = (
    "anonymous",
    "everybody",
    "everyone",
    "fairboard",
    "host",
    "nobody",
    "organisers",
    "organizers",
)


class InvalidName(ParticipantError):
    """A text that cannot be a name."""

    public_name = "invalid_name"


class ReservedName(InvalidName):
    """A name that people could take for one of the site's own."""

    public_name = "reserved_name"
    message = "The name {name!r} is reserved: people could take it for one of the site's own."


class UnknownUser(ParticipantError):
    """A name without an account."""

    public_name = "unknown_user"
    kind = ErrorKind.NOT_FOUND
    message = "There is no account named {name!r}."


def clean_name(name: str) -> str:
    """Return the shown form of a name: NFKC, single spaces; raise InvalidName."""
    if len(name) > LENGTH_LOOKED_AT:
        raise InvalidName(_WRONG_LENGTH.format(len(name)))
    plain = _EMOJI_STYLES.sub("", unicodedata.normalize("NFKC", name))
    shown = re.sub(" +", " ", plain).strip(" ")
    if problem := _problem(shown):
        raise InvalidName(problem)
    return shown


def name_key(name: str) -> str:
    """Return the form of a clean name that look-alike names share."""
    seen = _skeleton(name)
    if (
        not seen.isascii()
    ):  # a name of another script: its case first, for capitals have look-alikes of their own
        seen = _skeleton(name.casefold())
    key = _skeleton(seen.casefold()).replace("i", "l")  # a capital i is drawn like a small L
    return key if len(key) <= KEY_LENGTH else hashlib.sha256(key.encode()).hexdigest()


def name_shape(name: str) -> str:
    """Return the key of a clean name without punctuation and spaces: `Team-Alpha` for `·Team Alpha`."""
    kept: list[str] = []
    is_decoration = False
    for char in unicodedata.normalize("NFD", name):
        if not unicodedata.category(char).startswith("M"):  # a mark goes with what it is on
            is_decoration = _is_decoration(char)
        if not is_decoration:
            kept.append(char)
    return name_key("".join(kept) or name)


def numbered(name: str, number: int) -> str:
    """Return `Ada (2)`, cut to the length of a name."""
    suffix = f" ({number})"
    kept = regex.findall(r"\X", name)[: MAX_LENGTH - len(suffix)]
    while len("".join(kept)) + len(suffix) > MAX_CODE_POINTS:
        kept.pop()
    return "".join(kept).rstrip() + suffix


def of_deleted(user_id: int) -> str:
    """Return the name of a deleted account, which is reserved."""
    return f"deleted-{user_id}"


def is_reserved(name: str, *, is_admin: bool = False) -> bool:
    """Return whether a clean name is reserved; administrators may have the name of an office."""
    patterns = _reserved_shapes()
    return bool(patterns.nobodys.fullmatch(shape := name_shape(name))) or (
        not is_admin and bool(patterns.offices.fullmatch(shape))
    )


def require_unreserved(name: str, *, is_admin: bool = False) -> None:
    """Raise ReservedName where `is_reserved`."""
    if is_reserved(name, is_admin=is_admin):
        raise ReservedName(name=name)


def hold_accounts(session: Session) -> None:
    """Lock the names of accounts until the transaction ends."""
    counting.hold_lock(session, "names of accounts")


def is_taken(session: Session, *, name: str) -> bool:
    """Return whether an account has this or a look-alike name, under `hold_accounts`."""
    return bool(session.scalar(select(exists().where(_is_alike(User, name)))))


def is_taken_by_team(
    session: Session, *, competition: Competition, name: str, but_for: Team | None = None
) -> bool:
    """Return whether a team of a locked competition, except `but_for`, has this or a look-alike name."""
    alike = (Team.competition_id == competition.id) & _is_alike(Team, name)
    if but_for is not None:
        alike &= Team.id != but_for.id
    return bool(session.scalar(select(exists().where(alike))))


def get_user(session: Session, *, name: str) -> User:
    """Return the account with a name, in any case; raise UnknownUser."""
    user = find_user(session, name=name)
    if user is None:
        raise UnknownUser(name=name)
    return user


def find_user(session: Session, *, name: str) -> User | None:
    """Return the account with a name, in any case; None without one."""
    try:
        key = folded(clean_name(name))
    except InvalidName:
        return None
    return session.scalar(select(User).where(User.name_folded == key))


def _problem(name: str) -> str | None:
    hidden = next(iter(_HIDDEN.findall(name)), None)
    if hidden is not None:
        return f"A name cannot hold the invisible character U+{ord(hidden):04X}."
    characters = regex.findall(r"\X", name)
    if not 1 <= len(characters) <= MAX_LENGTH:
        return _WRONG_LENGTH.format(len(characters))
    if max(len(name), len(folded(name))) > MAX_CODE_POINTS or max(map(len, characters)) > MARKS_LIMIT:
        return "A name cannot carry that many marks on its characters."
    if unicodedata.category(name[0]).startswith("M"):
        return "A name cannot begin with a mark that belongs on another character."
    if not any(char.isalnum() for char in name):
        return "A name needs at least one letter or digit."
    return None


class _Reserved(NamedTuple):
    """Patterns of shapes that nobody can choose, and those that only an administrator can."""

    nobodys: re.Pattern[str]
    offices: re.Pattern[str]


@cache
def _reserved_shapes() -> _Reserved:
    before = "|".join(map(name_shape, ("the", "official", "fairboard")))
    after = "|".join(map(name_shape, ("team", "account", "official")))

    def pattern(words: tuple[str, ...], *more: str) -> re.Pattern[str]:
        named = f"(?:{before})*(?:{'|'.join(map(name_shape, words))})s?(?:{after})*"
        return re.compile("|".join((named, *more)))

    # The shape of a digit may be a letter: 0 is o, and 1 is l.
    deleted = f"(?:{name_shape('Team of')})?{name_shape('deleted')}[ol2-9]+"
    return _Reserved(nobodys=pattern(_NOBODYS, deleted), offices=pattern(_OFFICES))


def _is_decoration(char: str) -> bool:
    kind = unicodedata.category(char)
    if kind[0] in "PZ" or kind in _DECORATIONS:
        return char not in _SAYING_MARKS
    if kind[0] != "L":
        return False
    seen = _prototypes().get(char, char)  # a letter that is drawn as a dot or a dash
    return all(unicodedata.category(each)[0] in "PZ" for each in seen)


def _skeleton(text: str) -> str:
    prototypes = _prototypes()
    decomposed = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFD", "".join(prototypes.get(char, char) for char in decomposed))


@cache
def _prototypes() -> dict[str, str]:
    """Return the prototype of each look-alike character.

    The package lists each pair of Unicode's table in both directions: the prototype of several characters is
    the one that they share; of two that name only each other, it is the longer one, else the lower one.
    """
    alike = {
        _bare(char): [_bare(each["c"]) for each in others]
        for char, others in confusables.load("confusables.json").items()
    }
    return {
        char: others[0]
        for char, others in alike.items()
        if len(others) == 1 and len(char) == 1 and (len(alike[others[0]]) > 1 or _precedes(others[0], char))
    }


def _precedes(one: str, other: str) -> bool:
    return (-len(one), one) < (-len(other), other)


def _bare(text: str) -> str:
    return text.strip("\u200e")  # the table writes right-to-left characters between direction marks


def _is_alike(table: type[User] | type[Team], name: str) -> ColumnElement[bool]:
    return (table.name_shape == name_shape(name)) | (table.name_key == name_key(name))
