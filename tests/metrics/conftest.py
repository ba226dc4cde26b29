"""Fixtures of the metric's tests."""

import pytest

from grader.metrics import pair_counting


@pytest.fixture(scope="module", params=[False, True], ids=["numpy sort", "radix sort"])
def each_sort(request):
    """Count with each of the two sorts, because the CPU decides which one is used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pair_counting, "radix_is_faster", lambda: request.param)
        yield
