"""Class rosters: import, student invitations, use of sections."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import delete, select
from sqlalchemy.orm import Session, contains_eager, joinedload

from grader.errors import ErrorKind, Refusal
from grader.models import (
    AccountLink,
    Competition,
    DivisionChoice,
    LinkPurpose,
    Organizer,
    Role,
    RosterEntry,
    SectionUse,
    Team,
    User,
)
from grader.services.competitions import lookup, settings
from grader.services.competitions.acting import Act
from grader.services.competitions.settings_model import division_names
from grader.services.identity import email_addresses, kept_identities, names, one_time_links, roster_file
from grader.services.identity.roster_file import Meaning, Roster, Student
from grader.services.site import letters
from grader.services.site import mail_addresses as addresses
from grader.services.site import mail_limits as limits
from grader.services.teams import divisions, rosters
from grader.text import counted, listed, quoted

MOST_LISTED = 100


@dataclass(frozen=True, slots=True)
class ClassInvitation:
    """An invitation of a student; `token` is None if the link was e-mailed."""

    entry: RosterEntry
    token: str | None


class ImportRow(NamedTuple):
    """A student, the current entry, and the account known from the actor's other competitions."""

    student: Student
    entry: RosterEntry | None
    user: User | None

    @property
    def values(self) -> tuple[str, str | None, str | None, str]:
        """The name, id, address and section after the import."""
        student, entry = self.student, self.entry
        student_id, email = (entry.student_id, entry.email) if entry else (None, None)
        return student.name, student.student_id or student_id, student.email or email, student.section

    @property
    def is_changed(self) -> bool:
        """Whether the import changes an existing entry."""
        entry = self.entry
        return entry is not None and self.values != (entry.name, entry.student_id, entry.email, entry.section)

    def is_invited(self, *, own_accounts: bool, renew_links: bool) -> bool:
        """Return whether the student gets a link, with these options of the import."""
        if self.entry is None:
            return self.user is None and not own_accounts
        return self.entry.user_id is None and renew_links


@dataclass(frozen=True, slots=True)
class Plan:
    """The effects of an import, for confirmation; `missing` are the entries that are not in the list."""

    roster: Roster
    use: SectionUse
    rows: tuple[ImportRow, ...]
    missing: tuple[RosterEntry, ...]
    removes_missing: bool
    sentences: tuple[str, ...]
    problems: tuple[str, ...]


def plan(
    act: Act,
    *,
    lines: Sequence[str],
    columns: Sequence[Meaning] | None = None,
    has_headings: bool | None = None,
    sections: SectionUse | None = None,
    remove_missing: bool = False,
) -> Plan:
    """Return the effects of an import without changes; raise OrganizerRefusal for malformed CSV.

    `columns` are the roles that the host chose. `sections` is by default as before.
    """
    session, competition = act.session, act.competition
    roster = roster_file.read(lines, roles=columns, has_headings=has_headings)
    use = sections or competition.section_use or SectionUse.NOTHING
    here = RosterEntry.competition_id == competition.id
    stored = session.scalars(select(RosterEntry).where(here).options(joinedload(RosterEntry.user))).all()
    matched, problems = _matched(stored, roster.students)
    new = [student for student, entry in zip(roster.students, matched, strict=True) if entry is None]
    users = _known(act, new, {each.user_id for each in stored})
    rows = [ImportRow(*pair, users.get(pair[0].place)) for pair in zip(roster.students, matched, strict=True)]
    missing = sorted({*stored} - {*matched}, key=lambda each: each.id)
    sizes = Counter([each.section for each in (*roster.students, *(() if remove_missing else missing))])
    if sections not in (None, SectionUse.NOTHING) and not any(sizes):
        problems.append("The roster has no sections. Add a column named section.")
    used = (f"{each.label} is the {each.role}" for each in roster.columns if each.role is not Meaning.IGNORED)
    groups = {
        "Added": [each.name for each in new],
        "Changed": [each.student.name for each in rows if each.is_changed],
        "Already known from your other competitions, so they need no link": [
            each.student.name for each in rows if each.user
        ],
        "Removed" if remove_missing else "Not in the list, but still on the roster": [
            each.name for each in missing
        ],
    }
    people = [
        f"{words} ({len(some):,}): {listed([quoted(each) for each in some], most=MOST_LISTED)}."
        for words, some in groups.items()
        if some
    ]
    sentences = [
        f"Columns: {', '.join(used)}.",
        *(people or ["No student is added or changed."]),
        *roster.notes,
        *_warnings(new, matched, stored),
    ]
    problems = [*roster.problems, *problems, *_section_problems(act, use, sizes)]
    return Plan(roster, use, tuple(rows), tuple(missing), remove_missing, tuple(sentences), tuple(problems))


