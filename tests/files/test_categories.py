"""Text columns that store each distinct text once."""

from grader.files.solution.columns import CategoryWriter


def test_texts_are_returned_by_row_and_blanks_are_empty():
    writer = CategoryWriter()
    for text in ["pro", "", "anti", "pro", ""]:
        writer.add(text)
    categories = writer.categories()
    assert categories.values == ("pro", "anti")
    assert categories.texts() == ["pro", "", "anti", "pro", ""]


def test_column_without_rows_has_no_texts():
    assert CategoryWriter().categories().texts() == []
