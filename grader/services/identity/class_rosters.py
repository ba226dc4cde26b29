"""Rosters of classes: import, invitations of students, use of the sections."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    AccountLink,
    Competition,
    DivisionChoice,
    LinkPurpose,
    Participation,
    RequestState,
    RosterEntry,
    SectionUse,
    Team,
    User,
)
from grader.services.competitions import lookup, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import division_names
from grader.services.identity import kept_identities, names, one_time_links, roster_file
from grader.services.identity.roster_file import Student
from grader.services.site import letters
from grader.services.site import mail_addresses as addresses
from grader.services.site import mail_limits as limits
from grader.services.teams import divisions, rosters
from grader.text import counted, listed

MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class ClassInvitation:
    """An invitation of a student; `token` is None if the link was e-mailed."""

    entry: RosterEntry
    token: str | None


def import_lines(
    act: Act,
    *,
    lines: Sequence[str],
    sections: SectionUse | None = None,
    own_accounts: bool = False,
    by_mail: bool = False,
    renew_links: bool = False,
    remove_missing: bool = False,
) -> tuple[list[ClassInvitation], list[str]]:
    """Add and change students; return invitations and notes; raise OrganizerRefusal or TooMuchMail.

    New students are invited, unless they join with their verified address (`own_accounts`). Only students who
    join are linked to an account, so the result does not depend on who has one. `sections` is by default as
    before. `renew_links` replaces the links of all listed students who have not joined.
    """
    session, competition = act.session, act.competition
    found, notes = roster_file.read(lines)
    use = sections or competition.section_use or SectionUse.NOTHING
    here = RosterEntry.competition_id == competition.id
    stored = session.scalars(select(RosterEntry).where(here).options(joinedload(RosterEntry.user))).all()
    matched, problems = _matched(stored, found)
    missing = sorted({*stored} - {*matched}, key=lambda each: each.id)
    staying = [] if remove_missing else missing
    sizes = Counter([*(each.section for each in found), *(each.section for each in staying)])
    if sections not in (None, SectionUse.NOTHING) and not any(sizes):
        problems.append("The roster has no sections. Add a column named section.")
    if problems := [*problems, *_section_problems(act, use, sizes)]:
        raise roster_file.invalid(problems)
    if remove_missing:
        _revoke(session, missing)
        session.execute(delete(RosterEntry).where(RosterEntry.id.in_([each.id for each in missing])))
    entries = [known or RosterEntry(competition_id=competition.id) for known in matched]
    for entry, student in zip(entries, found, strict=True):
        entry.name, entry.section = student.name, student.section
        entry.student_id = student.student_id or entry.student_id
        entry.email = student.email or entry.email
    changed = sum(each in session.dirty and session.is_modified(each) for each in entries)
    competition.section_use = use
    session.add_all(entries)
    session.flush()
    if use is SectionUse.TEAMS:
        _place(session, competition, entries, act.now)
    if use is SectionUse.DIVISIONS:
        _divide(act, list(filter(None, sizes)))
    new = {entry for entry, known in zip(entries, matched, strict=True) if known is None and not own_accounts}
    wanted = [each for each in entries if each in new or (renew_links and each.user_id is None)]
    invitations, limited = _invite(act, wanted, by_mail=by_mail)
    added, removed = matched.count(None), len(missing) - len(staying)
    after = {"added": added, "changed": changed, "removed": removed, "invited": len(invitations)}
    act.record("roster.import", counted(len(found), "student"), after={**after, "sections": use})
    verb = "Removed" if remove_missing else "Not in the list, but still on the roster"
    unsent = "Not e-mailed, because too many links were sent to the address today"
    notes.insert(0, f"{counted(added, 'student')} added, {changed:,} changed.")
    notes += [
        f"{words}: {listed([each.name for each in students], most=MOST_LISTED)}."
        for words, students in ((verb, missing), (unsent, limited))
        if students
    ]
    return invitations, notes


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
    if (count := sizes.total()) > roster_file.MOST:
        yield f"The roster would have {count:,} students. The limit is {roster_file.MOST:,}."
    if use is SectionUse.TEAMS:
        try:
            if not rosters.is_running(act.competition, act.now):
                yield f"Sections cannot become teams: {rosters.frozen(act.competition.closes_at).message}"
            for section in filter(None, sizes):
                names.require_unreserved(names.clean_name(section))
        except names.InvalidName as error:
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


def _place(session: Session, competition: Competition, entries: Sequence[RosterEntry], now: datetime) -> None:
    """Add the students who have joined the competition to the teams of their sections."""
    joined = Participation.competition_id == competition.id, Participation.state == RequestState.ACCEPTED
    users = set(session.scalars(select(Participation.user_id).where(*joined)))
    present = [each for each in entries if each.user_id in users]
    rosters.place_students(session, competition=competition, entries=present, now=now)


def _invite(
    act: Act, entries: Sequence[RosterEntry], *, by_mail: bool
) -> tuple[list[ClassInvitation], list[RosterEntry]]:
    """Create links for students, and e-mail them to those with an address; raise TooMuchMail.

    Also return the students whose addresses have reached their limit; they get no link.
    """
    session, now, invited, limited = act.session, act.now, list[RosterEntry](), list[RosterEntry]()
    _revoke(session, entries)
    # All imports count the addresses in the same order, so their locks cannot form a cycle.
    for entry in sorted(entries, key=lambda each: addresses.key(each.email or "")):
        limits.count_student_invitation(session, by=act.actor.user, now=now)
        try:
            if by_mail and entry.email:
                limits.count_for_address(session, address=entry.email, now=now)
            invited.append(entry)
        except limits.TooMuchMail:
            limited.append(entry)
    made = []
    purpose, lifetime = LinkPurpose.SIGN_UP, one_time_links.HANDED_FOR[LinkPurpose.SIGN_UP]
    for entry in sorted(invited, key=entries.index):
        address = entry.email if by_mail else None
        token = one_time_links.create(session, purpose=purpose, address=address, lifetime=lifetime, now=now)
        entry.link_sha256 = one_time_links.sha256_of(token)
        if address:
            values = {"competition": act.competition, "student": entry.name, "organizer": act.actor.name}
            letters.send_to_address(session, "class-invitation", address, now=now, token=token, **values)
        made.append(ClassInvitation(entry, None if address else token))
    session.flush()
    return made, limited


def _revoke(session: Session, entries: Sequence[RosterEntry]) -> None:
    """Delete the links of students."""
    for entry in entries:
        if entry.link_sha256:
            session.execute(delete(AccountLink).where(AccountLink.token_sha256 == entry.link_sha256))
            entry.link_sha256 = None


def find(session: Session, *, token: str, now: datetime) -> tuple[RosterEntry, Competition, bool]:
    """Return the entry of an invitation, its competition, and whether the link can still create an account.

    Raises Refusal.
    """
    digest = one_time_links.sha256_of(token)
    valid = AccountLink.token_sha256 == digest, AccountLink.expires_at > now
    link = session.scalar(select(AccountLink).where(*valid))
    entry = session.scalar(select(RosterEntry).where(RosterEntry.link_sha256 == digest))
    if link is None or entry is None:
        raise one_time_links.invalid()
    return entry, session.get_one(Competition, entry.competition_id), link.used_at is None


def claim(session: Session, *, token: str, user: User, secret: str, now: datetime) -> Competition:
    """Link a student to the account of a person who opened the invitation; return the competition.

    Raises Refusal.
    """
    _, found, _ = find(session, token=token, now=now)
    competition = lookup.lock(session, competition_id=found.id)
    entry, _, _ = find(session, token=token, now=now)
    present = rosters.linked_student(session, competition=competition, user=user)
    if present is not None:
        message = f"You have already joined this class as {present.name}."
        raise Refusal("already_student", ErrorKind.CONFLICT, message)
    if entry.email:
        kept_identities.require_not_suspended(session, user=user, address=entry.email, secret=secret)
    _revoke(session, [entry])
    entry.user_id = user.id
    session.flush()
    if competition.section_use is SectionUse.TEAMS:
        _place(session, competition, [entry], now)
    return competition
