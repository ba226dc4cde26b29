"""Settings form fields: sections of the setup page, displayed and entered values."""

import math
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import Enum
from typing import Any

from flask import request

from grader.errors import FairboardError
from grader.files.submission.columns import PREDICTION
from grader.metrics import registry
from grader.services.competitions.settings_model import (
    DATA,
    KINDS,
    MAX_LENGTHS,
    METRIC_PARTS,
    NAMED_PARTS,
    PARTS,
    SECTIONS,
    SETTINGS,
    WEIGHTS,
    CompetitionSettings,
    Kind,
    Setting,
    SettingsSection,
    merged_metric,
)
from grader.services.competitions.settings_problems import InvalidCompetition

METRIC = "name"  # the part of the metric that is chosen from the list
CLASS_NAMES = ("positive_name", "negative_name")
NAMES = tuple(name for section in SECTIONS for name in section.names)
FORMULA = tuple(group for group in DATA.groups if set(group.names) & METRIC_PARTS.keys())


@dataclass(frozen=True, slots=True)
class SettingsField:
    """A setting or a part of the metric; `text` is the shown or entered value."""

    name: str
    setting: Setting
    kind: Kind
    value: Any
    text: str
    locked: str = ""
    problem: str = ""

    @property
    def max_length(self) -> int | None:
        """The maximum length of the text."""
        return MAX_LENGTHS.get(self.name)


def fields_of(
    settings: CompetitionSettings,
    names: Collection[str] = NAMES,
    *,
    dates: Mapping[str, datetime] | None = None,
    locks: Mapping[str, str] | None = None,
    is_sent: bool = False,
) -> dict[str, SettingsField]:
    """Return fields with the stored values or, if the form was sent, with the entered ones.

    `dates` are shown in place of those that are not set.
    """
    parts, fields = _parts_of(settings), {}
    for name in names:
        value = parts[name] if name in parts else getattr(settings, name)
        value = (dates or {}).get(name, value)
        entered = _entered(name) if is_sent else None
        fields[name] = SettingsField(
            name,
            PARTS.get(name) or SETTINGS[name],
            KINDS[name],
            value,
            text=_shown(name, value) if entered is None else entered,
            locked=(locks or {}).get("metric" if name in PARTS else name, ""),
        )
    return fields


def tell(fields: dict[str, SettingsField], problem: FairboardError | None) -> list[str]:
    """Attach each fault of invalid settings to its first field; return the other messages of an error."""
    if not isinstance(problem, InvalidCompetition):
        return [] if problem is None else [problem.message]
    others = []
    for fault in problem.faults:
        names = (fault.part, *(METRIC if name == "metric" else name for name in fault.names))
        wanted = (next(iter(WEIGHTS)) if name == "weights" else name for name in names)
        name = next((name for name in wanted if name in fields), None)
        if name is None:
            others.append(fault.sentence)
        else:
            message = f"{fields[name].problem} {fault.sentence}".strip()
            fields[name] = replace(fields[name], problem=message)
    return others


def changes(
    before: CompetitionSettings,
    names: Collection[str] = NAMES,
    dates: Mapping[str, datetime] | None = None,
) -> dict[str, Any]:
    """Return the values of the sent form that differ from the shown ones, not validated."""
    changed: dict[str, Any] = {}
    for name, field in fields_of(before, names, dates=dates).items():
        text = _entered(name)
        if text is not None and not _is_same(text, field.text, name):
            changed[name] = _value(name, text)
    parts = {name: changed.pop(name) for name in tuple(changed) if name in PARTS}
    if METRIC in parts:  # Another metric starts with the other parts of the form instead of its defaults.
        texts = {name: _entered(name) for name in names if name in PARTS}
        parts = {name: _value(name, text) for name, text in texts.items() if text}
    if parts:
        chosen = parts.get(METRIC, before.metric_choice.metric.name)
        fitting = METRIC_PARTS.keys() if chosen == registry.BIAS else registry.option_names(chosen)
        parts = {name: value for name, value in parts.items() if name in fitting} | {METRIC: chosen}
        weights = {name: parts.pop(name) for name in WEIGHTS if name in parts}
        changed["metric"] = merged_metric(before.metric, parts)
        if weights:
            changed["metric"]["weights"] = changed["metric"].get("weights", {}) | weights
    return changed


def _parts_of(settings: CompetitionSettings) -> dict[str, Any]:
    """Return the values of all parts of the metric."""
    metric = settings.metric_choice.metric
    weights = metric.formula.weights.as_dict()
    named: dict[str, Any] = {name: getattr(metric, name) for name in NAMED_PARTS}
    return named | {name: weights.get(name, getattr(metric.formula, name, None)) for name in METRIC_PARTS}


def _shown(name: str, value: Any) -> str:
    """Return a value as the text of its input."""
    kind = KINDS[name]
    if kind is Kind.DATE:
        return f"{value:%Y-%m-%dT%H:%M}" if value else ""
    if kind is Kind.CHECK:
        return "yes" if value else "no"
    if kind is Kind.NAMES:
        return "\n".join(value or ())
    if kind is Kind.NUMBER:
        value = float(value)
        return repr(value).removesuffix(".0") if math.isfinite(value) else str(value)
    return "" if value is None else str(value.value if isinstance(value, Enum) else value)


def _entered(name: str) -> str | None:
    """Return the entered text, or None if the form did not contain the field."""
    form = request.form
    if name not in form:
        return None
    # Checkboxes follow a hidden input; those of identities are several.
    return "\n".join(form.getlist(name)) if KINDS[name] is Kind.NAMES else form.getlist(name)[-1]


def _is_same(text: str, shown: str, name: str) -> bool:
    lines = [[line for line in each.splitlines() if line.strip()] for each in (text, shown)]
    if name == "identities":
        return sorted(lines[0]) == sorted(lines[1])
    return text.splitlines() == shown.splitlines()


def _value(name: str, text: str) -> Any:
    """Return an entered text as a value, or unchanged if the model must validate it."""
    kind, text = KINDS[name], text.strip()
    if kind is Kind.DATE:
        return f"{text}Z" if text else None
    if kind is Kind.NAMES:
        names = tuple(line.strip() for line in text.splitlines() if line.strip())
        # Without checkboxes, blank identities are those that the solution check proposes.
        return names if name in NAMED_PARTS or "ticked" in request.form else names or None
    if name in PARTS and kind in (Kind.COUNT, Kind.NUMBER):
        with suppress(ValueError):
            return int(text) if kind is Kind.COUNT else float(text)
    return text or {"target": None, "positive": None, "prediction": PREDICTION}.get(name, "")


def sections_for(metric: str) -> list[SettingsSection]:
    """Return the sections with the settings that apply to a metric."""
    hidden = NAMED_PARTS.keys() - registry.option_names(metric) - {METRIC}
    if metric != registry.BIAS:
        hidden |= {*CLASS_NAMES, "identities", "min_class_rows", *METRIC_PARTS}
    sections = []
    for section in SECTIONS:
        shown = (
            group._replace(names=tuple(n for n in group.names if n not in hidden)) for group in section.groups
        )
        sections.append(section._replace(groups=tuple(group for group in shown if group.names)))
    return sections
