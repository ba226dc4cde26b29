"""Fixture for calling team services as a given user."""

from datetime import timedelta

import pytest

from tests.fixtures.services import as_person


@pytest.fixture
def act(service):
    """Call a service as a user in a separate transaction."""

    def call(function, competition, user: str, *, after=timedelta(), **given):
        who = service.user(user)
        with service.database.write() as session:
            return function(as_person(session, competition, who, now=service.now + after), **given)

    return call
