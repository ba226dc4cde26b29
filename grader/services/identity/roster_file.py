"""Class roster reader: headings in common systems and languages, column roles, summary rows."""

import csv
import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.errors import ErrorKind, OrganizerRefusal
from grader.files.reading.containers import HEAD_BYTES, identify
from grader.files.reading.text import wide_encoding
from grader.services.identity import names
from grader.services.site import mail_addresses as addresses
from grader.text import folded, listed, one_line, quoted, unsafe

MOST = 5_000
MOST_BYTES = 2_000_000
MOST_PROBLEMS = 100
MOST_LISTED = 10
LONGEST = 64  # of a student id and a section
HEADINGS_WITHIN = 10  # rows; systems write titles above the headings
MARKS = ",;\t|"


class Meaning(enum.StrEnum):
    """The meanings of a roster's columns."""

    NAME = "name"
    FIRST = "first name"
    LAST = "last name"
    EMAIL = "e-mail"
    STUDENT_ID = "student id"
    SECTION = "section"
    IGNORED = "ignored"


# The usual headings of each role, best first, without case, spaces, digits and punctuation: those of Canvas,
# Moodle, Brightspace, Gradescope, Google Classroom and of our own exports, and in several languages.
SPELLINGS = {
    Meaning.NAME: "name fullname studentname displayname vollständigername nomcomplet nombrecompleto fio "
    "фио student students names nom nombre nome ism имя ad",
    Meaning.FIRST: "firstname givenname forename vorname prénom prenom nombre nome ism имя ad",
    Meaning.LAST: "lastname surname familyname nachname familienname nomdefamille apellidos apellido "
    "cognome sobrenome familiya фамилия soyad name nom",
    Meaning.EMAIL: "email emailaddress mail mailaddress emailadresse mailadresse adresseemail adressemail "
    "courriel correo correoelectrónico correoelectronico pochta elektronpochta почта eposta",
    Meaning.STUDENT_ID: "studentid studentnumber sisuserid sid orgdefinedid idnumber "
    "matriculationnumber matrikelnummer matrikelnr idnummer numéroétudiant matricola id",
    Meaning.SECTION: "section sections group groups gruppe gruppen groupe groupes grupo grupos guruh "
    "группа class tutorial lab division kurs team",
}
_WORDS = {role: words.split() for role, words in SPELLINGS.items()}
# Names of rows that learning management systems add. A student with this name needs an id or an address.
SUMMARIES = (
    *("pointspossible", "points", "maxpoints", "outof", "date", "classaverage", "average", "mean", "median"),
    *("total", "maximum", "minimum", "standarddeviation", "stddev", "studenttest", "teststudent"),
)
_EXPECTED = "Choose the columns with names, or list only names, one per line."


def invalid(problems: Sequence[str]) -> OrganizerRefusal:
    """Return the refusal of a roster with problems, which changes nothing."""
    more = len(problems) - MOST_PROBLEMS
    shown = [*problems[:MOST_PROBLEMS], *([f"There are {more:,} more problems."] * (more > 0))]
    return OrganizerRefusal("invalid_class", ErrorKind.MISMATCH, problems=shown)


@dataclass(frozen=True, slots=True)
class Student:
    """A student of a roster; `place` is the line, and `original` the headings and cells of the row."""

    place: str
    name: str
    student_id: str | None = None
    email: str | None = None
    section: str = ""
    original: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class RosterColumn:
    """A column: its heading, or an empty text, its role and its first value."""

    heading: str
    role: Meaning
    example: str

    @property
    def label(self) -> str:
        """The column's heading or, without one, its first value."""
        return quoted(self.heading or self.example)


@dataclass(frozen=True, slots=True)
class Roster:
    """The columns and students of a file, with remarks, and the problems that prevent the import."""

    columns: tuple[RosterColumn, ...]
    has_headings: bool
    students: tuple[Student, ...]
    notes: tuple[str, ...]
    problems: tuple[str, ...]


def lines_of(file: bytes) -> list[str]:
    """Return the lines of a file in UTF-8 or UTF-16; raise OrganizerRefusal."""
    kind, advice = identify(file[:HEAD_BYTES])
    if kind:
        raise invalid([f"This is {kind}; expected CSV. {advice}"])
    encoding = codec = wide_encoding(file) or "UTF-8"
    if encoding == "UTF-16" and b"\0" in file[:2]:  # without a byte order mark
        codec = "UTF-16-LE" if file[1:2] == b"\0" else "UTF-16-BE"
    try:
        return file.decode(codec).splitlines()
    except UnicodeDecodeError as error:
        line = file[: error.start].count(b"\n") + 1
        problem = f"Line {line:,} is not valid {encoding}. In Excel, choose 'Save as: CSV UTF-8'."
        raise invalid([problem]) from None


