"""A competition file, read for a site of another machine: settings as JSON has them, and its files."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grader.cli.parameters import text_of
from grader.metrics import MetricSettings
from grader.services.competitions.settings_model import SETTINGS, CompetitionSettings
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.services.setup import settings_file


@dataclass(frozen=True)
class ReadFile:
    """What a competition file says; `keys` has each setting's name in such a file."""

    slug: str | None
    changes: dict[str, Any]
    solution: str | None
    baseline: str | None
    data: tuple[str, ...]
    allowed: Mapping[str, str]
    keys: Mapping[str, str]


def read(path: Path, before: Mapping[str, Any] | None) -> ReadFile:
    """Read a file; raise InvalidCompetition with everything that is wrong, before anything is sent."""
    earlier = settings_file.ORDINARY
    if before is not None:
        earlier = CompetitionSettings().changed(metric=MetricSettings.from_dict(before["metric"]))
    found = settings_file.read(text_of(path), before=earlier)
    absent = [path.parent / name for name in found.files if not (path.parent / name).is_file()]
    if faults := [*found.problems, *(f"The file {name} does not exist." for name in absent)]:
        raise InvalidCompetition(faults)
    return ReadFile(
        slug=found.slug,
        changes={name: _as_json(value) for name, value in found.changes.items()},
        solution=found.solution,
        baseline=found.baseline,
        data=found.data,
        allowed=found.allowed,
        keys={name: setting.key for name, setting in SETTINGS.items()},
    )


def _as_json(value: Any) -> Any:
    if isinstance(value, MetricSettings):
        return value.as_dict()
    return json.loads(json.dumps(value, default=lambda each: each.isoformat()))
