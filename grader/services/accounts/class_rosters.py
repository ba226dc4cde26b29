"""Rosters of classes: import, accounts with one-time links or API tokens, use of the sections."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select, union_all
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, OrganizerError
from grader.models import (
    DivisionChoice,
    Identity,
    LinkPurpose,
    Organizer,
    Participation,
    RequestState,
    Role,
    RosterEntry,
    SectionUse,
    Team,
    User,
)
from grader.services import counting
from grader.services.accounts import accounts, api_tokens, one_time_links, roster_file, sign_ups
from grader.services.accounts.roster_file import InvalidClass, Student
from grader.services.competitions import settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import division_names
from grader.services.counting import DAY, RateLimit
from grader.services.mail import addresses, letters
from grader.services.people import names
from grader.services.teams import divisions, rosters, students
from grader.text import counted, folded, listed

KIND = "class accounts"
CLASSES = (RateLimit(10, DAY),)
TOKEN_LIFETIME = timedelta(days=365)
MOST_LISTED = 100
CHUNK = 500


class TooManyClasses(OrganizerError):
    """The competition or the user has reached the daily limit on class lists."""

    public_name = "too_many_classes"
    kind = ErrorKind.LIMITED

    def __init__(self, *, free_at: datetime, now: datetime) -> None:
        self.retry_after = free_at - now
        super().__init__(
            f"Each user and each competition is limited to {CLASSES[0].count} lists with new accounts per "
            f"day. Try again {counting.when(free_at, now)}."
        )


@dataclass(frozen=True, slots=True)
class NewAccount:
    """A student's account with a secret that is shown only once; without one, the link was mailed."""

    entry: RosterEntry
    name: str
    link_token: str | None
    api_token: str | None


def import_lines(
    act: Act,
    *,
    lines: Sequence[str],
    sections: SectionUse | None = None,
    own_accounts: bool = False,
    by_mail: bool = False,
    with_tokens: bool = False,
    renew_links: bool = False,
    remove_missing: bool = False,
) -> tuple[list[NewAccount], list[str]]:
    """Add and change students, and return the new accounts with notes; raise InvalidClass or TooManyClasses.

    Accounts with a student's verified address, or of the same student on another roster of the actor, are
    linked. Others are created, unless students use their `own_accounts`. All are admitted. `sections` is by
    default as before. `renew_links` replaces the links of created accounts without a password.
    """
    session, competition = act.session, act.competition
    found, notes = roster_file.read(lines)
    use = sections or competition.section_use or SectionUse.NOTHING
    here = RosterEntry.competition_id == competition.id
    stored = session.scalars(select(RosterEntry).where(here).options(joinedload(RosterEntry.user))).all()
    matched, problems = _matched(stored, found)
    missing = sorted({*stored} - {*matched}, key=lambda each: each.id)
    staying = [] if remove_missing else missing
    if (count := len(found) + len(staying)) > roster_file.MOST:
        problems.append(f"The roster would have {count:,} students. The limit is {roster_file.MOST:,}.")
    sizes = Counter([*(each.section for each in found), *(each.section for each in staying)])
    problems += _section_problems(act, use, sizes)
    if sections not in (None, SectionUse.NOTHING) and not any(sizes):
        problems.append("The roster has no sections. Add a column named section.")
    if problems:
        raise InvalidClass(problems)
    if remove_missing:
        for entry in missing:
            session.delete(entry)
        session.flush()
    taken = {each.user_id for each in (*staying, *filter(None, matched))}
    entries = _updated(act, found, matched, taken)
    changed = sum(each in session.dirty and session.is_modified(each) for each in entries)
    session.add_all(entries)
    session.flush()
    new = [] if own_accounts else [each for each in entries if each.user is None]
    unused = [each for each in entries if renew_links and _is_unused(each)]
    if new:
        _make_accounts(act, new)
    competition.section_use = use
    _admit(act, [each.user_id for each in entries if each.user_id])
    if use is SectionUse.TEAMS:
        students.place(session, competition=competition, entries=entries, now=act.now)
    if use is SectionUse.DIVISIONS:
        _divide(act, list(filter(None, sizes)))
    made = _with_secrets(act, [*new, *unused], by_mail=by_mail, with_tokens=with_tokens)
    added = matched.count(None)
    act.record(
        "accounts.create",
        counted(len(new), "account"),
        after={"accounts": [each.user_id for each in new], "added": added, "changed": changed,
               "removed": len(missing) - len(staying), "sections": use},
    )  # fmt: skip
    notes.insert(0, f"{counted(added, 'student')} added, {changed:,} changed.")
    if missing:
        shown = listed([each.name for each in missing], most=MOST_LISTED)
        verb = "Removed" if remove_missing else "Not in the list, but still on the roster"
        notes.append(f"{verb}: {shown}.")
    return made, notes