def apply(
    act: Act, plan: Plan, *, own_accounts: bool = False, by_mail: bool = False, renew_links: bool = False
) -> tuple[list[ClassInvitation], list[str]]:
    """Add and change students; return invitations and notes; raise OrganizerRefusal or TooMuchMail.

    New students are invited, unless they join with their verified address (`own_accounts`). Only students who
    have joined a competition of the person are linked to an account, so the result does not depend on who has
    one. `renew_links` replaces the links of all listed students who have not joined.
    """
    if plan.problems:
        raise roster_file.invalid(plan.problems)
    session, competition = act.session, act.competition
    if plan.removes_missing:
        _revoke(session, plan.missing)
        session.execute(delete(RosterEntry).where(RosterEntry.id.in_([each.id for each in plan.missing])))
    changed = sum(row.is_changed for row in plan.rows)
    entries, wanted = list[RosterEntry](), list[RosterEntry]()
    for row in plan.rows:
        entries.append(row.entry or RosterEntry(competition_id=competition.id))
        wanted += entries[-1:] * row.is_invited(own_accounts=own_accounts, renew_links=renew_links)
        entry = entries[-1]
        entry.name, entry.student_id, entry.email, entry.section = row.values
        entry.original = [list(each) for each in row.student.original] or entry.original or []
        entry.user_id = row.user.id if row.user else entry.user_id
    competition.section_use = plan.use
    session.add_all(entries)
    session.flush()
    if plan.use is SectionUse.TEAMS:
        rosters.place_students(session, competition=competition, entries=entries, now=act.now)
    if plan.use is SectionUse.DIVISIONS:
        staying = () if plan.removes_missing else plan.missing
        _divide(act, list(dict.fromkeys(each.section for each in (*entries, *staying) if each.section)))
    invitations, limited = _invite(act, wanted, by_mail=by_mail)
    after: dict[str, Any] = {
        "added": sum(row.entry is None for row in plan.rows),
        "changed": changed,
        "removed": len(plan.missing) if plan.removes_missing else 0,
        "invited": len(invitations),
        "sections": plan.use,
    }
    act.record("roster.import", counted(len(entries), "student"), after=after)
    unsent = "Not e-mailed, because too many links were sent to the address today: "
    return invitations, [
        *plan.sentences,
        *([f"{unsent}{listed([each.name for each in limited], most=MOST_LISTED)}."] if limited else []),
    ]


def original_columns(
    session: Session, *, competition: Competition
) -> tuple[tuple[str, ...], dict[int, tuple[str, ...]]]:
    """Return the headings that most students have, and the cells of these rows by the id of the entry."""
    query = select(RosterEntry.id, RosterEntry.original).where(RosterEntry.competition_id == competition.id)
    pairs = [
        (id_, tuple(zip(*original, strict=True))) for id_, original in session.execute(query) if original
    ]
    # Students who are missing in the last file keep the columns of an earlier one.
    counts = Counter(own for _, (own, _) in pairs)
    headings = max(counts, key=counts.__getitem__, default=())
    return headings, {id_: cells for id_, (own, cells) in pairs if own == headings}


def copy_all(session: Session, *, source: Competition, draft: Competition) -> None:
    """Copy the roster of a competition to a draft, with the accounts of the students who have joined."""
    draft.section_use = source.section_use
    names_of = ("user_id", "name", "student_id", "email", "section", "original")
    for entry in session.scalars(select(RosterEntry).where(RosterEntry.competition_id == source.id)):
        values = {name: getattr(entry, name) for name in names_of}
        session.add(RosterEntry(competition_id=draft.id, **values))
    session.flush()


