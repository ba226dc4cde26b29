"""Validation of user and team names: reserved, look-alike and taken names.

Two names count as the same if they differ only in case, look-alike characters, punctuation and spaces.
`name_key` folds the case and replaces each character with its prototype, like the skeleton algorithm in
Unicode Technical Standard 39. The package confusable-homoglyphs provides Unicode's table of look-alikes.
"""

import hashlib
import re
import unicodedata
from functools import cache

import idna
import regex
from confusable_homoglyphs import utils as confusables
from sqlalchemy import exists, func, select
from sqlalchemy.orm import Session

from grader.errors import ErrorKind, Refusal
from grader.models import Competition, Team, User
from grader.services.site import counting
from grader.text import folded

MAX_LENGTH = 64  # grapheme clusters
MAX_CODE_POINTS = 256
KEY_LENGTH = 256
MARKS_LIMIT = 8
LENGTH_LOOKED_AT = 4096

_WRONG_LENGTH = f"The name has {{:,}} characters. Use 1 to {MAX_LENGTH}."
# Control and direction characters, all spaces except the ordinary one, and other invisible characters.
_HIDDEN = regex.compile(r"[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800--\ ]", regex.VERSION1)
# Some scripts need zero-width joiners inside words. A name's key ignores them.
_JOINERS = regex.compile("[\u200c\u200d]")
_EMOJI_STYLES = regex.compile("[\ufe0e\ufe0f]")
# These marks distinguish names (C, C++ and C#). Other punctuation is ignored, because it is often used to
# decorate look-alike names.
_SAYING_MARKS = frozenset("#%&+@")
_DECORATIONS = frozenset({"Sm", "Sk"})  # symbols such as | ~ ^ and standalone accents

_OFFICES = (
    *("admin", "administrator", "helpdesk", "moderator", "operator", "organiser", "organizer", "root"),
    *("security", "staff", "superuser", "support", "sysadmin", "system", "webmaster"),
)
_NOBODYS = ("anonymous", "everybody", "everyone", "fairboard", "host", "nobody", "organisers", "organizers")


class InvalidName(Refusal):
    """The text cannot be used as a name."""

    def __init__(self, message: str, *, name: str = "invalid_name") -> None:
        super().__init__(name, ErrorKind.INVALID, message)


def unknown_user(name: str) -> Refusal:
    """Return the refusal for a name that no account has."""
    return Refusal("unknown_user", ErrorKind.NOT_FOUND, f"There is no account named {name!r}.")


def clean_name(name: str) -> str:
    """Return the display form of a name, in NFKC with single spaces; raise InvalidName."""
    if len(name) > LENGTH_LOOKED_AT:
        raise InvalidName(_WRONG_LENGTH.format(len(name)))
    plain = _EMOJI_STYLES.sub("", unicodedata.normalize("NFKC", name))
    shown = re.sub(" +", " ", plain).strip(" ")
    if problem := _problem(shown):
        raise InvalidName(problem)
    return shown


def name_key(name: str) -> str:
    """Return the key of a clean name, which look-alike names share, without punctuation and spaces.

    `Team-Alpha` and `·Team Alpha` have the same key.
    """
    kept: list[str] = []
    is_decoration = False
    for char in unicodedata.normalize("NFD", name):
        if not unicodedata.category(char).startswith("M"):  # Combining marks stay with their base character.
            is_decoration = _is_decoration(char)
        if not is_decoration:
            kept.append(char)
    plain = "".join(kept) or name
    seen = _skeleton(plain)
    if not seen.isascii():
        # In other scripts, capital letters have their own look-alikes, so the case is folded first.
        seen = _skeleton(plain.casefold())
    key = _skeleton(seen.casefold()).replace("i", "l")  # A capital i looks like a lower-case L.
    return key if len(key) <= KEY_LENGTH else hashlib.sha256(key.encode()).hexdigest()


def numbered(name: str, number: int) -> str:
    """Return a name with a number, such as `Ada (2)`, cut to the maximum length."""
    suffix = f" ({number})"
    kept = regex.findall(r"\X", name)[: MAX_LENGTH - len(suffix)]
    while len("".join(kept)) + len(suffix) > MAX_CODE_POINTS:
        kept.pop()
    return "".join(kept).rstrip() + suffix


def of_deleted(user_id: int) -> str:
    """Return the reserved name of a deleted account."""
    return f"deleted-{user_id}"


def is_reserved(name: str, *, is_admin: bool = False) -> bool:
    """Return whether a clean name is reserved; administrators may use the names of roles."""
    key = name_key(name)
    return bool(_pattern(*_NOBODYS).fullmatch(key) or (not is_admin and _pattern(*_OFFICES).fullmatch(key)))


