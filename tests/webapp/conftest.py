"""Fixtures for page and API tests on either database."""

from collections.abc import Callable
from typing import Any

import pytest


@pytest.fixture
def arena(database_url: str, make_arena: Callable[..., Any]):
    """A complete test site without competitions or users."""
    return make_arena(database_url=database_url)
