"""Pagination of lists."""

from hypothesis import given
from hypothesis import strategies as st

from grader.services.site.paging import page_of_list

sizes = st.integers(1, 7)


@given(st.lists(st.integers(), max_size=20), sizes)
def test_concatenated_pages_equal_the_list(rows, page_size):
    first = page_of_list(rows, page=1, page_size=page_size)
    pages = [page_of_list(rows, page=page, page_size=page_size) for page in range(1, first.page_count + 1)]
    assert [row for page in pages for row in page.rows] == rows
    assert all(len(page.rows) == page_size for page in pages[:-1])
    assert {(page.page_count, page.count) for page in pages} == {(len(pages), len(rows))}


@given(st.lists(st.integers(), max_size=20), sizes, st.integers(-3, 0), st.integers(1, 10**30))
def test_page_numbers_start_at_one_and_pages_past_the_end_are_empty(rows, page_size, before, beyond):
    first = page_of_list(rows, page=1, page_size=page_size)
    assert page_of_list(rows, page=before, page_size=page_size) == first
    last = first.page_count
    beyond = page_of_list(rows, page=last + beyond, page_size=page_size)
    assert (beyond.rows, beyond.page_count, beyond.count) == ((), last, len(rows))
