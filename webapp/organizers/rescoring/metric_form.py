"""Form for the options that a rescoring may change, for any metric except that of bias."""

from typing import Any

from flask import request
from pydantic import ValidationError
from wtforms.fields import SelectChoice
from wtforms.validators import InputRequired
from wtforms.widgets import TextArea

from grader.metrics.interface import ColumnKind
from grader.services.competitions.metric import NamedMetric
from grader.services.competitions.settings_problems import InvalidCompetition
from webapp.organizers.setup.forms import ChoiceEntry
from webapp.organizers.setup.wizard_steps import SettingsStep
from webapp.presentation.form_fields import SiteForm, TextEntry

NAMES = ("name", "positive", "cutoff", "weight", "scored_groups")
STEP = SettingsStep("rescoring", "Changed settings", (("", NAMES),))
BETWEEN = " = "


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise ValueError(f": enter a number, not {text!r}.") from None


def _cutoff(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f": enter a whole number, not {text!r}.")
    return int(text[:12])


def _groups(text: str) -> tuple[tuple[str, str], ...]:
    lines = [line.strip().partition(BETWEEN) for line in text.splitlines() if line.strip()]
    if wrong := [column for column, between, _ in lines if not between]:
        raise ValueError(f": enter a column and a value, as in region = north, not {wrong[0]!r}.")
    return tuple((column, value) for column, _, value in lines)


def _lines(groups: Any) -> str:
    return "\n".join(map(BETWEEN.join, groups))


class MetricForm(SiteForm):
    """The options; those that the metric does not use are omitted."""

    name = ChoiceEntry("Metric")
    positive = TextEntry("Positive class", is_optional=True, description="If blank, the last class.")
    cutoff = TextEntry("Places that count", _cutoff, render_kw={"class": "short"})
    weight = TextEntry(
        "Weight of the overall value",
        _number,
        "{:g}".format,
        description="From 0 to 1. The rest is the weight of the power mean over the groups.",
        render_kw={"class": "short"},
        validators=[InputRequired()],
    )
    scored_groups = TextEntry(
        "Groups in the score",
        _groups,
        _lines,
        description="One group per line, as in region = north. If blank, the check proposes them.",
        widget=TextArea(),
        render_kw={"rows": 4},
    )


def form_of(metric: NamedMetric, *, is_sent: bool = False) -> MetricForm:
    """Return the form with the stored or the submitted values."""
    form = MetricForm(request.form if is_sent else None, data={name: getattr(metric, name) for name in NAMES})
    form.name.choices = [SelectChoice(name, title) for name, title in metric.alternatives.items()]
    predicted = {each.kind for each in metric.describe().predictions}
    unused = {
        "positive": len(metric.classes) != 2,
        "cutoff": ColumnKind.CLASSES not in predicted,
        "weight": not metric.groups,
        "scored_groups": not metric.groups,
    }
    for name in (name for name, is_unused in unused.items() if is_unused):
        del form[name]
    if is_sent:
        form.validate()
    return form


def entered(metric: NamedMetric) -> NamedMetric:
    """Return the metric with the submitted values; raise InvalidCompetition."""
    form = form_of(metric, is_sent=True)
    faults = [sentence for field in form for sentence in field.errors]
    if not faults:
        try:
            return NamedMetric.from_dict(metric.as_dict() | form.data)
        except ValidationError as error:
            labels = {name: form[name].label.text for name in NAMES if name in form}
            faults = [f"{labels[str(each['loc'][0])]}: {each['msg']}." for each in error.errors()]
    raise InvalidCompetition(faults)
