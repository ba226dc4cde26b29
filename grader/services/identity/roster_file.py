"""Class roster reader: headings in common systems and languages, column roles, summary rows."""

import csv
import enum
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from grader.errors import ErrorKind, OrganizerRefusal
from grader.files.reading.containers import HEAD_BYTES, identify
from grader.files.reading.text import wide_encoding
from grader.models import RosterEntry, User
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
    Meaning.FIRST: "firstname givenname forename vorname prénom prenom",
    Meaning.LAST: "lastname surname familyname nachname familienname nomdefamille apellidos apellido "
    "cognome sobrenome familiya фамилия soyad",
    Meaning.EMAIL: "email emailaddress mail mailaddress emailadresse mailadresse adresseemail adressemail "
    "courriel correo correoelectrónico correoelectronico pochta elektronpochta почта eposta",
    Meaning.STUDENT_ID: "studentid studentnumber sisuserid sid orgdefinedid idnumber "
    "matriculationnumber matrikelnummer matrikelnr idnummer numéroétudiant matricola id",
    Meaning.SECTION: "section sections group groups gruppe gruppen groupe groupes grupo grupos guruh "
    "группа class tutorial lab division kurs team",
}
_WORDS = {role: words.split() for role, words in SPELLINGS.items()}
# Headings of whole names that mean a part of it beside a heading of the other part.
_PARTS = {
    Meaning.FIRST: (Meaning.LAST, {"nombre", "nome", "ism", "имя", "ad"}),
    Meaning.LAST: (Meaning.FIRST, {"name", "nom"}),
}
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


@dataclass(slots=True)
class Student:
    """A student of a roster; `place` is the line, and `original` the headings and cells of the row.

    The import sets the student's current entry and the account known from the host's other competitions.
    """

    place: str
    name: str
    student_id: str | None
    email: str | None
    section: str
    original: list[list[str]]
    entry: RosterEntry | None = None
    user: User | None = None
    is_changed: bool = False


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
    rows = list(_rows([line.removeprefix("\ufeff") for line in lines]))
    counts = [_count_recognized(cells) for _, cells in rows[:HEADINGS_WITHIN]]
    most = max(counts, default=0)
    start = counts.index(most) if most else 0
    headings = rows[start][1] if rows and (most if has_headings is None else has_headings) else []
    above, below = (rows[:start], rows[start + 1 :]) if headings else ([], rows)
    width = len(headings) or max((len(cells) for _, cells in below), default=0)
    below = [(line, [*cells, *[""] * (width - len(cells))]) for line, cells in below]
    values = [[cells[place] for _, cells in below] for place in range(width)]
    meanings, problems = _chosen(headings or [""] * width, values, roles)
    columns = tuple(
        RosterColumn(headings[place] if headings else "", meanings[place], next(filter(None, cells), ""))
        for place, cells in enumerate(values)
    )
    left_out = [(line, " ".join(cells)) for line, cells in above]
    students = list[Student]()
    for line, cells in () if problems else below:
        known = {role: cell for role, cell in zip(meanings, cells, strict=False) if role in SPELLINGS}
        parts = known.get(Meaning.FIRST, ""), known.get(Meaning.LAST, "")
        name = known.get(Meaning.NAME) or " ".join(filter(None, parts))
        # Brightspace writes a number sign before ids.
        student_id = known.get(Meaning.STUDENT_ID, "").removeprefix("#") or None
        email, section = known.get(Meaning.EMAIL) or None, known.get(Meaning.SECTION, "")
        if not any(known.values()) or (_plain(name) in SUMMARIES and not (student_id or email)):
            left_out.append((line, name or " ".join(cells)))
            continue
        if any(cells[width:]):
            fields = f"Line {line:,} has {len(cells)} fields"
            problems.append(f"{fields}, but line {rows[start][0]:,} has {width}.")
        place = f"Line {line:,}" if headings or width > 1 else name
        original = [list(pair) for pair in zip(headings, cells, strict=False)]
        students.append(Student(place, name, student_id, email, section, original))
    if students or not problems:
        problems += _faults(students)
    notes = list(_notes(columns, left_out))
    if students and not headings:
        notes.append(f"No headings were recognized, so {columns[0].label} is imported as a student.")
    return Roster(columns, bool(headings), tuple(students), tuple(notes), tuple(problems))


def _notes(columns: Sequence[RosterColumn], left_out: Sequence[tuple[int, str]]) -> Iterator[str]:
    used = (f"{each.label} is the {each.role}" for each in columns if each.role is not Meaning.IGNORED)
    yield f"Columns: {', '.join(used)}."
    ignored = [each for each in columns if each.role is Meaning.IGNORED and each.label != "''"]
    ignored.sort(key=lambda each: "@" not in each.example)  # so that columns with addresses are listed
    if ignored:
        yield f"Ignored columns: {listed([each.label for each in ignored], most=MOST_LISTED)}."
    if left_out:
        rows = [f"line {line:,} ({quoted(text.strip())})" for line, text in left_out]
        yield f"Ignored, because they are not students: {listed(rows, most=MOST_LISTED)}."


