"""Strict parsing of JSON columns."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from fairboard import MetricSettings, Weights
from grader.services.competitions.metric import MetricChoice, Rules
from grader.services.site.stored_json import StoredJson
from grader.services.solutions.check_jobs import SettingsCheckParameters

WEIGHTS = {"overall_auc": 0.25, "subgroup_auc": 0.25, "bpsn_auc": 0.25, "bnsp_auc": 0.25}
METRIC = {
    "power": -5.0,
    "weights": WEIGHTS,
    "label_threshold": 0.5,
    "identity_threshold": 0.5,
    "undefined": "error",
}
RULES = {"identities": ["female", "muslim"], "metric": METRIC}
CHOICE = {"identities": None, "min_class_rows": 25, "metric": METRIC}
STORED: list[tuple[type[StoredJson], dict[str, Any]]] = [
    (Rules, RULES),
    (MetricChoice, CHOICE | {"identities": ["female"]}),
    (SettingsCheckParameters, {"rules": RULES, "live_scoring_version_id": 7}),
]
NAMES = [kind.__name__ for kind, _ in STORED]


@pytest.mark.parametrize(("kind", "data"), STORED, ids=NAMES)
def test_stored_json_is_written_as_it_was_read(kind, data):
    assert kind.from_dict(data).as_dict() == data


@pytest.mark.parametrize(("kind", "data"), STORED, ids=NAMES)
def test_unknown_key_and_missing_key_are_rejected(kind, data):
    with pytest.raises(ValidationError):
        kind.from_dict(data | {"unknown": 1})
    for name, field in kind.model_fields.items():
        if field.is_required():
            with pytest.raises(ValidationError):
                kind.from_dict({key: value for key, value in data.items() if key != name})


def test_infinite_power_is_stored_as_text():
    rules = Rules(identities=("a",), metric=MetricSettings(power=math.inf, weights=Weights(1, 0, 0, 0)))
    stored = rules.as_dict()
    assert stored["metric"]["power"] == "inf"
    assert Rules.from_dict(stored) == rules


def test_error_does_not_show_the_stored_values():
    with pytest.raises(ValidationError) as caught:
        SettingsCheckParameters.from_dict({"rules": 123456789, "live_scoring_version_id": 7})
    assert "123456789" not in str(caught.value)
