"""Metric settings: validation and JSON round trips."""

import json
import math

import pytest

from fairboard import MetricSettings, Weights


def test_defaults_are_those_of_the_kaggle_competition():
    settings = MetricSettings()
    assert settings.power == -5
    assert set(settings.weights.as_dict().values()) == {0.25}
    assert settings.label_threshold == settings.identity_threshold == 0.5
    assert settings.undefined == "error"


@pytest.mark.parametrize(
    "settings",
    [
        MetricSettings(),
        MetricSettings(power=math.inf),
        MetricSettings(power=-math.inf, undefined="skip"),
        MetricSettings(power=0, weights=Weights(0.1, 0.2, 0.3, 0.4), label_threshold=0.7),
    ],
)
def test_settings_survive_a_json_round_trip(settings):
    text = json.dumps(settings.as_dict(), allow_nan=False)
    assert MetricSettings.from_dict(json.loads(text)) == settings


@pytest.mark.parametrize(
    "weights", [(0.25, 0.25, 0.25, 0.25 + 1e-11), (1.5, -0.5, 0, 0), (math.nan, 0, 0, 1), (math.inf, 0, 0, 0)]
)
def test_weights_must_be_shares_that_sum_to_one(weights):
    Weights(1 / 3, 1 / 3, 1 / 3, 0)
    with pytest.raises(ValueError, match="weights"):
        Weights(*weights)


@pytest.mark.parametrize(
    "wrong",
    [
        {"power": math.nan},
        {"power": "steep"},
        {"label_threshold": math.nan},
        {"undefined": "zero"},
    ],
)
def test_invalid_setting_is_named(wrong):
    with pytest.raises(ValueError, match=f"`{next(iter(wrong))}`"):
        MetricSettings(**wrong)
