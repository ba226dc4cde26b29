"""Convert competition settings to form texts and back; report what cannot be read."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from grader.metrics import MetricSettings, Weights
from grader.services.competitions.settings_model import (
    DATES,
    MAX_COUNT,
    METRIC_PARTS,
    SETTINGS,
    WEIGHTS,
    CompetitionSettings,
)
from grader.services.competitions.settings_problems import Fault
from grader.text.plain import is_storable
from webapp.setup.steps import Field, Step


@dataclass(frozen=True, slots=True)
class Read:
    """A form's changed settings, and the problems of the fields that could not be read."""

    changes: dict[str, Any]
    problems: dict[str, str]


def texts(settings: CompetitionSettings) -> dict[str, str]:
    """Return the texts for the form's inputs."""
    shown = {name: _text(getattr(settings, name)) for name in SETTINGS}
    metric = settings.metric
    shown |= {name: _text(value) for name, value in metric.weights.as_dict().items()}
    shown |= {name: _text(getattr(metric, name)) for name in METRIC_PARTS if name not in WEIGHTS}
    for name in DATES:
        moment = getattr(settings, name)
        shown[f"{name}_date"] = f"{moment:%Y-%m-%d}" if moment else ""
        shown[f"{name}_time"] = f"{moment:%H:%M}" if moment else ""
    return shown


def entered(step: Step, form: Mapping[str, str]) -> dict[str, str]:
    """Return the texts of a form as they were entered, to show them again."""
    return {name: form.get(name, "") for name in _inputs(step)}


def setting_of(field_name: str) -> str:
    """Return the setting that a field belongs to: the parts of the metric are one."""
    return "metric" if field_name in METRIC_PARTS else field_name


def read(
    step: Step, form: Mapping[str, str], *, before: CompetitionSettings, locked: Mapping[str, str]
) -> Read:
    """Read the fields of a step that are not locked."""
    changes: dict[str, Any] = {}
    problems: dict[str, str] = {}
    for field in step.fields:
        if setting_of(field.name) in locked:
            continue
        try:
            changes[field.name] = _value(field, form)
        except ValueError as error:
            problems[field.name] = f"{field.label}: {error}"
    _read_metric(changes, problems, before=before.metric)
    return Read(changes, problems)


def beside(
    unread: Mapping[str, str], faults: Sequence[Fault], fields: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """Return the problems of each field on the page, and the problems of no field; each problem once."""
    told, others = dict(unread), []
    for fault in faults:
        field = next((name for name in fault.names if name in fields), None)
        if field is None:
            others.append(fault.sentence)
        else:
            told[field] = f"{told[field]} {fault.sentence}" if field in told else fault.sentence
    return told, others


def _read_metric(changes: dict[str, Any], problems: dict[str, str], *, before: MetricSettings) -> None:
    """Replace the metric's parts in `changes` by the metric; report each wrong part separately."""
    parts = {name: changes.pop(name) for name in METRIC_PARTS if name in changes}
    weights = {name: parts.pop(name) for name in WEIGHTS if name in parts}
    metric = before
    if len(weights) == len(WEIGHTS):
        try:
            metric = replace(metric, weights=Weights(**weights))
        except ValueError as error:
            problems["overall_auc"] = str(error).replace("`", "")
    for name, value in parts.items():
        try:
            metric = replace(metric, **{name: value})
        except ValueError as error:
            problems[name] = str(error).replace("`", "")
    if weights or parts:
        changes["metric"] = metric


def _inputs(step: Step) -> list[str]:
    names = []
    for field in step.fields:
        names += [f"{field.name}_date", f"{field.name}_time"] if field.kind == "date" else [field.name]
    return names


def _value(field: Field, form: Mapping[str, str]) -> Any:
    text = form.get(field.name, "").strip()
    match field.kind:
        case "count":
            return _count(text)
        case "limit":
            return _count(text) if text else None
        case "number":
            return _number(text)
        case "date":
            return _moment(form.get(f"{field.name}_date", ""), form.get(f"{field.name}_time", ""), field)
        case "check":
            return text == "yes"
        case "names" if not is_storable(text):
            raise ValueError("remove the character NUL (U+0000); a name cannot contain it.")
        case "names":
            return tuple(line.strip() for line in text.splitlines() if line.strip()) or None
        case "choice":
            return _choice(field, text)
    return text


def _count(text: str) -> int:
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdigit()) or int(digits[:12]) > MAX_COUNT:
        raise ValueError(f"give a whole number up to {MAX_COUNT:,}, not {text!r}.")
    return int(digits)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"give a number, not {text!r}.") from None


def _choice(field: Field, text: str) -> Any:
    found = next((value for value, _ in field.choices if value == text), None)
    if found is None:
        raise ValueError("choose one.")
    return found


def _moment(date: str, time: str, field: Field) -> datetime | None:
    if not date.strip():
        return None
    try:
        moment = datetime.fromisoformat(f"{date.strip()}T{time.strip() or field.default_time}")
    except ValueError:
        raise ValueError(
            f"give a date such as 2026-12-31 and a time such as 23:59, not {date!r} and {time!r}."
        ) from None
    return moment.replace(tzinfo=UTC)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return "\n".join(value)
    if isinstance(value, bool):
        return "yes" if value else ""
    if isinstance(value, float):
        return repr(value).removesuffix(".0") if math.isfinite(value) else f"{value}"
    return str(value.value if hasattr(value, "value") else value)
