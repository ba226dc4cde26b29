"""Conformance of API responses to the OpenAPI document, for each role."""

from contextlib import closing, suppress
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import CHECKS, load_all_checks

from grader.models import Role

pytestmark = pytest.mark.system

load_all_checks()
KEPT: list[Any] = CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)
# Path parameters of existing objects; with other values, every response would be 404.
KNOWN = {"slug": "toxicity", "submission_id": 1, "number": 1, "team_id": 1, "token_id": 999, "user_id": 1}
ROLES = ("nobody", "a participant", "an organizer", "an administrator")


@pytest.fixture
def site(make_arena, database_url):
    """A site whose `headers` contain a token with all scopes for each role."""
    arena = make_arena(database_url=database_url)
    arena.competition()
    people = arena.person("Ann"), arena.person("Olga"), arena.person("Root", is_admin=True)
    arena.give_role(people[1], Role.OWNER)
    arena.headers = dict(zip(ROLES, ({}, *(each.bearer for each in people)), strict=True))
    return arena


@pytest.fixture(scope="module")
def make_cases():
    """A function that generates valid and invalid requests for every operation.

    All roles and both databases use the same requests, because generating them is the slowest part.
    """

    made: dict[int, list[schemathesis.Case]] = {}

    def make(app: Flask, examples: int) -> list[schemathesis.Case]:
        if examples in made:
            return made[examples]
        cases = made[examples] = list[schemathesis.Case]()
        schema = schemathesis.openapi.from_wsgi("/api/openapi.json", app)
        for result in schema.get_all_operations():
            operation = result.ok()
            known = {each.name: KNOWN[each.name] for each in operation.path_parameters if each.name in KNOWN}
            for mode in schemathesis.GenerationMode:

                @settings(
                    max_examples=examples,
                    derandomize=True,
                    database=None,
                    deadline=None,
                    phases=[Phase.generate],
                    suppress_health_check=list(HealthCheck),
                )
                @given(case=operation.as_strategy(mode, path_parameters=known))
                def add(case):
                    cases.append(case)

                # Some operations have no invalid requests.
                with suppress(Unsatisfiable):
                    add()
        return cases

    return make


def complete(app):
    """Wrap an application so that each response is read and closed, as a server does."""

    def respond(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        with closing(app(environ, start_response)) as pieces:
            return list(pieces)

    return respond


def keep(arena, role, cases):
    """Send requests as a role, and check each response against the OpenAPI document."""
    headers = arena.headers[role] | {"Accept-Encoding": "identity"}
    app = complete(arena.app)
    for case in cases:
        answer = case.call(app=app, headers=headers)
        is_not_yet = answer.status_code == 503 and "retry-after" in answer.headers
        case.validate_response(answer, checks=KEPT[1:] if is_not_yet else KEPT)


@pytest.mark.parametrize(
    ("role", "examples"),
    [
        ("an administrator", 1),  # with all permissions of the other roles
        *(pytest.param(role, 60, marks=pytest.mark.long) for role in ROLES),
    ],
)
def test_the_api_conforms_to_its_description(site, make_cases, role, examples):
    keep(site, role, make_cases(site.app, examples))