def _plain(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", re.sub(r"\(.*?\)", "", folded(text)))


def _recognized(cells: Sequence[str]) -> list[Meaning]:
    """Return the roles of headings; a role has only the columns with the best of its headings."""
    plain = [_plain(cell) for cell in cells]
    best = {role: next((word for word in words if word in plain), "") for role, words in _WORDS.items()}
    for part, (other, words) in _PARTS.items():
        if best[other] and not best[part] and (word := next(filter(words.__contains__, plain), "")):
            best[part] = word
            best[Meaning.NAME] = "" if best[Meaning.NAME] == word else best[Meaning.NAME]
    roles = {word: role for role, word in best.items() if word}
    return [roles.get(word, Meaning.IGNORED) for word in plain]


def _count_recognized(cells: Sequence[str]) -> int:
    return len({*_recognized(cells)} - {Meaning.IGNORED})


def _chosen(
    headings: Sequence[str], values: Sequence[Sequence[str]], roles: Sequence[Meaning] | None
) -> tuple[list[Meaning], list[str]]:
    """Return the roles of columns, chosen or by their headings and values, and what is missing."""
    problems = []
    if roles:
        meanings = [*roles, *[Meaning.IGNORED] * len(headings)][: len(headings)]
    else:
        meanings = _recognized(headings)
        if meanings == [Meaning.IGNORED]:
            meanings = [Meaning.NAME]
        with_addresses = [
            place
            for place, cells in enumerate(values)
            if meanings[place] is Meaning.IGNORED and any("@" in cell for cell in cells)
        ]
        if Meaning.EMAIL not in meanings and len(with_addresses) == 1:
            meanings[with_addresses[0]] = Meaning.EMAIL
        elif Meaning.EMAIL not in meanings and with_addresses:
            problems.append("Several columns contain e-mail addresses. Choose one.")
    for role in dict.fromkeys(each for each in meanings if each in SPELLINGS and meanings.count(each) > 1):
        problems.append(f"Several columns contain the {role}. Choose one.")
    if headings and Meaning.NAME not in meanings and not {Meaning.FIRST, Meaning.LAST} <= {*meanings}:
        problems.append(f"There is no column for names. {_EXPECTED}")
    return meanings, problems


def _rows(lines: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with the numbers of their first lines."""
    reader, line = csv.reader(lines, delimiter=_delimiter(lines), strict=True), 1
    try:
        for row in reader:
            if any(cells := [unsafe(one_line(cell, names.MAX_CODE_POINTS + 1)) for cell in row]):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise invalid([f"Line {line:,} is not valid CSV: {error}."]) from None


def _delimiter(lines: Sequence[str]) -> str:
    """Return the mark between cells, or a character that does not occur for a list of names."""
    texts = [line for line in lines if line.strip()]
    recognized = {
        mark: max(
            (_count_recognized(line.split(mark)) for line in texts[:HEADINGS_WITHIN] if mark in line),
            default=0,
        )
        for mark in MARKS
    }
    best = max(MARKS, key=lambda mark: (recognized[mark], sum(mark in line for line in texts)))
    is_table = recognized[best] or all(best in line for line in texts)
    return best if is_table or any({*line} & {*";\t|@"} for line in texts) else "\x1f"


def _faults(students: Sequence[Student]) -> Iterator[str]:
    """Clean the values of students, and yield all faults."""
    if not 1 <= len(students) <= MOST:
        yield f"The roster has {len(students):,} students. It must have 1 to {MOST:,}."
    has_ids = any(each.student_id for each in students)
    places: dict[tuple[str, str], str] = {}
    for each in students[:MOST]:
        try:
            each.name = names.clean_name(each.name)
            names.require_unreserved(each.name)
            each.email = each.email and addresses.clean_address(each.email)
        except (names.InvalidName, addresses.InvalidAddress) as error:
            yield f"{each.place}: {error.message if each.name else 'The name is empty.'}"
            continue
        if has_ids and not each.student_id:
            yield f"{each.place}: the student id is empty."
        if max(len(each.student_id or ""), len(each.section)) > LONGEST:
            yield f"{each.place}: the student id or the section is longer than {LONGEST} characters."
        keys = {"student id": each.student_id, "e-mail address": each.email and addresses.key(each.email)}
        if not any(keys.values()):
            keys = {"name": names.name_key(each.name)}
        for kind, value in keys.items():
            if value and (earlier := places.get((kind, value))):
                yield f"{each.place}: the same {kind} is already used ({earlier})."
            places[kind, value or ""] = each.place
