"""Competition settings from files and options, validated before they are sent."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from fairboard import MetricSettings
from grader.cli.parameters import text_of
from grader.services.competitions import lookup, settings_file
from grader.services.competitions import settings as competition_settings
from grader.services.competitions.metric import metric_of
from grader.services.competitions.settings_file import CompetitionFile
from grader.services.competitions.settings_model import SETTINGS, CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, problems, sentences

__all__ = ["SETTINGS", "as_json", "read_change", "read_new"]
_JSON = TypeAdapter(dict[str, Any])


def read_new(path: Path) -> CompetitionFile:
    """Read the file of a new competition; raise InvalidCompetition with all its problems."""
    found = settings_file.read(text_of(path))
    settings = competition_settings.cleaned(CompetitionSettings().changed(**found.changes))
    faults = sentences(problems(settings, is_draft=True), unread=found.unread)
    return _sound(path, found, [lookup.slug_fault(found.slug or path.stem), *faults])


def read_change(path: Path, before: Mapping[str, Any]) -> CompetitionFile:
    """Read a file with changes to existing settings; raise InvalidCompetition with all problems."""
    formula = metric_of(before["metric"])
    found = settings_file.read(text_of(path), before=CompetitionSettings().changed(metric=formula))
    return _sound(path, found, sentences(_of_values(found.changes), unread=found.unread))


def as_json(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON data."""
    plain = {
        name: value.as_dict() if isinstance(value, MetricSettings) else value
        for name, value in changes.items()
    }
    found: dict[str, Any] = _JSON.dump_python(plain, mode="json")
    return found


def _sound(path: Path, found: CompetitionFile, faults: Iterable[str]) -> CompetitionFile:
    absent = [path.parent / name for name in found.files if not (path.parent / name).is_file()]
    told = [*found.problems, *faults, *(f"The file {name} does not exist." for name in absent)]
    if told := [each for each in told if each]:
        raise InvalidCompetition(told)
    return replace(found, changes=as_json(found.changes))


def _of_values(changes: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of individual values; the server checks combinations of values."""
    found = problems(CompetitionSettings().changed(**changes), is_draft=True)
    return [fault for fault in found if len(fault.names) == 1 and fault.names[0] in changes]
