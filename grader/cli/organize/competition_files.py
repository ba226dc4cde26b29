"""Competition settings from files, validated before they are sent."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from grader.cli.parameters import text_of
from grader.files.solution.jigsaw import IDENTITIES, TITLE
from grader.services.competitions import settings_file
from grader.services.competitions.metric import NamedMetric, metric_of
from grader.services.competitions.settings_file import CompetitionFile
from grader.services.competitions.settings_model import CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, problems

_JSON = TypeAdapter(dict[str, Any])


def read(path: Path, before: Mapping[str, Any] | None = None) -> CompetitionFile:
    """Read the file of a new competition; raise InvalidCompetition with all its problems.

    If it changes the settings `before`, the server checks the combination of values.
    """
    settings = CompetitionSettings()
    if before is not None:
        settings = settings.changed(metric=metric_of(before["metric"]))
    file = settings_file.read(text_of(path), before=settings)
    faults = [] if before else problems(settings.changed(**file.changes), is_draft=True)
    absent = [name for name in file.files if not (path.parent / name).is_file()]
    if faults := [*faults, *(Fault(f"The file {name} does not exist.") for name in absent)]:
        raise InvalidCompetition(faults)
    changes = {
        name: value.as_dict() if isinstance(value, NamedMetric) else value
        for name, value in file.changes.items()
    }
    return file.model_copy(update={"changes": _JSON.dump_python(changes, mode="json")})


def of_jigsaw(slug: str) -> CompetitionFile:
    """Return the settings and files of a competition with Kaggle's published test files."""
    changes = {"title": TITLE, "identities": list(IDENTITIES)}
    return CompetitionFile(slug=slug, changes=changes, python={}, solution="solution.csv", data=("test.csv",))
