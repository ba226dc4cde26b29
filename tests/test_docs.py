"""Agreement between documentation and code: settings, commands, pages, links."""

import re
import shlex
from datetime import timedelta
from pathlib import Path

import click
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from grader.cli import main
from grader.demo.dataset import generate
from grader.models import Competition
from grader.services.competitions import settings as competition_settings
from grader.services.competitions import settings_file
from grader.services.competitions.metric import NamedMetric
from grader.services.competitions.settings_model import (
    NAMES,
    PARTS,
    SETTINGS,
    WEIGHTS,
    CompetitionSettings,
)
from grader.settings import Settings

ROOT = Path(__file__).parents[1]
CHAPTERS = sorted((ROOT / "docs").glob("*.md"))
# CHANGELOG.md also names commands and settings that were removed.
DOCUMENTS = [path for path in sorted(ROOT.glob("*.md")) if path.name != "CHANGELOG.md"]
DOCUMENTS += [*CHAPTERS, *sorted((ROOT / "docs" / "decisions").glob("*.md"))]
CONTEXT = click.Context(main)


def test_the_settings_are_documented_with_their_descriptions():
    text = (ROOT / "docs" / "operations.md").read_text()
    documented = dict(re.findall(r"^\| `FAIRBOARD_(\w+)` \| .* \| (.*) \|$", text, re.MULTILINE))
    assert documented == {
        name.upper(): field.description or "" for name, field in Settings.model_fields.items()
    }


def test_table_of_competition_settings_matches_the_code():
    table = (ROOT / "docs" / "competition-settings.md").read_text()
    assert re.findall(r"^\| `.*", table, flags=re.MULTILINE) == list(_rows_of_settings())
    assert "7 days" in table
    assert timedelta(days=7) == competition_settings.WEEK


_OPTIONS = {name: field.default for name, field in NamedMetric.model_fields.items()}


def _rows_of_settings():
    """Return a table row for every setting: its key, its other name in the API, its default, its meaning."""
    table, defaults = "", {}
    for line in settings_file.write("slug", CompetitionSettings()).splitlines():
        if found := re.fullmatch(r"\[([\w.]+)\]", line):
            table = f"{found[1]}."
        elif found := re.fullmatch(r"(\w+) = (.*)", line):
            defaults[table + found[1]] = f"`{found[2]}`"
    defaults |= {f"metric.{name}": f"`{_OPTIONS[name]!r}`" for name in ("cutoff", "weight")}
    settings = {name: each for name, each in SETTINGS.items() if name != "metric"} | PARTS
    for name, setting in settings.items():
        key = f"{setting.key}.{name}" if name in WEIGHTS else setting.key
        api = "" if name in PARTS or name == key else f" (`{name}`)"
        yield f"| `{key}`{api} | {defaults.get(key, 'not set')} | {setting.description} |"


def test_database_has_the_same_defaults_as_the_settings():
    ordinary = CompetitionSettings()
    columns = Competition.__table__.c
    stored = {name: columns[name].default.arg for name in NAMES if name in columns and columns[name].default}
    assert stored == {name: getattr(ordinary, name) for name in stored}
    assert {"max_daily_submissions", "selection_count", "feedback", "reveal_rule"} <= stored.keys()


def test_documentation_is_short():
    assert sum(len(path.read_text().split()) for path in CHAPTERS) <= 18_000
    assert len(CHAPTERS) <= 15


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_command_and_option_in_the_documents_exists(document):
    wrong = []
    for line in re.findall(
        r"(?:^ *|`|\$ )(?:\.venv/bin/)?fairboard ([^`#\n]+)", document.read_text(), re.MULTILINE
    ):
        command, words = main, shlex.split(line.replace("'", "").replace('"', ""))
        while (
            isinstance(command, click.Group) and words and (below := command.get_command(CONTEXT, words[0]))
        ):
            command, words = below, words[1:]
        if isinstance(command, click.Group) and words and words[0] not in ("--version", "--help"):
            wrong.append(f"fairboard {line}: no such command")
        options = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        named = {word.strip("[],.()|").partition("=")[0] for word in words}
        named = {word for word in named if re.fullmatch(r"--[a-z][a-z-]+", word)}
        wrong += [f"fairboard {line}: {option}" for option in sorted(named - options - {"--help"})]
    assert wrong == []


def _complete_commands():
    """Return the commands in code blocks that have no optional parts or alternatives."""
    found = set()
    for document in DOCUMENTS:
        lines = re.findall(r"^ +(?:\.venv/bin/)?fairboard (.+)$", document.read_text(), re.MULTILINE)
        found |= {
            shlex.join(shlex.split(line, comments=True)) for line in lines if not re.search(r"[\[|…]", line)
        }
    return found


@pytest.fixture(scope="module")
def files_of_the_examples(tmp_path_factory):
    """A folder with the files that the documented commands read, from generated comments."""
    folder = tmp_path_factory.mktemp("examples")
    rng = np.random.default_rng(5)
    dataset = generate(train_rows=10, test_rows=1200)
    solution = dataset.solution
    pairs = {"pair": solution.index // 2, "role": np.tile(["anti", "pro"], 600)}
    solution = solution.assign(insult=rng.integers(0, 2, 1200), **pairs)
    solution["group"] = np.where(solution["pair"] % 2, "F", "M")
    for name in ("solution.csv", "fuzzed_solution.csv"):
        solution.to_csv(folder / name, index=False)
    of_solution = ("submission.csv", "ours.csv", "theirs.csv", "predictions.csv", "fuzzed_predictions.csv")
    for name in of_solution:
        noisy = solution["target"].round() + rng.normal(size=1200)
        solution[["id"]].assign(prediction=noisy).to_csv(folder / name, index=False)
    return folder


@pytest.mark.parametrize(
    "line", sorted(each for each in _complete_commands() if each.startswith(("analyze", "score")))
)
def test_documented_analyses_run(line, files_of_the_examples, monkeypatch, tmp_path):
    monkeypatch.chdir(files_of_the_examples)
    if "--role role=" not in line:  # Columns of text need a role.
        for name in ("solution.csv", "fuzzed_solution.csv"):
            path = tmp_path / name
            pd.read_csv(name).drop(columns=["pair", "role", "group"]).to_csv(path, index=False)
            line = line.replace(f" {name}", f" {path}")
    result = CliRunner().invoke(main, shlex.split(line))
    assert result.exit_code == (6 if "--require" in line else 0), result.output


def test_every_api_address_in_the_documents_exists(arena):
    adapter = arena.app.url_map.bind("localhost")
    wrong = []
    for path in CHAPTERS:
        for method, address in re.findall(
            r"`(GET|POST|PUT|PATCH|DELETE) (/api/v1/[^`?\s]+)", path.read_text()
        ):
            filled = re.sub(r"\{[a-z]+\}", lambda name: "slug" if name[0] == "{slug}" else "1", address)
            if not adapter.test(filled, method):
                wrong.append(f"{path.name}: {method} {address}")
    assert wrong == []