def require_unreserved(name: str, *, is_admin: bool = False) -> None:
    """Raise InvalidName if a clean name is reserved."""
    if is_reserved(name, is_admin=is_admin):
        message = f"The name {name!r} is reserved because it looks official. Choose another one."
        raise InvalidName(message, name="reserved_name")


def hold_accounts(session: Session) -> None:
    """Lock all account names until the transaction ends."""
    counting.hold_lock(session, "names of accounts")


def is_taken(session: Session, *, name: str) -> bool:
    """Return whether an account has this name or a look-alike; call `hold_accounts` first."""
    return bool(session.scalar(select(exists().where(User.name_key == name_key(name)))))


def is_taken_by_team(
    session: Session, *, competition: Competition, name: str, but_for: Team | None = None
) -> bool:
    """Return whether a team other than `but_for` has a similar name or alias; lock the competition first."""
    key, before_code = name_key(name), name_key("Team")
    is_same = Team.name_key == key
    if key.startswith(before_code):
        is_same |= func.lower(Team.alias) == f"team {key.removeprefix(before_code)}"
    alike = (Team.competition_id == competition.id) & is_same
    if but_for is not None:
        alike &= Team.id != but_for.id
    return bool(session.scalar(select(exists().where(alike))))


def get_user(session: Session, *, name: str) -> User:
    """Return the account with a name, ignoring case; raise Refusal."""
    user = find_user(session, name=name)
    if user is None:
        raise unknown_user(name)
    return user


def find_user(session: Session, *, name: str) -> User | None:
    """Return the account with a name, ignoring case, or None."""
    try:
        key = folded(clean_name(name))
    except InvalidName:
        return None
    return session.scalar(select(User).where(User.name_folded == key))


def _problem(name: str) -> str | None:
    hidden = next(
        (match[0] for match in _HIDDEN.finditer(name) if not _is_joining(name, match.start())), None
    )
    if hidden is not None:
        return f"The name contains the invisible character U+{ord(hidden):04X}. Remove it."
    characters = regex.findall(r"\X", name)
    if not 1 <= len(characters) <= MAX_LENGTH:
        return _WRONG_LENGTH.format(len(characters))
    if max(len(name), len(folded(name))) > MAX_CODE_POINTS or max(map(len, characters)) > MARKS_LIMIT:
        return "The name has too many combining marks on its characters. Remove some."
    if unicodedata.category(name[0]).startswith("M"):
        return "The name starts with a combining mark. Start it with another character."
    if not any(char.isalnum() for char in name):
        return "The name needs at least one letter or digit."
    return None


def _is_joining(name: str, position: int) -> bool:
    """Return whether a character is a joiner where RFC 5892 (appendices A.1 and A.2) allows one."""
    is_joiner = len(name) <= MAX_CODE_POINTS and _JOINERS.match(name, position)
    return bool(is_joiner) and idna.valid_contextj(name, position)


@cache
def _pattern(*words: str) -> re.Pattern[str]:
    """Return the pattern of the keys of words, also in the plural and with words that look official."""
    before, named, after = (
        "|".join(map(name_key, each))
        for each in (("the", "official", "fairboard"), words, ("team", "account", "official"))
    )
    # In a key, the digit 0 becomes the letter o and 1 becomes l.
    deleted = f"(?:{name_key('Team of')})?{name_key('deleted')}[ol2-9]+"
    return re.compile(f"(?:{before})*(?:{named})s?(?:{after})*|{deleted}")


def _is_decoration(char: str) -> bool:
    kind = unicodedata.category(char)
    if kind[0] in "PZ" or kind in _DECORATIONS:
        return char not in _SAYING_MARKS
    # Some letters look like a dot or a dash.
    return kind[0] == "L" and all(
        unicodedata.category(each)[0] in "PZ" for each in _prototypes().get(char, char)
    )


def _skeleton(text: str) -> str:
    prototypes = _prototypes()
    decomposed = unicodedata.normalize("NFD", _JOINERS.sub("", text))
    return unicodedata.normalize("NFD", "".join(prototypes.get(char, char) for char in decomposed))


@cache
def _prototypes() -> dict[str, str]:
    """Return the prototype of each look-alike character.

    The package lists each pair of Unicode's table in both directions. The character that several others list,
    or else the longer or lower one of a pair, is the prototype.
    """
    alike = {
        _bare(char): [_bare(each["c"]) for each in others]
        for char, others in confusables.load("confusables.json").items()
    }
    return {
        char: others[0]
        for char, others in alike.items()
        if len(others) == 1
        and len(char) == 1
        and (len(alike[others[0]]) > 1 or (-len(others[0]), others[0]) < (-1, char))
    }


def _bare(text: str) -> str:
    return text.strip("\u200e")  # In the table, direction marks enclose right-to-left characters.