def read(
    lines: Sequence[str], *, roles: Sequence[Meaning] | None = None, has_headings: bool | None = None
) -> Roster:
    """Return a roster; `roles` are chosen by the organizer; raise OrganizerRefusal for malformed CSV.

    `has_headings` states whether the first row has headings; by default, the headings are recognized.
    """
    lines = [line.removeprefix("\ufeff") for line in lines]
    rows = list(_rows(lines, _delimiter(lines)))
    counts = [len(set(_recognized(cells)) - {None}) for _, cells in rows[:HEADINGS_WITHIN]]
    start = counts.index(max(counts)) if any(counts) else 0
    headings = rows[start][1] if rows and (any(counts) if has_headings is None else has_headings) else []
    above, below = (rows[:start], rows[start + 1 :]) if headings else ([], rows)
    width = len(headings) or max((len(cells) for _, cells in below), default=0)
    padded = [(line, [*cells, *[""] * (width - len(cells))]) for line, cells in below]
    values = [[cells[place] for _, cells in padded] for place in range(width)]
    guessed, problems = _guessed(headings or [""] * width, values)
    if roles:
        guessed, problems = [*roles, *[Meaning.IGNORED] * width][:width], []
    for role in dict.fromkeys(each for each in guessed if each in SPELLINGS and guessed.count(each) > 1):
        problems.append(f"Several columns contain the {role}. Choose one.")
    if width and Meaning.NAME not in guessed and not {Meaning.FIRST, Meaning.LAST} <= {*guessed}:
        problems.append(f"There is no column for names. {_EXPECTED}")
    columns = tuple(
        RosterColumn(headings[place] if headings else "", guessed[place], next(filter(None, cells), ""))
        for place, cells in enumerate(values)
    )
    left_out = [(line, " ".join(cells)) for line, cells in above]
    students, needs_choice = [], bool(problems)
    for line, cells in () if needs_choice else padded:
        known = {role: cell for role, cell in zip(guessed, cells, strict=False) if role in SPELLINGS}
        parts = known.get(Meaning.FIRST, ""), known.get(Meaning.LAST, "")
        name = known.get(Meaning.NAME) or " ".join(filter(None, parts))
        student_id, email = known.get(Meaning.STUDENT_ID), known.get(Meaning.EMAIL)
        if not any(known.values()) or (_plain(name) in SUMMARIES and not (student_id or email)):
            left_out.append((line, name or " ".join(cells)))
            continue
        if any(cells[width:]):
            fields = f"Line {line:,} has {len(cells)} fields"
            problems.append(f"{fields}, but line {rows[start][0]:,} has {width}.")
        place = f"Line {line:,}" if headings or width > 1 else name
        original = tuple(zip(headings, cells, strict=False))
        students.append(Student(place, name, student_id, email, known.get(Meaning.SECTION, ""), original))
    if not needs_choice:
        students = _checked(students, problems)
    notes = _notes(columns, values, left_out, has_first=bool(students) and not headings)
    return Roster(columns, bool(headings), tuple(students), tuple(notes), tuple(problems))


def _notes(
    columns: Sequence[RosterColumn],
    values: Sequence[Sequence[str]],
    left_out: Sequence[tuple[int, str]],
    *,
    has_first: bool,
) -> Iterator[str]:
    ignored = [each for each in columns if each.role is Meaning.IGNORED and (each.heading or each.example)]
    if ignored:
        yield f"Ignored columns: {listed([each.label for each in ignored], most=MOST_LISTED)}."
    pairs = zip(columns, values, strict=True)
    if with_addresses := [each.label for each, cells in pairs if each in ignored and _has_addresses(cells)]:
        yield f"Ignored columns with e-mail addresses: {listed(with_addresses)}."
    if left_out:
        rows = [f"line {line:,} ({quoted(text.strip())})" for line, text in left_out]
        yield f"Ignored, because they are not students: {listed(rows, most=MOST_LISTED)}."
    if has_first:
        yield f"No headings were recognized, so {columns[0].label} is imported as a student."