def _updated(
    act: Act, found: Sequence[Student], matched: Sequence[RosterEntry | None], taken: set[int | None]
) -> list[RosterEntry]:
    """Return the students' entries, linked to accounts that are not `taken`."""
    owners, entries = _owners(act, found), []
    for student, known in zip(found, matched, strict=True):
        entry = known or RosterEntry(competition_id=act.competition.id, user_id=None, has_made_account=False)
        entry.name, entry.section = student.name, student.section
        entry.student_id = student.student_id or entry.student_id
        entry.email = student.email or entry.email
        by_address = owners.get(addresses.key(student.email)) if student.email else None
        owner = by_address or owners.get((student.student_id, folded(student.name)))
        if entry.user_id is None and owner and owner[0] not in taken:
            entry.user, entry.has_made_account = act.session.get_one(User, owner[0]), owner[1]
            taken.add(owner[0])
        entries.append(entry)
    return entries


def _is_unused(entry: RosterEntry) -> bool:
    """Return whether organizers may get a link: for an account that they created and nobody uses."""
    user = entry.user
    is_new = user is not None and user.password_hash == accounts.NO_PASSWORD and not user.identities
    return entry.has_made_account and is_new


def _matched(
    stored: Sequence[RosterEntry], found: Sequence[Student]
) -> tuple[list[RosterEntry | None], list[str]]:
    """Return each student's entry, found by id, else by address, else by name, and the conflicts."""
    by_id: dict[Any, RosterEntry] = {each.student_id: each for each in stored if each.student_id}
    by_email: dict[Any, RosterEntry] = {addresses.key(each.email): each for each in stored if each.email}
    unidentified = (each for each in stored if not (each.student_id or each.email))
    by_name = {names.name_key(each.name): each for each in unidentified}
    matched, problems, seen = list[RosterEntry | None](), [], set[Any]()
    for student in found:
        same_email = by_email.get(student.email and addresses.key(student.email))
        entry = by_id.get(student.student_id) or same_email
        if not (student.student_id or student.email):
            entry = by_name.get(names.name_key(student.name))
        if same_email not in (None, entry) or (entry and entry in seen):
            problems.append(f"{student.place}: another student on the roster has this e-mail address.")
        matched.append(entry)
        seen.add(entry)
    return matched, problems


def _section_problems(act: Act, use: SectionUse, sizes: Counter[str]) -> Iterator[str]:
    most = act.competition.max_team_size
    if use is SectionUse.TEAMS:
        try:
            rosters.require_running(act.competition, act.now)
            for section in filter(None, sizes):
                names.require_unreserved(names.clean_name(section))
        except (names.InvalidName, rosters.TeamsFrozen) as error:
            yield f"Sections cannot become teams: {error.message}"
        for section, size in sizes.items():
            if section and size > most:
                yield f"Section {section} has {counted(size, 'student')}; a team can have {most:,} at most."


def _divide(act: Act, sections: Sequence[str]) -> None:
    """Make sections divisions, and assign the teams that students lead; raise InvalidCompetition."""
    session, competition = act.session, act.competition
    known = division_names(competition.divisions)
    if new := [each for each in sections if each not in known]:
        lines = "\n".join([*competition.divisions.splitlines(), *new])
        changes = {"divisions": lines, "division_choice": DivisionChoice.ORGANIZERS}
        settings.change(act, changes=changes)
    led = Team.competition_id == competition.id, RosterEntry.competition_id == competition.id
    of_students = select(Team, RosterEntry.section).join(RosterEntry, RosterEntry.user_id == Team.leader_id)
    divisions.assign_all(act, session.execute(of_students.where(*led, RosterEntry.section != "")).all())


def _owners(act: Act, found: Sequence[Student]) -> dict[Any, tuple[int, bool]]:
    """Return accounts by address, or by id and name, and whether a roster of the actor created them."""
    session, owners = act.session, dict[Any, tuple[int, bool]]()
    if act.actor.user is not None:
        own = Organizer.user_id == act.actor.user.id, Organizer.role == Role.OWNER
        of_owned = RosterEntry.competition_id.in_(select(Organizer.competition_id).where(*own))
        for each in session.scalars(select(RosterEntry).where(of_owned, RosterEntry.user_id.is_not(None))):
            owner = each.user_id or 0, each.has_made_account
            if each.student_id:
                owners[each.student_id, folded(each.name)] = owner
            if each.email:
                owners[addresses.key(each.email)] = owner
    keys = [addresses.key(each.email) for each in found if each.email]
    confirmed, of_user = func.lower(Identity.email), Identity.user_id.is_not(None)
    for start in range(0, len(keys), CHUNK):
        part = keys[start : start + CHUNK]
        verified = union_all(
            select(confirmed, Identity.user_id).where(of_user, confirmed.in_(part)),
            select(User.email_key, User.id).where(User.email_key.in_(part)),
        )
        owners |= {key: (user_id, False) for key, user_id in session.execute(verified)}
    return owners


