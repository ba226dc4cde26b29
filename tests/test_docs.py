"""The documentation says what is there."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import click
import pytest

from grader.cli import main
from grader.cli.organize.setup import create
from grader.models import Competition
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.settings_model import NAMES, CompetitionSettings
from grader.services.setup import settings_file
from grader.settings import Settings

ROOT = Path(__file__).parents[1]
PLACES = ("", "grader/", "grader/services/", "grader/services/submissions/", "grader/services/competitions/")


def test_every_setting_is_documented_with_its_description():
    text = (ROOT / "docs" / "operations.md").read_text()
    missing = [
        name
        for name, field in Settings.model_fields.items()
        if not re.search(
            rf"\| `FAIRBOARD_{name.upper()}` \| .* \| {re.escape(field.description or '')} \|", text
        )
    ]
    assert missing == []


def test_no_setting_is_documented_that_does_not_exist():
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = re.findall(r"^\| `FAIRBOARD_(\w+)` \|", text, flags=re.MULTILINE)
    assert set(documented) == {name.upper() for name in Settings.model_fields}


def test_the_table_of_a_competitions_settings_is_that_of_the_code():
    text = (ROOT / "docs" / "organizers.md").read_text()
    table = text[text.index("### The settings of a competition") : text.index("### Data files")]
    assert re.findall(r"^\| `.*", table, flags=re.MULTILINE) == list(_rows_of_settings())
    assert "7 days" in table
    assert timedelta(days=7) == competition_settings.WEEK


def _rows_of_settings() -> Iterator[str]:
    """Return a row for every setting: key, default and meaning, as the file of a new draft has them."""
    table = ""
    for line in settings_file.write("slug", CompetitionSettings()).splitlines():
        if found := re.fullmatch(r"\[(\w+)\]", line):
            table = f"{found[1]}."
        elif found := re.fullmatch(r"(\w+) = (.*?)  # (.*)", line):
            yield f"| `{table}{found[1]}` | `{found[2]}` | {found[3]} |"
        elif found := re.fullmatch(r"# (\w+) = …  (.*)", line):
            yield f"| `{table}{found[1]}` | not set | {found[2]} |"


def test_the_database_and_the_shell_have_the_same_defaults_as_the_settings():
    ordinary = CompetitionSettings()
    columns = Competition.__table__.c
    stored = {name: columns[name].default.arg for name in NAMES if name in columns and columns[name].default}
    assert stored == {name: getattr(ordinary, name) for name in stored}
    assert {"max_daily_submissions", "selection_count", "feedback", "reveal_rule"} <= stored.keys()
    text = (ROOT / "docs" / "organizers.md").read_text()
    numbers = 0
    for parameter in create.params:
        if isinstance(parameter, click.Option) and type(getattr(ordinary, parameter.name or "", "")) is int:
            default = getattr(ordinary, parameter.name or "")
            assert f"[default: {default}]" in (parameter.help or ""), parameter.name
            assert re.search(rf"^\| `{parameter.opts[0]} N`.* \| {default} \|$", text, flags=re.MULTILINE)
            numbers += 1
    assert numbers == 5


def test_every_command_in_the_readme_exists():
    text = (ROOT / "README.md").read_text()
    commands = set(re.findall(r"\.venv/bin/fairboard (\w+)", text))
    assert commands <= set(main.list_commands(None))  # type: ignore[arg-type]


def test_every_link_between_the_documents_leads_to_a_chapter():
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    broken = [
        f"{document.name}: {target}#{chapter}"
        for document in documents
        for target, chapter in re.findall(r"\]\((?!http)([^)#]*)#?([^)]*)\)", document.read_text())
        if not _leads_somewhere(document.parent / target if target else document, chapter)
    ]
    assert broken == []


@pytest.mark.parametrize("document", ["docs/architecture.md", "docs/glossary.md", "docs/contributing.md"])
def test_every_file_that_a_map_names_is_there(document: str):
    named = re.findall(r"`([\w/]+(?:\.py|\.json|\.txt|/))`", (ROOT / document).read_text())
    assert named
    assert [name for name in named if not any((ROOT / place / name).exists() for place in PLACES)] == []


def _leads_somewhere(file: Path, chapter: str) -> bool:
    if not chapter:
        return file.exists()
    headings = re.findall(r"^#+ (.+)$", file.read_text(), flags=re.MULTILINE)
    return chapter in {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
