"""The documentation says what is there."""

import re
from pathlib import Path

from grader.cli import main
from grader.settings import Settings

ROOT = Path(__file__).parents[1]


def test_every_setting_is_documented_with_its_description() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    missing = [
        name
        for name, field in Settings.model_fields.items()
        if not re.search(
            rf"\| `FAIRBOARD_{name.upper()}` \| .* \| {re.escape(field.description or '')} \|", text
        )
    ]
    assert missing == []


def test_no_setting_is_documented_that_does_not_exist() -> None:
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = re.findall(r"^\| `FAIRBOARD_(\w+)` \|", text, flags=re.MULTILINE)
    assert set(documented) == {name.upper() for name in Settings.model_fields}


def test_every_command_in_the_readme_exists() -> None:
    text = (ROOT / "README.md").read_text()
    commands = set(re.findall(r"\.venv/bin/fairboard (\w+)", text))
    assert commands <= set(main.list_commands(None))  # type: ignore[arg-type]


def test_every_link_between_the_documents_leads_somewhere() -> None:
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    broken = [
        f"{document.name}: {target}"
        for document in documents
        for target in re.findall(r"\]\((?!http)([^)#]+)", document.read_text())
        if not (document.parent / target).exists()
    ]
    assert broken == []
