"""Anything in any field of any form, query, address and header: an honest answer, never an error of ours."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.fixtures.sieges import (
    CROWD,
    METHODS,
    Form,
    Siege,
    anything,
    encoded,
    field_names,
    forms_of,
    headers,
    paths,
)

FORM = "application/x-www-form-urlencoded"
SEES = 2  # pages that are read after a form, for what it left behind


@pytest.fixture(scope="module", params=["sqlite", pytest.param("postgresql", marks=pytest.mark.long)])
def siege(request: pytest.FixtureRequest, make_siege: Callable[..., Siege]) -> Siege:
    """An open competition under siege."""
    if request.param == "sqlite":
        return make_siege()
    return make_siege(database_url=request.getfixturevalue("make_postgresql_url")())


EXAMPLES = pytest.mark.parametrize(
    "examples", [60, pytest.param(20_000, marks=[pytest.mark.long, pytest.mark.timeout(7200)])]
)


@EXAMPLES
def test_no_form_breaks_a_page(siege: Siege, examples: int) -> None:
    forms, names, later = forms_of(siege), field_names(), paths(siege)

    @given(st.data())
    def send(data: st.DataObject) -> None:
        siege.begin()
        form = data.draw(st.sampled_from(forms))
        who = data.draw(st.sampled_from([form.person] * 4 + list(CROWD)))
        fields = data.draw(filled(form, names))
        browser = siege.browser(who)
        token = siege.form_token(who, browser)
        answer = browser.post(form.action, data=encoded([("csrf_token", token), *fields]), content_type=FORM)
        siege.require_honest(answer)
        if answer.status_code < 400:
            if answer.location:
                siege.require_honest(browser.get(answer.location))
            for _ in range(SEES):
                siege.require_honest(browser.get(data.draw(later)))

    trying(examples, send)


@EXAMPLES
def test_no_request_breaks_the_site(siege: Siege, examples: int) -> None:
    names, everywhere = field_names(), paths(siege)
    queries = st.lists(st.tuples(st.sampled_from(names), anything()), max_size=3)

    @given(
        st.sampled_from(CROWD),
        st.sampled_from(METHODS + ("GET",) * 6),
        everywhere,
        queries,
        queries,
        headers(),
    )
    def send(who: str | None, method: str, path: str, query: Any, fields: Any, given_headers: Any) -> None:
        siege.begin()
        sent = {"Content-Type": FORM, **siege.bearer(who), **given_headers}
        siege.require_honest(
            siege.browser(who).open(
                path, method=method, query_string=encoded(query).decode(), data=encoded(fields), headers=sent
            )
        )

    trying(examples * 2, send)


def filled(form: Form, names: list[str]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    """Return what a form may send: mostly what stands in it, some of it changed, left out or added."""
    kept = [
        st.one_of(
            st.just([(name, value)]), anything().map(lambda sent, name=name: [(name, sent)]), st.just([])
        )
        for name, value in form.fields
    ]
    changed = st.tuples(*kept).map(lambda parts: [pair for part in parts for pair in part])
    only_one = st.integers(0, max(0, len(form.fields) - 1)).flatmap(
        lambda place: anything().map(
            lambda sent: [
                (name, sent if at == place else value) for at, (name, value) in enumerate(form.fields)
            ]
        )
    )
    added = st.lists(st.tuples(st.sampled_from(names), anything()), max_size=2)
    return st.tuples(st.one_of(only_one, only_one, changed), added).map(lambda both: both[0] + both[1])


def trying(examples: int, test: Callable[[], None]) -> None:
    """Try a property on as many examples."""
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(max_examples=examples, deadline=None, suppress_health_check=checks)(test)()
