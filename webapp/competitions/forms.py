"""Settings forms: fields from the settings model, help texts, problems."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from flask import request
from pydantic import ValidationError
from wtforms import RadioField
from wtforms.fields import SelectChoice
from wtforms.widgets import NumberInput, TextArea

from fairboard import MetricSettings, Weights
from grader.metrics import registry
from grader.services.competitions.metric import AnyMetric, NamedMetric
from grader.services.competitions.settings_model import (
    KINDS,
    MAX_COUNT,
    MAX_LENGTHS,
    METRIC_PARTS,
    NAMED_PARTS,
    NAMES,
    SETTINGS,
    WEIGHTS,
    CompetitionSettings,
    Kind,
)
from grader.services.competitions.settings_problems import Fault
from grader.text import is_storable
from webapp.competitions.wizard_steps import BY_KEY, SettingsStep
from webapp.presentation.form_fields import MomentField, SiteForm, TextEntry, TickBox
from webapp.solutions import scored_step


class ChoiceEntry(RadioField):
    """A form field for choosing one of a setting's values."""

    def process_formdata(self, valuelist: list[str]) -> None:
        """Read the chosen value."""
        try:
            self.data = self.coerce(valuelist[0] if valuelist else "")
        except ValueError:
            raise ValueError(f"{self.label.text}: choose one.") from None

    @property
    def chosen(self) -> str:
        """The label of the chosen value."""
        return next(str(choice.label) for choice in self.iter_choices() if choice.selected)


class MetricEntry(ChoiceEntry):
    """A form field for choosing a metric from a list with descriptions."""


class SettingsForm(SiteForm):
    """The form for a step's settings, except locked ones."""

    def changes(self, before: CompetitionSettings) -> dict[str, Any]:
        """Return the entered values by setting; add invalid values to the errors of their fields."""
        self.validate()
        found = {field.name: field.data for field in self if not field.errors}
        parts = {name: found.pop(name) for name in METRIC_PARTS if name in found}
        named = {name: found.pop(name) for name in NAMED_PARTS if name in found}
        if registry.TAG in named:
            found["metric"] = self._named(named, before.metric_choice.form)
        elif parts:
            found["metric"] = self._metric(parts, before.metric_choice.form.formula)
        return found

    def tell(self, faults: Iterable[Fault]) -> list[str]:
        """Attach each fault to its first field; return the messages of faults that have no field."""
        others = []
        for fault in faults:
            names = (registry.TAG if name == "metric" else name for name in fault.names)
            name = next((name for name in names if name in self), None)
            if name is None:
                others.append(fault.sentence)
            else:
                self._refuse(name, fault.sentence)
        return others

    def _named(self, parts: dict[str, Any], metric: NamedMetric) -> AnyMetric:
        """Return the chosen metric; keep the groups of the same metric."""
        name = parts[registry.TAG]
        if name == registry.BIAS:
            return metric.formula
        before = metric.as_dict() if metric.name == name else {}
        sent = {part: value for part, value in parts.items() if value is not None and value != ""}
        blank = dict.fromkeys((part for part in parts if part not in sent), None)
        blank |= {part: () for part in ("columns", "classes", "reported") if part in blank}
        try:
            return NamedMetric.from_dict(before | blank | sent)
        except ValidationError as error:
            for each in error.errors(include_url=False):
                part = str(each["loc"][0])
                self._refuse(part if part in self else registry.TAG, f"{each['msg']}.")
            return metric if not metric.takes_identities else metric.formula

    def _metric(self, parts: dict[str, float], metric: MetricSettings) -> MetricSettings:
        """Return the metric with the changed parts; report each invalid part on its own field."""
        weights = {name: parts.pop(name) for name in WEIGHTS if name in parts}
        if len(weights) == len(WEIGHTS):
            try:
                metric = replace(metric, weights=Weights(**weights))
            except ValueError as error:
                self._refuse(next(iter(WEIGHTS)), str(error).replace("`", ""))
        for name, value in parts.items():
            try:
                metric = replace(metric, **{name: value})  # type: ignore[arg-type]
            except ValueError as error:
                self._refuse(name, str(error).replace("`", ""))
        return metric

    def _refuse(self, name: str, sentence: str) -> None:
        self[name].errors = [*self[name].errors, sentence]


def _names(text: str) -> tuple[str, ...] | None:
    if not is_storable(text):
        raise ValueError(": remove the character NUL (U+0000); a name cannot contain it.")
    return tuple(line.strip() for line in text.splitlines() if line.strip()) or None


