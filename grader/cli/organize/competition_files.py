"""Competition settings from files and options, validated before they are sent."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from fairboard import MetricSettings
from grader.cli.parameters import text_of
from grader.services.competitions import lookup, settings_file
from grader.services.competitions.metric import metric_of
from grader.services.competitions.settings_file import CompetitionFile
from grader.services.competitions.settings_model import SETTINGS, CompetitionSettings
from grader.services.competitions.settings_problems import Fault, InvalidCompetition, problems

__all__ = ["SETTINGS", "as_json", "read_change", "read_new"]
_JSON = TypeAdapter(dict[str, Any])


def read_new(path: Path) -> CompetitionFile:
    """Read the file of a new competition; raise InvalidCompetition with all its problems."""
    found = settings_file.read(text_of(path))
    faults = problems(CompetitionSettings().changed(**found.changes), is_draft=True)
    return _sound(path, found, faults, lookup.slug_fault(found.slug or path.stem))


def read_change(path: Path, before: Mapping[str, Any]) -> CompetitionFile:
    """Read a file with changes to existing settings; raise InvalidCompetition with all problems."""
    formula = metric_of(before["metric"])
    found = settings_file.read(text_of(path), before=CompetitionSettings().changed(metric=formula))
    return _sound(path, found, _of_values(found.changes))


def as_json(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as JSON data."""
    plain = {
        name: value.as_dict() if isinstance(value, MetricSettings) else value
        for name, value in changes.items()
    }
    found: dict[str, Any] = _JSON.dump_python(plain, mode="json")
    return found


def _sound(
    path: Path, found: CompetitionFile, faults: Iterable[Fault], slug: str | None = None
) -> CompetitionFile:
    absent = [path.parent / name for name in found.files if not (path.parent / name).is_file()]
    told = [*found.problems, *([slug] if slug else [])]
    told += [fault.sentence for fault in faults if not found.unread.intersection(fault.names)]
    if told := [*told, *(f"The file {name} does not exist." for name in absent)]:
        raise InvalidCompetition(told)
    return found.model_copy(update={"changes": as_json(found.changes)})


def _of_values(changes: Mapping[str, Any]) -> list[Fault]:
    """Return the faults of individual values; the server checks combinations of values."""
    found = problems(CompetitionSettings().changed(**changes), is_draft=True)
    return [fault for fault in found if len(fault.names) == 1 and fault.names[0] in changes]
