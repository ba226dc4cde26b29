"""Class rosters: import, student invitations, use of sections."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, select
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
from grader.services.teams import divisions, participations, rosters
from grader.text import counted, listed, quoted

MOST_LISTED = 100
KEPT = "Not in the list, but still on the roster"


@dataclass(frozen=True, slots=True)
class Plan:
    """The effects of an import, for confirmation.

    `invited` are the students who get a link, and `missing` the entries that are not in the list.
    """

    roster: Roster
    use: SectionUse
    invited: tuple[Student, ...]
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
    own_accounts: bool = False,
    renew_links: bool = False,
) -> Plan:
    """Return the effects of an import without changes; raise OrganizerRefusal for malformed CSV.

    `columns` are the roles that the host chose. `sections` is by default as before. New students are invited,
    unless they join with their verified address (`own_accounts`). `renew_links` replaces the links of all
    listed students who have not joined.
    """
    session, competition = act.session, act.competition
    roster = roster_file.read(lines, roles=columns, has_headings=has_headings)
    students = roster.students
    use = sections or competition.section_use or SectionUse.NOTHING
    query = select(RosterEntry).where(RosterEntry.competition_id == competition.id).order_by(RosterEntry.id)
    stored = session.scalars(query.options(joinedload(RosterEntry.user))).all()
    problems = [*roster.problems, *_match(students, stored)]
    new = [each for each in students if each.entry is None]
    _recognize(act, new, {each.user_id for each in stored})
    listed_entries = {each.entry for each in students}
    missing = tuple(each for each in stored if each not in listed_entries)
    sizes = Counter([each.section for each in students])
    if not remove_missing:
        sizes.update([each.section for each in missing])
    if sections not in (None, SectionUse.NOTHING) and not any(sizes):
        problems.append("The roster has no sections. Add a column named section.")
    problems += _section_problems(act, use, sizes)
    sentences = _effects(new, students, missing, "Removed" if remove_missing else KEPT)
    options = {"own_accounts": own_accounts, "renew_links": renew_links}
    return Plan(
        roster=roster,
        use=use,
        invited=tuple(each for each in students if _gets_link(each, **options)),
        missing=missing,
        removes_missing=remove_missing,
        sentences=(*roster.notes[:1], *sentences, *roster.notes[1:], *_warnings(new, students, stored)),
        problems=tuple(problems),
    )


def _effects(
    new: Sequence[Student], students: Sequence[Student], missing: Sequence[RosterEntry], of_missing: str
) -> list[str]:
    """Return the sentences about the people whom an import concerns."""
    groups: dict[str, list[str]] = {
        "Added": [each.name for each in new],
        "Changed": [each.name for each in students if each.is_changed],
        "Already known from your other competitions, so they need no link": [
            each.name for each in students if each.user
        ],
        of_missing: [each.name for each in missing],
    }
    return [
        f"{words} ({len(some):,}): {listed([quoted(each) for each in some], most=MOST_LISTED)}."
        for words, some in groups.items()
        if some
    ] or ["No student is added or changed."]


def _warnings(
    new: Sequence[Student], students: Sequence[Student], stored: Sequence[RosterEntry]
) -> Iterator[str]:
    """Warn of an import that would add everybody again, and of ids without leading zeros."""
    if stored and len(new) == len(students):
        yield "No student of the list is on the roster yet. Check ids and addresses."
    known = {each.student_id.lstrip("0"): each.student_id for each in stored if each.student_id}
    ids = [each.student_id for each in new if each.student_id and each.student_id.lstrip("0") in known]
    if ids:
        yield (
            f"Ids that differ from ids on the roster only by leading zeros ({len(ids):,}): {ids[0]} and "
            f"{known[ids[0].lstrip('0')]}, for example. These students would be added again."
        )


def _gets_link(student: Student, *, own_accounts: bool, renew_links: bool) -> bool:
    if student.entry is None:
        return student.user is None and not own_accounts
    return student.entry.user_id is None and renew_links


def apply(
    act: Act, plan: Plan, *, by_mail: bool = False
) -> tuple[list[tuple[RosterEntry, str | None]], list[str]]:
    """Add and change students; raise OrganizerRefusal or TooMuchMail.

    Return the invited students, each with the token of the link unless it was e-mailed, and notes. Only
    students who have joined a competition of the person are linked to an account, so the result does not
    depend on who has one.
    """
    if plan.problems:
        raise roster_file.invalid(plan.problems)
    session, competition, students = act.session, act.competition, plan.roster.students
    if plan.removes_missing:
        _revoke(session, plan.missing)
        session.execute(delete(RosterEntry).where(RosterEntry.id.in_([each.id for each in plan.missing])))
    added, entries = 0, list[RosterEntry]()
    for student in students:
        added += student.entry is None
        entry = student.entry = student.entry or RosterEntry(competition_id=competition.id, original=[])
        entry.name, entry.section = student.name, student.section
        entry.student_id, entry.email = student.student_id, student.email
        entry.original = student.original or entry.original
        entry.user_id = student.user.id if student.user else entry.user_id
        entries.append(entry)
    competition.section_use = plan.use
    session.add_all(entries)
    session.flush()
    if plan.use is SectionUse.TEAMS:
        rosters.place_students(session, competition=competition, entries=entries, now=act.now)
    if plan.use is SectionUse.DIVISIONS:
        _divide(act)
    invitations, limited = _invite(act, [each.entry for each in plan.invited if each.entry], by_mail=by_mail)
    after = {
        "added": added,
        "changed": sum(each.is_changed for each in students),
        "removed": len(plan.missing) if plan.removes_missing else 0,
        "invited": len(invitations),
        "sections": plan.use,
    }
    act.record("roster.import", counted(len(students), "student"), after=after)
    unsent = "Not e-mailed, because too many links were sent to the address today: "
    notes = [f"{unsent}{listed(limited, most=MOST_LISTED)}."] if limited else []
    return invitations, [*plan.sentences, *notes]


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


def _recognize(act: Act, students: Sequence[Student], present: set[int | None]) -> None:
    """Find the accounts of new students by id or address, except those that are `present`.

    Only classes that the acting person owns are searched, so that an import reveals nothing about others.
    """
    if act.actor.user is None:
        return
    is_own = Organizer.user_id == act.user.id, Organizer.role == Role.OWNER
    owned = select(Organizer.competition_id).where(*is_own)
    query = (
        select(RosterEntry)
        .join(RosterEntry.user)
        .where(RosterEntry.competition_id.in_(owned), RosterEntry.competition_id != act.competition.id)
        .where(User.deleted_at.is_(None))
        .order_by(RosterEntry.id)
    )
    known = act.session.scalars(query.options(contains_eager(RosterEntry.user))).all() if students else ()
    by_id: dict[str | None, RosterEntry] = {each.student_id: each for each in known if each.student_id}
    by_email = {addresses.key(each.email): each for each in known if each.email}
    for student in students:
        entry = by_email.get(addresses.key(student.email or ""))
        if entry is None and (other := by_id.get(student.student_id)):
            # Another class may use the same ids.
            entry = other if names.name_key(other.name) == names.name_key(student.name) else None
        if entry and entry.user_id not in present:
            student.user = entry.user
            present.add(entry.user_id)


def _match(students: Sequence[Student], stored: Sequence[RosterEntry]) -> Iterator[str]:
    """Find each student's entry by id, else by address, else by name, and yield the conflicts."""
    by_id: dict[str | None, RosterEntry] = {each.student_id: each for each in stored if each.student_id}
    by_email = {addresses.key(each.email): each for each in stored if each.email}
    unidentified = (each for each in stored if not (each.student_id or each.email))
    by_name = {names.name_key(each.name): each for each in unidentified}
    seen = set[RosterEntry]()
    for student in students:
        same_email = by_email.get(addresses.key(student.email or ""))
        entry = by_id.get(student.student_id) or same_email
        if not (student.student_id or student.email):
            entry = by_name.get(names.name_key(student.name))
        if same_email not in (None, entry) or (entry and entry in seen):
            yield f"{student.place}: another student on the roster has this e-mail address."
        if entry is None:
            continue
        seen.add(entry)
        student.entry = entry
        student.student_id = student.student_id or entry.student_id
        student.email = student.email or entry.email
        before = entry.name, entry.student_id, entry.email, entry.section
        student.is_changed = before != (student.name, student.student_id, student.email, student.section)


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


