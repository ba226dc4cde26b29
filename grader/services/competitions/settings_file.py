"""TOML files with competition settings: reading and writing."""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from difflib import get_close_matches
from typing import Any

from pydantic import ValidationError

from fairboard import MetricSettings, Weights
from grader.metrics import registry
from grader.services.competitions.metric import AnyMetric, NamedMetric
from grader.services.competitions.settings_model import (
    KINDS,
    METRIC_PARTS,
    NAMED_PARTS,
    OPTIONAL,
    SETTINGS,
    WEIGHTS,
    CompetitionSettings,
    Kind,
    Setting,
)
from grader.services.competitions.settings_problems import InvalidCompetition
from grader.text import is_storable, utc

NONE = "none"
PROPOSED = "proposed"
ORDINARY = CompetitionSettings()


@dataclass(frozen=True, slots=True)
class CompetitionFile:
    """The content of a settings file: settings by name, and paths as written in the file.

    `problems` contains a message for each error, and `unread` the names of the affected settings.
    """

    slug: str | None
    changes: dict[str, Any]
    solution: str | None
    label: str | None
    baseline: str | None
    metric_file: str | None
    sample: str | None
    python: Mapping[str, Any]
    data: tuple[str, ...]
    allowed: tuple[str, ...]
    problems: tuple[str, ...]
    unread: frozenset[str]

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files in the settings file."""
        paths = (self.solution, self.baseline, self.metric_file, self.sample, *self.data)
        return tuple(path for path in paths if path)


class _Unreadable(ValueError):
    """A value has the wrong type for its key; the message completes the sentence "… must be"."""


def read(text: str, *, before: CompetitionSettings = ORDINARY) -> CompetitionFile:
    """Parse a settings file and list errors in `problems`; raise InvalidCompetition if it is not TOML.

    Missing keys change nothing. Missing parts of the metric are taken from `before`.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidCompetition([f"The file is not valid TOML: {error}."]) from None
    problems: list[str] = []
    changes: dict[str, Any] = {}
    unread: set[str] = set()
    others: dict[str, Any] = {}
    for place, value in _places(document):
        if not _is_storable(value):
            problems.append(f"{place} contains the NUL character (U+0000). Remove it.")
            unread |= {_NAMES[place]} if place in _NAMES else set()
        elif place in _OTHERS:
            others[place] = value
        elif place in _NAMES:
            name = _NAMES[place]
            try:
                changes[name] = _READERS[KINDS[name]](name, value)
            except _Unreadable as error:
                problems.append(f"{place} must be {error}, not {value!r}.")
                unread.add(name)
        else:
            meant = next(iter(get_close_matches(place, [*_NAMES, *_OTHERS], n=1, cutoff=0.75)), None)
            problems.append(f"The key {place} is unknown.{f' Did you mean {meant}?' if meant else ''}")
            unread |= {_NAMES[meant]} if meant in _NAMES else set()
    formula = {place: others.pop(place) for place in _METRIC if place in others}
    python = {place.partition(".")[2]: others.pop(place) for place in _PYTHON if place in others}
    if "files.metric" in others:  # The upload of the file sets the metric.
        formula.pop(NAMED_PARTS[registry.TAG].key, None)
    elif python:
        problems += [f"metric.{name} is only for a metric.py in files.metric." for name in python]
    metric, wrong = _changed_metric(formula, before.metric)
    if formula:
        changes["metric"] = metric
    readable, unreadable = _files(others)
    return CompetitionFile(
        slug=readable.get("slug"),
        changes=changes,
        solution=readable.get("files.solution"),
        label=readable.get("files.label"),
        baseline=readable.get("files.baseline"),
        metric_file=readable.get("files.metric"),
        sample=readable.get("files.sample"),
        python=python,
        data=tuple(readable.get("files.data", ())),
        allowed=tuple(readable.get("files.allow", ())),
        problems=(*problems, *wrong, *unreadable),
        unread=frozenset(unread),
    )


def _is_storable(value: object) -> bool:
    texts = value if isinstance(value, list) else [value]
    return all(is_storable(text) for text in texts if isinstance(text, str))


