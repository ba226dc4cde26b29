"""Scenario table F1 to F28: references to existing tests."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent


def test_every_scenario_lists_existing_tests():
    text = (FOLDER / "README.md").read_text()
    rows = re.findall(r"^\| (F\d+) \|.*\|(.*)\|$", text, re.MULTILINE)
    assert [number for number, _ in rows] == [f"F{number}" for number in range(1, 29)]
    sources = "".join(path.read_text() for path in FOLDER.parent.rglob("test_*.py"))
    there = set(re.findall(r"def (test_\w+)\(", sources))
    for number, tests in [*rows, ("additional scenarios", text)]:
        named = set(re.findall(r"`(test_\w+)`", tests))
        assert named and named <= there, (number, named - there)