def _divide(act: Act) -> None:
    """Make sections divisions, and assign the teams that students lead; raise InvalidCompetition."""
    session, competition = act.session, act.competition
    of_class = RosterEntry.competition_id == competition.id, RosterEntry.section != ""
    sections = select(RosterEntry.section).where(*of_class).group_by(RosterEntry.section)
    known = division_names(competition.divisions)
    in_order = session.scalars(sections.order_by(func.min(RosterEntry.id)))
    if new := [each for each in in_order if each not in known]:
        lines = "\n".join([*competition.divisions.splitlines(), *new])
        changes = {"divisions": lines, "division_choice": DivisionChoice.ORGANIZERS}
        settings.change(act, changes=changes)
    of_students = select(Team, RosterEntry.section).join(RosterEntry, RosterEntry.user_id == Team.leader_id)
    led = session.execute(of_students.where(Team.competition_id == competition.id, *of_class)).all()
    divisions.assign_all(act, led)


def _invite(
    act: Act, entries: Sequence[RosterEntry], *, by_mail: bool
) -> tuple[list[tuple[RosterEntry, str | None]], list[str]]:
    """Create links for students, and e-mail them to those with an address; raise TooMuchMail.

    Also return the names of the students whose addresses have reached their limit; they get no link.
    """
    session, now, purpose = act.session, act.now, LinkPurpose.SIGN_UP
    lifetime = one_time_links.HANDED_FOR[purpose]
    tokens, limited = dict[RosterEntry, str | None](), list[str]()
    _revoke(session, entries)
    # All imports count the addresses in the same order, so their locks cannot form a cycle.
    for entry in sorted(entries, key=lambda each: addresses.key(each.email or "")):
        limits.count_student_invitation(session, by=act.actor.user, now=now)
        address = entry.email if by_mail else None
        try:
            if address:
                limits.count_for_address(session, address=address, purpose=purpose, now=now)
        except limits.TooMuchMail:
            limited.append(entry.name)
            continue
        token = one_time_links.create(session, purpose=purpose, address=address, lifetime=lifetime, now=now)
        entry.link_sha256 = one_time_links.sha256_of(token)
        if address:
            values = {"competition": act.competition, "student": entry.name, "organizer": act.actor.name}
            letters.send_to_address(session, "class-invitation", address, now=now, token=token, **values)
        tokens[entry] = None if address else token
    session.flush()
    return [(each, tokens[each]) for each in entries if each in tokens], limited


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
    _, unlocked, _ = find(session, token=token, now=now)
    competition = lookup.lock(session, competition_id=unlocked.id)
    entry, _, link = find(session, token=token, now=now)
    present = rosters.linked_student(session, competition=competition, user=user)
    if present is not None:
        message = f"You have already joined this class as {present.name}."
        raise Refusal("already_student", ErrorKind.CONFLICT, message)
    entered = participations.known(session, competition=competition, user=user)
    participations.require_can_join(competition, entered, now=now)
    if entry.email:
        hashes = [kept_identities.address_hash(secret, entry.email)]
        kept_identities.require_not_suspended(session, user=user, hashes=hashes)
    person = session.get_one(User, user.id)
    if link.email and not person.email_verified_at and not email_addresses.owner(session, address=link.email):
        email_addresses.confirm(session, user=person, address=link.email, secret=secret, now=now)
    _revoke(session, [entry])
    entry.user_id = user.id
    session.flush()
    if competition.section_use is SectionUse.TEAMS:
        rosters.place_students(session, competition=competition, entries=[entry], now=now)
    return competition
