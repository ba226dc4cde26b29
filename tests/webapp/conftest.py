"""Pages and API are tried on a database of either kind."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def arena(database_url: str, make_arena: Callable[..., Any]):
    """A site without competitions or people."""
    return make_arena(database_url=database_url)