def _known(act: Act, students: Sequence[Student], present: set[int | None]) -> dict[str, User]:
    """Return the accounts of new students by their place, found by id or address.

    Only classes that the acting person owns are searched, so that an import reveals nothing about others.
    """
    if act.actor.user is None:
        return {}
    is_own = Organizer.user_id == act.user.id, Organizer.role == Role.OWNER
    owned = select(Organizer.competition_id).where(*is_own)
    query = (
        select(RosterEntry)
        .join(RosterEntry.user)
        .where(RosterEntry.competition_id.in_(owned), RosterEntry.competition_id != act.competition.id)
        .where(User.deleted_at.is_(None))
        .order_by(RosterEntry.id)
    )
    by_id, by_email = dict[str, RosterEntry](), dict[str, RosterEntry]()
    for each in act.session.scalars(query.options(contains_eager(RosterEntry.user))) if students else ():
        by_id |= {each.student_id: each} if each.student_id else {}
        by_email |= {addresses.key(each.email): each} if each.email else {}
    users: dict[str, User] = {}
    for student in students:
        email = student.email and addresses.key(student.email)
        entry = by_email.get(email or "") or by_id.get(student.student_id or "")
        if entry and addresses.key(entry.email or "") != email:  # another class may use the same ids
            entry = entry if names.name_key(entry.name) == names.name_key(student.name) else None
        if entry and entry.user and entry.user_id not in present:
            users[student.place] = entry.user
            present.add(entry.user_id)
    return users


def _warnings(
    new: Sequence[Student], matched: Sequence[RosterEntry | None], stored: Sequence[RosterEntry]
) -> Iterator[str]:
    """Warn of an import that would add everybody again, and of ids without leading zeros."""
    if stored and matched and not any(matched):
        yield "No student of the list is on the roster yet. Check ids and addresses."
    known = {each.student_id.lstrip("0"): each.student_id for each in stored if each.student_id}
    ids = [each.student_id for each in new if each.student_id and each.student_id.lstrip("0") in known]
    if ids:
        yield (
            f"Ids that differ from ids on the roster only by leading zeros ({len(ids):,}): {ids[0]} and "
            f"{known[ids[0].lstrip('0')]}, for example. These students would be added again."
        )


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


def _invite(
    act: Act, entries: Sequence[RosterEntry], *, by_mail: bool
) -> tuple[list[ClassInvitation], list[RosterEntry]]:
    """Create links for students, and e-mail them to those with an address; raise TooMuchMail.

    Also return the students whose addresses have reached their limit; they get no link.
    """
    session, now, invited, limited = act.session, act.now, list[RosterEntry](), list[RosterEntry]()
    purpose, lifetime = LinkPurpose.SIGN_UP, one_time_links.HANDED_FOR[LinkPurpose.SIGN_UP]
    _revoke(session, entries)
    # All imports count the addresses in the same order, so their locks cannot form a cycle.
    for entry in sorted(entries, key=lambda each: addresses.key(each.email or "")):
        limits.count_student_invitation(session, by=act.actor.user, now=now)
        try:
            if by_mail and entry.email:
                limits.count_for_address(session, address=entry.email, purpose=purpose, now=now)
            invited.append(entry)
        except limits.TooMuchMail:
            limited.append(entry)
    made = []
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


def find(session: Session, *, token: str, now: datetime) -> tuple[RosterEntry, Competition, AccountLink]:
    """Return the entry of an invitation, its competition, and the link; raise Refusal.

    A used link has created an account, but can still link it to the student.
    """
    digest = one_time_links.sha256_of(token)
    valid = AccountLink.token_sha256 == digest, AccountLink.expires_at > now
    link = session.scalar(select(AccountLink).where(*valid))
    entry = session.scalar(select(RosterEntry).where(RosterEntry.link_sha256 == digest))
    if link is None or entry is None:
        raise one_time_links.invalid()
    return entry, session.get_one(Competition, entry.competition_id), link


def claim(session: Session, *, token: str, user: User, secret: str, now: datetime) -> Competition:
    """Link a student to the account of a person who opened the invitation; return the competition.

    Raises Refusal.
    """
    _, found, _ = find(session, token=token, now=now)
    competition = lookup.lock(session, competition_id=found.id)
    entry, _, link = find(session, token=token, now=now)
    present = rosters.linked_student(session, competition=competition, user=user)
    if present is not None:
        message = f"You have already joined this class as {present.name}."
        raise Refusal("already_student", ErrorKind.CONFLICT, message)
    if entry.email:
        kept_identities.require_not_suspended(session, user=user, address=entry.email, secret=secret)
    person = session.get_one(User, user.id)
    if link.email and not person.email_verified_at and not email_addresses.owner(session, address=link.email):
        email_addresses.confirm(session, user=person, address=link.email, secret=secret, now=now)
    _revoke(session, [entry])
    entry.user_id = user.id
    session.flush()
    if competition.section_use is SectionUse.TEAMS:
        rosters.place_students(session, competition=competition, entries=[entry], now=now)
    return competition