def _count(text: str) -> int:
    digits = text.lstrip("0") or "0"
    if not (text.isascii() and text.isdigit()) or int(digits[:12]) > MAX_COUNT:
        raise ValueError(f": enter a whole number up to {MAX_COUNT:,}, not {text!r}.")
    return int(digits)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f": enter a number, not {text!r}.") from None


def _metric_name(name: str) -> str:
    if name not in scored_step.titles():
        raise ValueError(name)
    return name


def _shortest(value: float) -> str:
    return repr(value).removesuffix(".0") if math.isfinite(value) else f"{value}"


_COUNTED = {"widget": NumberInput(min=1, step=1)}
_FIELDS: Mapping[Kind | str, Callable[..., Any]] = {
    Kind.LINE: TextEntry,
    Kind.TEXT: partial(TextEntry, widget=TextArea()),
    Kind.LINES: partial(TextEntry, widget=TextArea()),
    Kind.NAMES: partial(TextEntry, read=_names, show="\n".join, widget=TextArea()),
    Kind.COUNT: partial(TextEntry, read=_count, **_COUNTED),
    Kind.LIMIT: partial(TextEntry, read=_count, is_optional=True, **_COUNTED),
    Kind.NUMBER: partial(TextEntry, read=_number, show=_shortest),
    Kind.DATE: MomentField,
    Kind.CHECK: TickBox,
    Kind.CHOICE: ChoiceEntry,
    registry.TAG: MetricEntry,
}
_ATTRIBUTES: Mapping[Kind | str, dict[str, Any]] = {
    Kind.TEXT: {"rows": 6},
    Kind.LINES: {"rows": 3},
    Kind.NAMES: {"rows": 6, "class": "slim"},
    Kind.COUNT: {"class": "short", "required": True},
    Kind.LIMIT: {"class": "short"},
    Kind.NUMBER: {"class": "short", "inputmode": "text", "autocomplete": "off", "required": True},
    "title": {"required": True},
    "overview": {"rows": 12},
    "classes": {"rows": 4},
    "columns": {"rows": 4},
    "reported": {"rows": 4},
    "rules": {"rows": 12},
}


def form_of(
    step: SettingsStep, settings: CompetitionSettings, *, is_sent: bool = False, without: Collection[str] = ()
) -> SettingsForm:
    """Return the form for a step with the stored or submitted values; locked settings are omitted."""
    names = tuple(name for name in step.names if setting_of(name) not in without)
    kind = _form_class(names, tuple(step.helps.items()))
    named = settings.metric_choice.form
    weights = named.formula.weights.as_dict()
    parts: dict[str, Any] = {name: getattr(named, name) for name in NAMED_PARTS}
    parts |= {
        name: weights[name] if name in weights else getattr(named.formula, name) for name in METRIC_PARTS
    }
    form = kind(request.form if is_sent else None, data=dict(settings) | parts)
    if "reported" in form and (possible := registry.fitting(named.name, named.options)):
        others = ", ".join(each for each in possible if each != named.name)
        form["reported"].description += f" One name per line; for {named.name}: {others or 'none'}."
    return form


def setting_of(name: str) -> str:
    """Return the setting that a field belongs to; all parts of the metric belong to `metric`."""
    return "metric" if name in METRIC_PARTS or name in NAMED_PARTS else name


def settings_of(step: str) -> Collection[str]:
    """Return the settings on a step's page, or all settings for an empty name."""
    return frozenset(map(setting_of, BY_KEY[step].names)) if step else NAMES


@cache
def _form_class(names: tuple[str, ...], helps: tuple[tuple[str, str], ...]) -> type[SettingsForm]:
    fields = {name: _field(name, dict(helps).get(name)) for name in names}
    return type("StepForm", (SettingsForm,), fields)


def _field(name: str, help_: str | None) -> Any:
    parts = METRIC_PARTS | NAMED_PARTS
    setting, kind = parts.get(name) or SETTINGS[name], KINDS[name]
    attributes = _ATTRIBUTES.get(kind, {}) | _ATTRIBUTES.get(name, {})
    options: dict[str, Any] = {}
    if name in MAX_LENGTHS:
        attributes["maxlength"] = MAX_LENGTHS[name]
    if kind is Kind.CHOICE:
        options["choices"] = [SelectChoice(value, words) for value, words in setting.choices.items()]
        options["coerce"] = type(next(iter(setting.choices)))
    if kind is Kind.DATE:
        options["day"] = setting.day
    if name == registry.TAG:
        options = {
            "choices": [SelectChoice(*each) for each in scored_step.titles().items()],
            "coerce": _metric_name,
        }
    field = _FIELDS.get(name) or _FIELDS[kind]
    return field(setting.label, description=help_ or setting.help, render_kw=attributes, **options)
