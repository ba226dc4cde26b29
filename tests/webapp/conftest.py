"""Pages and API are tried on both databases."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture(params=["sqlite", "postgresql"])
def arena(request: pytest.FixtureRequest, make_arena: Callable[..., Any]) -> Any:
    """A site without competitions or people, on either database in turn."""
    if request.param == "sqlite":
        return make_arena()
    return make_arena(database_url=request.getfixturevalue("postgresql_url"))
