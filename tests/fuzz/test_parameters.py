"""Fuzz tests of every route parameter with invalid values, on both databases.

A path without a matching object returns 404. An unreadable URL or JSON body returns 400 and names the invalid
part. A form shows its error on its page. There are no internal errors, and no input is rejected only by the
database.
"""

from itertools import cycle, islice

import pytest
from markupsafe import escape

from grader.db import Unstorable
from tests.fixtures.parameters import (
    FILE_NAMES,
    HEADERS,
    HOSTILE_BODIES,
    WORST,
    parameters,
    send_file,
    send_json,
)
from tests.fixtures.sieges import CROWD
from tests.fixtures.walks import addresses

BOTH = ("sqlite", pytest.param("postgresql", marks=pytest.mark.long))
UPLOADS = {
    "/competitions/toxicity/submit": "Ann",
    "/api/v1/competitions/toxicity/submissions": "Ann",
    "/api/v1/competitions/toxicity/check": "Ann",
    "/competitions/toxicity/organize/data": "Root",
    "/competitions/toxicity/organize/data/baseline": "Root",
    "/competitions/toxicity/organize/solution": "Root",
}


@pytest.fixture(scope="module", params=BOTH)
def siege(request, make_siege):
    """An open competition that receives arbitrary input."""
    if request.param == "sqlite":
        return make_siege()
    return make_siege(database_url=request.getfixturevalue("make_postgresql_url")())


@pytest.fixture(scope="module")
def found(siege):
    """All parameters of the site."""
    return parameters(siege)


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_every_parameter_of_every_route_is_handled(siege, found):
    for number, parameter in enumerate(found):
        for value in parameter.hostile:
            _require(siege, parameter, parameter.person, value)
        for who, value in zip(CROWD, cycle(parameter.hostile[number % 4 :]), strict=False):
            _require(siege, parameter, who, value)


@pytest.mark.long
def test_parameters_of_every_kind_are_found(found):
    names = {(each.place, each.name) for each in found}
    assert {
        ("path", "submission_id"),
        ("query", "page"),
        ("query", "candidate"),
        ("query", "version"),
    } <= names
    assert {("field", "identities"), ("json", "code")} <= names
    assert {("field", "closes_at"), ("field", "overall_auc"), ("field", "max_team_size")} <= names


def test_no_file_name_breaks_an_upload(siege):
    names = cycle(FILE_NAMES)
    for path, who in UPLOADS.items():
        for name in islice(names, 4):
            siege.begin()
            siege.require_honest(send_file(siege, who, path, name))


def test_no_invalid_json_body_breaks_the_api(siege):
    for body in HOSTILE_BODIES:
        for path in ("/api/v1/competitions/toxicity/join", "/api/v1/submissions/1/select"):
            siege.begin()
            assert siege.require_honest(send_json(siege, "Ann", path, body)).status_code == 400, body
    odd = b'{"\\ud800": 1, "\\u0000": 2}'
    siege.require_honest(send_json(siege, "Ann", "/api/v1/submissions/1/select", odd))


def test_no_header_breaks_a_page(siege):
    paths = cycle(path for method, _, path in addresses(siege.app) if method == "GET")
    for name, values in HEADERS.items():
        for value, path in zip(values, paths, strict=False):
            siege.begin()
            headers = siege.bearer("Ann") | {name: value} if path.startswith("/api/") else {name: value}
            siege.require_honest(siege.browser("Root").get(path, headers=headers))


def _require(siege, parameter, who, value):
    siege.begin()
    answer = siege.require_honest(parameter.ask(siege, who, value))
    where = f"{parameter.route}, {parameter.place} {parameter.name} = {value[:40]!r} as {who}"
    assert not _holds(answer, Unstorable().message), where
    names_nothing = "a\0b", *(WORST if f"<int:{parameter.name}>" in parameter.route else ())
    if parameter.place == "path" and value in names_nothing:
        # Werkzeug compares the methods of a rule before it converts the numbers of the path.
        assert answer.status_code in (404, 405), where
    elif parameter.place == "query" and value == "a\0b":
        assert (answer.status_code, _holds(answer, f"`{parameter.name}`")) == (400, True), where


def _holds(answer, text):
    return text in answer.text or str(escape(text)) in answer.text