def write(slug: str, settings: CompetitionSettings) -> str:
    """Return settings as a file that `read` accepts, without dates that are derived from the close."""
    lines = [f"slug = {_text(slug)}"]
    table = ""
    for name, setting in SETTINGS.items():
        if name == "metric":
            lines += _metric_lines(settings.metric)
            continue
        value, kind = getattr(settings, name), KINDS[name]
        place, _, key = setting.key.rpartition(".")
        if place != table:
            table = place
            lines += ["", f"[{table}]"]
        if value is None and kind in (Kind.DATE, Kind.LINE):
            lines.append(f"# {key} = …  {_comment(setting, kind)}")
        else:
            lines.append(f"{key} = {_WRITERS[kind](value)}  # {_comment(setting, kind)}")
    return "\n".join(lines) + "\n"


def _comment(setting: Setting, kind: Kind) -> str:
    """Return the description of a setting; for a date, it includes the default time of day."""
    day = f" A date without a time means {setting.day:%H:%M} UTC." if kind is Kind.DATE else ""
    return setting.description + day


def _places(document: Mapping[str, Any], table: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in document.items():
        place = f"{table}.{key}" if table else key
        if isinstance(value, dict) and place not in ("metric.weights", "metric.arguments"):
            yield from _places(value, place)
        else:
            yield place, value


def _files(tables: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return the valid values for the slug and the files, and messages about the invalid ones."""
    readable, wrong = {}, []
    for place, value in tables.items():
        is_list = place in ("files.data", "files.allow")
        values = value if is_list and isinstance(value, list) else [value]
        if is_list != isinstance(value, list) or not all(isinstance(each, str) for each in values):
            wrong.append(f"{place} must be a {_LISTS.get(place, 'text')}, not {value!r}.")
        else:
            readable[place] = value
    return readable, wrong


def _changed_metric(changes: Mapping[str, Any], metric: AnyMetric) -> tuple[AnyMetric, list[str]]:
    """Return a metric with the given parts (keyed by TOML key), and messages about invalid parts."""
    parts = {place.partition(".")[2]: value for place, value in changes.items()}
    name = parts.get("name", metric.name if isinstance(metric, NamedMetric) else registry.BIAS)
    if name == registry.BIAS:
        others = [place for place in changes if place in _ONLY_NAMED]
        formula = {place: value for place, value in changes.items() if place in _ONLY_BIAS}
        usual = MetricSettings() if isinstance(metric, NamedMetric) else metric
        changed, wrong = _changed_formula(formula, usual)
        return changed, [*(f"{place} is not a part of the bias metric." for place in others), *wrong]
    before = metric.as_dict() if isinstance(metric, NamedMetric) and metric.name == name else {}
    try:
        return NamedMetric.from_dict(before | parts | {"name": name}), []
    except ValidationError as error:
        return metric, [_named_problem(each) for each in error.errors(include_url=False)]


def _named_problem(error: Mapping[str, Any]) -> str:
    """Return a message about an invalid part of a metric other than that of bias."""
    place = ".".join(["metric", *map(str, error["loc"])])
    if error["type"] == "extra_forbidden":
        return f"{place} is not a part of this metric. Its parts: {', '.join(NAMED_PARTS)}."
    return f"{place} is invalid: {error['msg']}."


def _changed_formula(changes: Mapping[str, Any], metric: MetricSettings) -> tuple[MetricSettings, list[str]]:
    wrong = []
    for place, value in changes.items():
        name = place.partition(".")[2]
        try:
            part: Any = _weights(value) if name == "weights" else _number_of(name, value)
            metric = replace(metric, **{name: part})
        except ValueError as error:
            wrong.append(str(error).replace("`", "").replace(name, place, 1))
    return metric, wrong


def _weights(value: Any) -> Weights:
    if not isinstance(value, dict) or set(value) - set(WEIGHTS):
        raise ValueError(f"weights must be a table of {', '.join(WEIGHTS)}, not {value!r}.")
    return Weights(**{name: _number_of(f"weights.{name}", weight) for name, weight in value.items()})


def _number_of(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, not {value!r}.")  # noqa: TRY004  (as the library does)
    return value


def _metric_lines(metric: AnyMetric) -> Iterable[str]:
    if isinstance(metric, NamedMetric):
        for name, part in NAMED_PARTS.items():
            value = getattr(metric, name)
            if value is not None and value != ():
                key = part.key.rpartition(".")[2]
                written = _name_list(value) if isinstance(value, tuple) else _plain(value)
                yield f"{key} = {written}  # {part.description}"
        return
    for name, part in METRIC_PARTS.items():
        if name not in WEIGHTS:
            key = part.key.rpartition(".")[2]
            yield f"{key} = {_number(getattr(metric, name))}  # {part.description}"
    weights = ", ".join(f"{name} = {weight!r}" for name, weight in metric.weights.as_dict().items())
    yield f"weights = {{ {weights} }}  # Weights of the four terms. They must sum to 1."


def _line(name: str, value: Any) -> str | None:
    if not isinstance(value, str):
        raise _Unreadable("a text")
    return None if name in OPTIONAL and not value else value


def _moment(name: str, value: Any) -> datetime | None:
    if value == NONE:
        return None
    if isinstance(value, datetime):
        with suppress(ValueError):  # Near the first and last years, the UTC time can be out of range.
            return utc(value)
    elif isinstance(value, date):
        return datetime.combine(value, SETTINGS[name].day)
    raise _Unreadable(f'a time such as 2026-12-31T23:59:00Z, a date, or "{NONE}"')


def _count(_name: str, value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Unreadable("a whole number")
    return value


def _limit(name: str, value: Any) -> int | None:
    if value == NONE:
        return None
    try:
        return _count(name, value)
    except _Unreadable:
        raise _Unreadable(f'a whole number or "{NONE}"') from None


def _yes_or_no(_name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Unreadable("true or false")
    return value


def _choice(name: str, value: Any) -> Any:
    choices = SETTINGS[name].choices
    choice = next((each for each in choices if each == value), None)
    if choice is None:
        raise _Unreadable("one of " + ", ".join(f'"{each}"' for each in choices))
    return choice


def _names(_name: str, value: Any) -> tuple[str, ...] | None:
    if value == PROPOSED:
        return None
    if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise _Unreadable(f'a list of column names or "{PROPOSED}"')
    return tuple(value)


def _text(value: str) -> str:
    """Return a text as a TOML basic string, or as a multi-line string if it has line breaks."""
    if "\n" not in value:
        return f'"{_escaped(value)}"'
    return '"""\n' + "\n".join(map(_escaped, value.split("\n"))) + '"""'


def _escaped(line: str) -> str:
    return line.translate(_ESCAPES)


# Backslash, quote, and the control characters that TOML does not allow in strings.
_ESCAPES = {ord(char): f"\\{char}" for char in '\\"'} | {
    code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F) if chr(code) != "\t"
}


def _plain(value: str | float) -> str:
    return _text(value) if isinstance(value, str) else _number(value)


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _date(value: datetime) -> str:
    return value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _optional(value: int | None) -> str:
    return f'"{NONE}"' if value is None else str(value)


def _name_list(value: tuple[str, ...] | None) -> str:
    return f'"{PROPOSED}"' if value is None else f"[{', '.join(map(_text, value))}]"


_READERS: dict[Kind, Callable[[str, Any], Any]] = {
    Kind.LINE: _line,
    Kind.TEXT: _line,
    Kind.LINES: _line,
    Kind.COUNT: _count,
    Kind.LIMIT: _limit,
    Kind.DATE: _moment,
    Kind.CHECK: _yes_or_no,
    Kind.CHOICE: _choice,
    Kind.NAMES: _names,
}
_WRITERS: dict[Kind, Callable[[Any], str]] = {
    Kind.LINE: _text,
    Kind.TEXT: _text,
    Kind.LINES: _text,
    Kind.COUNT: str,
    Kind.LIMIT: _optional,
    Kind.DATE: _date,
    Kind.CHECK: lambda value: "true" if value else "false",
    Kind.CHOICE: lambda value: _text(value.value),
    Kind.NAMES: _name_list,
}
_NAMES = {setting.key: name for name, setting in SETTINGS.items() if name != "metric"}
_LISTS = {
    "files.data": "list of paths",
    "files.allow": "list of names of data files to release although they are held back",
}
_ONLY_BIAS = tuple(dict.fromkeys(part.key for part in METRIC_PARTS.values()))
_ONLY_NAMED = tuple(part.key for name, part in NAMED_PARTS.items() if name != registry.TAG)
_METRIC = (NAMED_PARTS[registry.TAG].key, *_ONLY_BIAS, *_ONLY_NAMED)
# The parts of a metric written in Python, which are sent together with its file.
_PYTHON = ("metric.title", "metric.direction", "metric.decimals", "metric.nonnegative", "metric.arguments")
_PATHS = ("files.solution", "files.label", "files.baseline", "files.metric", "files.sample")
_OTHERS = ("slug", *_METRIC, *_PYTHON, *_PATHS, "files.data", "files.allow")
