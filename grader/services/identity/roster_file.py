"""Reader for class rosters: CSV with names, e-mail addresses, student ids and sections, or only names."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from grader.errors import ErrorKind, OrganizerRefusal
from grader.files.reading.containers import HEAD_BYTES, identify
from grader.files.reading.text import wide_encoding
from grader.services.identity import names
from grader.services.site import mail_addresses as addresses
from grader.text import folded, listed, one_line, quoted

MOST = 5_000
MOST_BYTES = 2_000_000
MOST_PROBLEMS = 100
LONGEST = 64  # of a student id and a section
# The usual names of each column, without case, spaces and punctuation.
SPELLINGS = {
    "name": "name fullname studentname student displayname",
    "first name": "firstname givenname forename vorname",
    "last name": "lastname surname familyname nachname",
    "e-mail": "email emailaddress mail mailaddress",
    "student id": "studentid id idnumber studentnumber matriculationnumber matrikelnummer",
    "section": "section group class tutorial lab division team gruppe kurs",
}
_KINDS = {spelling: kind for kind, spellings in SPELLINGS.items() for spelling in spellings.split()}
_EXPECTED = "Name the columns name, e-mail, student id and section, or list only names, one per line."


def invalid(problems: Sequence[str]) -> OrganizerRefusal:
    """Return the refusal of a roster with problems, of which nothing is changed."""
    more = len(problems) - MOST_PROBLEMS
    shown = [*problems[:MOST_PROBLEMS], *([f"There are {more:,} more problems."] * (more > 0))]
    return OrganizerRefusal("invalid_class", ErrorKind.MISMATCH, problems=shown)


@dataclass(frozen=True, slots=True)
class Student:
    """A student of a roster; `place` is the line, or the name in a list of names."""

    place: str
    name: str
    student_id: str | None = None
    email: str | None = None
    section: str = ""


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


def read(lines: Sequence[str]) -> tuple[list[Student], list[str]]:
    """Return the students in a roster's lines, and notes; raise OrganizerRefusal with all problems."""
    lines = [line.removeprefix("\ufeff") for line in lines]
    first = next(filter(str.strip, lines), "")
    delimiter = max(",;\t", key=lambda mark: len(_kinds(re.split(mark, first))))
    if _kinds(re.split(delimiter, first)):
        return _of_table(_rows(lines, delimiter))
    if any(line.count(",") > 1 or set(line) & set(";\t@") for line in lines):
        raise invalid([f"Line 1: no column is recognized. {_EXPECTED}"])
    texts = [line.strip() for line in lines if line.strip()]
    return _checked([Student(text, text) for text in texts], []), []


def _kinds(header: Iterable[str]) -> list[str]:
    return [kind for cell in header if (kind := _kind(cell))]


def _kind(cell: str | None) -> str | None:
    return _KINDS.get(re.sub(r"[\W_]+", "", folded(cell or "")))


def _rows(lines: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that are not blank, with the numbers of their first lines."""
    reader, line = csv.reader(lines, delimiter=delimiter, strict=True), 1
    try:
        for row in reader:
            if any(cells := [one_line(cell, names.MAX_CODE_POINTS + 1) for cell in row]):
                yield line, cells
            line = reader.line_num + 1
    except csv.Error as error:
        raise invalid([f"Line {line:,} is not valid CSV: {error}."]) from None


def _of_table(rows: Iterator[tuple[int, list[str]]]) -> tuple[list[Student], list[str]]:
    first, header = next(rows)
    kinds, problems, students = _kinds(header), [], []
    if twice := sorted({kind for kind in kinds if kinds.count(kind) > 1}):
        problems.append(f"Line {first:,}: several columns mean {listed(twice)}. Rename all except one.")
    if "name" not in kinds and not {"first name", "last name"} <= set(kinds):
        problems.append(f"Line {first:,}: there is no column for names. {_EXPECTED}")
    for line, cells in rows:
        found = {_kind(name): cell or "" for name, cell in zip_longest(header, cells)}
        name = found.get("name") or f"{found.get('first name', '')} {found.get('last name', '')}".strip()
        texts = found.get("student id"), found.get("e-mail"), found.get("section", "")
        students.append(Student(f"Line {line:,}", name, *texts))
        if any(cells[len(header) :]):
            problems.append(f"Line {line:,} has {len(cells)} fields, but line {first:,} has {len(header)}.")
    ignored = [quoted(cell) for cell in header if cell and not _kind(cell)]
    return _checked(students, problems), [f"Ignored columns: {listed(ignored)}."] if ignored else []


def _checked(found: Sequence[Student], faults: list[str]) -> list[Student]:
    """Return the students with clean values; raise OrganizerRefusal with these and all other faults."""
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
        student = Student(each.place, name, each.student_id or None, email, each.section)
        cleaned.append(student)
        if has_ids and not student.student_id:
            faults.append(f"{each.place}: the student id is empty.")
        if max(len(each.student_id or ""), len(each.section)) > LONGEST:
            faults.append(f"{each.place}: the student id or the section is longer than {LONGEST} characters.")
        for kind, value in _keys(student):
            if earlier := places.get((kind, value)):
                faults.append(f"{each.place}: the same {kind} is already used ({earlier}).")
            places[kind, value] = each.place
    if faults:
        raise invalid(faults)
    return cleaned


def _keys(student: Student) -> Iterator[tuple[str, str]]:
    """Yield the values that must be unique: the id and the address or, without both, the name."""
    if student.student_id:
        yield "student id", student.student_id
    if student.email:
        yield "e-mail address", addresses.key(student.email)
    if not (student.student_id or student.email):
        yield "name", names.name_key(student.name)
