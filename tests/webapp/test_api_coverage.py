"""Correspondence between page actions and API operations."""

from tests.fixtures.routes import REASONS, ROUTES

NO_PAGES = ("api.", "design.", "documentation.", "health.", "openapi.", "kaggle")
WITHOUT_PAGE = {
    "site_audit_list",  # Administrators use the shell command.
}


def test_every_page_has_its_operations_or_a_reason():
    for name, route in ROUTES.items():
        assert bool(route.operations) != name.split()[1].startswith(NO_PAGES), name


def test_every_operation_has_its_page_or_a_reason(arena):
    listed = (route.operations for route in ROUTES.values() if route.operations not in REASONS)
    paired = {name for names in listed for name in names.split()}
    endpoints = {rule.endpoint for rule in arena.app.url_map.iter_rules()}
    assert {
        each.removeprefix("api.") for each in endpoints if each.startswith("api.")
    } == paired | WITHOUT_PAGE