def _plain(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", re.sub(r"\(.*?\)", "", folded(text)))


def _recognized(cells: Sequence[str]) -> list[Meaning | None]:
    """Return the roles of headings, None for unknown ones; of several for one role, the best."""
    plain = [_plain(cell) for cell in cells]
    fitting = [[role for role, words in _WORDS.items() if word in words] for word in plain]
    sure = {roles[0] for roles in fitting if len(roles) == 1}
    found = list[Meaning | None]()
    for roles in fitting:
        role = next(iter(roles), None)
        if len(roles) > 1:  # the whole name, or a part of it beside the other part
            other = Meaning.LAST if roles[1] is Meaning.FIRST else Meaning.FIRST
            role = roles[1] if other in sure and roles[1] not in sure else roles[0]
        found.append(role)
    for role, words in _WORDS.items():
        ranks = [words.index(word) for word, each in zip(plain, found, strict=True) if each is role]
        found = [
            None if each is role and words.index(word) > min(ranks) else each
            for word, each in zip(plain, found, strict=True)
        ]
    return found


def _guessed(headings: Sequence[str], values: Sequence[Sequence[str]]) -> tuple[list[Meaning], list[str]]:
    """Return the roles of columns by their headings and values, and a choice that the host must make."""
    roles, problems = _recognized(headings), []
    if roles == [None]:
        roles = [Meaning.NAME]
    unknown = [place for place, cells in enumerate(values) if roles[place] is None and _has_addresses(cells)]
    if Meaning.EMAIL not in roles and len(unknown) == 1:
        roles[unknown[0]] = Meaning.EMAIL
    elif Meaning.EMAIL not in roles and unknown:
        problems.append("Several columns contain e-mail addresses. Choose one.")
    return [each or Meaning.IGNORED for each in roles], problems


def _has_addresses(cells: Sequence[str]) -> bool:
    return any("@" in cell for cell in cells)


def _delimiter(lines: Sequence[str]) -> str:
    """Return the mark between cells, or a character that does not occur for a list of names."""
    texts = [line for line in lines if line.strip()]
    first = texts[:HEADINGS_WITHIN]
    known = {
        mark: max(
            (sum(map(bool, _recognized(line.split(mark)))) for line in first if mark in line), default=0
        )
        for mark in MARKS
    }
    best = max(MARKS, key=lambda mark: (known[mark], sum(mark in line for line in texts)))
    is_table = (
        known[best] or all(best in line for line in texts) or any({*line} & {*";\t|@"} for line in texts)
    )
    return best if is_table else "\x1f"


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with the numbers of their first lines."""
    reader, line = csv.reader(lines, delimiter=delimiter, strict=True), 1
    try:
        for row in reader:
            if any(cells := [unsafe(one_line(cell, names.MAX_CODE_POINTS + 1)) for cell in row]):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise invalid([f"Line {line:,} is not valid CSV: {error}."]) from None


def _checked(found: Sequence[Student], faults: list[str]) -> list[Student]:
    """Return the students with clean values, and add all faults."""
    if not 1 <= len(found) <= MOST:
        faults.append(f"The roster has {len(found):,} students. It must have 1 to {MOST:,}.")
    has_ids = any(each.student_id for each in found)
    places: dict[tuple[str, str], str] = {}
    cleaned = []
    for each in found[:MOST]:
        name, email = each.name, each.email or None
        try:
            names.require_unreserved(name := names.clean_name(name))
            email = email and addresses.clean_address(email)
        except (names.InvalidName, addresses.InvalidAddress) as error:
            faults.append(f"{each.place}: {error.message if name else 'The name is empty.'}")
            continue
        # Brightspace writes a number sign before ids.
        student_id = (each.student_id or "").removeprefix("#") or None
        student = Student(each.place, name, student_id, email, each.section, each.original)
        cleaned.append(student)
        if has_ids and not student_id:
            faults.append(f"{each.place}: the student id is empty.")
        if max(len(student_id or ""), len(each.section)) > LONGEST:
            faults.append(f"{each.place}: the student id or the section is longer than {LONGEST} characters.")
        for kind, value in _keys(student):
            if earlier := places.get((kind, value)):
                faults.append(f"{each.place}: the same {kind} is already used ({earlier}).")
            places[kind, value] = each.place
    return cleaned


def _keys(student: Student) -> Iterator[tuple[str, str]]:
    """Yield the values that must be unique: the id and the address or, without both, the name."""
    if student.student_id:
        yield "student id", student.student_id
    if student.email:
        yield "e-mail address", addresses.key(student.email)
    if not (student.student_id or student.email):
        yield "name", names.name_key(student.name)