def _make_accounts(act: Act, entries: Sequence[RosterEntry]) -> None:
    """Create an account without a password for each entry, named after the student; raise TooManyClasses."""
    session, now, user = act.session, act.now, act.actor.user
    whose = [f"{act.competition.id}"]
    if user is not None:  # A limit per competition is not enough: users can own any number of drafts.
        whose.append(f"of {user.id}")
        counting.hold_lock(session, f"class accounts of {user.id}")
    for each in whose:
        if reached := counting.free_at(session, kind=KIND, whose=each, limits=CLASSES, now=now):
            raise TooManyClasses(free_at=reached[1], now=now)
        counting.add(session, kind=KIND, whose=each, now=now)
    for entry, name in zip(entries, _free_names(session, [each.name for each in entries]), strict=True):
        entry.user = accounts.named(name, password_hash=accounts.NO_PASSWORD, now=now)
        entry.has_made_account = True
    session.flush()


def _free_names(session: Session, wanted: Sequence[str]) -> list[str]:
    """Return a free name for each account: the wanted name, with a number if it is taken."""
    names.hold_accounts(session)
    forms = {name: (names.name_shape(name), names.name_key(name)) for name in wanted}
    used, numbers, free = set[str | None](), Counter[str](), []
    for start in range(0, len(wanted), CHUNK):
        shapes, keys = zip(*(forms[name] for name in wanted[start : start + CHUNK]), strict=True)
        alike = User.name_shape.in_(shapes) | User.name_key.in_(keys)
        for pair in session.execute(select(User.name_shape, User.name_key).where(alike)):
            used.update(pair)
    for name in wanted:
        free_name, (shape, key) = name, forms[name]
        while not used.isdisjoint((shape, key)) or (
            free_name != name and names.is_taken(session, name=free_name)
        ):
            numbers[name] += 1
            free_name = names.numbered(name, numbers[name] + 1)
            shape, key = names.name_shape(free_name), names.name_key(free_name)
        used |= {shape, key}
        free.append(free_name)
    return free


def _admit(act: Act, user_ids: Sequence[int]) -> None:
    """Admit people, who must still accept the rules; earlier rejections stay."""
    session, competition = act.session, act.competition
    here = Participation.competition_id == competition.id
    known = {each.user_id: each for each in session.scalars(select(Participation).where(here))}
    for user_id in user_ids:
        participation = known.get(user_id) or Participation(
            competition_id=competition.id, user_id=user_id, rules_version=0, state=RequestState.OPEN
        )
        if participation.state in (RequestState.OPEN, RequestState.WITHDRAWN):
            participation.state, participation.joined_at = RequestState.ACCEPTED, act.now
            participation.requested_at = participation.requested_at or act.now
            session.add(participation)
    session.flush()


def _with_secrets(
    act: Act, entries: Sequence[RosterEntry], *, by_mail: bool, with_tokens: bool
) -> list[NewAccount]:
    """Create the tokens or the links of accounts; mail the links to the students with an address."""
    session, competition, now = act.session, act.competition, act.now
    users = [each.user for each in entries if each.user is not None]
    given: dict[str, Any] = {"now": now, "lifetime": TOKEN_LIFETIME if with_tokens else sign_ups.INVITED_FOR}
    if with_tokens:
        given |= {"name": competition.slug, "competition": competition}
        secrets = [api_tokens.create(session, user=user, **given)[1] for user in users]
    else:
        given |= {"purpose": LinkPurpose.RESET_PASSWORD, "created_by": act.actor.name}
        secrets = one_time_links.create_all(session, users, **given)
    made = []
    for entry, user, secret in zip(entries, users, secrets, strict=True):
        is_mailed = by_mail and not with_tokens and entry.email is not None
        if is_mailed and entry.email:
            values = {"user": user, "token": secret, "competition": competition, "organizer": act.actor.name}
            letters.send_to_address(session, "class-account", entry.email, now=now, **values)
        link, token = (None, secret) if with_tokens else (None if is_mailed else secret, None)
        made.append(NewAccount(entry, user.name, link, token))
    return made
