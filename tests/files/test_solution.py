import gzip
import io

import numpy as np
import pytest

from grader.files import ColumnRole, FileRejected, WrongColumns, read_solution

TABLE = (
    "id,comment_text,target,black or african,female,created,Usage,rating\n"
    'a-1,"Two lines,\nand ""quotes""",0.5,0.25,,2017-01-01,public,7\n'
    '"b,2",plain, 1 ,,1,2017-01-02,PRIVATE,8\n'
    " c 3 ,,0,1.0,0.0,2017-01-03,Ignored,9\n"
)


def rejected(data, **choice):
    """Return the code and the lines of each problem."""
    source = data.encode() if isinstance(data, str) else data
    with pytest.raises(FileRejected) as rejection:
        read_solution(source, **choice)
    assert rejection.value.file == "solution"
    return [(problem.code, problem.lines) for problem in rejection.value.problems]


def test_columns_are_assigned_their_roles():
    solution = read_solution(TABLE.encode())
    assert list(solution.row_ids) == ["a-1", "b,2", "c 3"]
    assert solution.labels.tolist() == [0.5, 1.0, 0.0]
    np.testing.assert_array_equal(solution.identities["black or african"], [0.25, np.nan, 1.0])
    np.testing.assert_array_equal(solution.identities["female"], [np.nan, 1.0, 0.0])
    assert solution.usage is not None and solution.usage.tolist() == [1, 2, 0]
    roles = solution.roles
    assert (roles.id, roles.label, roles.usage) == ("id", "target", "Usage")
    assert roles.identities == ("black or african", "female")
    assert roles.having(ColumnRole.UNUSED) == ("comment_text", "created", "rating")


def test_requested_identities_keep_their_order_and_others_are_unused():
    solution = read_solution(TABLE.encode(), identities=["female"])
    assert solution.roles.identities == ("female",)
    assert "black or african" in solution.roles.having(ColumnRole.UNUSED)
    both = read_solution(TABLE.encode(), identities=["female", "black or african"])
    assert list(both.identities) == ["female", "black or african"]


def test_another_label_can_be_chosen():
    solution = read_solution(b"id,target,hate\n1,1,0\n", label="hate")
    assert (solution.roles.label, solution.usage) == ("hate", None)
    assert solution.roles.having(ColumnRole.OTHER_LABEL) == ("target",)


def test_blanks_and_spaces_are_allowed_in_an_identity():
    rows = [f"{n},1,,{' 0.5 ' if n % 2 else ' '}" for n in range(1500)]
    solution = read_solution("\n".join(["id,target,blank,spaced", *rows]).encode())
    assert solution.roles.identities == ("blank", "spaced")
    assert solution.identities["spaced"][1] == 0.5
    assert read_solution("\n".join(["id,target,blank,spaced", *rows[:9]]).encode()).roles.having(
        ColumnRole.UNUSED
    ) == ("blank",)


def test_unnamed_columns_are_never_identities():
    solution = read_solution(b",id,target,female\n0,a,1,0\n1,b,0,1\n")
    assert solution.roles.identities == ("female",)
    assert solution.roles.having(ColumnRole.UNUSED) == ("(unnamed)",)
    for options in ({"label": ""}, {"roles": {"id": ColumnRole.ID, "": ColumnRole.LABEL}}):
        with pytest.raises(WrongColumns, match="no column ''"):
            read_solution(b"id,,target\n1,1,0\n", **options)


def test_every_problem_is_listed_with_its_lines():
    data = (
        "id,target,female,comment,Usage\n"
        '1,0.5,0.25,"three\nlines\nof it",Public\n'
        "1,1.5,2,x,Privat\n"
        ",,nan,x,\n"
        "3,yes,-0.1,x,Public,more\n"
        "4,yes,-0.1,x,Public\n"
        "\n"
        "5,0,0,x,Public\n"
    )
    assert rejected(data, identities=["female"]) == [
        ("duplicate_row_id", (5,)),
        ("unknown_usage", (5, 6)),
        ("label_out_of_range", (5,)),
        ("identity_out_of_range", (5, 8)),
        ("empty_id", (6,)),
        ("blank_label", (6,)),
        ("bad_identity", (6,)),
        ("field_count", (7,)),
        ("bad_label", (8,)),
        ("blank_line", (9,)),
    ]


@pytest.mark.parametrize(
    ("data", "codes"),
    [
        (b"", ["empty_file"]),
        (b"id,target\n", ["empty_file"]),
        ("id,target\n1,1\n".encode("utf-16"), ["wrong_encoding"]),
        (b"id;target\n1;1\n", ["wrong_delimiter"]),
        (b"row,target\n1,1\n", ["missing_column"]),
        (b"id,score\n1,1\n", ["missing_label"]),
        (b"id,target,label\n1,1,1\n", ["several_labels"]),
        (b"id,target,a,a\n1,1,1,1\n", ["duplicate_column"]),
        (b"id,target\n1,1\n id , target\n2,0\n", ["repeated_header"]),
        (b'"id,target"\n"1,1"\n', ["wrong_delimiter"]),
        ("id，target\n1，1\n".encode(), ["wrong_delimiter"]),  # noqa: RUF001
        (b"1,0.5\n2,1\n", ["missing_column", "missing_label"]),
        (b'id,target\n"1\n2",1\n', ["bad_id"]),
        (b"id,target\n1\x002,1\n", ["bad_id"]),
        (b'id,target\n1,"1\n2,0\n', ["stray_quote"]),
        (b"id,target\n1,True\n", ["bad_label"]),
    ],
)
def test_unusable_solutions_are_rejected(data, codes):
    assert [code for code, _ in rejected(data)] == codes


