"""The fixtures that several folders of tests share."""

pytest_plugins = (
    "tests.fixtures.arena",
    "tests.fixtures.databases",
    "tests.fixtures.invariants",
    "tests.fixtures.rescorings",
    "tests.fixtures.service",
    "tests.fixtures.smtp",
    "tests.fixtures.valkey",
    "tests.fixtures.web",
    "tests.fixtures.worlds",
)
