"""Competition settings: completeness in the service, the file format and the form."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pydantic import ValidationError

from grader.models import Competition, EntryMode, RevealRule
from grader.services.competitions.settings_model import (
    KINDS,
    MAX_LENGTHS,
    METRIC,
    NAMES,
    SETTINGS,
    CompetitionSettings,
    Kind,
)
from grader.services.competitions.settings_problems import problems

DRAFT = CompetitionSettings(title="Toxicity")


def test_text_columns_are_as_long_as_the_settings_allow():
    columns: Any = Competition.__table__.c
    assert set(NAMES) - set(METRIC) <= set(columns.keys())
    texts = {
        name
        for name, kind in KINDS.items()
        if name in SETTINGS and kind in (Kind.LINE, Kind.TEXT, Kind.LINES)
    }
    assert texts == set(MAX_LENGTHS)
    for name in texts:
        assert columns[name].type.length in (None, MAX_LENGTHS[name]), name


@pytest.mark.parametrize("name", sorted(KINDS.keys() & SETTINGS.keys()))
def test_out_of_range_values_are_reported_with_the_settings_label(name):
    wrong: dict[Kind, list[Any]] = {
        Kind.LINE: ["x" * (MAX_LENGTHS.get(name, 0) + 1)],
        Kind.TEXT: ["x" * (MAX_LENGTHS.get(name, 0) + 1)],
        Kind.LINES: ["@example.org\n" * 400],
        Kind.COUNT: [0, 10**7],
        Kind.LIMIT: [0, 10**7],
        Kind.DATE: [datetime(1999, 12, 31, tzinfo=UTC)],
    }
    for value in wrong.get(KINDS[name], []):
        told = [
            fault for fault in problems(DRAFT.changed(**{name: value}), is_draft=True) if name in fault.names
        ]
        assert any(
            fault.sentence.startswith((f"{SETTINGS[name].label}: ", f"{SETTINGS[name].label} must "))
            for fault in told
        ), (name, told)


NOW = datetime(2030, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"entry_mode": EntryMode.CODE}, {"entry_mode", "entry_code"}),
        ({"entry_code": "secret"}, {"entry_mode", "entry_code"}),
        ({"closes_at": NOW}, {"closes_at", "opens_at"}),
        ({"entry_deadline": NOW - DAY}, {"entry_deadline", "opens_at"}),
        ({"merger_deadline": NOW + 21 * DAY}, {"merger_deadline", "closes_at"}),
        ({"reveals_at": NOW + 19 * DAY}, {"reveals_at", "closes_at"}),
        ({"reveals_at": NOW, "closes_at": None}, {"reveals_at", "closes_at"}),
        ({"reveals_at": NOW + 30 * DAY, "reveal_rule": RevealRule.ORGANIZER}, {"reveals_at", "reveal_rule"}),
        ({"negative_name": "POSITIVE"}, {"positive_name", "negative_name"}),
    ],
)
def test_conflicting_settings_are_reported_with_their_names(changes, names):
    dated = DRAFT.changed(opens_at=NOW, closes_at=NOW + 20 * DAY)
    found = problems(dated.changed(**changes), is_draft=True)
    assert names in [set(fault.names) for fault in found]


def test_unknown_parts_of_the_bias_metric_are_rejected():
    with pytest.raises(ValidationError):
        CompetitionSettings.model_validate({"title": "Toxicity", "metric": {"weight": 0.5}})


@pytest.mark.parametrize("contact", ["", "mailto:ask@example.org", "https://example.org/a:b"])
def test_a_contact_is_an_address_or_a_web_page(contact):
    assert CompetitionSettings(title="x", contact=contact).contact == contact


@pytest.mark.parametrize("contact", ["javascript:alert(1)", "//a.org", "ask", "javascript:a@b", "a@b <x>"])
def test_another_contact_is_rejected(contact):
    with pytest.raises(ValidationError, match="e-mail address or a web page"):
        CompetitionSettings(title="x", contact=contact)
