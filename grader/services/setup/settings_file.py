"""Competition settings as a TOML file: write it, read it, report all its errors with lines."""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from typing import Any

from grader.metrics import MetricSettings, Weights
from grader.models import EntryMode, RevealRule
from grader.services.competitions.conditions import InvalidCompetition
from grader.services.competitions.settings import CompetitionSettings
from grader.text.plain import is_storable
from grader.visibility import Feedback

NONE = "none"
PROPOSED = "proposed"
END_OF_DAY = time(23, 59, tzinfo=UTC)
START_OF_DAY = time(0, 0, tzinfo=UTC)
ORDINARY = CompetitionSettings()


@dataclass(frozen=True, slots=True)
class CompetitionFile:
    """Content of a settings file: settings by name, and paths of files as written there.

    `problems` has a sentence for everything that cannot be read, `unread` the names of those settings.
    """

    slug: str | None
    changes: dict[str, Any]
    solution: str | None
    label: str | None
    baseline: str | None
    data: tuple[str, ...]
    allowed: Mapping[str, str]
    problems: tuple[str, ...]
    unread: frozenset[str]

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files that it names."""
        return tuple(path for path in (self.solution, self.baseline, *self.data) if path)

    def require_readable(self) -> None:
        """Raise InvalidCompetition with everything that cannot be read."""
        if self.problems:
            raise InvalidCompetition(self.problems)


@dataclass(frozen=True, slots=True)
class _Key:
    """One key of the file: its table and name, the setting, how it is read and written, and a comment."""

    table: str
    key: str
    name: str
    read: Callable[[Any], Any]
    write: Callable[[Any], str]
    comment: str = ""

    @property
    def place(self) -> str:
        return f"{self.table}.{self.key}" if self.table else self.key


class _Unreadable(ValueError):
    """A value of another kind than the key takes; the message ends the sentence "… must be"."""


def read(text: str, *, before: CompetitionSettings = ORDINARY) -> CompetitionFile:
    """Read a file and list its errors in `problems`; raise InvalidCompetition if it is not TOML.

    Keys that are not there say nothing: what they set stays as it was `before`.
    """
    try:
        document = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidCompetition([f"The file is not TOML: {error}."]) from None
    problems: list[str] = []
    changes: dict[str, Any] = {}
    unread: set[str] = set()
    others: dict[str, Any] = {}
    known = {key.place: key for key in _KEYS}
    for place, value in _places(document):
        if not _is_storable(value):
            problems.append(f"{place} must hold no NUL (U+0000): no text can.")
            unread |= {known[place].name} if place in known else set()
        elif place in _OTHERS:
            others[place] = value
        elif place in known:
            try:
                changes[known[place].name] = known[place].read(value)
            except _Unreadable as error:
                problems.append(f"{place} must be {error}, not {value!r}.")
                unread.add(known[place].name)
        else:
            meant = next(iter(get_close_matches(place, [*known, *_OTHERS], n=1, cutoff=0.75)), None)
            problems.append(f"The key {place} is not known{f'; {meant} is' if meant else ''}.")
            unread |= {known[meant].name} if meant in known else set()
    formula = {place: others.pop(place) for place in _METRIC if place in others}
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
        data=tuple(readable.get("files.data", ())),
        allowed=dict(each.split(": ", 1) for each in readable.get("files.allow", ())),
        problems=(*problems, *wrong, *unreadable),
        unread=frozenset(unread),
    )


def _is_storable(value: object) -> bool:
    texts = value if isinstance(value, list) else [value]
    return all(is_storable(text) for text in texts if isinstance(text, str))


def place_of(name: str) -> str:
    """Return a setting's key in the file, such as ``limits.daily``."""
    return next((key.place for key in _KEYS if key.name == name), name)


def write(slug: str, settings: CompetitionSettings) -> str:
    """Return settings as a file that `read` reads back; what follows from the close is left out."""
    lines = [f"slug = {_text(slug)}"]
    table = ""
    for key in _KEYS:
        value = getattr(settings, key.name)
        if key.table != table:
            table = key.table
            lines += ["", f"[{table}]"]
        if value is None and key.read in (_moment, _deadline, _code):
            lines.append(f"# {key.key} = …  {key.comment}")
            continue
        comment = f"  # {key.comment}" if key.comment else ""
        lines.append(f"{key.key} = {key.write(value)}{comment}")
        if key.name == "min_class_rows":
            lines += _metric_lines(settings.metric)
    return "\n".join(lines) + "\n"


