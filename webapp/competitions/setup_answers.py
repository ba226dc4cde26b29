"""API models for the setup: new competition, settings, figures."""

from typing import Annotated, Any

from flask import url_for
from pydantic import ConfigDict, Field, field_serializer

from fairboard import MetricSettings
from grader.models import (
    Figure,
)
from grader.services.competitions.settings_model import DATES, CompetitionSettings
from grader.visibility import Step
from webapp.http.confirmation import FIELD
from webapp.http.fields import Answer, Moment, Sent, Text, allow_more
from webapp.http.organizer_operations import FaultAnswer
from webapp.presentation import formats


class NewCompetition(Sent):
    """A draft to create, new or as a copy of the competition `source`; dates are never copied."""

    slug: Text
    title: Text = ""
    source: Text = ""
    owner: Annotated[Text, Field(description="The name of an additional owner; empty if there is none.")] = ""
    with_data: bool = False
    with_solution: bool = False


class Draft(Answer):
    """A new draft."""

    slug: str
    title: str
    url: Annotated[str, Field(description="The URL of the competition's settings.")]


class SettingsSent(CompetitionSettings):
    """The settings of a competition. A null limit means no limit; a null date is derived from the close."""

    model_config = ConfigDict(title="CompetitionSettings")

    @field_serializer(*DATES)
    def _iso(self, moment: Any) -> str | None:
        return formats.iso(moment)

    @field_serializer("metric")
    def _with_text_for_infinity(self, metric: MetricSettings) -> dict[str, Any]:
        return metric.as_dict()


class SettingsShown(SettingsSent):
    """The current settings of a competition."""

    model_config = ConfigDict(title="SettingsShown", json_schema_extra=allow_more)


class SettingsRequest(SettingsSent):
    """The settings of a competition, and the confirmation of dates less than a day away."""

    model_config = ConfigDict(title="SettingsRequest")

    confirm: Text = ""

    @property
    def values(self) -> dict[str, Any]:
        """All settings, with defaults for those missing from the request."""
        return {name: value for name, value in self if name != FIELD}

    @property
    def changes(self) -> dict[str, Any]:
        """The settings in the request."""
        return {name: value for name, value in self.values.items() if name in self.model_fields_set}


class SafeStep(Answer):
    """The feedback step that is proposed for the solution."""

    step: Step
    by_chance: Annotated[
        float, Field(description="The score difference between two good models that is expected by chance.")
    ]


class SettingsAnswer(Answer):
    """The settings of a competition, with reasons for locks, effective dates and warnings."""

    version: Annotated[str, Field(description="Version of the settings; the ETag starts with it.")]
    settings: SettingsShown
    locked: dict[str, str]
    dates: dict[str, Moment | None]
    warnings: list[FaultAnswer]
    safe_step: SafeStep | None


class SettingsChanged(SettingsAnswer):
    """The settings after a change, and the names of the changed settings."""

    changed: list[str]


class FigureLine(Answer):
    """A figure that the texts of a competition can include by name."""

    name: str
    media_type: str
    width: int
    height: int
    size_bytes: int
    url: str


class FigureList(Answer):
    """The figures of a competition's texts."""

    figures: list[FigureLine]


class FigureStored(Answer):
    """An uploaded figure, and its address."""

    name: str
    url: str


def figure(slug: str, figure: Figure) -> FigureLine:
    """Return a figure as the API model."""
    return FigureLine.of(figure, url=url_for("competitions.figure", slug=slug, name=figure.name))
