"""Services of teams, called as a person."""

from datetime import timedelta
from typing import Any

import pytest

from grader.services.competitions import acting


@pytest.fixture
def act(service: Any) -> Any:
    """Call a service as a person in a transaction of its own."""

    def call(function: Any, competition: Any, user: str, *, after: Any = timedelta(), **given: Any) -> Any:
        who = service.user(user)
        with service.database.write() as session:
            return function(acting.as_person(session, competition, who, now=service.now + after), **given)

    return call
