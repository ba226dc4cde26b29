"""Reader for rosters: encodings, delimiters, names of columns, faults."""

import pytest

from grader.services.identity import roster_file
from grader.services.identity.roster_file import Meaning
from tests.fixtures.refusals import refused

TEXT = 'Name;E-Mail;Student ID;Section\n"Müller, Ada";ada@example.org;007;A\nBob;;08;\n'


def found(text):
    lines = roster_file.lines_of(text if isinstance(text, bytes) else text.encode())
    roster = roster_file.read(lines)
    if roster.problems:
        raise roster_file.invalid(roster.problems)
    return [(each.name, each.email, each.student_id, each.section) for each in roster.students]


def faults(text):
    with refused("invalid_class") as error:
        found(text)
    return error.value.message


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("delimiter", [";", ",", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_files_of_spreadsheets_are_read(encoding, delimiter, line_end):
    text = TEXT.replace(";", delimiter).replace("\n", line_end)
    assert found(text.encode(encoding)) == [
        ("Müller, Ada", "ada@example.org", "007", "A"),
        ("Bob", None, "08", ""),
    ]


def test_first_and_last_names_are_joined_and_other_columns_are_ignored_with_a_note():
    lines = ["Last name,Phone,First name,Country", "Lovelace,1,Ada,UK"]
    roster = roster_file.read(lines)
    assert roster.students[0].name == "Ada Lovelace"
    assert roster.notes[1] == "Ignored columns: 'Phone' and 'Country'."
    assert roster.students[0].original[1] == ["Phone", "1"]


@pytest.mark.parametrize(
    ("lines", "meanings"),
    [
        (
            "Vorname;Nachname;ID-Nummer;E-Mail-Adresse;Gruppen",
            "first name,last name,student id,e-mail,section",
        ),
        ("Name;Vorname;Matrikel-Nr.", "last name,first name,student id"),
        ("First Name,Last Name,SID,Email,Sections", "first name,last name,student id,e-mail,section"),
        ("OrgDefinedId,Username,Last Name,First Name", "student id,ignored,last name,first name"),
        ("Student,ID,SIS User ID,Section", "name,ignored,student id,section"),
        ("student_id,name,email,section,team", "student id,name,e-mail,section,ignored"),
        ("Ism,Familiya", "first name,last name"),
        ("Nombre,Apellidos", "first name,last name"),
        ("Nom;Prénom", "last name,first name"),
        ("Ism", "name"),
        ("Nom", "name"),
        ("Students", "name"),
        ("Name|E-mail 1|Student number (7 digits)", "name,e-mail,student id"),
        (" NAME , mail , student_id , class ", "name,e-mail,student id,section"),
    ],
)
def test_headings_of_common_systems_and_languages_are_no_students(lines, meanings):
    roster = roster_file.read([lines, ";".join("Ada") if ";" in lines else "Ada,Bea"])
    assert ",".join(each.role for each in roster.columns) == meanings
    assert roster.has_headings


def test_rows_that_systems_add_are_left_out_unless_they_have_an_id_or_an_address():
    lines = [
        "Machine Learning 101",
        "Student,Section,SID",
        "    Points Possible,,",
        "Date,A,7",
        '"Student, Test",B,',
        "Class Average,,",
        "Ada,A,8",
    ]
    roster = roster_file.read(lines)
    assert [each.name for each in roster.students] == ["Date", "Ada"]
    assert all(f"line {line}" in roster.notes[1] for line in (1, 3, 5, 6))


def test_a_column_with_addresses_is_never_ignored_silently():
    (work,) = roster_file.read(["Name,Work", "Ada,a@b.org"]).students
    assert work.email == "a@b.org"
    both = ["Name,Work,Home", "Ada,a@b.org,c@d.org"]
    roster = roster_file.read(both)
    assert roster.problems == ("Several columns contain e-mail addresses. Choose one.",)
    assert "'Work' and 'Home'" in roster.notes[1]
    chosen = [Meaning.NAME, Meaning.IGNORED, Meaning.EMAIL]
    assert roster_file.read(both, roles=chosen).students[0].email == "c@d.org"


def test_the_host_chooses_columns_and_headings_that_are_not_recognized():
    lines = ["Foo,Bar", "Ada,Lovelace"]
    assert "no column for names" in roster_file.read(lines).problems[0]
    roster = roster_file.read(lines, roles=[Meaning.FIRST, Meaning.LAST], has_headings=True)
    assert [each.name for each in roster.students] == ["Ada Lovelace"]
    assert len(roster_file.read(["Talaba", "Ada"]).students) == 2
    assert len(roster_file.read(["Talaba", "Ada"], has_headings=True).students) == 1


def test_a_list_of_names_needs_no_header():
    assert [each[0] for each in found("Ada\n\n  Bob \nLovelace, Eve\n")] == ["Ada", "Bob", "Lovelace, Eve"]


def test_all_faults_are_listed_with_their_lines():
    message = faults(
        "name,email,id\n,a@b.org,1\nAda,nowhere,2\nBob,b@b.org,3\nEve,B@b.org,3\nDan,d@b.org,\n"
        "Admin,,4\nGus,g@b.org,5,6\n"
    )
    for line, words in {
        2: "name is empty",
        3: "e-mail address",
        5: "student id is already used (Line 4)",
        6: "student id is empty",
        7: "reserved",
        8: "has 4 fields",
    }.items():
        assert any(each.startswith(f"Line {line}") and words in each for each in message.splitlines()), line
    assert "the same e-mail address is already used (Line 4)" in message


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (b"name\nM\xfcller\n", "Line 2 is not valid UTF-8"),
        (b"PK\x03\x04....", "ZIP archive"),
        (b"Ada,a@b.org,1\n", "no column for names"),
        (b"e-mail,id\na@b.org,1\n", "no column for names"),
        (b"name,id,ID\nAda,1,2\n", "Several columns contain the student id"),
        (b'name\n"Ada\n', "not valid CSV"),
        (b"", "has 0 students"),
        (b"name\n", "has 0 students"),
        (b"name\n" + b"".join(b"S%d\n" % each for each in range(5001)), "has 5,001 students"),
        (b"name,section\nAda," + b"x" * 65 + b"\n", "longer than 64"),
        (b"Ada\nADA\n", "the same name is already used (Ada)"),
        (b"name\nA\x00da\nB\xe2\x80\x8bob\n", "invisible character"),
    ],
)
def test_an_unusable_file_is_explained(file, words):
    assert words in faults(file)


def test_many_faults_are_counted():
    message = faults("name,id\n" + ",\n" * 3 + "".join(f"Ada {each},\n" for each in range(150)) + "Bob,1\n")
    assert message.endswith("There are 50 more problems.")
