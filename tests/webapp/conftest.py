"""Fixtures for page and API tests on either database."""

import pytest


@pytest.fixture
def arena(database_url, make_arena):
    """A complete test site without competitions or users."""
    return make_arena(database_url=database_url)
