"""test.csv: each id of the solution exactly once, in any order."""

import pytest

from grader.files import FileRejected, RowIds, read_public_table

IDS = RowIds.of(["a", "b,1", "c"])


def test_ids_of_the_solution_are_accepted_in_any_order():
    table = read_public_table(b'id,comment_text\nc,"x\ny"\n"b,1",\n a ,z\n', IDS, id_column="id")
    assert table.problems == ()
    assert table.columns == ("id", "comment_text")
    assert table.positions.tolist() == [2, 1, 0]


def test_missing_unknown_and_repeated_ids_are_all_reported():
    table = read_public_table(b"ID,text\na,1\na,1\nd,1\ne,1\n\n", IDS, id_column="id")
    found = [(problem.code, problem.count, problem.found, problem.lines) for problem in table.problems]
    assert found == [
        ("missing_ids", 2, "'b,1' and 'c'", ()),
        ("repeated_ids", 1, "'a'", (3,)),
        ("unknown_ids", 2, "'d'", (4, 5)),
    ]


@pytest.mark.parametrize("data", [b"", b"text\nx\n", b"PAR1\x15"])
def test_other_file_is_rejected(data):
    with pytest.raises(FileRejected):
        read_public_table(data, IDS, id_column="id")
