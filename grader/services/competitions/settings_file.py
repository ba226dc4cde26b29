"""TOML files with competition settings: reading and writing."""

import tomllib
from collections.abc import Iterable, Mapping
from datetime import date, datetime
from typing import Annotated, Any

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.metrics import registry
from grader.services.competitions import settings_problems
from grader.services.competitions.settings_model import (
    BLANK,
    KINDS,
    METRIC_PARTS,
    NAMED_PARTS,
    SETTINGS,
    CompetitionSettings,
    Kind,
    merged_metric,
    usual_time,
)
from grader.services.competitions.settings_problems import Fault, InvalidCompetition
from grader.text import utc

_NAMES = {setting.key: name for name, setting in SETTINGS.items() if name != "metric"}
_PARTS = {part.key for part in (METRIC_PARTS | NAMED_PARTS).values()}
# The parts of a metric written in Python, which are sent together with its file.
_PYTHON = ("title", "direction", "decimals", "nonnegative", "arguments")
_VALUES = ("metric.weights", "metric.arguments")
Path = Annotated[str, Field(pattern=r"^[^\x00]+$")]


class CompetitionFile(BaseModel):
    """The content of a settings file: valid settings by name, parts of a metric.py, the slug and paths."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)

    changes: dict[str, Any]
    python: dict[str, Any]
    slug: Path | None = None
    solution: Path | None = None
    label: Path | None = None
    baseline: Path | None = None
    metric_file: Annotated[Path | None, Field(alias="metric")] = None
    sample: Path | None = None
    data: tuple[Path, ...] = ()
    allowed: Annotated[tuple[Path, ...], Field(alias="allow")] = ()

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files in the settings file."""
        paths = (self.solution, self.baseline, self.metric_file, self.sample, *self.data)
        return tuple(path for path in paths if path)


def read(text: str, *, before: CompetitionSettings | None = None) -> CompetitionFile:
    """Parse a settings file; raise InvalidCompetition with all invalid entries.

    Missing keys change nothing. Missing parts of the metric are taken from `before`.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidCompetition([Fault(f"The file is not valid TOML: {error}.")]) from None
    problems: list[str] = []
    changes: dict[str, Any] = {}
    parts: dict[str, Any] = {}
    python: dict[str, Any] = {}
    paths: dict[str, Any] = {}
    for place, value in _places(document):
        table, _, key = place.rpartition(".")
        if name := _NAMES.get(place):
            changes[name] = _value(name, value)
        elif place in _PARTS:
            parts[key] = value
        elif table == "metric" and key in _PYTHON:
            python[key] = value
        elif place == "slug" or table == "files":
            paths[key] = value
        else:
            problems.append(f"The key {place} is unknown.")
    if "metric" in paths:  # The upload of the file sets the metric.
        parts.pop(registry.TAG, None)
        python |= {name: parts.pop(name) for name in _PYTHON if name in parts}
    else:
        problems += [f"metric.{name} is only for a metric.py in files.metric." for name in python]
    if parts:
        changes["metric"] = merged_metric((before or CompetitionSettings()).metric, parts)
    valid, faults = settings_problems.read(changes)
    for fault in faults:
        key = f"metric.{fault.part}" if fault.part else SETTINGS[fault.names[0]].key
        problems.append(f"{key}: {fault.sentence}")
    try:
        file = CompetitionFile.model_validate(paths | {"changes": valid, "python": python})
    except ValidationError as error:
        for each in error.errors(include_url=False):
            key = str(each["loc"][0])
            problems.append(f"{key if key == 'slug' else f'files.{key}'} is invalid: {each['msg']}.")
    if problems:
        raise InvalidCompetition(map(Fault, problems))
    return file


def write(slug: str, settings: CompetitionSettings) -> str:
    """Return settings as a file that `read` accepts, without dates that are derived from the close."""
    document: dict[str, Any] = {"slug": slug}
    for name, setting in SETTINGS.items():
        table, _, key = setting.key.rpartition(".")
        place = document.setdefault(table, {}) if table else document
        value = getattr(settings, name)
        if name == "metric":
            document.setdefault("metric", {}).update(_written_metric(value))
        elif value is not None or KINDS[name] in (Kind.LIMIT, Kind.NAMES):
            place[key] = BLANK[KINDS[name]] if value is None else value  # TOML has no null
    return tomli_w.dumps(document, multiline_strings=True)


def _written_metric(metric: Any) -> Mapping[str, Any]:
    parts = (*NAMED_PARTS, *METRIC_PARTS, "weights")
    values = {
        name: each for name, each in metric.as_dict().items() if name in parts and each not in (None, [])
    }
    return values | {name: float(values[name]) for name in ("power",) if name in values}


def _places(document: Mapping[str, Any], table: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in document.items():
        place = f"{table}.{key}" if table else key
        if isinstance(value, dict) and place not in _VALUES:
            yield from _places(value, place)
        else:
            yield place, value


def _value(name: str, value: Any) -> Any:
    """Return a value, with the usual time of day for a date."""
    if not isinstance(value, date):
        return value
    try:
        if isinstance(value, datetime):
            return utc(value)
        return datetime.combine(value, usual_time(name))
    except ValueError:  # Near the first and last years, the UTC time can be out of range.
        return str(value)
