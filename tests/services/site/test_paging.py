"""Pagination of lists."""

from hypothesis import given
from hypothesis import strategies as st

from grader.services.site.paging import page_of_list


@given(st.lists(st.integers(), max_size=20), st.integers(1, 7), st.integers(-3, 0), st.integers(1, 10**30))
def test_concatenated_pages_equal_the_list_and_others_are_the_first_or_empty(rows, size, before, beyond):
    first = page_of_list(rows, page=1, page_size=size)
    pages = [page_of_list(rows, page=page, page_size=size) for page in range(1, first.page_count + 1)]
    assert [row for page in pages for row in page.rows] == rows
    assert all(len(page.rows) == size for page in pages[:-1])
    assert page_of_list(rows, page=before, page_size=size) == first
    assert page_of_list(rows, page=len(pages) + beyond, page_size=size).rows == ()