@pytest.mark.parametrize(
    ("data", "code", "lines"),
    [
        (b"id,target,caf\xe9\n1,1,0\n", "invalid_utf8", (1,)),
        (b'id,"tar\nget \xff",label\n1,1,0\n', "invalid_utf8", (2,)),
        (b"\xef\xbb\xbf\xef\xbb\xbfid,target\n1,1\n", "invisible_character", (1,)),
        ("id,target,Usage\u00a0\n1,1,Public\n".encode(), "invisible_character", (1,)),
        (b"sep=,\r\nid,target\r\n1,1\r\n", "separator_line", (1,)),
        (b"# by hand\n# again\nid,target\n1,1\n", "comment_line", (1, 2)),
        (b"\nid,target\n1,1\n", "blank_line", (1,)),
        (b"id,target,usage,USAGE\n1,1,Public,Public\n", "several_usages", (1,)),
        (b"id,target,Usage\n1,1,Public\n2,0,Priv\xe9\n", "invalid_utf8", (3,)),
        (b"id,target\n1,1\n2,\xbd\n", "invalid_utf8", (3,)),
        ("id,target\n1,1\n2\u00a0,0\n".encode(), "invisible_character", (3,)),
        (b"id,target\n1,1\n\n \t\n2,0\n", "blank_line", (3, 4)),
    ],
)
def test_problem_of_a_solution_has_its_position(data, code, lines):
    assert rejected(data) == [(code, lines)]


def test_damaged_header_is_a_problem_of_the_file_even_for_requested_names():
    codes = [code for code, _ in rejected(b"id,target,caf\xe9\n1,1,0\n", identities=["caf\u00e9"])]
    assert codes == ["invalid_utf8"]


def test_trailing_blank_space_of_a_solution_is_accepted():
    assert len(read_solution(b"id,target\n1,1\n\n  \n").row_ids) == 1


def test_unknown_column_name_is_an_error_of_the_caller():
    with pytest.raises(WrongColumns, match="no column 'femal'; its columns are 'id', 'target' and"):
        read_solution(b"id,target,female\n1,1,1\n", identities=["femal"])
    with pytest.raises(WrongColumns, match="no column 'hate'"):
        read_solution(b"id,target\n1,1\n", label="hate")
    with pytest.raises(WrongColumns, match="two roles"):
        read_solution(b"id,target,a\n1,1,1\n", identities=["a", "a"])
    with pytest.raises(WrongColumns, match="two roles"):
        read_solution(b"id,target,a\n1,1,1\n", label="a", identities=["a"])


def test_solution_can_be_a_path_or_a_compressed_stream(tmp_path):
    data = b"id,target,female\n1,1,0\n2,0,1\n"
    (tmp_path / "solution.csv").write_bytes(data)
    for source in (tmp_path / "solution.csv", io.BytesIO(gzip.compress(data))):
        assert read_solution(source).identities["female"].tolist() == [0, 1]


def test_texts_are_stored_once_and_blanks_are_empty():
    data = b"id,target,side\n1,1,pro\n2,1,\n3,0,anti\n4,0,pro\n5,1,\n"
    side = read_solution(data, named={"side": ColumnRole.SLICE}).slices["side"]
    assert side.values == ("pro", "anti")
    assert side.texts() == ["pro", "", "anti", "pro", ""]


def test_invalid_utf8_in_an_unused_column_is_ignored():
    assert read_solution(b"id,target,comment\n1,1,caf\xe9\n").labels.tolist() == [1.0]


def test_scored_table_contains_predictions_and_needs_no_id():
    data = b"toxicity,model_a,model_b,female,Usage\n1,0.9,-3,1,Public\n0,0.1,1e3,,Private\n"
    table = read_solution(data, predictions=["model_b", "model_a"])
    assert list(table.predictions) == ["model_b", "model_a"]
    assert table.predictions["model_b"].tolist() == [-3.0, 1000.0]
    assert table.roles.identities == ("female",)
    assert table.roles.id is None
    assert table.usage is not None
    assert table.usage.tolist() == [1, 2]


def test_ids_of_a_scored_table_are_not_checked():
    table = read_solution(b"id,target,model\n1,1,0.5\n1,0,0.5\n", predictions=["model"])
    assert table.labels.tolist() == [1.0, 0.0]
    assert table.roles.identities == ()


@pytest.mark.parametrize("value", ["", "nan", "inf", "1e400", "0.5.1"])
def test_predictions_of_a_scored_table_are_finite_numbers(value):
    data = f"target,model\n1,0.5\n0,{value}\n".encode()
    with pytest.raises(FileRejected) as rejection:
        read_solution(data, predictions=["model"])
    (problem,) = rejection.value.problems
    assert problem.code.endswith("prediction") or problem.code == "prediction_out_of_range"
    assert problem.line == 3


def test_solution_cut_off_by_a_full_disk_is_rejected():
    """Use a file whose last column is unused, so its last row would otherwise be complete."""
    rows = "".join(f"{n},{n % 2},text {n}\n" for n in range(50))
    assert rejected(f"id,target,comment\n{rows.rstrip()}".encode() + bytes(40)) == [("nul_byte", (51,))]


def test_a_decimal_comma_in_a_solution_is_explained():
    data = b'id,target,cat\n1,"0,5",1\n2,1,0\n'
    with pytest.raises(FileRejected) as rejected:
        read_solution(data, label="target", identities=["cat"])
    assert "decimal comma?" in rejected.value.problems[0].message