def _places(document: Mapping[str, Any], table: str = "") -> Iterable[tuple[str, Any]]:
    for key, value in document.items():
        place = f"{table}.{key}" if table else key
        if isinstance(value, dict) and place != "metric.weights":
            yield from _places(value, place)
        else:
            yield place, value


def _files(given: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Return what can be read of the address and the files, and what is wrong with the others."""
    readable, wrong = {}, []
    for place, value in given.items():
        is_list = place in ("files.data", "files.allow")
        values = value if is_list and isinstance(value, list) else [value]
        if is_list != isinstance(value, list) or not all(isinstance(each, str) for each in values):
            wrong.append(f"{place} must be a {_LISTS.get(place, 'text')}, not {value!r}.")
        elif place == "files.allow" and not all(": " in each for each in values):
            wrong.append(f"{place} must be a {_LISTS[place]}, not {value!r}.")
        else:
            readable[place] = value
    return readable, wrong


def _changed_metric(given: Mapping[str, Any], metric: MetricSettings) -> tuple[MetricSettings, list[str]]:
    """Return a metric with what is given, by place, and what is wrong with the rest."""
    wrong = []
    for place, value in given.items():
        name = place.partition(".")[2]
        try:
            part: Any = _weights(value) if name == "weights" else _number_of(name, value)
            metric = replace(metric, **{name: part})
        except ValueError as error:
            wrong.append(str(error).replace("`", "").replace(name, place, 1))
    return metric, wrong


def _weights(value: Any) -> Weights:
    names = Weights().as_dict()
    if not isinstance(value, dict) or set(value) - set(names):
        raise ValueError(f"weights must be a table of {', '.join(names)}, not {value!r}.")
    return Weights(**{name: _number_of(f"weights.{name}", weight) for name, weight in value.items()})


def _number_of(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{name} must be a number, not {value!r}.")  # noqa: TRY004  (as the library does)
    return value


def _metric_lines(metric: MetricSettings) -> list[str]:
    weights = ", ".join(f"{name} = {weight!r}" for name, weight in metric.weights.as_dict().items())
    return [
        f"power = {_number(metric.power)}  # of the power means; inf and -inf are the largest and smallest",
        f"label_threshold = {_number(metric.label_threshold)}  # positive at this value and above",
        f"identity_threshold = {_number(metric.identity_threshold)}  # mentioned at this value and above",
        f"weights = {{ {weights} }}",
    ]


def _string(value: Any) -> str:
    if not isinstance(value, str):
        raise _Unreadable("a text")
    return value


def _moment_at(default: time) -> Callable[[Any], datetime | None]:
    def read_moment(value: Any) -> datetime | None:
        if value == NONE:
            return None
        if isinstance(value, datetime):
            with suppress(OverflowError):  # at the ends of the calendar, in another zone
                return (value if value.tzinfo else value.replace(tzinfo=UTC)).astimezone(UTC)
        elif isinstance(value, date):
            return datetime.combine(value, default)
        raise _Unreadable(f'a time such as 2026-12-31T23:59:00Z, a date, or "{NONE}"')

    return read_moment


_moment = _moment_at(START_OF_DAY)
_deadline = _moment_at(END_OF_DAY)


def _count(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise _Unreadable("a whole number")
    return value


def _limit(value: Any) -> int | None:
    if value == NONE:
        return None
    try:
        return _count(value)
    except _Unreadable:
        raise _Unreadable(f'a whole number or "{NONE}"') from None


def _yes_or_no(value: Any) -> bool:
    if not isinstance(value, bool):
        raise _Unreadable("true or false")
    return value


def _one_of(kind: type[EntryMode] | type[Feedback] | type[RevealRule]) -> Callable[[Any], Any]:
    def read_choice(value: Any) -> Any:
        try:
            return kind(value)
        except ValueError:
            raise _Unreadable("one of " + ", ".join(f'"{each}"' for each in kind)) from None

    return read_choice


def _code(value: Any) -> str | None:
    return _string(value) or None


def _names(value: Any) -> tuple[str, ...] | None:
    if value == PROPOSED:
        return None
    if not (isinstance(value, list) and all(isinstance(each, str) for each in value)):
        raise _Unreadable(f'a list of column names or "{PROPOSED}"')
    return tuple(value)


def _text(value: str) -> str:
    """Return a basic string; one with line ends as a multi-line one, which starts on its own line."""
    if "\n" not in value:
        return f'"{_escaped(value)}"'
    return '"""\n' + "\n".join(map(_escaped, value.split("\n"))) + '"""'


def _escaped(line: str) -> str:
    return line.translate(_ESCAPES)


# Backslash and quote, and the control characters that TOML allows in no string.
_ESCAPES = {ord(char): f"\\{char}" for char in '\\"'} | {
    code: f"\\u{code:04X}" for code in (*range(0x20), 0x7F) if chr(code) != "\t"
}


def _number(value: float) -> str:
    return repr(value) if math.isfinite(value) else ("inf" if value > 0 else "-inf")


def _date(value: datetime | None) -> str:
    return f'"{NONE}"' if value is None else value.astimezone(UTC).isoformat().replace("+00:00", "Z")


def _optional(value: int | None) -> str:
    return f'"{NONE}"' if value is None else str(value)


def _boolean(value: bool) -> str:
    return "true" if value else "false"


def _name_list(value: tuple[str, ...] | None) -> str:
    return f'"{PROPOSED}"' if value is None else f"[{', '.join(map(_text, value))}]"


def _choice(value: Any) -> str:
    return _text(value.value)


def _maybe_text(value: str | None) -> str:
    return _text(value or "")


_LISTS = {
    "files.data": "list of paths",
    "files.allow": "list of texts such as 'test.csv: publish muslim', with the words that the check asks for",
}
_METRIC = ("metric.power", "metric.label_threshold", "metric.identity_threshold", "metric.weights")
_OTHERS = ("slug", *_METRIC, "files.solution", "files.label", "files.baseline", "files.data", "files.allow")
_WEEK_BEFORE = "without it 7 days before the close"
_KEYS = (
    _Key("", "title", "title", _string, _text),
    _Key("", "contact", "contact", _string, _text, "an e-mail address or a page"),
    _Key("", "discussion", "discussion_url", _string, _text, "the address of a forum"),
    _Key("", "feedback", "feedback", _one_of(Feedback), _choice, '"open", "terms" or "score"'),
    _Key("classes", "positive", "positive_name", _string, _text),
    _Key("classes", "negative", "negative_name", _string, _text),
    _Key("dates", "opens", "opens_at", _moment, _date, "without it when it is published"),
    _Key("dates", "closes", "closes_at", _deadline, _date, "a date alone is 23:59 UTC"),
    _Key("dates", "entry_deadline", "entry_deadline", _deadline, _date, _WEEK_BEFORE),
    _Key("dates", "merger_deadline", "merger_deadline", _deadline, _date, _WEEK_BEFORE),
    _Key("dates", "reveal", "reveal_rule", _one_of(RevealRule), _choice, '"date" or "organizer"'),
    _Key("dates", "reveals", "reveals_at", _deadline, _date, "without it 7 days after the close"),
    _Key("entry", "mode", "entry_mode", _one_of(EntryMode), _choice, '"open", "code" or "approval"'),
    _Key("entry", "code", "entry_code", _code, _maybe_text, "of entry by code"),
    _Key("entry", "team_size", "max_team_size", _count, str),
    _Key("limits", "daily", "max_daily_submissions", _limit, _optional, "of a team and UTC day"),
    _Key("limits", "total", "max_total_submissions", _limit, _optional),
    _Key("limits", "pending", "max_pending_submissions", _count, str),
    _Key("limits", "rejections_an_hour", "max_hourly_rejections", _count, str),
    _Key("limits", "selections", "selection_count", _count, str),
    _Key("limits", "late", "takes_late_submissions", _yes_or_no, _boolean, "files after the reveal"),
    _Key("metric", "identities", "identities", _names, _name_list),
    _Key("metric", "min_class_rows", "min_class_rows", _count, str, "for identities that are proposed"),
    _Key("texts", "overview", "overview", _string, _text),
    _Key("texts", "evaluation", "evaluation", _string, _text),
    _Key("texts", "rules", "rules", _string, _text),
    _Key("texts", "data", "data_description", _string, _text),
)
