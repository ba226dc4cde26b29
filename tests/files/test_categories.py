"""Columns of texts that are kept once each."""

from grader.files.solution.fast_path import CategoryWriter


def test_the_texts_come_back_row_by_row_and_blanks_are_empty():
    writer = CategoryWriter()
    for text in ["pro", "", "anti", "pro", ""]:
        writer.add(text)
    categories = writer.categories()
    assert categories.values == ("pro", "anti")
    assert categories.texts() == ["pro", "", "anti", "pro", ""]


def test_no_rows_have_no_texts():
    assert CategoryWriter().categories().texts() == []
